"""Edit rules and rules of what is not applicable: what every row must satisfy, as public knowledge says.

    age < 15 -> civil_status = single        implication; → is understood, too
    total = wages + pension                  derivation: the column is computed from the others
    end >= start                             comparison of columns, or any other condition
    not_applicable: age < 15                 (entry of an attribute) its cells are empty exactly in such rows

A rule is about one row. It is data and never code: a parser of a few lines reads it into the tree below. A condition about a
missing value is neither true nor false, and a row violates a rule only where the rule is false.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from coterie.schema.arrays import Flags, Floats

_NEAR = 1e-9  # relative: how far apart sums of doubles count as equal


@dataclass(frozen=True, slots=True)
class Rows:
    """Values of some rows: numbers, or places in a list of labels; NaN for what is missing."""

    values: Mapping[str, Floats]
    labels: Mapping[str, Sequence[str]]

    @property
    def count(self) -> int:
        return len(next(iter(self.values.values())))


@dataclass(frozen=True, slots=True)
class Truth:
    """Whether a condition is true, and whether it is false, for each row; neither where something is missing."""

    yes: Flags
    no: Flags


# The tree.


@dataclass(frozen=True, slots=True)
class LinearSum:
    """Columns times numbers, and a number."""

    terms: tuple[tuple[str, float], ...]
    constant: float = 0.0

    def of(self, rows: Rows) -> Floats | float:
        found: Floats | float = self.constant
        for name, factor in self.terms:
            found = found + factor * rows.values[name]
        return found

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.terms)


@dataclass(frozen=True, slots=True)
class Compared:
    left: LinearSum
    operator: str
    right: LinearSum

    def of(self, rows: Rows) -> Truth:
        left, right = np.broadcast_arrays(self.left.of(rows), self.right.of(rows))
        known = ~(np.isnan(left) | np.isnan(right))
        exact = len(self.columns) < 2 or len(self.left.terms) == len(self.right.terms) == 1
        slack = 0.0 if exact else _NEAR * np.maximum(1.0, np.maximum(np.abs(left), np.abs(right)))
        found = _OPERATORS[self.operator](left - right, slack)
        return Truth(found & known, ~found & known)

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.left.columns, *self.right.columns)


_OPERATORS = {
    "=": lambda off, slack: np.abs(off) <= slack,
    "!=": lambda off, slack: np.abs(off) > slack,
    "<": lambda off, slack: off < -slack,
    "<=": lambda off, slack: off <= slack,
    ">": lambda off, slack: off > slack,
    ">=": lambda off, slack: off >= -slack,
}


@dataclass(frozen=True, slots=True)
class _OfOne:
    column: str

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)


@dataclass(frozen=True, slots=True)
class Labelled(_OfOne):
    """Whether a label is one of these."""

    among: tuple[str, ...]

    def of(self, rows: Rows) -> Truth:
        values = rows.values[self.column]
        places = [place for place, label in enumerate(rows.labels[self.column]) if label in self.among]
        found = np.isin(values, places)
        return Truth(found, ~found & ~np.isnan(values))


@dataclass(frozen=True, slots=True)
class Absent(_OfOne):
    def of(self, rows: Rows) -> Truth:
        found = np.isnan(rows.values[self.column])
        return Truth(found, ~found)


@dataclass(frozen=True, slots=True)
class Negated:
    part: Condition

    def of(self, rows: Rows) -> Truth:
        found = self.part.of(rows)
        return Truth(found.no, found.yes)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.part.columns


@dataclass(frozen=True, slots=True)
class Joined:
    """All of them (`and`), or any."""

    parts: tuple[Condition, ...]
    every: bool

    def of(self, rows: Rows) -> Truth:
        found = [part.of(rows) for part in self.parts]
        join, other = (np.logical_and, np.logical_or) if self.every else (np.logical_or, np.logical_and)
        return Truth(join.reduce([one.yes for one in found]), other.reduce([one.no for one in found]))

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for part in self.parts for name in part.columns)


Condition: TypeAlias = Compared | Labelled | Absent | Negated | Joined


def conditions_in(condition: Condition) -> Iterator[Compared | Labelled | Absent]:
    """The leaves of the tree."""
    if isinstance(condition, Negated):
        yield from conditions_in(condition.part)
    elif isinstance(condition, Joined):
        for part in condition.parts:
            yield from conditions_in(part)
    else:
        yield condition


@dataclass(frozen=True, slots=True)
class EditRule:
    """Where `when` is true (None: everywhere), `then` must not be false."""

    text: str
    then: Condition
    when: Condition | None = None

    def violated(self, rows: Rows) -> Flags:
        wrong = self.then.of(rows).no
        return wrong if self.when is None else wrong & self.when.of(rows).yes

    @property
    def columns(self) -> tuple[str, ...]:
        return (*(() if self.when is None else self.when.columns), *self.then.columns)


@dataclass(frozen=True, slots=True)
class Derivation:
    """A column that is computed from others of its row."""

    text: str
    column: str
    source: LinearSum

    def violated(self, rows: Rows) -> Flags:
        return Compared(LinearSum(((self.column, 1.0),)), "=", self.source).of(rows).no

    @property
    def columns(self) -> tuple[str, ...]:
        """What it is computed from."""
        return self.source.columns


@dataclass(frozen=True, slots=True)
class NotApplicableRule:
    """Where the condition is true, the column's cells are empty; elsewhere they are not, unless gaps are allowed at all."""

    text: str
    column: str
    condition: Condition
    gaps: bool  # whether they may be missing elsewhere, too

    def violated(self, rows: Rows) -> Flags:
        absent = np.isnan(rows.values[self.column])
        here = self.condition.of(rows).yes
        return here & ~absent if self.gaps else here != absent

    @property
    def columns(self) -> tuple[str, ...]:
        """What decides about it."""
        return self.condition.columns


