"""Which records a statistic is about: a conjunction of conditions on columns, as data and never as SQL text.

Because a filter is data, two filters can be compared: `reachable` lists which sets of filters one record can
satisfy at once, and that is what parallel composition rests on.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from coterie.errors import ParameterError
from coterie.schema.domain import reads_as_number
from coterie.schema.exact import number_text

# Names that identify: equal names mean equal things. Numbers are written exactly (whole ones as such), a text that could run
# into its surroundings in quotes. So two different filters, groups or measurements never get the same name.

_LABEL = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'[^']*'|[^,]+)""")
_IN_LABELS = frozenset(',"[]\\')
_IN_FILTERS = _IN_LABELS | frozenset("()|=<≤≥²·−")


def label_text(value: str | float) -> str:
    """A group's label inside name[…]; labels of several columns are joined by commas."""
    return _quoted_if(value, _IN_LABELS) if isinstance(value, str) else number_text(value)


def split_labels(text: str) -> list[str]:
    """The labels inside name[…]: each in quotes, or as it stands up to the next comma."""
    parts = (part.strip() for part in _LABEL.findall(text))
    return [json.loads(part) if part.startswith('"') else part.strip("'") for part in parts]


def filter_text(value: str | float) -> str:
    """A column or a value inside a filter. The text "1" is not the number 1, so it is quoted."""
    if not isinstance(value, str):
        return number_text(value)
    return _quoted(value) if reads_as_number(value) else _quoted_if(value, _IN_FILTERS)


def _quoted_if(text: str, special: frozenset[str]) -> str:
    plain = text.isprintable() and text == text.strip() != "" and special.isdisjoint(text)
    return text if plain and text[0] != "'" else _quoted(text)


def _quoted(text: str) -> str:
    """As JSON writes it; halves of a surrogate pair are escaped too, so that every name can be written."""
    return json.dumps(text, ensure_ascii=False).encode("utf-8", "backslashreplace").decode()


# Beyond this many kinds of record the exact account is given up for the safe one (all may overlap).
MOST_KINDS = 4096
Value = str | float


@dataclass(frozen=True, slots=True)
class OneOf:
    """The column equals one of these values (texts, or numbers)."""

    values: tuple[Value, ...]

    def accepts(self, text: str | None, value: float | None) -> bool:
        return text in self.values or (value is not None and value in self.values)

    def __str__(self) -> str:
        texts = [filter_text(value) for value in self.values]
        return f"= {texts[0]}" if len(texts) == 1 else f"in ({', '.join(texts)})"


@dataclass(frozen=True, slots=True)
class Between:
    """from ≤ column < below; either end may be open."""

    start: float = -math.inf
    below: float = math.inf

    def accepts(self, text: str | None, value: float | None) -> bool:
        return value is not None and self.start <= value < self.below

    def __str__(self) -> str:
        left = f"≥ {number_text(self.start)}" if math.isfinite(self.start) else ""
        right = f"< {number_text(self.below)}" if math.isfinite(self.below) else ""
        last = number_text(math.nextafter(self.below, -math.inf))
        if right and len(last) + 2 < len(right):  # a last bin holds its end
            right = f"≤ {last}"
        return " and ".join(part for part in (left, right) if part)


Condition = OneOf | Between


@dataclass(frozen=True, slots=True)
class Filter:
    """All conditions hold; no condition means every record."""

    conditions: tuple[tuple[str, Condition], ...] = ()

    @property
    def everyone(self) -> bool:
        return not self.conditions

    def and_also(self, column: str, condition: Condition) -> Filter:
        return Filter(tuple(sorted((*self.conditions, (column, condition)), key=_order)))

    def __and__(self, other: Filter) -> Filter:
        return Filter(tuple(sorted({*self.conditions, *other.conditions}, key=_order)))

    def __str__(self) -> str:
        """Unique: different filters have different texts."""
        parts = (f"{filter_text(column)} {condition}" for column, condition in self.conditions)
        return ", ".join(parts) or "all records"


EVERYONE = Filter()


def _order(entry: tuple[str, Condition]) -> tuple[str, str]:
    return entry[0], repr(entry[1])


def read_filter(content: object, where: str) -> Filter:
    """From YAML: {smoker: "yes", region: [north, south], age: {from: 18, below: 65}}."""
    if content is None:
        return Filter()
    if not isinstance(content, dict):
        raise ParameterError(f"{where}: `where` must be a mapping.", 'Write where: {smoker: "yes"}.')
    result = Filter()
    for column, condition in content.items():
        result = result.and_also(str(column), _condition(condition, f"{where}, column '{column}'"))
    return result


