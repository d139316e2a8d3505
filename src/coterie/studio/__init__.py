"""Studio: the workbench in the browser. Thin: every page calls the functions that the command calls.

auth.py      who may speak to it: one-time token, own host and origin only
home.py      the folder that survives a restart: session, address, projects
project.py   one table on its way to a release: source, schema, choice, what was released
jobs.py      long work in a process of its own, with progress and cancel
steps/       one page per file: load, describe, choose, look, audit, release, statistics
desk/        what the statistics' tab works on: specification, split, what was released
work/        one kind of long work per file
"""
