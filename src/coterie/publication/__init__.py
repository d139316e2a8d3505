"""How something leaves the house: staged, charged, renamed into place; asked twice, drawn once.

`protect` and `publish`, the release that writes itself, the ledger, staged files and staged tables: one way for rows,
statistics, federation and studio alike.
"""
