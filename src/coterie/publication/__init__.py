"""How something leaves the house: staged, charged, renamed into place; asked twice, drawn once.

The ledger, the locks, the hidden files and the staged tables, for rows, statistics, federation and studio alike.
"""
