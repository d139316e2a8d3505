"""Where the chain runs: in memory, `out_of_core/`, `spark/`, and many times over for audits.

Engines differ in where records wait, never in what a stage computes.
"""
