"""Invented people through a method: what it would cost, and what it would promise for the table's own schema."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from coterie.comparison.invented import invented_people, trial_schema
from coterie.errors import ParameterError
from coterie.evaluation import get_measure
from coterie.evaluation.measure import Settings
from coterie.evaluation.pair import Pair, bring_together
from coterie.evaluation.tables import TableCells, cell_shares, cells_of, combinations_of
from coterie.methods import get_method
from coterie.methods.guarantee import Guarantee, Status
from coterie.promise.posterior import DP, likely_loss, most_sure, odds_in_words, share_in_words
from coterie.promise.terms import forecast
from coterie.publication.protect import protect
from coterie.schema.arrays import Floats
from coterie.schema.attributes import Role, Schema
from coterie.schema.exact import brief, number
from coterie.schema.frame_kind import to_kind

NOTHING_TO_LOSE = "none to speak of, so none to lose"
MOST_INVENTED = 20_000  # more records only make the figures better
_RUNS, _SEVERAL = 2, 12  # with so many columns one run is enough: figures are means over columns
_MOST_COLUMNS = 40  # of more, some are tried, at their part of the budget
_OF_TYPICAL = (0.5, 1.0, 1.5, 2.0, 3.0)  # candidates for at_most, in typical sizes
_BINS, _MOST_LABELS, _MOST_PAIRS = 8, 20, 200


@dataclass(frozen=True, slots=True)
class Accuracy:
    """What a release costs, measured on invented people. Shares are off by so many points 9 times in 10."""

    shares: float  # of one answer (numbers in eighths)
    cells: float  # of a cell of a two-way table
    one_way: float  # the distance of distributions
    averages: float  # of a number, in percent of its range
    distributions: str
    relations: str
    models: str


@dataclass(frozen=True, slots=True, repr=False)
class RecommendedRelease:
    """One way to release the table, and what it would cost: measured on invented people."""

    method: str
    status: str
    epsilon: str
    delta: str | None
    promise: str
    error: float
    words: str
    k: int | None
    accuracy: Accuracy

    def __repr__(self) -> str:
        return f"<RecommendedRelease {self.choice}: {self.status}, {self.words} ({number(self.error)})>"

    @property
    def choice(self) -> str:
        delta = "" if self.delta is None else f" and δ = {self.delta}"
        return f"{self.method} at ε = {self.epsilon}{delta}"


@dataclass(frozen=True, slots=True)
class PromiseStrength:
    """The recommended method at another ε: what somebody can become sure of, and what the rows would be worth."""

    epsilon: str
    at_most_sure: str  # who was 50 % sure before
    shares: float
    error: float
    words: str


@dataclass(frozen=True, slots=True, repr=False)
class Recommendation:
    """One release to publish, what comes next to it, and what not to publish."""

    purpose: str
    measure: str
    epsilon: str
    records: int
    invented: int
    best: RecommendedRelease
    runner_up: RecommendedRelease | None
    strengths: tuple[PromiseStrength, ...]
    at_most: int | None  # of the privacy unit: the one to write into the schema
    units: Mapping[int, float]  # what was tried for it, and the distance of two-way tables
    avoid: Mapping[str, str]  # methods, and why not
    notes: tuple[str, ...]
    command: str
    python: str

    def __repr__(self) -> str:
        return f"<Recommendation for {self.purpose}: {self.best.choice}, {self.best.words}>"

    def to_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        plain = {name: getattr(self, name) for name in self.__slots__}
        plain |= {name: plain[name] and asdict(plain[name]) for name in ("best", "runner_up")}
        plain["strengths"] = [asdict(one) for one in self.strengths]
        plain["units"] = {str(size): error for size, error in self.units.items()}
        return {**plain, "avoid": dict(self.avoid), "notes": list(self.notes)}

    def to_frame(self, kind: str = "arrow") -> Any:
        """The release to publish in the first row, and the one that comes next to it in the second."""
        releases = [self.best] if self.runner_up is None else [self.best, self.runner_up]
        rows = [{key: value for key, value in asdict(one).items() if key != "accuracy"} for one in releases]
        accuracies = [asdict(one.accuracy) for one in releases]
        return to_kind(
            pa.Table.from_pylist([row | more for row, more in zip(rows, accuracies, strict=True)]), kind
        )


@dataclass(frozen=True)
class Trial:
    """Invented people, and what a release of them is worth."""

    described: Schema
    records: int
    unit_size: float | None
    measure: str
    target: str | None
    schema: Schema
    people: pa.Table

    @classmethod
    def of(
        cls,
        described: Schema,
        records: int,
        unit_size: float | None,
        measure: str,
        target: str | None,
        at_most: int | None = None,
    ) -> Trial:
        """`at_most` takes the place of the unit's own."""
        if unit_size is not None and not 1 <= unit_size < 1000:
            raise ParameterError(
                "A unit has at least one row on average.", "Give for example 2.3 (--unit-size)."
            )
        if at_most is not None and described.unit is not None:
            unit = described.unit.model_copy(update={"at_most": at_most})
            described = described.model_copy(update={"unit": unit})
        schema = _some_columns(trial_schema(described), target)
        size = unit_size or (schema.unit.at_most if schema.unit is not None else 1)
        people = invented_people(schema, records, size)
        return cls(described, records, unit_size, measure, target, schema, people)

    def with_at_most(self, at_most: int) -> Trial:
        return Trial.of(self.described, self.records, self.unit_size, self.measure, self.target, at_most)

    @property
    def columns(self) -> tuple[int, int]:
        """How many are tried, and how many there are."""
        return len(self.schema.protected), len(trial_schema(self.described).protected)

    def pairs(self, method: str, epsilon: Fraction, delta: str | None, k: int | None) -> list[Pair]:
        recipe = get_method(method)
        target = self.target if recipe.whole_table is not None else None
        epsilon = _part(epsilon, delta, Fraction(*self.columns))
        found = []
        for seed in range(1, (_RUNS if self.columns[0] < _SEVERAL else 1) + 1):
            made = protect(
                self.people,
                self.schema,
                method=method,
                epsilon=epsilon if recipe.adds_noise else None,
                delta=delta,
                k=k,
                target=target,
                seed=seed,
            )
            found.append(bring_together(self.people, made.table, self.schema, shuffled=True))
        return found

    def judged(self, pairs: Sequence[Pair], measure: str) -> tuple[float, str]:
        """The mean over the runs, and the word for it."""
        value, luck = self.figures(pairs, measure)
        return value, NOTHING_TO_LOSE if math.isinf(value) else get_measure(measure).word(value, luck)

    def figures(self, pairs: Sequence[Pair], measure: str) -> tuple[float, float]:
        """The mean over the runs, and how much of it sampling alone explains."""
        known, settings = get_measure(measure), Settings(target=self.target)
        results = [known.compute(pair, settings) for pair in pairs]
        value = float(np.mean([math.inf if found.value is None else found.value for found in results]))
        return value, float(np.mean([found.details.get("by_sampling", 0.0) for found in results]))

    def try_units(self, epsilon: Fraction, unit_size: float) -> dict[int, float]:
        """Map each at_most to the distance of two-way tables, which sees both the noise and the rows that are left out."""
        sizes = sorted({max(1, round(unit_size * times)) for times in _OF_TYPICAL})
        trials = {size: self.with_at_most(size) for size in sizes}
        return {
            size: trial.judged(trial.pairs("dp-synthetic", epsilon, None, None), "two-way")[0]
            for size, trial in trials.items()
        }

    def released(
        self, method: str, epsilon: Fraction, delta: str | None, k: int | None, guarantee: Guarantee
    ) -> RecommendedRelease:
        pairs = self.pairs(method, epsilon, delta, k)
        found = {
            name: self.judged(pairs, name) for name in {self.measure, "one-way", "associations", "models"}
        }
        shares, cells, averages = (float(np.mean(one)) for one in zip(*map(_points, pairs), strict=True))
        words = (found[name][1] for name in ("one-way", "associations", "models"))
        return RecommendedRelease(
            method,
            guarantee.status.value,
            brief(epsilon),
            delta,
            odds_in_words(guarantee),
            *found[self.measure],
            k,
            Accuracy(shares, cells, found["one-way"][0], averages, *words),
        )

    def strengths(
        self, best: RecommendedRelease, epsilons: Sequence[Fraction]
    ) -> tuple[PromiseStrength, ...]:
        method = get_method(best.method)
        if not method.adds_noise:
            return ()
        found = []
        for epsilon in epsilons:
            guarantee = forecast(self.described, method, epsilon, best.k, delta=best.delta)
            if guarantee.model != DP or guarantee.status is not Status.PROVED:
                return ()
            sure = share_in_words(most_sure(likely_loss(guarantee)))
            if brief(epsilon) == best.epsilon:
                figures = best.accuracy.shares, best.error, best.words
            else:
                pairs = self.pairs(best.method, epsilon, best.delta, best.k)
                shares = float(np.mean([_points(pair)[0] for pair in pairs]))
                figures = shares, *self.judged(pairs, self.measure)
            found.append(PromiseStrength(brief(epsilon), sure, *figures))
        return tuple(found)


