"""How a release is written: staged, charged, renamed into place. A repeated request is recognised and drawn once.

`protect` and `publish`, the release that writes itself, the ledger, staged files and staged tables: one way for rows,
statistics, federation and studio alike.
"""
