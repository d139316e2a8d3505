"""Grids of methods, k and ε over one table: sorted once, measured by cluster, resumed where they stopped.

The grid and its cells, the engine that shares sorting and noise around the kernel, finished cells on disk, and the results.
The page that shows them is in `coterie.report`.
"""
