"""The groups that a statistic is published for: one per combination of values or bins, and the totals over them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from coterie.errors import ParameterError, SchemaError, nearest
from coterie.schema.attributes import Schema
from coterie.schema.exact import number_text
from coterie.schema.taxonomy.loading import declared_taxonomy
from coterie.statistics.specification.asked_values import asked_labels
from coterie.statistics.specification.fields import members, number_of
from coterie.statistics.specification.filters import Between, Filter, OneOf, label_text, read_value
from coterie.statistics.specification.specification import StatisticKind

ALL = "all"  # what a group column says in the row of a total
DECLARED = "declared"  # every label that the schema has
MOST_BINS = 2_000_000
PRIVATE = "private"  # the release finds the values, and shows those that many records have


@dataclass(frozen=True)
class StatisticEntry:
    """A statistic as it is written; `where` is its place in messages."""

    content: Mapping[str, Any]
    kind: StatisticKind
    schema: Schema
    where: str
    name: str = ""

    def get(self, key: str, default: object = None) -> Any:
        return self.content.get(key, default)


@dataclass(frozen=True)
class GroupValue:
    """One value, bin or total along one column; `covers`: the places of the values that it holds."""

    column: str
    text: str
    label: str  # as it stands in name[…]
    where: Filter
    covers: frozenset[int]


@dataclass(frozen=True)
class StatisticGroup:
    choices: tuple[GroupValue, ...] = ()
    total: bool = False

    @property
    def label(self) -> str:
        return ", ".join(choice.label for choice in self.choices)

    @property
    def where(self) -> Filter:
        chosen = Filter()
        for choice in self.choices:
            chosen = chosen & choice.where
        return chosen

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        return tuple((choice.column, choice.text) for choice in self.choices)

    def holds(self, other: StatisticGroup) -> bool:
        return all(b.covers <= a.covers for a, b in zip(self.choices, other.choices, strict=True))


def private_key(entry: StatisticEntry) -> str | None:
    """The column by whose values a count is asked, where these are not public."""
    by, where = entry.get("by"), entry.where
    if not isinstance(by, dict) or PRIVATE not in by.values():
        return None
    if entry.kind is not StatisticKind.COUNT:
        raise ParameterError(
            f"{where}: only a count can be by private keys.",
            "Write kind: count, or list the public values of the column under `by`.",
        )
    if len(by) > 1:
        raise ParameterError(
            f"{where}: a private key stands alone under `by`.",
            "Choose records by the other columns with `where`, one statistic for each.",
        )
    for name in ("totals", "complete", "at_least"):
        if entry.get(name):
            raise ParameterError(
                f"{where} is by private keys, of which some are not shown: it has no `{name}`.", "Drop it."
            )
    if isinstance(entry.get("expected"), dict):
        raise ParameterError(
            f"{where} is by private keys, so nothing can be said of one of them.",
            "Write expected: a typical count, or leave it out.",
        )
    return str(next(iter(by)))


def groups_of(entry: StatisticEntry, axes: list[list[GroupValue]]) -> tuple[StatisticGroup, ...]:
    """The finest groups first, then the totals that are asked for."""
    finest = [StatisticGroup(choices) for choices in itertools.product(*axes)]
    kept = kept_in_totals(entry, axes)
    return (*finest, *dict.fromkeys(_totals(kept, axes, entry.schema)))


def axes_of(entry: StatisticEntry) -> list[list[GroupValue]]:
    """The values or bins along each column."""
    by, where = entry.get("by") or {}, entry.where
    if not isinstance(by, dict):
        raise ParameterError(
            f"{where}: `by` must give each column's public list of values.",
            "Write by: {region: [north, south]}. (Values found in the data would themselves be a disclosure.)",
        )
    axes = [_values(str(column), values, entry.schema, where) for column, values in by.items()]
    if entry.kind is StatisticKind.HISTOGRAM:
        axes.append(_bins(entry))
    elif "bins" in entry.content or "values" in entry.content:
        raise ParameterError(f"{where} has bins, but is no histogram.", "Set kind: histogram, or use `by`.")
    return axes


def _values(column: str, values: object, schema: Schema, where: str) -> list[GroupValue]:
    if values == DECLARED:
        values = list(asked_labels(schema[column], schema.folder) or ())
        if not values:
            raise SchemaError(
                f"{where}: the schema declares no labels for '{column}'.",
                "Write categories: {labels: […]} for it, or list the values under `by`.",
            )
    if not isinstance(values, list) or not values:
        raise ParameterError(f"{where}: `by` has no values for '{column}'.", "List them: they are public.")
    return [_value(column, value, place, where) for place, value in enumerate(values)]


def _value(column: str, value: object, place: int, where: str) -> GroupValue:
    known = read_value(value, where)
    text = known if isinstance(known, str) else number_text(known)
    chosen = Filter(((column, OneOf((known,))),))
    return GroupValue(column, text, label_text(known), chosen, frozenset({place}))


def _bins(entry: StatisticEntry) -> list[GroupValue]:
    column, edges, values, where = entry.get("of"), entry.get("bins"), entry.get("values"), entry.where
    if not isinstance(column, str) or (edges is None) == (values is None):
        raise ParameterError(
            f"{where}: a histogram needs `of` and either `bins` (edges) or `values`.",
            "For example of: age, bins: [0, 20, 40, 65, 100].",
        )
    if values is not None:
        if not isinstance(values, list) or not values:
            raise ParameterError(f"{where}: `values` must be a list.", "List the public values.")
        return [_value(column, value, place, where) for place, value in enumerate(values)]
    numbers = _edges(edges, where)
    if any(a >= b for a, b in itertools.pairwise(numbers)):
        raise ParameterError(f"{where}: the edges of the bins must rise.", "Sort them and drop repeats.")
    found = []
    for place, (start, end) in enumerate(itertools.pairwise(numbers)):
        # The last bin holds its upper edge, as in every histogram.
        last = place == len(numbers) - 2
        chosen = Filter(((column, Between(start, math.nextafter(end, math.inf) if last else end)),))
        text = f"{number_text(start)}..{number_text(end)}"
        found.append(GroupValue(column, text, text, chosen, frozenset({place})))
    return found


def _edges(edges: object, where: str) -> list[float]:
    """The edges of bins: a list, or from, to and the width of each bin."""
    if isinstance(edges, dict):
        members(edges, ("from", "to", "width"), f"{where}, bins")
        start, end, width = (
            number_of(edges.get(key), f"{where}, bins, {key}") for key in ("from", "to", "width")
        )
        count = round((end - start) / width) if width > 0 else 0
        if not 1 <= count <= MOST_BINS or abs(start + count * width - end) > 1e-9 * max(abs(start), abs(end)):
            raise ParameterError(
                f"{where}: bins of this width do not lead from `from` to `to`, or are more than {MOST_BINS:,}.",
                "For example bins: {from: 0, to: 100, width: 5}.",
            )
        return [*(start + place * width for place in range(count)), end]
    if not isinstance(edges, list) or len(edges) < 2:
        raise ParameterError(f"{where}: `bins` needs at least two edges.", "For example [0, 20, 40].")
    return [number_of(edge, f"{where}, bins") for edge in edges]


# Totals: over some columns, over all of them, and along the levels of a declared taxonomy.


def kept_in_totals(entry: StatisticEntry, axes: Sequence[list[GroupValue]]) -> list[frozenset[str]] | None:
    """The columns that each wanted total keeps; None: every total there is, also of concepts."""
    asked, where = entry.get("totals"), entry.where
    if asked is False or asked is None:
        return []
    columns = [axis[0].column for axis in axes]
    if not axes:
        raise ParameterError(f"{where} has `totals`, but no groups.", "Write `by`, or drop `totals`.")
    for axis in axes:
        if any(choice.text == ALL for choice in axis):
            raise ParameterError(
                f"{where}: '{axis[0].column}' has a group '{ALL}', which is what totals are called.",
                "Drop `totals`, and ask for them as statistics of their own.",
            )
    if asked is True:
        return None
    advice = "Write totals: true, or lists of the columns that are kept: totals: [[region], []]."
    if not isinstance(asked, list) or not all(isinstance(kept, list) for kept in asked):
        raise ParameterError(f"{where}: `totals` is neither true nor a list of lists.", advice)
    for column in itertools.chain.from_iterable(asked):
        if column not in columns:
            raise ParameterError(
                f"{where}: `totals` names '{column}', which is not under `by`.",
                nearest(str(column), columns),
            )
    if any(set(kept) == set(columns) for kept in asked):
        raise ParameterError(f"{where}: totals over no column are the groups themselves.", advice)
    return [frozenset(map(str, kept)) for kept in asked]


def _totals(
    kept: list[frozenset[str]] | None, axes: list[list[GroupValue]], schema: Schema
) -> Iterable[StatisticGroup]:
    if kept is None:
        above = [above_axis(axis, schema) for axis in axes]
        for choices in itertools.product(*([*axis, *more] for axis, more in zip(axes, above, strict=True))):
            if any(choice in more for choice, more in zip(choices, above, strict=True)):
                yield StatisticGroup(choices, True)
        return
    for columns in kept:
        chosen = [axis if axis[0].column in columns else [_all(axis)] for axis in axes]
        yield from (StatisticGroup(choices, True) for choices in itertools.product(*chosen))


def above_axis(axis: list[GroupValue], schema: Schema) -> list[GroupValue]:
    """What holds several values of a column: the concepts of its taxonomy, and all of them."""
    return [*_inner(axis, schema), _all(axis)]


def _all(axis: list[GroupValue]) -> GroupValue:
    return GroupValue(axis[0].column, ALL, ALL, Filter(), frozenset(range(len(axis))))


def _inner(axis: list[GroupValue], schema: Schema) -> list[GroupValue]:
    """The concepts between the labels and the root of a declared taxonomy, those that hold several labels."""
    column = axis[0].column
    categories = schema[column].categories
    if categories is None or categories.taxonomy is None:
        return []
    tree = declared_taxonomy(categories, schema.folder)
    under: dict[str, list[str]] = {}
    for label in tree.categories:
        place = tree.parents[tree.nodes.index(label)]
        while place > 0:  # the root is everything
            under.setdefault(tree.nodes[place], []).append(label)
            place = tree.parents[place]
    found = []
    for node in tree.nodes:
        labels = under.get(node, [])
        covers = frozenset(place for place, choice in enumerate(axis) if choice.text in labels)
        if len(labels) > 1 and covers:
            chosen = Filter().and_also(column, OneOf(tuple(labels)))
            text = f"{ALL} {node}"
            found.append(GroupValue(column, text, label_text(text), chosen, covers))
    return found
