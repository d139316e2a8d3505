"""To how many decimal places the numbers of a column are written: one noisy histogram, where the schema does not say.

Values that stand on a grid of hundredths must be released on it: drawn evenly between grid points, no two of them would be
equal, and every share "at most 0.25" would be off. The cells are disjoint (a value has one smallest number of places), so
one replaced record moves the histogram by 2.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from coterie.chain.synthesis.accountant import Accountant, Currency, Reading
from coterie.schema.arrays import Floats, Whole

MOST = 6  # places; the cell behind them holds everything else
_LEAST, _MOST_SHARE = Fraction(4, 100), Fraction(10, 100)  # of the attribute's budget, so that …
_CLEAR = 60.0  # … n is so many times as large as the noise on a count …
_UNCLEAR = 40.0  # … and at least so many times: else the schema's silence stands
_BY_CHANCE = 3.0  # standard deviations: noise alone is larger once in some hundred readings
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


def price(n: int, part: Fraction, accountant: Accountant) -> Fraction:
    """What reading them costs, of the attribute's part; 0 where noise would hide them. A public rule: n and the budget."""
    missing = min(_CLEAR * accountant.deviation(part) / n, 1.0)
    wanted = missing if accountant.currency is Currency.EPSILON else missing**2
    share = min(max(Fraction(wanted).limit_denominator(1000), _LEAST), _MOST_SHARE)
    return part * share if n / accountant.deviation(part * share) >= _UNCLEAR else Fraction(0)


def noisy_step(
    counts: Whole, n: int, cost: Fraction, lower: float, upper: float, accountant: Accountant, name: str
) -> tuple[float | None, Reading]:
    """The step between values, or None where they are written with more places than can be told; and what was read."""
    reading = accountant.noisy_histogram(counts, cost, f"{name}: decimal places")
    return _step(reading, n, upper - lower), reading


def _step(reading: Reading, n: int, width: float) -> float | None:
    for places in range(MOST + 1):
        behind = reading.values[places + 1 :]
        allowed = max(_FEW * n, _BY_CHANCE * reading.deviation * math.sqrt(len(behind)))
        if behind.sum() <= allowed and width * 10**places <= _FINEST:
            return float(10.0**-places)
    return None