def _some_columns(schema: Schema, target: str | None) -> Schema:
    """Evenly spaced columns of a wide table: the error of a column depends on its part of the budget."""
    names = [attribute.name for attribute in schema.protected]
    if len(names) <= _MOST_COLUMNS:
        return schema
    chosen = {names[place * len(names) // _MOST_COLUMNS] for place in range(_MOST_COLUMNS)} | {target}
    kept = [a for a in schema.attributes if a.role is not Role.PROTECT or a.name in chosen]
    some = schema.model_copy(update={"attributes": tuple(kept)})
    some._folder = schema.folder
    return some


def _part(epsilon: Fraction, delta: str | None, share: Fraction) -> Fraction:
    """The ε at which the tried columns get what they would get among all: pro rata in ε, or with a δ in ρ."""
    if delta is None or share == 1:
        return epsilon * share
    tail = math.log(1 / Fraction(delta))  # ε = ρ + 2√(ρ·tail)
    root = (math.sqrt(tail + epsilon) - math.sqrt(tail)) * math.sqrt(share)
    return Fraction(round(1_000_000 * (root**2 + 2 * root * math.sqrt(tail))), 1_000_000)


def _points(pair: Pair) -> tuple[float, float, float]:
    """How far shares, cells and averages are off: 90 % quantiles, in points and in percent of a range."""
    cells = {
        name: cells_of(column, pair.released[name], _BINS, _MOST_LABELS)
        for name, column in pair.original.items()
    }
    single = [_apart([part]) for part in cells.values()]
    pairs = combinations_of(list(cells), 2, _MOST_PAIRS, 0) if len(cells) > 1 else ()
    double = [_apart([cells[name] for name in names]) for names in pairs]
    means = []
    for name in pair.numeric:
        domain, sides = pair.domain(name), (pair.before(name), pair.after(name))
        if domain.upper > domain.lower and not any(np.isnan(values).all() for values in sides):
            before, after = map(np.nanmean, sides)
            means.append(np.array([100 * abs(after - before) / (domain.upper - domain.lower)]))
    return _ninety_percent(single), _ninety_percent(double), _ninety_percent(means)


def _ninety_percent(found: Sequence[Floats]) -> float:
    return float(np.quantile(np.concatenate(found), 0.9)) if found else 0.0


def _apart(parts: Sequence[TableCells]) -> Floats:
    """How many percentage points the share of each cell is off, where it is not empty."""
    before, after = cell_shares(parts)
    return np.asarray(100 * np.abs(before - after)[(before + after) > 0])