def read_value(value: object, where: str) -> Value:
    if isinstance(value, bool):
        raise ParameterError(
            f"{where}: YAML read a bare yes, no, true or false as a truth value.",
            'Put it in quotes as it stands in the data: "yes".',
        )
    if isinstance(value, int | float) and math.isfinite(value):
        return _exact(value, where)
    if isinstance(value, str):
        return value
    raise ParameterError(f"{where}: a filter value must be a text or a number.", "Correct that entry.")


def _exact(value: float, where: str) -> float:
    """As a double; a whole number that no double equals would stand for its neighbour."""
    if isinstance(value, int) and int(float(value)) != value:
        raise ParameterError(
            f"{where}: the number {value} is too long to be compared exactly.",
            f'Write it in quotes, as a label: "{value}".',
        )
    return float(value) + 0.0  # no negative zero: it equals zero


def _condition(content: object, where: str) -> Condition:
    if isinstance(content, dict):
        unknown = set(content) - {"from", "below"}
        if unknown or not content:
            raise ParameterError(f"{where}: a range has `from` and `below`.", "Write {from: 18, below: 65}.")
        start, below = (
            read_value(content.get(key, default), where)
            for key, default in (("from", -1.7e308), ("below", 1.7e308))
        )
        if not isinstance(start, float) or not isinstance(below, float):
            raise ParameterError(f"{where}: the ends of a range must be numbers.", "Correct that entry.")
        if start >= below:
            raise ParameterError(f"{where}: the range holds nothing.", "`from` must be smaller than `below`.")
        return Between(-math.inf if start < -1.6e308 else start, math.inf if below > 1.6e308 else below)
    if isinstance(content, list):
        if not content:
            raise ParameterError(f"{where}: the list of values is empty.", "Name at least one value.")
        return OneOf(tuple(dict.fromkeys(read_value(value, where) for value in content)))
    return OneOf((read_value(content, where),))


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


def atoms(conditions: Sequence[Condition]) -> list[tuple[bool, ...]]:
    """The pieces into which conditions cut a column: which of them a value there satisfies, in the order of numbers."""
    tried = [tuple(c.accepts(*cell) for c in conditions) for cell in _representatives(conditions)]
    # A number may be declared as a mark of missing values: it is then listed, but lies in no range.
    listed = {value for c in conditions if isinstance(c, OneOf) for value in c.values}
    marks = [tuple(isinstance(c, OneOf) and value in c.values for c in conditions) for value in listed]
    return list(dict.fromkeys([*tried, *sorted(marks)]))


def _between(
    conditions: Sequence[Condition], lower: float, upper: float, whole: bool
) -> set[tuple[bool, ...]]:
    """The pieces that hold a number between these ends, or a whole one."""
    tried = [lower, upper, *(n for _, n in _representatives(conditions) if n is not None)]
    if whole:
        tried = [float(near) for n in tried for near in (math.floor(n), math.ceil(n))]
    numbers = np.array([n for n in dict.fromkeys(tried) if lower <= n <= upper])
    accepted = [
        (c.start <= numbers) & (numbers < c.below)
        if isinstance(c, Between)
        else np.isin(numbers, [v for v in c.values if not isinstance(v, str)])
        for c in conditions
    ]
    return {tuple(answers) for _, *answers in zip(numbers.tolist(), *accepted, strict=True)}


def _texts(condition: Condition) -> set[str]:
    return {v for v in condition.values if isinstance(v, str)} if isinstance(condition, OneOf) else set()


def _representatives(conditions: Sequence[Condition]) -> list[tuple[str | None, float | None]]:
    """Cells as (text, number); None is any other text, or no number.

    A cell of a CSV file is both a text and perhaps a number ("3" is text 3 and number 3), so where a column
    is asked for both, every text is tried with every number: safe, if sometimes too careful.
    """
    texts = set(itertools.chain.from_iterable(_texts(c) for c in conditions))
    cuts = cuts_of(conditions)
    numbers = [None, *(sorted([*cuts, *around(cuts)]) if cuts else ())]
    return [(text, value) for text in [None, *sorted(texts)] for value in numbers]


def cuts_of(conditions: Iterable[Condition]) -> list[float]:
    """Where the line of numbers is cut, rising: at the ends of ranges, and at numbers that are asked for."""
    found: set[float] = set()
    for c in conditions:
        asked = (c.start, c.below) if isinstance(c, Between) else c.values
        found |= {end for end in asked if isinstance(end, float)}
    return sorted(filter(math.isfinite, found))


def around(cuts: Sequence[float]) -> list[float]:
    """A number below all cuts, one between each two, and one above all."""
    if not cuts:
        return [0.0]
    between = [a / 2 + b / 2 for a, b in itertools.pairwise(cuts)]
    return [cuts[0] - 1.0 - abs(cuts[0]), *between, cuts[-1] + 1.0 + abs(cuts[-1])]


