"""How far one record can move a statistic, from declared bounds only, with the proof beside the number.

Two moves are told apart, because parallel composition needs both:
  * `enter`: a record enters or leaves the statistic's group (add/remove, or a replacement across groups);
  * `swap`: a record stays in the group and changes its value (replace-one).

Means, variances and standard deviations of a group whose size is not public are computed as if the group
were padded with the middle value c up to `at_least` records (m). A group of m or more is not changed by
that, and the function has a bounded sensitivity on *every* table, so no promise rests on the true size.
W = U − L is the width of the attribute's declared domain.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from coterie.statistics.ranges import Range

_UP = 1.0 + 2.0**-50  # doubles are rounded somewhere in these formulas: only ever upwards


class Kind(StrEnum):
    """What is measured. Each gets noise by itself."""

    COUNT = "count"
    SUM = "sum"
    MEAN = "mean"
    VARIANCE = "variance"
    STD = "std"
    QUANTILE = "quantile"


class Wide(Protocol):
    @property
    def width(self) -> float: ...


class Neighbours(StrEnum):
    REPLACE_ONE = "replace-one"
    ADD_REMOVE = "add-remove"

    @property
    def size_is_public(self) -> bool:
        """Whether all neighbours have the same number of records."""
        return self is Neighbours.REPLACE_ONE


@dataclass(frozen=True, slots=True)
class SensitivityBound:
    enter: float
    swap: float
    formula: str
    proof: str

    def nominal(self, neighbours: Neighbours, everyone: bool) -> float:
        """The Δ that the statistic's own budget pays for."""
        if neighbours is Neighbours.ADD_REMOVE:
            return self.enter
        return self.swap if everyone else max(self.enter, self.swap)


def count_bound() -> SensitivityBound:
    return SensitivityBound(
        1.0, 0.0, "Δ = 1", "A record is in the group or not: entering or leaving changes the count by one."
    )


def sum_bound(terms: Range) -> SensitivityBound:
    """A sum of terms that each lie in a declared range."""
    return SensitivityBound(
        max(abs(terms.lower), abs(terms.upper)) * _UP,
        terms.width * _UP,
        "Δ = max(|l|, |u|) on entering or leaving, u − l on a change; terms lie in [l, u]",
        "Each record adds one term of [l, u] and no other record's term depends on it.",
    )


def mean_bound(domain: Wide, at_least: int) -> SensitivityBound:
    width, m = domain.width, at_least
    return SensitivityBound(
        max(width / (m + 1), width / (2 * m)) * _UP,
        width / m * _UP,
        "Δ = W/m on a change, max(W/(m+1), W/2m) on entering or leaving; m = at_least",
        "With n ≥ m records a new value y moves the mean by |y − mean|/(n+1) ≤ W/(m+1), a changed one by at "
        "most W/n ≤ W/m. With n < m the new record takes the place of one padded middle value: at most "
        "(W/2)/m.",
    )


def variance_bound(domain: Wide, at_least: int) -> SensitivityBound:
    size = domain.width**2 / at_least * _UP
    return SensitivityBound(
        size,
        size,
        "Δ = W²/m (sample variance); m = at_least",
        "Let M be the sum of squared deviations. Replacing one of n values changes M by at most W²(n−1)/n, so "
        "M/(n−1) by at most W²/n. Adding y to n ≥ 2 values gives s² − s²/n + (y − mean)²/(n+1): the change "
        "lies between −W²/(4(n−1)) and W²/(n+1). Padding makes n ≥ m, and entering a padded group is a "
        "replacement. All are at most W²/m.",
    )


def std_bound(domain: Wide, at_least: int) -> SensitivityBound:
    size = domain.width / math.sqrt(at_least) * _UP
    return SensitivityBound(
        size,
        size,
        "Δ = W/√m; m = at_least",
        "s = ‖Py‖/√(n−1) with the centring projection P. Replacing one value moves Py by at most "
        "W‖Pe‖ = W√((n−1)/n), so s by at most W/√n (triangle inequality). Adding y to n ≥ 2 values gives "
        "s′ ≤ √(s² + W²/(n+1)) ≤ s + W/√(n+1), and s − s′ ≤ s/n ≤ W/(2√(n(n−1))) ≤ W/√(n+1). Padding makes "
        "n ≥ m, and entering a padded group is a replacement. All are at most W/√m.",
    )


def rank_bound(quantile: float) -> SensitivityBound:
    """Of the exponential mechanism's utility (002 has no quantiles; ours). See coterie.statistics.candidates."""
    return SensitivityBound(
        max(quantile, 1.0 - quantile) * _UP,
        1.0,
        "Δu = max(q, 1 − q) on entering or leaving, 1 on a change",
        "A candidate is a set of values from a to b, and u = −max(#{y < a} − q·n, q·n − #{y ≤ b}, 0). A new record "
        "changes the first difference by −q or 1 − q and the second by q or q − 1; a change of value changes each "
        "number by at most 1. One ε-DP draw picks a set with probability ∝ exp(ε·u/(2Δu)).",
    )
