"""The frozen value that every partition returns: which cluster each record is in, and of how many clusters in all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Shape:
    """What is public about a clustering: numbers that follow from n and k."""

    records: int
    clusters: int
    smallest: int
    largest: int

    @classmethod
    def of(cls, sizes: NDArray[np.int64]) -> Shape:
        return cls(int(sizes.sum()), len(sizes), int(sizes.min()), int(sizes.max()))

    @classmethod
    def ranked(cls, records: int, k: int) -> Shape:
        """⌊n/k⌋ clusters of k, the last takes the remainder."""
        clusters = records // k
        return cls(records, clusters, k if clusters > 1 else records, k + records % k)


@dataclass(frozen=True, slots=True)
class Clustering:
    """Cluster numbers 0 … q-1 in record order, and how many members each cluster has.

    Partitions of one ordered attribute number their clusters by rising value. An engine that holds only some of the
    clusters numbers these from 0 and says in `whole` what they are a piece of.
    """

    labels: NDArray[np.int32]
    sizes: NDArray[np.int64]
    whole: Shape | None = None

    @property
    def shape(self) -> Shape:
        return self.whole or Shape.of(self.sizes)

    @property
    def count(self) -> int:
        """q, the number of clusters."""
        return len(self.sizes)
