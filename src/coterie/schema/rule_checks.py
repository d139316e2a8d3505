"""Rules of a schema: read, put in order, and refused where they cannot hold together. No data are read.

Whether they can is tried on representative rows: every value at which a condition may change, and some between them. Those
that satisfy all rules are kept: a row that no other means repairs takes its values from one of them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from coterie.errors import SchemaError
from coterie.schema.arrays import Flags, Floats
from coterie.schema.domain import AttributeType
from coterie.schema.exact import number_text
from coterie.schema.rule_parser import RuleParser
from coterie.schema.rules import (
    Absent,
    Compared,
    Derivation,
    EditRule,
    EditRules,
    Labelled,
    NotApplicableRule,
    Rows,
    Step,
    conditions_in,
)

if TYPE_CHECKING:
    from coterie.schema.attributes import Attribute

_MOST_ROWS = 100_000  # representative rows; beyond, some of them are drawn
_LINKED = 3  # columns compared with one another for which the representatives are known to be enough
_STEPS = {AttributeType.INTEGER: 1.0, AttributeType.DATE: 1.0, AttributeType.TIMESTAMP: 1.0}


def read_rules(texts: Sequence[str], attributes: Sequence[Attribute], unit: str | None = None) -> EditRules:
    """`attributes` are the protected ones: no rule is about another."""
    known = {attribute.name: attribute for attribute in attributes}
    conditions: list[EditRule] = []
    steps: dict[str, Step] = {}
    for attribute in attributes:
        if attribute.not_applicable is not None:
            text, name = attribute.not_applicable, attribute.name
            condition = RuleParser(text, known, unit, f"not_applicable of '{name}':").condition()
            said = f"{name} is not applicable if {text}"
            steps[name] = NotApplicableRule(said, name, condition, attribute.missing == "own category")
    for text in texts:
        found = RuleParser(text, known, unit).rule()
        if isinstance(found, EditRule):
            conditions.append(found)
            continue
        if found.column in steps:
            raise SchemaError(
                f"Rule '{text}' derives '{found.column}', about which another rule decides already.",
                "Leave one of them out.",
            )
        steps[found.column] = found
    return EditRules(tuple(conditions), _in_order(steps))


def _in_order(steps: Mapping[str, Step]) -> tuple[Step, ...]:
    """Each after those that settle the columns it needs."""
    ordered: dict[str, Step] = {}
    waiting = dict(steps)
    while waiting:
        ready = [
            name for name, step in waiting.items() if not any(needed in waiting for needed in step.columns)
        ]
        if not ready:
            told = "; ".join(step.text for step in waiting.values())
            raise SchemaError(
                f"Rules go round in a circle: {told}.",
                "Derive a column from columns that do not follow from it.",
            )
        ordered |= {name: waiting.pop(name) for name in ready}
    return tuple(ordered.values())


def _check_derivation(rule: Derivation, known: Mapping[str, Attribute]) -> None:
    target, sources = known[rule.column], [known[name] for name in rule.source.columns]
    told = f"Rule '{rule.text}'"
    if not sources:
        raise SchemaError(
            f"{told} derives '{target.name}' from no column.", "Name columns on the right side."
        )
    for source in sources:
        if not source.type.has_zero:
            raise SchemaError(
                f"{told} calculates with '{source.name}', which has no numbers.",
                "Derive a column from continuous and integer ones.",
            )
    whole = all(
        float(number).is_integer() for number in (rule.source.constant, *dict(rule.source.terms).values())
    )
    if target.type is AttributeType.INTEGER and not (whole and all(s.type is target.type for s in sources)):
        raise SchemaError(
            f"{told} gives '{target.name}', which is integer, values that are not whole.",
            f"Declare '{target.name}' as `type: continuous`.",
        )
    places = [0 if s.type is AttributeType.INTEGER else s.decimals for s in sources]
    if target.decimals is not None and not (
        whole and all(p is not None and p <= target.decimals for p in places)
    ):
        raise SchemaError(
            f"{told} would be broken by rounding '{target.name}' to {target.decimals} places.",
            f"Give its columns `decimals` of at most as many places, or '{target.name}' none.",
        )
    gaps = next((s.name for s in sources if s.gaps), None)
    if gaps is not None and not target.gaps:
        raise SchemaError(
            f"{told} makes '{target.name}' missing where '{gaps}' is.",
            "Write `missing: own category` for it.",
        )
    if any(a.domain is None for a in (target, *sources)):
        return  # a draft: bounds are still open
    ends = [_term_ends(known[name], factor) for name, factor in rule.source.terms]
    lowest, highest = (rule.source.constant + sum(end[side] for end in ends) for side in (0, 1))
    if lowest < target.bounds().lower or highest > target.bounds().upper:
        raise SchemaError(
            f"{told} can give '{target.name}' values beyond its domain: they reach "
            f"from {number_text(lowest)} to {number_text(highest)}.",
            "Widen its domain to that, or narrow those of the columns it is derived from.",
        )


def _term_ends(attribute: Attribute, factor: float) -> tuple[float, float]:
    ends = factor * attribute.bounds().lower, factor * attribute.bounds().upper
    return min(ends), max(ends)


# Whether rules can hold together.


@dataclass(frozen=True, slots=True)
class Witnesses:
    """Rows that satisfy all rules among some columns, and where the conditions of these rules hold in them."""

    rules: EditRules
    rows: Rows
    pattern: Flags


def check_rules(rules: EditRules, attributes: Sequence[Attribute]) -> None:
    """Whether the rules fit the attributes, and each other."""
    known = {attribute.name: attribute for attribute in attributes}
    for step in rules.steps:
        if isinstance(step, Derivation):
            _check_derivation(step, known)
    witnesses(rules, attributes)


def witnesses(rules: EditRules, attributes: Sequence[Attribute]) -> tuple[Witnesses, ...]:
    """Find witnesses for each set of columns that rules connect. Rules that contradict each other are refused."""
    known = {attribute.name: attribute for attribute in attributes}
    if any(known[name].type.ranged and known[name].domain is None for name in rules.columns):
        return ()  # a draft
    return tuple(_tried(part, known) for part in _parts(rules))


def _parts(rules: EditRules) -> list[EditRules]:
    """Rules that share a column, directly or by others, belong together."""
    parts: list[tuple[set[str], list[EditRule | Step]]] = []
    for rule in rules.all:
        columns, members = set(rule.columns), [rule]
        if not isinstance(rule, EditRule):
            columns.add(rule.column)
        for part in [part for part in parts if part[0] & columns]:
            parts.remove(part)
            columns |= part[0]
            members = part[1] + members
        parts.append((columns, members))
    return [
        EditRules(
            tuple(rule for rule in rules.conditions if rule in members),
            tuple(step for step in rules.steps if step in members),
        )
        for _, members in parts
    ]


def _tried(rules: EditRules, known: Mapping[str, Attribute]) -> Witnesses:
    rows, exact = _representatives(rules, known)
    rows = rules.settled(rows)
    fine, pattern = ~rules.violated(rows), rules.pattern(rows)
    if not fine.any():
        words = "can satisfy" if exact else "was found that satisfies"
        raise SchemaError(
            f"No row {words} these rules together: {'; '.join(rules.texts)}.", "Change one of them."
        )
    if exact:
        for rule in rules.conditions:
            _check_one(rule, rows, fine)
    for one, other in itertools.combinations_with_replacement(rules.conditions, 2):
        _check_pair(one, other, rules.steps, known)
    chosen = np.flatnonzero(fine)
    return Witnesses(
        rules,
        Rows({name: values[chosen] for name, values in rows.values.items()}, rows.labels),
        pattern[:, chosen],
    )


def _check_one(rule: EditRule, rows: Rows, fine: Flags) -> None:
    """Among rows that satisfy all rules, it must be true where it applies, not just unknown for a missing value."""
    applies = _where(rule, rows)
    if applies.any() and not (applies & fine & rule.then.of(rows).yes).any():
        empty = (applies & fine).any()
        raise SchemaError(
            f"Rule '{rule.text}' can be satisfied by missing values only."
            if empty
            else f"Rule '{rule.text}' contradicts the others: no row to which it applies can satisfy them.",
            "If a column is to be empty there, say so: `is missing`, or not_applicable. Else change one of the rules."
            if empty
            else "Change one of them.",
        )


def _check_pair(
    one: EditRule, other: EditRule, steps: Sequence[Step], known: Mapping[str, Attribute]
) -> None:
    """Two rules on their own, however many others there are: a row to which both apply satisfies both."""
    asked = ({*one.then.columns}, {*other.then.columns})
    decides = {*(one.when.columns if one.when else ()), *(other.when.columns if other.when else ())}
    if one is not other and (decides & (asked[0] | asked[1]) or not asked[0] & asked[1]):
        return  # one of them may simply forbid that the other applies; or they ask for different things
    columns: set[str] = {*one.columns, *other.columns}
    needed: list[Step] = []
    for step in reversed(steps):  # each stands after those that settle what it needs
        if step.column in columns:
            needed.insert(0, step)
            columns |= {*step.columns}
    rules = EditRules((one,) if one is other else (one, other), tuple(needed))
    rows, exact = _representatives(rules, known)
    if not exact:
        return
    rows = rules.settled(rows)
    fine = ~rules.violated(rows)
    if one is other:
        _check_one(one, rows, fine)
        return
    both = _where(one, rows) & _where(other, rows)
    true = one.then.of(rows).yes & other.then.of(rows).yes
    if both.any() and not (both & fine & true).any():
        raise SchemaError(
            f"Rules '{one.text}' and '{other.text}' contradict each other: no row to which both apply can satisfy them.",
            "Change one of them.",
        )


def _where(rule: EditRule, rows: Rows) -> Flags:
    """The rows to which a rule applies."""
    found: Flags = np.ones(rows.count, dtype=np.bool_) if rule.when is None else rule.when.of(rows).yes
    return found


def _representatives(rules: EditRules, known: Mapping[str, Attribute]) -> tuple[Rows, bool]:
    """Values of each column, in all combinations; and whether nothing else could tell more."""
    leaves = [
        leaf
        for condition in (
            *(rule.then for rule in rules.conditions),
            *(rule.when for rule in rules.conditions if rule.when is not None),
            *(step.condition for step in rules.steps if isinstance(step, NotApplicableRule)),
        )
        for leaf in conditions_in(condition)
    ]
    compared = [leaf for leaf in leaves if isinstance(leaf, Compared)]
    linked = {name for leaf in compared if len(leaf.columns) > 1 for name in leaf.columns}
    exact = not rules.derived and len(linked) <= _LINKED
    exact &= all(len(leaf.left.terms) <= 1 and len(leaf.right.terms) <= 1 for leaf in compared)
    ends = {
        name: [threshold for leaf in compared if name in leaf.columns for threshold in _thresholds(leaf)]
        for name in rules.columns
    }
    shared = sorted({end for name in linked for end in ends[name]})
    values: dict[str, list[float]] = {}
    labels: dict[str, list[str]] = {}
    for name in sorted(rules.columns - rules.derived):
        attribute = known[name]
        if attribute.type.ranged:
            values[name] = _numbers(attribute, ends[name] + (shared if name in linked else []))
        else:
            named = {
                x for leaf in leaves if isinstance(leaf, Labelled) and leaf.column == name for x in leaf.among
            }
            labels[name], complete = _labels(attribute, named, whole=name in linked or bool(ends[name]))
            values[name] = [float(place) for place in range(len(labels[name]))]
            exact &= complete
        if any(isinstance(leaf, Absent) and leaf.column == name for leaf in leaves) and attribute.gaps:
            values[name].append(math.nan)
    if math.prod(map(len, values.values())) > _MOST_ROWS:
        draw = np.random.default_rng(0)
        return Rows({name: draw.choice(found, _MOST_ROWS) for name, found in values.items()}, labels), False
    grid = np.meshgrid(*values.values(), indexing="ij")
    return Rows({name: axis.ravel() for name, axis in zip(values, grid, strict=True)}, labels), exact


def _thresholds(leaf: Compared) -> list[float]:
    """Where it may change: the number that a single column is compared with."""
    if len(leaf.columns) != 1:
        return []
    factor = dict(leaf.left.terms or leaf.right.terms)[leaf.columns[0]]
    constant = leaf.right.constant - leaf.left.constant
    return [] if factor == 0 else [(constant if leaf.left.terms else -constant) / factor]


def _numbers(attribute: Attribute, thresholds: Sequence[float]) -> list[float]:
    """The bounds, the thresholds, their neighbours, and some values between them."""
    step = 10.0**-attribute.decimals if attribute.decimals is not None else _STEPS.get(attribute.type)
    low, high = attribute.bounds().limits(step)
    ends = sorted({low, high, *(end for end in thresholds if low <= end <= high)})
    found: Floats = np.array(
        [a + (b - a) * share for a, b in itertools.pairwise(ends) for share in (0.0, 0.25, 0.5, 0.75)]
        + [high]
    )
    if step is not None:
        per_unit = round(1 / step)
        near = [round(end * per_unit) + by for end in ends for by in (-1, 0, 1)]
        found = np.concatenate([np.rint(found * per_unit), near]) / per_unit
    return [float(value) for value in np.unique(np.clip(found, low, high))]


def _labels(attribute: Attribute, named: set[str], *, whole: bool) -> tuple[list[str], bool]:
    """The labels that rules name and one that none names; all of them where their places are compared."""
    if attribute.type is AttributeType.BOOLEAN:
        return ["false", "true"], True
    declared = attribute.categories.labels if attribute.categories is not None else None
    if declared is None:
        return sorted(named), False  # a taxonomy's labels are in its file
    if whole:
        return list(declared), True
    others = [label for label in declared if label not in named][:1]
    return [label for label in declared if label in named or label in others], True