def _separated(kind: int, group: frozenset[int]) -> list[int]:
    """A kind of record that would be in several of a disjoint group can be in one of them only."""
    members = [index for index in group if kind >> index & 1]
    if len(members) < 2:
        return [kind]
    without = kind & ~sum(1 << index for index in members)
    return [without | (1 << index) for index in members]


# The cells into which filters cut the records: a product of columns, each cut where some condition changes its answer.
# All counts and sums that filters ask for are sums over cells, and one record lies in one cell.

MOST_CELLS = 1 << 20


@dataclass(frozen=True)
class Axis:
    """One column: its conditions, and for each atom which of them it satisfies."""

    column: str
    conditions: tuple[Condition, ...]
    atoms: tuple[tuple[bool, ...], ...]

    @cached_property
    def place(self) -> Mapping[tuple[bool, ...], int]:
        return {accepted: index for index, accepted in enumerate(self.atoms)}

    def accepted(self, condition: Condition) -> NDArray[np.bool_]:
        return self._accepted[:, self._numbered[condition]]

    @cached_property
    def _accepted(self) -> NDArray[np.bool_]:
        return np.array(self.atoms, dtype=np.bool_)

    @cached_property
    def _numbered(self) -> Mapping[Condition, int]:
        return {condition: index for index, condition in enumerate(self.conditions)}


@dataclass(frozen=True)
class Cells:
    """`shape` atoms along each axis; cells are numbered with the last axis fastest, impossible ones left out."""

    axes: tuple[Axis, ...]
    possible: NDArray[np.int64]  # numbers of the possible cells in the whole product, rising

    @classmethod
    def of(
        cls,
        filters: Sequence[Filter],
        disjoint: Sequence[Sequence[Filter]] = (),
        complete: Sequence[tuple[Filter, Sequence[Filter]]] = (),
        closed: Mapping[str, frozenset[str] | tuple[float, float, bool]] | None = None,
    ) -> Cells | None:
        """None where the product is too large.

        A record is in at most one filter of a `disjoint` group, and in one of the parts of a `complete` one if it is
        in the base. `closed`: columns of which every record has one of these labels, or a number between these ends.
        """
        axes = tuple(
            Axis(column, tuple(conditions), tuple(atoms(conditions)))
            for column, conditions in conditions_of(filters).items()
        )
        size = math.prod(len(axis.atoms) for axis in axes)
        if size > MOST_CELLS:
            return None
        everything = cls(axes, np.arange(size))
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
        for axis, at in zip(axes, everything.places().T if closed else (), strict=False):
            values = (closed or {}).get(axis.column)
            if values is None:
                continue
            if isinstance(values, frozenset):
                listed = {v for c in axis.conditions if isinstance(c, OneOf) for v in c.values}
                met = [any(atom) or not values <= listed for atom in axis.atoms]
            else:
                # A text may be a date, which is a number too: what it means is not known here.
                told = [place for place, c in enumerate(axis.conditions) if not _texts(c)]
                reached = _between([axis.conditions[place] for place in told], *values)
                met = [tuple(atom[place] for place in told) in reached for atom in axis.atoms]
            allowed &= np.array(met)[at]
        return cls(axes, np.flatnonzero(allowed))

    def __len__(self) -> int:
        return len(self.possible)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(axis.atoms) for axis in self.axes)

    def holds(self, chosen: Filter) -> NDArray[np.bool_]:
        """Which cells satisfy the filter."""
        held = np.ones(self.shape, dtype=np.bool_)
        places = {axis.column: index for index, axis in enumerate(self.axes)}
        for column, condition in chosen.conditions:
            along = [1] * len(self.axes)
            axis = places[column]
            along[axis] = -1
            held = held & self.axes[axis].accepted(condition).reshape(along)
        return held.ravel()[self.possible]

    def unlisted(self) -> NDArray[np.bool_]:
        """Cells beside the values of a column of which several are asked for: records are seldom there."""
        found = np.zeros(len(self), dtype=np.bool_)
        for axis, at in zip(self.axes, self.places().T, strict=True):
            listed = np.array([sum(atom) for atom in axis.atoms])
            if np.count_nonzero(listed) > 1:
                found |= listed[at] == 0
        return found

    def places(self) -> NDArray[np.int64]:
        """For each possible cell its atom along each axis (cells × axes)."""
        if not self.axes:
            return np.zeros((len(self), 0), dtype=np.int64)
        return np.stack(np.unravel_index(self.possible, self.shape), axis=1).astype(np.int64)
