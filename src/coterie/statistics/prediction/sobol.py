"""Evenly spread points for expectations without a closed form.

The same points serve every allocation (common random numbers), so two allocations differ by their
budgets and not by luck, and the score is a smooth function that a gradient method can follow.
Several independently scrambled sets give an honest standard error."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

SEED = 20020513  # planning never sees data, so a fixed seed discloses nothing and makes plans repeatable
REPLICATES = 16


@lru_cache(maxsize=64)
def points(dimension: int, exponent: int, replicates: int = 1) -> NDArray[np.float64]:
    """replicates × 2^exponent points in (0, 1)^dimension; replicate by replicate."""
    from scipy.stats import qmc  # half a second to load: only those who need it pay

    parts = []
    for replicate in range(replicates):
        engine = qmc.Sobol(dimension, scramble=True, rng=np.random.default_rng([SEED, dimension, replicate]))
        parts.append(engine.random_base2(exponent))
    joined = np.vstack(parts)
    joined = np.asarray(np.clip(joined, 2.0**-40, 1.0 - 2.0**-40), dtype=np.float64)
    joined.setflags(write=False)
    return joined
