"""One reproduction a file: every figure and table of a paper, with the tolerances inside."""
