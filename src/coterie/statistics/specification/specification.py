"""What the publisher wants to publish: statistics, the equations analysts will compute, and the budget.

All of it is public. Nothing here was taken from the data unless the publisher says so in `expected_from`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from typing import Any

from coterie.errors import ParameterError, counted, nearest
from coterie.promise.loss import rho_for
from coterie.schema.attributes import Schema
from coterie.schema.exact import as_text
from coterie.statistics.specification.calculus import Range
from coterie.statistics.specification.equations import Expression
from coterie.statistics.specification.filters import EVERYONE, Filter
from coterie.statistics.specification.shape import ValueShape


class StatisticKind(StrEnum):
    COUNT = "count"
    SUM = "sum"
    MEAN = "mean"
    VARIANCE = "variance"
    STD = "std"
    PROPORTION = "proportion"
    MEDIAN = "median"
    QUANTILE = "quantile"
    HISTOGRAM = "histogram"  # becomes one count per bin when it is read


class Route(StrEnum):
    """How a mean, variance, standard deviation, proportion or sum is measured."""

    AUTO = "auto"
    DIRECT = "direct"  # noise on the statistic itself
    SUMS = "sums"  # noise on n, Σ(y−c), Σ(y−c)², and the statistic derived from them


class RelativeTo(StrEnum):
    """What an error is divided by before errors are averaged into the score (Nunes 2024, end of §5.3)."""

    SCALE = "scale"  # the tolerance, else the expected size, else the width of the domain
    SENSITIVITY = "sensitivity"
    NOTHING = "nothing"  # as Nunes 2024 evaluates its own scenario


class Neighbours(StrEnum):
    REPLACE_ONE = "replace-one"
    ADD_REMOVE = "add-remove"
    EXCHANGE = "exchange"  # replaced by any other, or by none: of a privacy unit

    @property
    def size_is_public(self) -> bool:
        """Whether all neighbours have the same number of records."""
        return self is Neighbours.REPLACE_ONE


class ErrorSummary(StrEnum):
    """Which figure of an error is made small, and compared with a tolerance."""

    MEAN = "mean"
    MEDIAN = "median"
    P95 = "p95"

    @property
    def probability(self) -> float | None:
        return {ErrorSummary.MEDIAN: 0.5, ErrorSummary.P95: 0.95}.get(self)


class Notion(StrEnum):
    PURE = "pure"
    ZCDP = "zcdp"
    APPROXIMATE = "approximate"


@dataclass(frozen=True, slots=True)
class PrivacyBudget:
    """ε, or ρ, or (ε, δ): exact numbers."""

    epsilon: Fraction | None = None
    rho: Fraction | None = None
    delta: Fraction | None = None

    @property
    def notion(self) -> Notion:
        if self.rho is not None:
            return Notion.ZCDP
        return Notion.PURE if self.delta is None else Notion.APPROXIMATE

    @property
    def currency(self) -> str:
        """What parts are counted in: ε for pure DP with Laplace noise, ρ for Gaussian noise."""
        return "ε" if self.notion is Notion.PURE else "ρ"

    @property
    def total(self) -> Fraction:
        """What may be split, in the currency: ε, ρ, or the largest ρ whose zCDP guarantee implies (ε, δ)."""
        given = self.epsilon if self.rho is None else self.rho
        assert given is not None
        if self.delta is None:
            return given
        return Fraction(str(rho_for(float(given), float(self.delta))))

    def __str__(self) -> str:
        if self.rho is not None:
            return f"ρ = {as_text(self.rho)}"
        epsilon = f"ε = {as_text(self.epsilon or Fraction(0))}"
        return epsilon if self.delta is None else f"({epsilon}, δ = {as_text(self.delta)})"


@dataclass(frozen=True, slots=True)
class About:
    """What is expected of a statistic's group and column beside the statistic itself."""

    size: float | None = None
    mean: float | None = None
    std: float | None = None


@dataclass(frozen=True, slots=True)
class Statistic:
    name: str
    kind: StatisticKind
    columns: tuple[str, ...] = ()
    where: Filter = EVERYONE
    that: Filter | None = None  # proportion: which of the group count
    at_least: int | None = None  # public lower bound of the group's size
    quantile: float = 0.5
    about: About = About()
    shape: ValueShape | None = None  # quantile: how values are expected to lie around it
    candidates: int = 1024  # quantile: the public grid
    expected: float | None = None
    possible: Range | None = None  # the range the expected value may lie in
    weight: float = 1.0
    tolerance: float | None = None
    summary: ErrorSummary = ErrorSummary.MEAN
    route: Route = Route.AUTO

    @property
    def counted(self) -> Filter:
        """The records that count: of a proportion, those of the group that `that` chooses."""
        return self.where & (self.that or EVERYONE)


