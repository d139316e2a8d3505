"""What the publisher wants to publish: statistics, the equations analysts will compute, and the budget.

All of it is public. Nothing here was taken from the data unless the publisher says so in `expected_from`."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import yaml

from coterie.errors import ParameterError, counted, nearest
from coterie.promise.loss import rho_for
from coterie.schema.attributes import Schema
from coterie.schema.exact import as_text
from coterie.statistics.prediction.value_grid import ValueGrid
from coterie.statistics.specification.asked_values import number_of_values
from coterie.statistics.specification.calculus import Range
from coterie.statistics.specification.equations import Expression
from coterie.statistics.specification.filters import EVERYONE, Condition, Filter
from coterie.statistics.specification.shape import ValueShape

if TYPE_CHECKING:
    from coterie.statistics.specification.large_table import LargeTable


Given = ParamSpec("Given")
Found = TypeVar("Found")
OfSpecification = Callable[Concatenate["Specification", Given], Found]


def once(function: OfSpecification[Given, Found]) -> OfSpecification[Given, Found]:
    """What it finds is remembered with the specification: each design of a plan asks for the same."""

    @wraps(function)
    def known(specification: Specification, /, *given: Given.args, **named: Given.kwargs) -> Found:
        asked = function.__name__, given
        if asked not in specification.worked_out:
            specification.worked_out[asked] = function(specification, *given, **named)
        found: Found = specification.worked_out[asked]
        return found

    return known


class StatisticKind(StrEnum):
    COUNT = "count"
    SUM = "sum"
    MEAN = "mean"
    TRIMMED_MEAN = "trimmed_mean"
    VARIANCE = "variance"
    STD = "std"
    COVARIANCE = "covariance"
    CORRELATION = "correlation"
    SLOPE = "slope"  # of the regression of the first column on the second
    INTERCEPT = "intercept"
    PROPORTION = "proportion"
    MEDIAN = "median"
    QUANTILE = "quantile"
    HISTOGRAM = "histogram"  # becomes one count per bin when it is read
    COUNT_DISTINCT = "count_distinct"
    KEYS = "counts by private keys"  # a count by a column whose values are found by the release
    TABLE = "counts of a large table"

    @property
    def of_two_columns(self) -> bool:
        """Covariances and what is made of them: derived from sums alone."""
        return self in (self.COVARIANCE, self.CORRELATION, self.SLOPE, self.INTERCEPT)

    @property
    def of_keys(self) -> bool:
        """Whether its column is looked at as values that are the same or not, not as numbers."""
        return self in (self.COUNT_DISTINCT, self.KEYS)

    @property
    def divides_by_spread(self) -> bool:
        return self in (self.CORRELATION, self.SLOPE, self.INTERCEPT)


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
    """ε, or ρ, or (ε, δ): exact numbers. Of δ, each count by private keys has `key_delta` for its threshold."""

    epsilon: Fraction | None = None
    rho: Fraction | None = None
    delta: Fraction | None = None
    key_delta: Fraction = Fraction(0)
    keys: int = 0  # how many such counts there are

    @property
    def notion(self) -> Notion:
        if self.rho is not None:
            return Notion.ZCDP
        return Notion.PURE if self.delta is None else Notion.APPROXIMATE

    @property
    def zcdp(self) -> bool:
        """Whether noise is Gaussian and parts are counted in ρ; else it is Laplace noise, and they are in ε."""
        return self.notion is not Notion.PURE

    @property
    def currency(self) -> str:
        return "ρ" if self.zcdp else "ε"

    @property
    def total(self) -> Fraction:
        """What may be split, in the currency: ε, ρ, or the largest ρ whose zCDP guarantee implies (ε, δ)."""
        given = self.epsilon if self.rho is None else self.rho
        assert given is not None
        if self.delta is None:
            return given
        return Fraction(str(rho_for(float(given), float(self.noise_delta))))

    @property
    def noise_delta(self) -> Fraction:
        """What thresholds leave of δ: the noise of all measurements together has this."""
        assert self.delta is not None
        return self.delta - self.keys * self.key_delta

    def __str__(self) -> str:
        if self.rho is not None:
            return f"ρ = {as_text(self.rho)}"
        epsilon = f"ε = {as_text(self.epsilon or Fraction(0))}"
        return epsilon if self.delta is None else f"({epsilon}, δ = {as_text(self.delta)})"


@dataclass(frozen=True, slots=True)
class About:
    """What is expected of a statistic's group and columns beside the statistic itself; None: nobody said."""

    size: float | None = None
    means: tuple[float | None, ...] = ()  # of each column
    stds: tuple[float | None, ...] = ()


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
    least_stds: tuple[float, ...] = ()  # of the columns that a slope or correlation divides by
    trim: float = 0.1  # trimmed mean: the part that is left out at each end
    at_most: int | None = None  # count_distinct: a public bound
    table: LargeTable | None = None
    group: tuple[tuple[str, str], ...] = ()  # the columns of `by`, each with its value; "all" in a total
    weighted_by: str = ""  # the column of weights; a weighted count is a sum of them

    @property
    def derived(self) -> bool:
        """Whether it is computed from sums in every case."""
        return self.kind.of_two_columns or (bool(self.weighted_by) and self.kind is not StatisticKind.SUM)

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


