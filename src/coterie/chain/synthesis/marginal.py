"""What noisy numbers are made to obey again: a list must rise, counts must be positive and add up. No data are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def rising(values: Floats, weights: Floats) -> Floats:
    """The nearest list that never falls (weighted least squares, pool adjacent violators), or one for each row."""
    if values.ndim > 1:
        return np.stack([rising(row, weights) for row in values])
    from scipy.optimize import isotonic_regression  # half a second to load: only those who need it pay

    return np.asarray(isotonic_regression(values, weights=weights).x, dtype=np.float64)


def onto_counts(noisy: Floats, total: float) -> Floats:
    """The nearest list of numbers from 0 up that add up to `total` (least squares: one common amount is taken away)."""
    above = noisy - noisy.max()  # beside noise of 10^20, `total` would be lost in rounding
    falling = np.sort(above.ravel())[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, len(falling) + 1)
    last = int(np.flatnonzero(falling > excess)[-1])
    return np.asarray(np.maximum(above - excess[last], 0.0), dtype=np.float64)


def with_margins(table: Floats, rows: Floats, columns: Floats) -> Floats:
    """The table scaled by turns until its sums are the given ones (iterative proportional fitting)."""
    # A little mass everywhere, so that an empty line can be scaled at all.
    fitted = table + 1e-6 * np.outer(rows, columns) / rows.sum()
    for _ in range(50):
        fitted = fitted * _ratio(rows, fitted.sum(axis=1))[:, None]
        fitted = fitted * _ratio(columns, fitted.sum(axis=0))[None, :]
    return np.asarray(fitted)


def _ratio(wanted: Floats, found: Floats) -> Floats:
    return np.divide(wanted, found, out=np.zeros_like(wanted), where=found > 0)


# A released distribution of one attribute: a place between 0 and 1 → a value. A function of noisy numbers only.


@dataclass(frozen=True, slots=True)
class Steps:
    """`values[i]` holds for the next `weights[i]` of the total weight: a list with repetitions, or a histogram.

    Values are numbers, or codes of labels in the order in which places rise. Many runs have a row each, of values or of
    weights, and so has what is read from them.
    """

    values: NDArray[Any]
    weights: Floats

    def at(self, places: Floats) -> NDArray[Any]:
        if self.weights.ndim > 1:
            return np.stack([Steps(self.values, weights).at(places) for weights in self.weights])
        ends = np.cumsum(self.weights)
        found = np.searchsorted(ends, places * ends[-1], side="right")
        return np.asarray(self.values[..., np.minimum(found, len(ends) - 1)])

    @property
    def tied(self) -> float:
        """How likely two rows share a value."""
        share = self.weights / self.weights.sum()
        return float(share @ share)


@dataclass(frozen=True, slots=True)
class Line:
    """Straight lines between (place, value) points, level outside them; whole multiples of `step` where there is one."""

    places: Floats
    values: Floats
    step: float | None = None

    def at(self, places: Floats) -> Floats:
        if self.values.ndim > 1:  # a row a run
            rows = np.stack([np.interp(places, self.places, values) for values in self.values])
            return rounded(rows, self.step)
        return rounded(np.interp(places, self.places, self.values), self.step)

    @property
    def tied(self) -> float:
        return 0.0


Marginal = Steps | Line


def rounded(values: Floats, step: float | None) -> Floats:
    """Whole multiples of `step`. A step such as 0.01 is a division away from whole numbers, which doubles hold exactly."""
    if step is None:
        return values
    per_unit = round(1 / step)
    return np.asarray(np.rint(values * per_unit) / per_unit, dtype=np.float64)
