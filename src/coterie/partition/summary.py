"""What a centroid and its sensitivity need to know of each cluster: size, sum and the outermost values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Summary:
    """One row a cluster. `low` holds the smallest values, rising; `high` the largest, falling; 0, 1 or 3 of each."""

    size: NDArray[np.int64]
    total: Floats
    low: Floats
    high: Floats