Step: TypeAlias = Derivation | NotApplicableRule


@dataclass(frozen=True, slots=True)
class EditRules:
    """All rules of a schema. `steps` settle a column each, in an order in which every one finds what it needs."""

    conditions: tuple[EditRule, ...] = ()
    steps: tuple[Step, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.conditions or self.steps)

    @property
    def all(self) -> tuple[EditRule | Step, ...]:
        return (*self.conditions, *self.steps)

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(rule.text for rule in self.all)

    @property
    def derived(self) -> frozenset[str]:
        return frozenset(step.column for step in self.steps if isinstance(step, Derivation))

    @property
    def columns(self) -> frozenset[str]:
        steps = {name for step in self.steps for name in (step.column, *step.columns)}
        return frozenset(steps | {name for rule in self.conditions for name in rule.columns})

    def emptied(self, rows: Rows) -> dict[str, Flags]:
        """Which cells of these columns are not applicable; conditions see what was emptied before."""
        found: dict[str, Flags] = {}
        for step in self.steps:
            if isinstance(step, NotApplicableRule) and rows.values.keys() >= {step.column, *step.columns}:
                found[step.column] = step.condition.of(rows).yes
                values = np.where(found[step.column], np.nan, rows.values[step.column])
                rows = replace(rows, values={**rows.values, step.column: values})
        return found

    def settled(self, rows: Rows) -> Rows:
        """The same rows with what follows from the others: derived columns, and cells that are not applicable."""
        for step in self.steps:
            if isinstance(step, Derivation):
                found = np.asarray(step.source.of(rows), dtype=np.float64)
            else:
                found = np.where(step.condition.of(rows).yes, np.nan, rows.values[step.column])
            rows = replace(rows, values={**rows.values, step.column: found})
        return rows

    def violated(self, rows: Rows) -> Flags:
        """Which rows violate any of them."""
        found: Flags = np.logical_or.reduce([rule.violated(rows) for rule in self.all])
        return found

    def pattern(self, rows: Rows) -> Flags:
        """Where each condition of a rule holds, a line per rule that has one."""
        found = [rule.when.of(rows).yes for rule in self.conditions if rule.when is not None]
        found += [step.condition.of(rows).yes for step in self.steps if isinstance(step, NotApplicableRule)]
        return np.array(found, dtype=np.bool_).reshape(len(found), rows.count)

    def needed_for(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Further columns without which it is not known which cells of these are applicable."""
        wanted = list(columns)
        for name in wanted:
            for step in self.steps:
                if isinstance(step, NotApplicableRule) and step.column == name:
                    wanted += [other for other in step.columns if other not in wanted]
        return tuple(wanted[len(columns) :])
