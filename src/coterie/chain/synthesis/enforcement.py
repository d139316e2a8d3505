"""Edit rules on synthetic rows: what follows is computed, what violates a rule is drawn anew, and the rest is repaired.

Nothing here reads data: rows, model and rules are released or public already, so this is post-processing and costs no ε.
Row i is the same whichever piece it comes in: all its randomness is one word of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.chain.synthesis.marginal import rounded
from coterie.schema.arrays import Flags, Floats, Whole, Words
from coterie.schema.attributes import Schema
from coterie.schema.rule_checks import Witnesses, witnesses
from coterie.schema.rules import EditRule, EditRules, NotApplicableRule, Rows
from coterie.table.columns.column import CategoryColumn, Column
from coterie.table.columns.places import as_held, labels_of, rows_like

TRIES = 100  # so often a row is drawn anew, at most
_PIECE = 1 << 14  # rows that are worked on together

# Attribute, a word and a try of each row → values: a row of the model, and a value inside each of its cells.
Redraw = Callable[[str, Words, Whole], NDArray[Any]]


@dataclass(frozen=True, slots=True)
class RowRules:
    """The rules of a schema, bound to its columns."""

    rules: EditRules
    columns: dict[str, Column]  # that rules name, as they are described; nothing of what they hold
    witnesses: tuple[Witnesses, ...]

    @classmethod
    def of(cls, schema: Schema, columns: Mapping[str, Column]) -> RowRules | None:
        """`columns`: all protected ones."""
        rules, nobody = schema.edit_rules, np.empty(0, dtype=np.intp)
        if not rules:
            return None
        named = {name: columns[name].rows(nobody) for name in columns if name in rules.columns}
        return cls(rules, named, witnesses(rules, schema.protected))

    def enforced(
        self, values: Mapping[str, NDArray[Any]], words: Words, redraw: Redraw
    ) -> dict[str, NDArray[Any]]:
        """All measured columns → all columns, every row of which satisfies every rule."""
        found = {name: column.copy() for name, column in values.items()}
        for name in self.rules.derived:
            found[name] = np.empty(len(words))
        for start in range(0, len(words), _PIECE):
            piece = slice(start, start + _PIECE)
            part = {name: column[piece] for name, column in values.items()}
            for name, line in self._piece(part, words[piece], redraw).items():
                found[name][piece] = line
        return found

    def _piece(
        self, part: Mapping[str, NDArray[Any]], words: Words, redraw: Redraw
    ) -> dict[str, NDArray[Any]]:
        drawn = {name: column for name, column in self.columns.items() if name in part}
        rows = self.rules.settled(rows_like(drawn, part))
        wrong = np.flatnonzero(self.rules.violated(rows))
        pattern, tries = self.rules.pattern(rows), np.zeros(len(words), dtype=np.int64)
        for attempt in range(1, TRIES + 1):
            if not len(wrong):
                break
            again = np.full(len(wrong), attempt)
            other = self.rules.settled(
                rows_like(drawn, {name: redraw(name, words[wrong], again) for name in drawn})
            )
            # A row stays where it was with regard to the conditions of rules: as many children as before.
            good = ~self.rules.violated(other) & (self.rules.pattern(other) == pattern[:, wrong]).all(axis=0)
            tries[wrong[good]] = attempt
            for name, line in rows.values.items():
                line[wrong[good]] = other.values[name][good]
            wrong = wrong[~good]
        found = {name: values.copy() for name, values in part.items()}
        moved = np.flatnonzero(tries)
        for name in found.keys() - drawn.keys():  # of a row that was drawn anew, all of it
            found[name][moved] = redraw(name, words[moved], tries[moved])
        for rules in self.witnesses:
            _repair(rules, rows, self.columns, words)
        for name, column in self.columns.items():
            line = rows.values[name]
            if name in self.rules.derived and not isinstance(column, CategoryColumn):
                line = rounded(line, column.step)
            found[name] = as_held(column, line)
        return found


def _repair(known: Witnesses, rows: Rows, columns: Mapping[str, Column], words: Words) -> None:
    """Rows that no try helped take values of a row that satisfies all rules: of what a rule asks for, then of all.

    In place. The row is one in which the same conditions hold, where there is any.
    """
    rules = known.rules
    names = rules.columns - rules.derived
    for step in (_asked_for(rules, rows), {name: rules.violated(rows) for name in names}):
        wrong = np.flatnonzero(rules.violated(rows))
        if not len(wrong):
            return
        here = Rows({name: values[wrong] for name, values in rows.values.items()}, rows.labels)
        chosen = _alike(rules.pattern(here), known.pattern, words[wrong])
        for name, replaced in step.items():
            values = _in_column(known, name, columns[name])[chosen]
            here.values[name][:] = np.where(replaced[wrong], values, here.values[name])
        for name, values in rules.settled(here).values.items():
            rows.values[name][wrong] = values


def _asked_for(rules: EditRules, rows: Rows) -> dict[str, Flags]:
    """The columns whose values a violated rule asks for, and in which rows."""
    found: dict[str, Flags] = {}
    for name, wrong in _asked(rules, rows):
        if name not in rules.derived:
            found[name] = found[name] | wrong if name in found else wrong
    return found


def _asked(rules: EditRules, rows: Rows) -> Iterator[tuple[str, Flags]]:
    for rule in rules.all:
        if isinstance(rule, EditRule):
            wrong = rule.violated(rows)
            yield from ((name, wrong) for name in rule.then.columns)
        elif isinstance(rule, NotApplicableRule):
            yield rule.column, rule.violated(rows)


def _alike(pattern: Flags, known: Flags, words: Words) -> Whole:
    """For each row one of the known ones, at random among those with its pattern; among all where there is none."""
    chosen = (mixed(words, np.uint64(7)) % np.uint64(known.shape[1])).astype(np.int64)
    for kind in np.unique(pattern, axis=1).T:
        same = np.flatnonzero((known == kind[:, None]).all(axis=0))
        if len(same):
            rows = np.flatnonzero((pattern == kind[:, None]).all(axis=0))
            chosen[rows] = same[(mixed(words[rows], np.uint64(11)) % np.uint64(len(same))).astype(np.int64)]
    return chosen


def _in_column(known: Witnesses, name: str, column: Column) -> Floats:
    """Values of the known rows: labels by their places in the column's own list."""
    values, labels = known.rows.values[name], known.rows.labels.get(name)
    if labels is None:
        return values
    places = [labels_of(column).index(label) for label in labels]
    return np.where(
        np.isnan(values), np.nan, np.array(places, dtype=np.float64)[np.nan_to_num(values).astype(int)]
    )


def mixed(words: Words, salt: Words | np.uint64) -> Words:
    """Other words, each a function of its word and of `salt` (SplitMix64): they pick rows of a model that is public."""
    with np.errstate(over="ignore"):
        mix = words + (salt + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        mix = (mix ^ (mix >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mix = (mix ^ (mix >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mix ^ (mix >> np.uint64(31)))
