"""The desk on which summary statistics are planned: what goes out, how the budget is split, what was released.

desk.py     the file that survives a restart, and its version (two tabs)
entries.py  the forms of one statistic and one equation ⇄ their entries in the specification
result.py   shares and predicted errors, as the page and its script show them
release.py  the release, drawn once
first_specification.py  from the description of the table alone; and a specification in words, entry by entry
"""
