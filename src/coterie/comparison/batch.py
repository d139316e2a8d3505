"""Numeric attributes that are worked on together: of a small table many lie side by side, of a long one each alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from coterie.chain.mechanism.numeric import limits
from coterie.evaluation.clustered import LONG, Arranged, Numbers

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


@dataclass(frozen=True)
class Batch:
    """Methods see `numbers`. Measures see `original`, which differs where bounds that were paid for cut values off."""

    names: tuple[str, ...]
    places: slice | Whole  # among all columns
    numbers: Numbers
    original: Numbers
    sort: Callable[[], tuple[Whole, Floats]]

    @property
    def order(self) -> Whole:
        """Record numbers by rising value, ties by record order; a row an attribute."""
        return self.sort()[0]

    @cached_property
    def ranked(self) -> Arranged:
        """The values in that order."""
        return Arranged(self.numbers, self.sort()[1], rising=True)

    @cached_property
    def rank(self) -> NDArray[np.int32]:
        """The place of each record in that order."""
        rank: NDArray[np.int32] = np.empty(self.order.shape, dtype=np.int32)
        if self.order.shape[1] >= LONG:
            from coterie.comparison._ranked_loops import place_in

            for order, places in zip(self.order, rank, strict=True):
                place_in(order, places)
            return rank
        for order, places in zip(self.order, rank, strict=True):
            places[order] = np.arange(len(order), dtype=np.int32)
        return rank

    @cached_property
    def alone(self) -> Arranged:
        return Arranged(self.numbers, self.numbers.records + 0.0)

    @cached_property
    def _limits(self) -> tuple[Floats, Floats]:
        lower, upper = np.array([limits(source) for source in self.numbers.sources]).T[:, :, None, None]
        return lower, upper

    @cached_property
    def _steps(self) -> list[tuple[int, float]]:
        """Which attributes come in steps, and how many of those make a unit."""
        steps = enumerate(source.step for source in self.numbers.sources)
        return [(line, float(round(1 / step))) for line, step in steps if step is not None]

    def release_limits(self, line: int) -> tuple[float, float, float]:
        """Between what values of an attribute are clipped, and how many steps make a unit: 0 if there are none."""
        lower, upper = (float(limit[line].item()) for limit in self._limits)
        return lower, upper, dict(self._steps).get(line, 0.0)

    def publish(self, values: Floats) -> None:
        """Clipped and rounded in place, as `LaplaceOnCentroids` does it; values have the axes attribute, row, cluster."""
        lower, upper = self._limits
        np.clip(values, lower, upper, out=values)
        for line, per_unit in self._steps:
            rows = values[line]
            rows *= per_unit
            np.rint(rows, out=rows)
            rows /= per_unit
            np.clip(rows, lower[line], upper[line], out=rows)


def along(values: Floats, order: Whole) -> Floats:
    """Each row in an order of its own; a single order is for all rows."""
    return values.take(order[0], axis=1) if len(order) == 1 else np.take_along_axis(values, order, axis=1)
