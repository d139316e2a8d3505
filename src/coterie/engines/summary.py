"""The frozen value that every engine returns: all that centroids and sensitivities are made from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Summary:
    """Row c describes cluster c. `low` and `high` have `depth` columns, the outermost value first.

    `total` is defined to the last bit: plain double addition in record order, whatever the engine.
    An extreme that is zero is +0.0.
    """

    size: NDArray[np.int64]
    total: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    @property
    def depth(self) -> int:
        """How many smallest and how many largest values of each cluster are known."""
        return int(self.low.shape[1])

    @property
    def mean(self) -> NDArray[np.float64]:
        """The centroids."""
        return self.total / self.size
