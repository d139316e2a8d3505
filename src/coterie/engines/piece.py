"""What engines hand to the chain: some whole clusters, with all their records. In memory, all clusters are one piece."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from coterie.partition.clustering import Clustering


@dataclass(frozen=True, slots=True)
class Piece:
    """Clusters first, first + 1, …; labels count from 0. Records are in record order, `rows` are their numbers."""

    first: int
    clustering: Clustering
    rows: NDArray[np.int64]
    fields: Mapping[str, NDArray[Any]]  # what was handed in with each record, and the key


class Ranking(Protocol):
    """How an engine ranks: records go in, in record order; whole clusters come out, rising.

    Clusters are cut from the order of (key, record number), k at a time, the last with the remainder. A piece holds
    whole clusters, so that a cluster's statistics are added up in record order by one worker, to the last bit the same
    whatever the engine. (On Spark the pieces stay where they are, and the work is sent to them: coterie.engines.spark.)
    """

    def add(self, values: NDArray[Any]) -> None:
        """Further records: a structure with the field "key" and whatever travels with it."""
        ...

    def pieces(self) -> Iterator[Piece]: ...
