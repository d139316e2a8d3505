"""How far one record can move a statistic, from declared bounds only, with the proof beside the number.

Two moves are told apart, because parallel composition needs both:
  * `enter`: a record enters or leaves the statistic's group (add/remove, or a replacement across groups);
  * `swap`: a record stays in the group and changes its value (replace-one).

Means, variances and standard deviations of a group whose size is not public are computed as if the group
were padded with the middle value c up to `at_least` records (m). A group of m or more is not changed by
that, and the function has a bounded sensitivity on *every* table, so no promise rests on the true size.
W = U − L is the width of the attribute's declared domain."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from functools import cached_property

from coterie.errors import SchemaError
from coterie.schema.exact import float_up, number_text
from coterie.statistics.prediction.value_grid import Candidates, ValueGrid
from coterie.statistics.specification.filters import Filter, filter_text
from coterie.statistics.specification.large_table import LargeTable
from coterie.statistics.specification.specification import Neighbours

_UP = 1.0 + 2.0**-50  # doubles are rounded somewhere in these formulas: only ever upwards


class Kind(StrEnum):
    """What is measured. Each gets noise by itself."""

    COUNT = "count"
    SUM = "sum"
    MEAN = "mean"
    TRIMMED = "trimmed mean"
    VARIANCE = "variance"
    STD = "std"
    QUANTILE = "quantile"
    DISTINCT = "distinct values"
    KEYS = "counts by private keys"
    TABLE = "counts of a large table"

    @property
    def padded(self) -> bool:
        return self in (Kind.MEAN, Kind.TRIMMED, Kind.VARIANCE, Kind.STD)

    @property
    def counts(self) -> bool:
        """Whether whole numbers are measured."""
        return self in (Kind.COUNT, Kind.DISTINCT, Kind.KEYS, Kind.TABLE)


@dataclass(frozen=True, slots=True)
class SensitivityBound:
    enter: float
    swap: float
    formula: str
    proof: str
    rows_per_unit: int = 1

    def nominal(self, neighbours: Neighbours, everyone: bool) -> float:
        """The Δ that the statistic's own budget pays for."""
        if neighbours is Neighbours.ADD_REMOVE:
            return self.enter
        if neighbours is Neighbours.REPLACE_ONE and everyone:
            return self.swap
        return max(self.enter, self.swap)

    def for_unit(self, rows: int) -> SensitivityBound:
        """The bound for a unit of `rows` records. The noise of c·Δ with ε is that of Δ with ε/c; with ρ, that of ρ/c²."""
        if rows == 1:
            return self
        return SensitivityBound(
            rows * self.enter,
            rows * self.swap,
            f"{rows} × ({self.formula})",
            f"{self.proof} A unit is exchanged for another in at most {rows} such steps.",
            rows,
        )


# One noisy number: what is computed on the records, and how far one record can move it.

_FINE = 32  # measurements that are not counts have 2^32 or more steps to their sensitivity
_SMALLEST, _LARGEST = Fraction(10) ** -140, Fraction(10) ** 140  # planning squares them as doubles
SHARES = ValueGrid.of(0.0, 1.0)


