"""Ranking of records that fit into memory: all clusters are one piece."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.engines import local
from coterie.engines.piece import Piece
from coterie.partition.clustering import Shape


@dataclass(frozen=True, slots=True)
class InMemorySort:
    k: int
    _batches: list[NDArray[Any]] = field(default_factory=list)

    def add(self, values: NDArray[Any]) -> None:
        self._batches.append(values)

    def pieces(self) -> Iterator[Piece]:
        records = np.concatenate(self._batches)
        self._batches.clear()
        clustering = local.rank(np.ascontiguousarray(records["key"]), self.k)
        fields = {name: np.ascontiguousarray(records[name]) for name in records.dtype.names or ()}
        assert clustering.shape == Shape.ranked(len(records), self.k)
        yield Piece(0, clustering, np.arange(len(records)), fields)
