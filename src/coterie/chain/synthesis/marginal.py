"""A released distribution of one attribute, from noisy counts made positive and summing to n again. No data are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.schema.arrays import Floats


def onto_counts(noisy: Floats, total: float) -> Floats:
    """The nearest list of numbers from 0 up that add up to `total` (least squares: one common amount is taken away)."""
    above = noisy - noisy.max()  # beside noise of 10^20, `total` would be lost in rounding
    falling = np.sort(above.ravel())[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, len(falling) + 1)
    last = int(np.flatnonzero(falling > excess)[-1])
    return np.asarray(np.maximum(above - excess[last], 0.0), dtype=np.float64)


# A released distribution of one attribute: a place between 0 and 1 → a value. A function of noisy numbers only.


@dataclass(frozen=True, slots=True)
class Steps:
    """`values[i]` holds for the next `weights[i]` of the total weight: a list with repetitions, or a histogram.

    Values are numbers, or codes of labels in the order in which places rise. Many runs have a row each, of values or of
    weights, and so has what is read from them. The first `missing` of the total weight are missing, where there are any.
    """

    values: NDArray[Any]
    weights: Floats
    missing: Floats | None = None

    def at(self, places: Floats) -> NDArray[Any]:
        if self.weights.ndim > 1:
            return np.stack([Steps(self.values, weights).at(places) for weights in self.weights])
        ends = np.cumsum(self.weights)
        found = np.searchsorted(ends, places * ends[-1], side="right")
        values = np.asarray(self.values[..., np.minimum(found, len(ends) - 1)])
        return values if self.missing is None else np.where(places * ends[-1] < self.missing, np.nan, values)


def rounded(values: Floats, step: float | None, out: Floats | None = None) -> Floats:
    """Whole multiples of `step`. A step such as 0.01 is a division away from whole numbers, which doubles hold exactly."""
    if step is None:
        return values
    per_unit = round(1 / step)
    found = np.multiply(values, per_unit, out=out)
    return np.asarray(np.divide(np.rint(found, out=found), per_unit, out=found))
