"""One noisy number: what is computed on the records, and how far one record can move it."""

from __future__ import annotations

from dataclasses import dataclass

from coterie.statistics.filters import Filter
from coterie.statistics.names import filter_text, number_text
from coterie.statistics.ranges import Range
from coterie.statistics.sensitivity import (
    Kind,
    SensitivityBound,
    count_bound,
    mean_bound,
    rank_bound,
    std_bound,
    sum_bound,
    variance_bound,
)


@dataclass(frozen=True, slots=True)
class Measurement:
    """`terms` are (column, centre): a sum adds up Π(x − centre); the other kinds use one column."""

    kind: Kind
    where: Filter
    bound: SensitivityBound
    terms: tuple[tuple[str, float], ...] = ()
    domains: tuple[Range, ...] = ()
    indicator: Filter | None = None  # MEAN of an indicator: a proportion
    at_least: int = 1
    quantile: float = 0.5
    candidates: int = 1024

    @property
    def name(self) -> str:
        """Unique: measurements of different content have different names. Readable in a plan."""
        if self.kind is Kind.COUNT:
            return f"count | {self.where}"
        if self.indicator is not None:
            what = f"[{self.indicator}]"
        else:
            parts = [_term(column, centre) for column, centre in self.terms]
            squared = len(parts) == 2 and parts[0] == parts[1]
            what = f"{parts[0]}²" if squared else "·".join(parts)
        detail = ""
        if self.kind is Kind.QUANTILE:
            detail = f" q={number_text(self.quantile)}"
            detail += f" candidates={self.candidates}" if self.candidates != 1024 else ""
        padded = f" m={self.at_least}" if self.kind in (Kind.MEAN, Kind.VARIANCE, Kind.STD) else ""
        return f"{self.kind.value}({what}{detail}{padded} | {self.where})"


def _term(column: str, centre: float) -> str:
    named = filter_text(column)
    return f"({named} − {number_text(centre)})" if centre else named


def count(where: Filter) -> Measurement:
    return Measurement(Kind.COUNT, where, count_bound())


def total(where: Filter, terms: tuple[tuple[str, float], ...], domains: tuple[Range, ...]) -> Measurement:
    """Σ Π(x − centre) over the group."""
    return Measurement(Kind.SUM, where, sum_bound(product_range(terms, domains)), terms, domains)


def mean(where: Filter, column: str, domain: Range, at_least: int) -> Measurement:
    bound = mean_bound(domain, at_least)
    return Measurement(Kind.MEAN, where, bound, ((column, 0.0),), (domain,), at_least=at_least)


def share(where: Filter, indicator: Filter, at_least: int) -> Measurement:
    bound = mean_bound(Range(0.0, 1.0), at_least)
    return Measurement(
        Kind.MEAN, where, bound, domains=(Range(0.0, 1.0),), indicator=indicator, at_least=at_least
    )


def variance(where: Filter, column: str, domain: Range, at_least: int) -> Measurement:
    bound = variance_bound(domain, at_least)
    return Measurement(Kind.VARIANCE, where, bound, ((column, 0.0),), (domain,), at_least=at_least)


def std(where: Filter, column: str, domain: Range, at_least: int) -> Measurement:
    bound = std_bound(domain, at_least)
    return Measurement(Kind.STD, where, bound, ((column, 0.0),), (domain,), at_least=at_least)


def quantile(where: Filter, column: str, domain: Range, q: float, candidates: int) -> Measurement:
    return Measurement(
        Kind.QUANTILE,
        where,
        rank_bound(q),
        ((column, 0.0),),
        (domain,),
        quantile=q,
        candidates=candidates,
    )


def product_range(terms: tuple[tuple[str, float], ...], domains: tuple[Range, ...]) -> Range:
    """The range of Π(x − centre); a square of one column is not negative."""
    shifted = [
        Range(domain.lower - centre, domain.upper - centre)
        for (_, centre), domain in zip(terms, domains, strict=True)
    ]
    if len(shifted) == 1:
        return shifted[0]
    if terms[0] == terms[1]:
        ends = [shifted[0].lower ** 2, shifted[0].upper ** 2]
        return Range(0.0 if 0.0 in shifted[0] else min(ends), max(ends))
    corners = [
        a * b for a in (shifted[0].lower, shifted[0].upper) for b in (shifted[1].lower, shifted[1].upper)
    ]
    return Range(min(corners), max(corners))
