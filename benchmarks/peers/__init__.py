"""Coterie beside what people would otherwise use, each in a virtual environment of its own: `python -m benchmarks.peers`.

One script per peer: `against_X` runs here, `inside_X` runs in the peer's environment and imports nothing of ours.
"""