@dataclass(frozen=True, slots=True)
class Equation:
    name: str
    formula: str
    expression: Expression
    weight: float = 1.0
    tolerance: float | None = None
    summary: ErrorSummary = ErrorSummary.MEAN
    guard: float | None = None  # how far from zero a divisor is kept


@dataclass(frozen=True, slots=True)
class Total:
    """`parts` add up to `whole` (a statistic), or to the public number of records."""

    parts: tuple[str, ...]
    whole: str | None


@dataclass(frozen=True, repr=False)
class Specification:
    """What goes out, what analysts will compute from it, and the budget. `read_specification` makes one.

    Attributes
    ----------
    release, population : str
        Names of the release and of the people it is about.
    schema : Schema
        What is public about the columns.
    neighbours : str
        Which tables count as neighbours: replace-one, add-remove or exchange.
    budget : PrivacyBudget
        The whole ε, with δ where there is one.
    statistics, equations : tuple
        What is published, and what people compute from it. `specification["average"]` is one statistic.
    records : int or None
        How many records there are, or are planned for.

    Examples
    --------
    >>> import coterie
    >>> specification = {
    ...     "release": "wages",
    ...     "population": "people",
    ...     "schema": {
    ...         "attributes": {"wage": {"role": "protect", "domain": {"lower": 0, "upper": 100}}}
    ...     },
    ...     "records": 1000,
    ...     "neighbours": "replace-one",
    ...     "budget": {"epsilon": 1},
    ...     "statistics": {"average": {"kind": "mean", "of": "wage", "expected": 20}},
    ... }
    >>> coterie.statistics.read_specification(specification)
    <Specification of wages: ε = 1, 1 statistic, 0 equations; population people>
    """

    release: str
    population: str
    schema: Schema
    neighbours: Neighbours
    budget: PrivacyBudget
    statistics: tuple[Statistic, ...]
    equations: tuple[Equation, ...] = ()
    records: int | None = (
        None  # exact where the neighbours make it public; else for planning only: see `size`
    )
    floor: Fraction = Fraction(0)
    fairness: float | None = None  # no error above so many times its own optimum
    relative_to: RelativeTo = RelativeTo.SCALE
    disjoint: tuple[tuple[Filter, ...], ...] = ()
    totals: tuple[Total, ...] = ()
    pilot: Fraction = Fraction(0)
    expected_from: str = "the publisher's expectation"
    samples: tuple[str, ...] = ()  # digests of the public samples that shapes were taken from
    document: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def __repr__(self) -> str:
        asked = f"{counted(len(self.statistics), 'statistic')}, {counted(len(self.equations), 'equation')}"
        return f"<Specification of {self.release}: {self.budget}, {asked}; population {self.population}>"

    def __getitem__(self, name: str) -> Statistic:
        if name not in self._named:
            raise ParameterError(f"There is no statistic '{name}'.", nearest(name, list(self._named)))
        return self._named[name]

    @cached_property
    def _named(self) -> Mapping[str, Statistic]:
        return {statistic.name: statistic for statistic in self.statistics}

    @property
    def filters(self) -> list[Filter]:
        """Every filter that is evaluated on the records, once."""
        found = [f for s in self.statistics for f in (s.where, s.counted)]
        return list(dict.fromkeys([*found, *(f for group in self.disjoint for f in group)]))

    @property
    def added_up(self) -> frozenset[str]:
        """The columns that statistics are computed from."""
        return frozenset(column for s in self.statistics for column in s.columns)

    @property
    def columns(self) -> frozenset[str]:
        """Every column that is measured or filtered by."""
        return self.added_up | {column for chosen in self.filters for column, _ in chosen.conditions}

    def range_of(self, column: str) -> Range:
        """The declared bounds of a column of numbers."""
        bounds = self.schema[column].bounds()
        return Range(bounds.lower, bounds.upper)

    @property
    def rows_per_unit(self) -> int:
        """How many records one privacy unit counts with, at most."""
        return 1 if self.schema.unit is None else self.schema.unit.at_most

    @property
    def size(self) -> int | None:
        """The number of records, where it is public. Elsewhere `records` is a figure for planning only."""
        return self.records if self.neighbours.size_is_public else None

    @property
    def digest(self) -> str:
        """Names this specification: the same text means the same plan."""
        content: dict[str, Any] = {"specification": self.document, "schema": self.schema.to_dict()}
        if self.samples:
            content["samples"] = self.samples  # the document names files; this names what was in them
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), default=str)
        return hashlib.sha256(text.encode()).hexdigest()
