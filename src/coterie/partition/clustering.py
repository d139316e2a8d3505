"""The frozen value that every partition returns: which cluster each record is in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Clustering:
    """Cluster numbers 0 … q-1 in record order, and how many members each cluster has.

    Partitions of one ordered attribute number their clusters by rising value.
    """

    labels: NDArray[np.int32]
    sizes: NDArray[np.int64]

    @property
    def count(self) -> int:
        """q, the number of clusters."""
        return len(self.sizes)
