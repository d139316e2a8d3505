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


class Engine(Protocol):
    """The verbs that every engine has. Released values are the same, to the last bit, whatever the engine.

    `rank` cuts the order of (key, record number) into clusters of k; the last takes the remainder. A piece holds whole
    clusters, so that a cluster's statistics are added up in record order by one worker. `attach` gives every
    record the value of its cluster, in record order.
    """

    name: str

    def rank(self, key: str, k: int) -> Iterator[Piece]: ...

    def attach(self, piece: Piece, values: NDArray[Any]) -> None: ...
