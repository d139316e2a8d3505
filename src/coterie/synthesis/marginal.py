"""A released distribution of one attribute: a place between 0 and 1 → a value. A function of noisy numbers only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


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
