"""Studio: the workbench in the browser. Thin: every page calls the functions that the command calls.

app.py       the server; auth.py  who may speak to it: one-time token, own host and origin only
project.py   one table on its way to a release: source, schema, choice, what was released
jobs.py      long work in a process of its own, with progress and cancel; work/  what it does
steps/       one page per file: load, describe, choose, look, audit, release, statistics
desk/        what the statistics' tab works on: specification, split, what was released
releases.py  the one draw of noise, and how it ended; release_plan.py  what will be released, before any noise
"""
