"""Columns cut into pieces in which no condition changes its answer, and the cells that filters make of several columns.

Because a filter is data, two filters can be compared: `reachable` lists which sets of filters one record can satisfy at
once, and that is what parallel composition rests on.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from coterie.schema.arrays import Flags, Floats, Whole
from coterie.statistics.specification.filters import Between, Condition, Filter, OneOf, Value

# Beyond this many kinds of record the exact account is given up for the safe one (all may overlap).
MOST_KINDS = 4096
MOST_CELLS = 1 << 20
Possible = frozenset[str] | tuple[float, float, bool]  # labels, or numbers between two ends (whether whole)


@dataclass(frozen=True, eq=False)
class Points:
    """Values of a column: each a text (None: any other) and a number (NaN: none). Without texts all are any other."""

    texts: Sequence[Value | None]
    numbers: Floats

    def __len__(self) -> int:
        return len(self.numbers)

    @cached_property
    def _places(self) -> Mapping[Value | None, list[int]]:
        found: dict[Value | None, list[int]] = {}
        for place, pair in enumerate(zip(self.texts, self.numbers.tolist(), strict=True)):
            for value in pair:
                found.setdefault(value, []).append(place)
        return found

    def accepted(self, condition: Condition) -> Flags:
        """Which points satisfy the condition."""
        if isinstance(condition, Between):
            return np.asarray((condition.start <= self.numbers) & (self.numbers < condition.below))
        found = np.zeros(len(self), dtype=np.bool_)
        for value in condition.values:
            found[self._places.get(value, [])] = True
        return found

    def patterns(self, conditions: Sequence[Condition]) -> list[tuple[bool, ...]]:
        """Which conditions each point satisfies."""
        rows = np.array([self.accepted(c) for c in conditions], dtype=np.bool_).reshape(-1, len(self))
        return list(map(tuple, rows.T.tolist()))


def representatives(conditions: Sequence[Condition], possible: Possible | None = None) -> Points:
    """A point of each piece into which conditions cut a column, of the possible ones alone.

    A cell of a CSV file is both a text and perhaps a number ("3" is text 3 and number 3), so where a column is asked for
    both, every text is tried with every number: safe, if sometimes too careful. A number may be declared as a mark of
    missing values. It is then listed, but lies in no range: these points come last.
    """
    words = sorted(_texts(conditions))
    texts: list[Value | None] = [None, *words]
    cuts = cuts_of(conditions)
    tried = np.sort(np.append(cuts, around(cuts))) if len(cuts) else cuts
    if isinstance(possible, tuple):
        lower, upper, whole = possible
        tried = np.concatenate([[lower, upper], tried])
        if whole:
            tried = np.concatenate([np.floor(tried), np.ceil(tried)])
        tried = np.unique(tried[(lower <= tried) & (tried <= upper)])
        # A text that is asked for may be a date, which is a number too: what it means is not known here.
        return Points([text for text in texts for _ in tried], np.tile(tried, len(texts)))
    if possible is not None and possible <= set(words):
        texts = [*words]
    numbers = np.append(np.nan, tried)
    marks: list[Value | None] = [] if possible is not None else [*_numbers_asked_for(conditions)]
    every = [text for text in texts for _ in numbers]
    return Points([*every, *marks], np.append(np.tile(numbers, len(texts)), np.full(len(marks), np.nan)))


def _texts(conditions: Iterable[Condition]) -> set[str]:
    return {v for c in conditions if isinstance(c, OneOf) for v in c.values if isinstance(v, str)}


def _numbers_asked_for(conditions: Iterable[Condition]) -> set[float]:
    return {v for c in conditions if isinstance(c, OneOf) for v in c.values if not isinstance(v, str)}


def cuts_of(conditions: Iterable[Condition]) -> Floats:
    """Where the line of numbers is cut, rising: at the ends of ranges, and at numbers that are asked for."""
    ends = [end for c in conditions if isinstance(c, Between) for end in (c.start, c.below)]
    found = np.unique(np.array([*ends, *_numbers_asked_for(conditions)], dtype=np.float64))
    return found[np.isfinite(found)]


def around(cuts: Floats) -> Floats:
    """A number below all cuts, one between each two, and one above all."""
    if not len(cuts):
        return np.zeros(1)
    first, last = cuts[0] - 1.0 - abs(cuts[0]), cuts[-1] + 1.0 + abs(cuts[-1])
    return np.concatenate([[first], cuts[:-1] / 2 + cuts[1:] / 2, [last]])


def atoms(conditions: Sequence[Condition], possible: Possible | None = None) -> list[tuple[bool, ...]]:
    """The pieces into which conditions cut a column: which of them a value there satisfies, in the order of numbers.

    Pieces without a possible value are left out.
    """
    rows = representatives(conditions).patterns(conditions)
    first = len(rows) - len(_numbers_asked_for(conditions))
    found = dict.fromkeys([*rows[:first], *sorted(rows[first:])])
    if possible is None:
        return list(found)
    told = list(range(len(conditions)))
    if isinstance(
        possible, tuple
    ):  # a text may be a date, which is a number too: what it means is not known here
        told = [place for place, condition in enumerate(conditions) if not _texts([condition])]
    reached = set(representatives(conditions, possible).patterns([conditions[place] for place in told]))
    return [accepted for accepted in found if tuple(accepted[place] for place in told) in reached]


def reachable(filters: Sequence[Filter], disjoint: Sequence[frozenset[int]] = ()) -> list[int] | None:
    """The sets of filters one record can satisfy at once, as bit masks; None if there are too many kinds.

    Each column's line or set of values is cut where some condition changes its answer; one representative
    of each piece is tried. `disjoint` lists filters that were declared to share no record.
    """
    kinds = {(1 << len(filters)) - 1}
    for column, conditions in conditions_of(filters).items():
        here = [(i, c) for i, chosen in enumerate(filters) for name, c in chosen.conditions if name == column]
        refused = set()
        for accepted in atoms(conditions):
            no = {c for c, yes in zip(conditions, accepted, strict=True) if not yes}
            refused.add(sum(1 << i for i in {i for i, condition in here if condition in no}))
        kinds = {kind & ~bits for kind in kinds for bits in refused}
        if len(kinds) > MOST_KINDS:
            return None
    for group in disjoint:
        kinds = {part for kind in kinds for part in _separated(kind, group)}
        if len(kinds) > MOST_KINDS:
            return None
    return sorted(kinds)


def conditions_of(filters: Sequence[Filter]) -> dict[str, list[Condition]]:
    """The different conditions that filters put on each column, columns in order of their names."""
    found: dict[str, dict[Condition, None]] = {}
    for chosen in filters:
        for column, condition in chosen.conditions:
            found.setdefault(column, {})[condition] = None
    return {column: list(found[column]) for column in sorted(found)}


def _separated(kind: int, group: frozenset[int]) -> list[int]:
    """A kind of record that would be in several of a disjoint group can be in one of them only."""
    members = [index for index in group if kind >> index & 1]
    if len(members) < 2:
        return [kind]
    without = kind & ~sum(1 << index for index in members)
    return [without | (1 << index) for index in members]


@dataclass(frozen=True)
class Axis:
    """One column: its conditions, and for each atom which of them it satisfies."""

    column: str
    conditions: tuple[Condition, ...]
    atoms: tuple[tuple[bool, ...], ...]
    possible: Possible | None = None

    def __len__(self) -> int:
        return len(self.atoms)

    def places(self, points: Points) -> Whole:
        """The atom of each point; -1: none."""
        found = [self.place.get(accepted, -1) for accepted in points.patterns(self.conditions)]
        return np.array(found, dtype=np.int64)

    @cached_property
    def place(self) -> Mapping[tuple[bool, ...], int]:
        return {accepted: index for index, accepted in enumerate(self.atoms)}

    def accepted(self, condition: Condition) -> Flags:
        return self._accepted[:, self._numbered[condition]]

    @cached_property
    def _accepted(self) -> Flags:
        return np.array(self.atoms, dtype=np.bool_)

    @cached_property
    def _numbered(self) -> Mapping[Condition, int]:
        return {condition: index for index, condition in enumerate(self.conditions)}


# All counts and sums that filters ask for are sums over cells, and one record lies in one cell.


@dataclass(frozen=True)
class Cells:
    """A product of columns; cells are numbered with the last axis fastest, impossible ones left out."""

    axes: tuple[Axis, ...]
    possible: Whole  # numbers of the possible cells in the whole product, rising

    @classmethod
    def of(
        cls,
        filters: Sequence[Filter],
        disjoint: Sequence[Sequence[Filter]] = (),
        complete: Sequence[tuple[Filter, Sequence[Filter]]] = (),
        closed: Mapping[str, Possible] | None = None,
    ) -> Cells | None:
        """None where the product is too large.

        A record is in at most one filter of a `disjoint` group, and in one of the parts of a `complete` one if it is
        in the base. `closed`: columns of which every record has one of these values.
        """
        axes = []
        for column, conditions in conditions_of(filters).items():
            possible = (closed or {}).get(column)
            axes.append(Axis(column, tuple(conditions), tuple(atoms(conditions, possible)), possible))
        size = math.prod(map(len, axes))
        if size > MOST_CELLS:
            return None
        everything = cls(tuple(axes), np.arange(size))
        known = {(axis.column, condition) for axis in axes for condition in axis.conditions}
        allowed = np.ones(size, dtype=np.bool_)
        for group in disjoint:
            inside = [f for f in group if f in set(filters)]
            if len(inside) > 1:
                allowed &= np.sum([everything.holds(f) for f in inside], axis=0) <= 1
        for base, parts in complete:
            if all(set(f.conditions) <= known for f in (base, *parts)):
                inside = np.any([everything.holds(f) for f in parts], axis=0)
                allowed &= ~everything.holds(base) | inside
        return cls(tuple(axes), np.flatnonzero(allowed))

    def __len__(self) -> int:
        return len(self.possible)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(map(len, self.axes))

    @cached_property
    def axis_of(self) -> Mapping[str, int]:
        """The place of each column among the axes."""
        return {axis.column: index for index, axis in enumerate(self.axes)}

    def holds(self, chosen: Filter) -> Flags:
        """Which cells satisfy the filter."""
        held = np.ones(self.shape, dtype=np.bool_)
        for column, condition in chosen.conditions:
            along = [1] * len(self.axes)
            axis = self.axis_of[column]
            along[axis] = -1
            held = held & self.axes[axis].accepted(condition).reshape(along)
        return held.ravel()[self.possible]

    def unlisted(self) -> Flags:
        """Cells beside the values of a column of which several are asked for: records are seldom there."""
        found = np.zeros(len(self), dtype=np.bool_)
        for axis, at in zip(self.axes, self.places().T, strict=True):
            listed = np.array([sum(atom) for atom in axis.atoms])
            if np.count_nonzero(listed) > 1:
                found |= listed[at] == 0
        return found

    def places(self) -> Whole:
        """For each possible cell its atom along each axis (cells × axes)."""
        if not self.axes:
            return np.zeros((len(self), 0), dtype=np.int64)
        return np.stack(np.unravel_index(self.possible, self.shape), axis=1).astype(np.int64)