@dataclass(frozen=True)
class Measurement:
    """`terms` are (column, centre): a sum adds up Π(x − centre); the other kinds use one column.

    What is measured is a whole number k, and k·unit + offset is the value: exact arithmetic, and noise on the same steps.
    """

    kind: Kind
    where: Filter
    bound: SensitivityBound
    terms: tuple[tuple[str, float], ...] = ()
    domains: tuple[ValueGrid, ...] = ()
    indicator: Filter | None = None  # MEAN of an indicator: a proportion
    at_least: int = 1
    quantile: float = 0.5
    cells: int = 1024
    trim: float = 0.0
    table: LargeTable | None = None
    unit: Fraction = Fraction(1)
    offset: Fraction = Fraction(0)

    @property
    def candidates(self) -> Candidates:
        """The values that a quantile may have."""
        return Candidates(self.domains[0], self.cells)

    @property
    def ends(self) -> tuple[float, float]:
        """What one record adds to a sum, at least and at most."""
        half = math.prod((domain.step / 2 for domain in self.domains), start=Fraction(1))
        low, high = _product_ends(self.terms, self.domains)
        return float(low * half), float(high * half)

    @property
    def last(self) -> tuple[float, float]:
        """The same for the last factor alone."""
        return replace(self, terms=self.terms[-1:], domains=self.domains[-1:]).ends

    def steps(self, neighbours: Neighbours) -> int:
        """The Δ that the measurement's own budget pays for, in units."""
        return math.ceil(Fraction(self.bound.nominal(neighbours, self.where.everyone)) / self.unit)

    def moved(self, neighbours: Neighbours, power: int) -> int:
        """What its own budget pays for, in units: Δ (power 1), or Δ² (Gaussian noise, power 2); of all cells of a table."""
        if self.table is None:
            return int(self.steps(neighbours) ** power)
        return int(self.bound.rows_per_unit**power) * (1 if neighbours is Neighbours.ADD_REMOVE else 2)

    def value(self, steps: int) -> float:
        return float(self.offset + steps * self.unit)

    @property
    def summed(self) -> str:
        """What is added up, in a formula."""
        parts = [_term(column, centre) for column, centre in self.terms]
        return f"{parts[0]}²" if len(parts) == 2 and parts[0] == parts[1] else "·".join(parts)

    @cached_property
    def name(self) -> str:
        """Unique: measurements of different content have different names. Readable in a plan."""
        if self.kind is Kind.COUNT:
            return f"count | {self.where}"
        if self.kind is Kind.KEYS:
            return f"counts by private {filter_text(self.terms[0][0])} | {self.where}"
        if self.table is not None:
            return f"{self.kind.value} {self.table} | {self.where}"
        what = self.summed if self.indicator is None else f"[{self.indicator}]"
        detail = ""
        if self.kind is Kind.QUANTILE:
            detail = f" q={number_text(self.quantile)}"
            detail += f" candidates={self.cells}" if self.cells != 1024 else ""
        detail += f" trim={number_text(self.trim)}" if self.kind is Kind.TRIMMED else ""
        padded = f" m={self.at_least}" if self.kind.padded else ""
        return f"{self.kind.value}({what}{detail}{padded} | {self.where})"


def _term(column: str, centre: float) -> str:
    named = filter_text(column)
    return f"({named} − {number_text(centre)})" if centre else named


def count(where: Filter) -> Measurement:
    proof = "A record is in the group or not: entering or leaving changes the count by one."
    return Measurement(Kind.COUNT, where, SensitivityBound(1.0, 0.0, "Δ = 1", proof))


def distinct(where: Filter, column: str) -> Measurement:
    proof = (
        "A new record adds one value or none, and one that leaves takes one or none away. A changed value may take the old "
        "one away and may add the new one: the number falls by one, stays, or rises by one."
    )
    bound = SensitivityBound(1.0, 1.0, "Δ = 1", proof)
    return Measurement(Kind.DISTINCT, where, bound, ((column, 0.0),))


def keys(where: Filter, column: str) -> Measurement:
    """A count for each value that occurs, shown where it is large enough: see `KeyThreshold`."""
    proof = (
        "A record has one key, and moves its count by one. If another record has the key too, the same keys are counted "
        "with and without it: noise on one number. If none has, only the threshold can show the key, with probability δ at "
        "most; all else that is shown has the same law with and without the record."
    )
    bound = SensitivityBound(
        1.0, 1.0, "Δ = 1; a key of one record is shown with probability δ at most", proof
    )
    return Measurement(Kind.KEYS, where, bound, ((column, 0.0),))


