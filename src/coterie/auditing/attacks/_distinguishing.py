"""Telling two neighbouring tables apart: neighbours, what an attacker observes, and events."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from coterie.auditing.attacks.evidence import MethodEvidence
from coterie.auditing.attacks.finding import area_under_curve, epsilon_lower_bound
from coterie.schema.arrays import Flags, Floats, Words
from coterie.schema.attributes import Schema
from coterie.table.checked import check
from coterie.table.columns.column import CategoryColumn, NumericColumn
from coterie.table.units import unit_labels

# Events that tell two neighbours apart: made and chosen on one half of the runs, tested on the other.
#
# A run is seen as numbers rounded to a public grid (so that no event can rest on a last bit) and as patterns of ties. From
# the first half a likelihood-ratio score is made for each view, as if its numbers were independent. It need not be right: a
# poor score only makes the bound smaller.

Score = Callable[[Floats], Floats]
_BINS = 8
_USE_ALL = 32  # a view of so few numbers is used whole; of a larger one only the numbers that differ visibly
_ODD = 1e-3  # error rate at which an unrelated number may look different


@dataclass(frozen=True, slots=True)
class Runs:
    """What was seen in repeated runs on one table."""

    views: dict[str, Floats]  # rounded numbers
    patterns: dict[str, Words]  # one code per run

    def part(self, half: slice) -> Runs:
        return Runs(
            {name: view[half] for name, view in self.views.items()},
            {name: codes[half] for name, codes in self.patterns.items()},
        )

    @property
    def count(self) -> int:
        return len(next(iter(self.patterns.values())))


@dataclass(frozen=True, slots=True)
class Event:
    story: str
    reverse: bool  # likelier on the second table
    holds: Callable[[Runs], Flags]

    def counts(self, first: Runs, second: Runs) -> tuple[int, int, int, int]:
        return _counts(self.holds(first), self.holds(second), reverse=self.reverse)


def best_event(first: Runs, second: Runs) -> Event:
    """The event with the largest bound on these runs, which must not be the ones it is tested on.

    Scores are made on the even runs and compared on the odd ones, because a score of many numbers would overfit.
    """
    made, chosen = slice(0, None, 2), slice(1, None, 2)
    fit, rest = (first.part(made), second.part(made)), (first.part(chosen), second.part(chosen))
    return max(_events(*fit, *rest), key=lambda found: found[0])[1]


def separation(first: Runs, second: Runs) -> float:
    """How well the best view tells the tables apart, 0.5 to 1: to compare neighbours after only a few runs."""
    half, rest = slice(0, None, 2), slice(1, None, 2)
    best = 0.5
    for name, view in first.views.items():
        score = likelihood_ratio(view[half], second.views[name][half])
        area = area_under_curve(score(view[rest]), score(second.views[name][rest])).value
        best = max(best, area, 1 - area)
    for name, codes in first.patterns.items():
        common = codes[0]
        best = max(
            best, 0.5 + abs(float(np.mean(codes == common) - np.mean(second.patterns[name] == common))) / 2
        )
    return best


def _counts(first: Flags, second: Flags, *, reverse: bool) -> tuple[int, int, int, int]:
    """Hits and runs on the table that is said to be likelier, then on the other."""
    likelier, other = (second, first) if reverse else (first, second)
    return int(likelier.sum()), len(likelier), int(other.sum()), len(other)


def _events(fit: Runs, fit2: Runs, first: Runs, second: Runs) -> Iterator[tuple[float, Event]]:
    """Events made on `fit`, each with its bound on the other runs."""
    for name in fit.patterns:
        for codes in (fit.patterns[name], fit2.patterns[name]):
            found, counts = np.unique(codes, return_counts=True)
            shown = partial(_shows, name, found[np.argmax(counts)])
            for reverse in (False, True):
                event = Event(f"{name}: one pattern", reverse, shown)
                yield epsilon_lower_bound(*event.counts(first, second)), event
    for name in fit.views:
        score = likelihood_ratio(fit.views[name], fit2.views[name])
        left, right = score(first.views[name]), score(second.views[name])
        for threshold in np.unique(np.quantile(np.concatenate([left, right]), np.linspace(0.02, 0.98, 49))):
            for side, reverse, beyond in (("above", False, np.greater), ("below", True, np.less)):
                scored = partial(_scores, name, score, beyond, threshold)
                event = Event(f"{name}: likelihood ratio {side} a threshold", reverse, scored)
                both = _counts(beyond(left, threshold), beyond(right, threshold), reverse=reverse)
                yield epsilon_lower_bound(*both), event


def _shows(name: str, code: np.uint64, runs: Runs) -> Flags:
    return np.asarray(runs.patterns[name] == code)


def _scores(name: str, score: Score, beyond: np.ufunc, threshold: float, runs: Runs) -> Flags:
    return np.asarray(beyond(score(runs.views[name]), threshold))


def likelihood_ratio(first: Floats, second: Floats) -> Score:
    """Σ log(p/p′) over binned numbers. It serves noise of any shape, clipped ends, and labels."""
    # Rows that share a draw show the same column: it counts once.
    _, distinct = np.unique(np.concatenate([first, second]), axis=1, return_index=True)
    chosen: list[tuple[int, Floats, Floats]] = []
    for column in distinct.tolist():
        pooled = np.concatenate([first[:, column], second[:, column]])
        edges = np.unique(np.quantile(pooled, np.linspace(0, 1, _BINS + 1)))
        # A point that many runs hit is a bin of its own: both sides of every edge.
        edges = np.unique(np.concatenate([edges, np.nextafter(edges, np.inf)]))
        left, right = _histogram(first[:, column], edges), _histogram(second[:, column], edges)
        if len(distinct) <= _USE_ALL or _visible(left, right):
            weights = np.log((left + 0.5) / left.sum()) - np.log((right + 0.5) / right.sum())
            chosen.append((column, edges, weights))

    def score(runs: Floats) -> Floats:
        total = np.zeros(len(runs))
        for column, edges, weights in chosen:
            total += weights[np.searchsorted(edges, runs[:, column], side="right")]
        return total

    return score


def _histogram(values: Floats, edges: Floats) -> Floats:
    places = np.searchsorted(edges, values, side="right")
    return np.bincount(places, minlength=len(edges) + 1).astype(np.float64)


def _visible(left: Floats, right: Floats) -> bool:
    """The G-test: could the two histograms be of one distribution?"""
    from scipy.special import chdtri  # here: commands that only show risks start without it

    total = left + right
    used = total > 0
    if used.sum() < 2:
        return False
    g = 0.0
    for side in (left[used], right[used]):
        expected = total[used] * side.sum() / total.sum()
        seen = side > 0
        g += 2 * float(np.sum(side[seen] * np.log(side[seen] / expected[seen])))
    return g > float(chdtri(used.sum() - 1, _ODD))


# Released tables as an attacker on ε sees them: numbers on a public grid, and patterns of ties.

_GRID = 1000  # cells that a domain is rounded to
_PLACES = 64  # of an ordered column whose length is noisy
_MOST_PAIRS = 10  # pairs of attributes whose joint ties are counted
Groups = NDArray[np.intp]


def observe(tables: Iterable[pa.Table], schema: Schema, changed: NDArray[np.intp] | None) -> Runs:
    """All runs. `changed` holds the places of the records that differ; None for shuffled rows, never seen in order."""
    narrowed = schema.model_copy(update={"attributes": schema.protected})
    names = [attribute.name for attribute in schema.protected]
    shown = [_views(_cells(table.select(names), narrowed), schema, changed) for table in tables]
    views, patterns = shown[0]
    return Runs(
        {name: np.array([found[name] for found, _ in shown]) for name in views},
        {name: np.array([found[name] for _, found in shown], dtype=np.uint64) for name in patterns},
    )


def _views(
    cells: Floats, schema: Schema, changed: NDArray[np.intp] | None
) -> tuple[dict[str, Floats], dict[str, np.uint64]]:
    """One released table as rounded numbers, and as codes of patterns."""
    rounded = np.rint(cells * _GRID) / _GRID
    groups = np.column_stack([np.unique(column, return_inverse=True)[1] for column in cells.T])
    joint = _crossings(groups)
    ordered = np.sort(rounded, axis=0)
    if schema.unit is not None:  # releases differ in length, and are compared at even places
        ordered = ordered[(2 * np.arange(_PLACES) + 1) * len(rounded) // (2 * _PLACES)]
    sizes = [*groups.max(axis=0), *(len(counted) for counted in joint), len(rounded)]
    views = {"sorted values": ordered.ravel(), "numbers of ties": np.array(sizes, dtype=np.float64)}
    patterns = {
        "how ties of two attributes cross": _code(np.concatenate([np.sort(counted) for counted in joint]))
    }
    if changed is not None:
        views |= {"values in row order": rounded.ravel(), "the changed record": rounded[changed].ravel()}
        by_row = [_by_appearance(column) for column in groups.T]
        patterns["which rows share values"] = _code(np.column_stack(by_row))
    return views, patterns


def changed_records(first: pa.Table, second: pa.Table, schema: Schema) -> NDArray[np.intp]:
    """Where two tables of one length differ."""
    different = np.zeros(first.num_rows, dtype=np.bool_)
    for attribute in schema.protected:
        left, right = first.column(attribute.name).to_pylist(), second.column(attribute.name).to_pylist()
        different |= np.array([a != b for a, b in zip(left, right, strict=True)], dtype=np.bool_)
    return np.flatnonzero(different)


def _cells(table: pa.Table, schema: Schema) -> Floats:
    """Rows × attributes, every domain scaled to 0 … 1."""
    columns = []
    for column in check(table, schema).columns.values():
        if isinstance(column, CategoryColumn):
            columns.append(column.position / max(len(column.order) - 1, 1))
        else:
            columns.append((column.values - column.domain.lower) / float(column.domain.width))
    return np.column_stack(columns)


def _crossings(groups: Groups) -> list[Groups]:
    """Count, for pairs of attributes, the rows that share a value in both: neither noise nor shuffling changes it."""
    pairs = list(combinations(range(groups.shape[1]), 2))[:_MOST_PAIRS] or [(0, 0)]
    found = []
    for left, right in pairs:
        joint = groups[:, left] * (groups[:, right].max() + 1) + groups[:, right]
        found.append(np.unique(joint, return_counts=True)[1])
    return found


def _by_appearance(groups: Groups) -> Groups:
    """Groups numbered by their first row: a pattern that does not depend on the values."""
    _, first, which = np.unique(groups, return_index=True, return_inverse=True)
    return np.asarray(first[which])


def _code(pattern: Groups) -> np.uint64:
    digest = hashlib.blake2b(np.ascontiguousarray(pattern).tobytes(), digest_size=8).digest()
    return np.uint64(int.from_bytes(digest, "little"))


# Neighbouring tables for the empirical ε: the same people but for one, who becomes as different as the domain allows.

Pair = tuple[pa.Table, pa.Table]
_MOST_PEOPLE = 200
_GROUPS = 10  # so many groups are enough for one record to move several


def candidate_neighbours(evidence: MethodEvidence) -> Iterator[tuple[str, Pair]]:
    """Two made-up tables, and a small part of the population in which one record moves across the domain.

    Small, because one record weighs most among few, and because the method must run thousands of times.
    """
    if evidence.schema.unit is not None:
        yield from _exchanged_units(evidence)
        return
    yield "all records alike in every attribute, but for one", _aligned(evidence)
    draws = evidence.draws("neighbours")
    people, k = evidence.population, evidence.k or 1
    size = min(people.num_rows, max(_GROUPS * k, 20), max(_MOST_PEOPLE, 2 * k))
    table = people.take(pa.array(np.sort(draws.choice(people.num_rows, size, replace=False))))
    ends = len(evidence.schema.protected)
    position = check(table, evidence.schema).columns[evidence.schema.protected[0].name].position
    for story, place, end in (
        ("smallest record to the top of the domain", int(np.argmin(position)), 1.0),
        ("largest record to the bottom of the domain", int(np.argmax(position)), 0.0),
    ):
        yield story, (table, _placed(table, evidence, [place], [[end]] * ends))
    bottom, top = (_placed(table, evidence, [size // 2], [[end]] * ends) for end in (0.0, 1.0))
    yield "one record at the bottom or the top of the domain", (bottom, top)


def _exchanged_units(evidence: MethodEvidence) -> Iterator[tuple[str, Pair]]:
    """A unit of equal rows at one end of the domain, exchanged for one at the other end, or for none."""
    schema, people = evidence.schema, evidence.population
    assert schema.unit is not None
    _, of_row = unit_labels(people, schema)
    most = min(_MOST_PEOPLE, people.num_rows) - 1
    # The unit of the last row is the one that changes: the others are those of the first rows.
    others = people.slice(0, most).filter(pa.array(of_row[:most] != of_row[-1]))
    unit = people.take(pa.array([people.num_rows - 1] * schema.unit.at_most))
    places, ends = range(unit.num_rows), len(schema.protected)
    bottom, top = (_placed(unit, evidence, places, [[end] * unit.num_rows] * ends) for end in (0.0, 1.0))
    with_bottom, with_top = (pa.concat_tables([others, _cast(one, others)]) for one in (bottom, top))
    yield "a unit of equal rows at the bottom or the top of the domain", (with_bottom, with_top)
    yield "a unit of equal rows at the top of the domain, or no such unit", (others, with_top)


def _cast(table: pa.Table, like: pa.Table) -> pa.Table:
    return table.select(like.column_names).cast(like.schema)


def _aligned(evidence: MethodEvidence) -> Pair:
    """Records at equal distances along every domain; then the lowest is at the top of the first attribute only.

    Groups of two attributes coincide in the first table and cross in the second: shuffling does not hide that.
    """
    size, ends = max(2 * (evidence.k or 1), 4), len(evidence.schema.protected)
    table = evidence.population.take(pa.array(np.arange(size) % evidence.population.num_rows))
    spread = np.linspace(0, 1, size).tolist()
    table = _placed(table, evidence, range(size), [spread] * ends)
    return table, _placed(table, evidence, [0], [[1.0], *([[0.0]] * (ends - 1))])


def _placed(
    table: pa.Table, evidence: MethodEvidence, places: Sequence[int], at: Sequence[Sequence[float]]
) -> pa.Table:
    """The records at `places` moved, in each protected attribute, to shares 0 … 1 of the way through its domain."""
    checked = check(table, evidence.schema)
    wanted = dict(zip((a.name for a in evidence.schema.protected), at, strict=True))
    columns = {}
    for name in table.column_names:
        column = table.column(name)
        if name in wanted:
            if pa.types.is_dictionary(column.type):
                column = column.cast(column.type.value_type)
            moved = _values(checked.columns[name], np.array(wanted[name])).cast(column.type, safe=False)
            chosen = np.zeros(table.num_rows, dtype=np.bool_)
            chosen[list(places)] = True
            column = pc.replace_with_mask(column.combine_chunks(), pa.array(chosen), moved)
        columns[name] = column
    return pa.table(columns)


def _values(column: NumericColumn | CategoryColumn, shares: Floats) -> pa.Array:
    if isinstance(column, CategoryColumn):
        return column.restore(column.order[np.rint(shares * (len(column.order) - 1)).astype(np.intp)])
    values = column.domain.lower + shares * (column.domain.upper - column.domain.lower)
    if column.step is not None:
        values = np.rint(values / column.step) * column.step
    return column.restore(np.clip(values, *column.limits))
