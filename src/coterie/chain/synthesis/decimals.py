"""To how many decimal places the numbers of a column are written: one noisy histogram, where the schema does not say.

Values that stand on a grid of hundredths must be released on it: drawn evenly between grid points, no two of them would be
equal, and every share "at most 0.25" would be off. The cells are disjoint (a value has one smallest number of places), so
one replaced record moves the histogram by 2.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from coterie.chain.synthesis.accountant import Accountant
from coterie.schema.arrays import Floats, Whole

MOST = 6  # places; the cell behind them holds everything else
SHARE = Fraction(4, 100)  # of the attribute's budget
_SIGNAL = 20.0  # records per noise on one, at least: else the schema's silence stands
_NEAR = 1e-6
_FEW = 0.005  # of all records may be written with more places
_FINEST = 1e9  # steps of a domain, at most


def decimal_counts(values: Floats) -> Whole:
    """How many of the values need 0, 1, … MOST or more places; chunks add up. Missing values need none."""
    counts = np.zeros(MOST + 2, dtype=np.int64)
    left = values
    for places in range(MOST + 1):
        scaled = left * 10.0**places
        on_grid = ~(np.abs(scaled - np.rint(scaled)) > _NEAR)  # NaN is on every grid
        counts[places] = int(on_grid.sum())
        left = left[~on_grid]
    counts[-1] = len(left)
    return counts


def worth_reading(n: int, part: Fraction, accountant: Accountant) -> bool:
    """A public rule: n, the budget and the attribute's part of it."""
    return n / accountant.deviation(part * SHARE) >= _SIGNAL


def noisy_step(
    counts: Whole, n: int, part: Fraction, lower: float, upper: float, accountant: Accountant, name: str
) -> float | None:
    """The step between values, or None where they are written with more places than can be told."""
    reading = accountant.noisy_histogram(counts, part * SHARE, f"{name}: decimal places")
    for places in range(MOST + 1):
        behind = reading.values[places + 1 :]
        allowed = max(_FEW * n, 1.5 * reading.deviation * math.sqrt(len(behind)))
        if behind.sum() <= allowed and (upper - lower) * 10**places <= _FINEST:
            return float(10.0**-places)
    return None
