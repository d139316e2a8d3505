"""The door: files, frames and databases become typed columns by the schema alone, and typed output again.

`columns/` gives a cell its meaning and a released column its type. The readers and writers know formats, never meanings.
Nothing between a file and the chain may look at another cell.
"""
