"""Kinds of long work, one per file: a function `work(project, parameters, tell)` that returns what the page shows.

It runs in the worker's process. `tell(share, words)` moves the progress bar (share from 0 to 1, None where unknown).
"""