def cells_of(where: Filter, table: LargeTable, gaussian: bool) -> Measurement:
    """All cells under one budget: see `large_tables` for the noise."""
    proof = (
        "A record lies in one cell, or in none. Entering or leaving changes one count by 1; a change of values may take it "
        "from one cell to another, and two counts change by 1."
    )
    swap = float_up(Fraction(math.isqrt(2 * 10**40) + 1, 10**20)) if gaussian else 2.0
    formula = f"Δ = 1 on entering or leaving, {'√2' if gaussian else '2'} on a change"
    return Measurement(Kind.TABLE, where, SensitivityBound(1.0, swap, formula, proof), table=table)


def total(where: Filter, terms: tuple[tuple[str, float], ...], domains: tuple[ValueGrid, ...]) -> Measurement:
    """Σ Π(x − centre) over the group, centres rounded to half a step of their column's grid."""
    half = math.prod((domain.step / 2 for domain in domains), start=Fraction(1))
    low, high = _product_ends(terms, domains)
    if not _SMALLEST <= (high - low) * half <= max(abs(low), abs(high)) * half * 2 <= _LARGEST:
        raise SchemaError(
            f"Sums of '{terms[0][0]}' would lie beyond the numbers that a release can hold.",
            "Measure the attribute in another unit.",
        )
    bound = SensitivityBound(
        float_up(max(abs(low), abs(high)) * half),
        float_up((high - low) * half),
        "Δ = max(|l|, |u|) on entering or leaving, u − l on a change; terms lie in [l, u]",
        "Each record adds one term of [l, u] and no other record's term depends on it.",
    )
    finer = max(_FINE + 1 - (high - low).bit_length(), 0)
    return Measurement(Kind.SUM, where, bound, terms, domains, unit=half / 2**finer)


def mean(where: Filter, column: str, domain: ValueGrid, at_least: int) -> Measurement:
    """Padded with the middle of the domain, which is the offset."""
    width, m = domain.width, at_least
    bound = SensitivityBound(
        max(width / (m + 1), width / (2 * m)) * _UP,
        width / m * _UP,
        "Δ = W/m on a change, max(W/(m+1), W/2m) on entering or leaving; m = at_least",
        "With n ≥ m records a new value y moves the mean by |y − mean|/(n+1) ≤ W/(m+1), a changed one by at "
        "most W/n ≤ W/m. With n < m the new record takes the place of one padded middle value: at most "
        "(W/2)/m.",
    )
    made = _padded(Kind.MEAN, where, bound, column, domain, at_least)
    return replace(made, offset=(domain.low + domain.high) * domain.step / 2)


def trimmed(where: Filter, column: str, domain: ValueGrid, at_least: int, trim: float) -> Measurement:
    """∫Q(p)dp over [t, 1−t], divided by 1 − 2t, with Q the quantile function of the padded values."""
    whole, kept = mean(where, column, domain, at_least), 1 - 2 * exact_level(trim)
    bound = SensitivityBound(
        float_up(Fraction(whole.bound.enter) / kept),
        float_up(Fraction(whole.bound.swap) / kept),
        "Δ = 1/(1 − 2t) times that of the mean: W/m on a change, max(W/(m+1), W/2m) on entering or leaving",
        "Let F be the share of values up to x. A changed record moves F by at most 1/n everywhere, a new one by at most "
        "1/(n+1), and one that takes the place of a padded middle value by 1/m on one side of the middle only. The area "
        "between two such F is at most W/n, W/(n+1) and W/2m. It is also the area between the two Q over all p, so over "
        "[t, 1−t] the integrals differ by no more. Padding makes n ≥ m.",
    )
    made = _padded(Kind.TRIMMED, where, bound, column, domain, at_least)
    return replace(made, offset=whole.offset, trim=trim)


def share(where: Filter, indicator: Filter, at_least: int) -> Measurement:
    """The mean of an indicator."""
    return replace(mean(where, "", SHARES, at_least), terms=(), indicator=indicator, offset=Fraction(0))


