"""The compiled loop behind the running sums of a long column."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.partition._compiled import compiled

Floats = NDArray[np.float64]


@compiled
def running_sums(values: Floats, units: Floats, running: Floats, running_x: Floats) -> None:
    """Σ w and Σ w·x over the records up to each, w = 1/unit; the additions are those of np.cumsum."""
    weights, weighted = 0.0, 0.0
    for i in range(len(values)):
        weight = 1.0 / units[i]
        weights += weight
        weighted += weight * values[i]
        running[i], running_x[i] = weights, weighted
