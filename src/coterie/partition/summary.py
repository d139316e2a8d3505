"""What a centroid and its sensitivity need to know of each cluster: size, sum and the outermost values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.partition.clustering import Shape

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Summary:
    """Row c describes cluster c. `low` holds its smallest values, rising; `high` its largest, falling; 0, 1 or 3 of each.

    `total` is defined to the last bit: plain double addition in record order, whatever the engine. An extreme that is
    zero is +0.0.
    """

    size: NDArray[np.int64]
    total: Floats
    low: Floats
    high: Floats
    whole: Shape | None = None  # of the clustering that these clusters are a piece of

    @property
    def shape(self) -> Shape:
        return self.whole or Shape.of(self.size)
