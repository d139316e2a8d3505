"""The desk on which summary statistics are planned: what goes out, how the budget is split, what was released.

desk.py         the file that survives a restart, and its version (two tabs)
statistic.py    the form of one statistic ⇄ its entry in the specification
equation.py     the form of one equation ⇄ its entry
listed.py       a first specification, from the description of the table alone, and its list on the page
result.py       shares and predicted errors, as the page and its script show them
paying.py       the release, drawn once
"""
