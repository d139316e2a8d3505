"""The parts a method is made of: grouping, sensitivity, noise, mechanism, synthesis, private bounds.

Each part is a value with one property per question that an engine asks; engines never ask which part they have. A part reads
only what the stage before it made. `kernel.py` runs the parts in order; every engine drives it.
"""