class _Plain(yaml.SafeDumper):
    """Writes in full what occurs twice, without anchors and aliases."""

    def ignore_aliases(self, data: object) -> bool:
        return True


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
    >>> coterie.statistics.from_sql("SELECT AVG(rent) FROM people", coterie.demo_schema())
    <Specification of statistics: ε = 1, 1 statistic, 0 equations; population people>
    """

    release: str
    population: str
    schema: Schema
    neighbours: Neighbours
    budget: PrivacyBudget
    statistics: tuple[Statistic, ...]
    equations: tuple[Equation, ...] = ()
    records: int | None = None  # exact where the neighbours make it public; else for planning only
    floor: Fraction = Fraction(0)
    fairness: float | None = None  # no error above so many times its own optimum
    relative_to: RelativeTo = RelativeTo.SCALE
    disjoint: tuple[tuple[Filter, ...], ...] = ()
    complete: tuple[
        tuple[Filter, tuple[Filter, ...]], ...
    ] = ()  # whoever is in the first is in one of the others
    pilot: Fraction = Fraction(0)
    expected_from: str = "the publisher's expectation"
    mean_weight: float | None = None  # a public guess, for planning
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

    def to_yaml(self, beside: str | Path | None = None, notes: Iterable[str] = ()) -> str:
        """The specification as a file would hold it.

        Parameters
        ----------
        beside : str or Path, optional
            Where the file will lie: a schema's file is then named as seen from there.
        notes : iterable of str
            Sentences that stand above it as comments.
        """
        document = dict(self.document)
        if beside is not None and isinstance(document.get("schema"), str):
            document["schema"] = os.path.relpath(document["schema"], Path(beside).resolve().parent)
        comments = "".join(f"# {words}.\n" for words in notes)
        body = yaml.dump(
            document, Dumper=_Plain, sort_keys=False, allow_unicode=True, default_flow_style=None, width=110
        )
        return comments + str(body)

    @property
    def filters(self) -> list[Filter]:
        """Every filter that is evaluated on the records, once."""
        found = [f for s in self.statistics for f in (s.where, s.counted)]
        found += [f for group in self.disjoint for f in group]
        return list(dict.fromkeys([*found, *(f for base, parts in self.complete for f in (base, *parts))]))

    @property
    def conditions(self) -> Iterator[tuple[str, Condition]]:
        """What filters and large tables ask of columns."""
        for chosen in self.filters:
            yield from chosen.conditions
        for table in (s.table for s in self.statistics if s.table is not None):
            yield from ((axis.column, condition) for axis in table.axes for condition in axis.conditions)

    @property
    def added_up(self) -> frozenset[str]:
        """The columns of numbers that statistics are computed from."""
        numbers = [s for s in self.statistics if not s.kind.of_keys]
        return frozenset(c for s in numbers for c in (*s.columns, s.weighted_by) if c)

    @property
    def keyed(self) -> frozenset[str]:
        """The columns whose values are told apart."""
        return frozenset(c for s in self.statistics if s.kind.of_keys for c in s.columns)

    @property
    def columns(self) -> frozenset[str]:
        """Every column that is measured or filtered by."""
        return self.added_up | self.keyed | {column for column, _ in self.conditions}

    @cached_property
    def worked_out(self) -> dict[object, Any]:
        """See `once`."""
        return {}

    @once
    def grid_of(self, column: str) -> ValueGrid:
        """The public grid that the column's values are put on."""
        return ValueGrid.of_attribute(self.schema[column])

    @once
    def range_of(self, column: str) -> Range:
        """The declared bounds of a column of numbers."""
        bounds = self.schema[column].bounds()
        return Range(bounds.lower, bounds.upper)

    def most_values(self, statistic: Statistic) -> float:
        """The public bound of a number of distinct values."""
        column = self.schema[statistic.columns[0]]
        bounds = (statistic.at_most, number_of_values(column, self.schema))
        return min((float(bound) for bound in bounds if bound is not None), default=math.inf)

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