def variance(where: Filter, column: str, domain: ValueGrid, at_least: int) -> Measurement:
    size = domain.width**2 / at_least * _UP
    bound = SensitivityBound(
        size,
        size,
        "Δ = W²/m (sample variance); m = at_least",
        "Let M be the sum of squared deviations. Replacing one of n values changes M by at most W²(n−1)/n, so "
        "M/(n−1) by at most W²/n. Adding y to n ≥ 2 values gives s² − s²/n + (y − mean)²/(n+1): the change "
        "lies between −W²/(4(n−1)) and W²/(n+1). Padding makes n ≥ m, and entering a padded group is a "
        "replacement. All are at most W²/m.",
    )
    return _padded(Kind.VARIANCE, where, bound, column, domain, at_least)


def std(where: Filter, column: str, domain: ValueGrid, at_least: int) -> Measurement:
    size = domain.width / math.sqrt(at_least) * _UP
    bound = SensitivityBound(
        size,
        size,
        "Δ = W/√m; m = at_least",
        "s = ‖Py‖/√(n−1) with the centring projection P. Replacing one value moves Py by at most "
        "W‖Pe‖ = W√((n−1)/n), so s by at most W/√n (triangle inequality). Adding y to n ≥ 2 values gives "
        "s′ ≤ √(s² + W²/(n+1)) ≤ s + W/√(n+1), and s − s′ ≤ s/n ≤ W/(2√(n(n−1))) ≤ W/√(n+1). Padding makes "
        "n ≥ m, and entering a padded group is a replacement. All are at most W/√m.",
    )
    return _padded(Kind.STD, where, bound, column, domain, at_least)


def _padded(
    kind: Kind, where: Filter, bound: SensitivityBound, column: str, domain: ValueGrid, at_least: int
) -> Measurement:
    """A quotient or a root, rounded down to a step of 2^-32 of its sensitivity.

    Rounding down keeps order and commutes with whole steps: numbers at most D steps apart stay at most D steps apart.
    """
    unit = Fraction(bound.swap) / 2**_FINE
    return Measurement(kind, where, bound, ((column, 0.0),), (domain,), at_least=at_least, unit=unit)


def quantile(where: Filter, column: str, domain: ValueGrid, q: float, cells: int) -> Measurement:
    """Chosen by the exponential mechanism (Nunes 2024 has no quantiles; ours): see `value_grid` for its utility."""
    level = exact_level(q)
    bound = SensitivityBound(
        float_up(max(level, 1 - level)),
        1.0,
        "Δu = max(q, 1 − q) on entering or leaving, 1 on a change",
        "A candidate is a set of values from a to b, and u = −max(#{y < a} − q·n, q·n − #{y ≤ b}, 0). A new record "
        "changes the first difference by −q or 1 − q and the second by q or q − 1; a change of value changes each "
        "number by at most 1. One ε-DP draw picks a set with probability ∝ exp(ε·u/(2Δu)).",
    )
    return Measurement(Kind.QUANTILE, where, bound, ((column, 0.0),), (domain,), quantile=q, cells=cells)


def exact_level(quantile: float) -> Fraction:
    """q as an exact number, so that ranks are compared in whole numbers."""
    return Fraction(quantile).limit_denominator(10**6)


def _product_ends(terms: tuple[tuple[str, float], ...], domains: tuple[ValueGrid, ...]) -> tuple[int, int]:
    """The range of Π(x − centre) in (products of) half steps; a square of one column is not negative."""
    shifted = [
        (2 * domain.low - domain.half_steps(centre), 2 * domain.high - domain.half_steps(centre))
        for (_, centre), domain in zip(terms, domains, strict=True)
    ]
    if len(shifted) == 1:
        return shifted[0]
    (a, b), (c, d) = shifted
    if terms[0] == terms[1]:
        return 0 if a <= 0 <= b else min(a * a, b * b), max(a * a, b * b)
    corners = (a * c, a * d, b * c, b * d)
    return min(corners), max(corners)
