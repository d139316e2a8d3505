"""The table nearest to what was measured: weighted least squares, no negative counts, sums within limits."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from coterie.schema.arrays import Floats
from coterie.statistics.prediction.fixed_sums import onto_box, onto_simplex, sums_of
from coterie.statistics.prediction.joint import inverse_of

_ROUNDS = 400


@dataclass(frozen=True)
class Fit:
    """The table nearest to what was measured."""

    weights: Floats | None  # measured × cells; None: every cell
    sds: Floats
    records: float | None
    counts: bool
    size: int

    @classmethod
    def of(
        cls, weights: Floats | None, sds: Floats, records: float | None, counts: bool, size: int = 0
    ) -> Fit:
        return cls(weights, sds, records, counts, size if weights is None else weights.shape[1])

    @cached_property
    def _solved(self) -> tuple[Floats, Floats]:
        """(rows → cells, offset)."""
        assert self.weights is not None
        scaled = self.weights / self.sds[:, None]
        if self.records is None:
            return inverse_of(scaled) / self.sds, np.zeros(self.size)
        # x = even + z, where z adds up to 0: rows without their mean see z alone, and one more row keeps it so.
        even = np.full(self.size, self.records / self.size)
        seen = scaled - scaled.mean(axis=1, keepdims=True)
        rows = np.vstack([seen, np.full(self.size, max(float(np.abs(seen).max()), 1e-300))])
        solve = inverse_of(rows)[:, :-1] / self.sds
        return solve, even - solve @ (self.weights @ even)

    def linear(self, measured: Floats) -> Floats:
        """Draws × cells, as least squares has them: without a bias, and perhaps negative."""
        if self.weights is None:
            if self.records is None:
                return measured
            share = self.sds**2 / float((self.sds**2).sum())
            return np.asarray(measured + (self.records - measured.sum(axis=1))[:, None] * share)
        solve, offset = self._solved
        return np.asarray(measured @ solve.T + offset)

    @cached_property
    def total_sd(self) -> float | None:
        """How far off the number of all records is when it is added up from this table; None where it is not known."""
        if self.records is not None:
            return 0.0
        if self.weights is None:
            return math.sqrt(float((self.sds**2).sum()))
        into_rows = np.ones(self.size) @ self._solved[0]
        if float(np.abs(into_rows @ self.weights - 1.0).max()) > 1e-6:
            return None
        return math.sqrt(float((into_rows * self.sds) @ (into_rows * self.sds)))

    @cached_property
    def unseen(self) -> NDArray[np.bool_]:
        """Cells that nothing measured holds."""
        if self.weights is None:
            return np.zeros(self.size, dtype=np.bool_)
        return np.asarray(~self.weights.any(axis=0))

    def tells(self, added: Callable[[Floats], Floats]) -> NDArray[np.bool_]:
        """Which sums over cells (`added`: rows × cells to rows × sums) follow from what is measured."""
        if self.weights is None:
            return np.ones(1, dtype=np.bool_)
        size, weights, kept = added(np.ones((1, self.size)))[0], self.weights, 0.0
        if self.records is not None:  # the total of all cells is known without a measurement
            weights, kept = weights - weights.mean(axis=1, keepdims=True), size**2 / self.size
        # The part of a sum that lies in the space of the rows; where it is all of it, the rows tell the sum.
        kept = kept + (added(np.ascontiguousarray(self._solved[0].T)) * added(weights)).sum(axis=0)
        return np.asarray(kept >= (1.0 - 1e-6) * size)

    def trust(self, classes: NDArray[np.int64], count: int) -> float:
        """How well the sums over classes of cells are known, as 1/variance; 0: not all of them are."""
        if self.weights is None:
            return count / float((self.sds**2).sum())
        into = sums_of(np.ascontiguousarray(self._solved[0].T), classes, count)  # rows × classes
        off = into.T @ self.weights - (classes == np.arange(count)[:, None])
        if self.records is not None:  # the total of all cells is known without a measurement
            off = off - off.mean(axis=1, keepdims=True)
        if float(np.abs(off).max()) > 1e-6:
            return 0.0
        return count / max(float(((into * self.sds[:, None]) ** 2).sum()), 1e-12)

    def total(self, measured: Floats) -> Floats | None:
        """How many records there are, as far as this group tells."""
        if not self.counts or self.total_sd is None:
            return None
        if self.records is not None:
            return np.full(len(measured), self.records)
        return np.asarray(np.maximum(self.linear(measured).sum(axis=1), 0.0))

    def cells(self, measured: Floats, total: Floats | None) -> Floats:
        """Draws × cells: the nearest table; counts are not negative, and add up to the total."""
        found = self.linear(measured)
        if not self.counts:
            return found
        if self.weights is None:
            return np.maximum(found, 0.0) if total is None else onto_simplex(found, total)
        bad = (found < 0.0).any(axis=1)
        if total is not None:
            more = found.sum(axis=1) - total
            # Where the total is not measured here, some cells are not measured either: they take what is left.
            bad |= (more if self.total_sd is None else np.abs(more)) > 1e-6 * np.maximum(total, 1.0)
        if bad.any():
            found = found.copy()
            chosen = None if total is None else total[bad]
            found[bad] = self._nearest(
                found[bad], lambda x: np.maximum(x, 0.0) if chosen is None else onto_simplex(x, chosen)
            )
        return found

    def bounded(self, found: Floats, low: Floats, high: Floats) -> Floats:
        """Draws × cells of sums: the nearest between the limits, with the same total where that is measured and possible."""
        low, high = np.broadcast_to(low, found.shape), np.broadcast_to(high, found.shape)
        width = 1e-9 * np.maximum(np.abs(found), 1.0)
        bad = ((found < low - width) | (found > high + width)).any(axis=1)
        if not bad.any():
            return found
        total: Floats | None = None
        if not self.unseen.any():
            total = np.clip(found.sum(axis=1), low.sum(axis=1), high.sum(axis=1))[bad]
        found, low, high = found.copy(), low[bad], high[bad]

        def onto(points: Floats) -> Floats:
            return onto_box(points, low, high, total)

        found[bad] = onto(found[bad]) if self.weights is None else self._nearest(found[bad], onto)
        return found

    def _nearest(self, start: Floats, onto: Callable[[Floats], Floats]) -> Floats:
        """argmin (x − start)ᵀ P (x − start), P = AᵀA in units of noise, among what `onto` leads to (Boyd et al. 2011)."""
        scaled, step, inner = self._splitting
        found = onto(start)
        dual = np.zeros_like(found)
        pulled = (start @ scaled.T) @ scaled
        size = max(float(np.abs(start).max()), 1.0)
        for _ in range(_ROUNDS):
            ahead = pulled / step + found - dual
            free = ahead - ((ahead @ scaled.T) @ inner) @ scaled  # (P + step)⁻¹, by Woodbury
            before = found
            found = onto(free + dual)
            dual = dual + free - found
            if max(float(np.abs(free - found).max()), float(np.abs(found - before).max())) < 1e-7 * size:
                break
        return found

    @cached_property
    def _splitting(self) -> tuple[Floats, float, Floats]:
        """A in units of noise, the step, and (step + AAᵀ)⁻¹."""
        assert self.weights is not None
        scaled = self.weights / self.sds[:, None]
        sizes = (scaled**2).sum(axis=0)
        step = float(np.sqrt(np.median(sizes) * sizes.max())) or 1.0
        inner = np.linalg.inv(step * np.eye(len(scaled)) + scaled @ scaled.T)
        return scaled, step, np.asarray(inner, dtype=np.float64)
