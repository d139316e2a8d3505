"""Statistics as written → single statistics: group-by, totals and histograms become one statistic per group.

Each fault says where it is.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from coterie.errors import ParameterError, SchemaError, nearest
from coterie.schema.attributes import Schema
from coterie.statistics.specification.asked_values import one_spelling
from coterie.statistics.specification.calculus import Range
from coterie.statistics.specification.fields import (
    members,
    number_of,
    one_of,
    positive_integer,
    positive_of,
)
from coterie.statistics.specification.filters import Between, Filter, label_text, read_filter
from coterie.statistics.specification.groups import (
    StatisticEntry,
    StatisticGroup,
    axes_of,
    groups_of,
    private_key,
)
from coterie.statistics.specification.large_table import large_table
from coterie.statistics.specification.shape import ENTRIES as SHAPE_ENTRIES
from coterie.statistics.specification.shape import ValueShape
from coterie.statistics.specification.specification import (
    About,
    ErrorSummary,
    Route,
    Statistic,
    StatisticKind,
)

# `weighted: true`: a count becomes the sum of the weights, a sum one of products, a mean or a proportion a ratio of sums.
#
# So sensitivities, plans and reconstruction are those of sums: one record moves a weighted count by w_max at most.

_KINDS = (StatisticKind.COUNT, StatisticKind.SUM, StatisticKind.MEAN, StatisticKind.PROPORTION)


def weighted(content: object, where: str) -> bool:
    if not isinstance(content, bool):
        raise ParameterError(f"{where}: `weighted` is true or false.", "Write weighted: true.")
    return content


def with_weight(statistic: Statistic, entry: StatisticEntry, *, default: bool) -> Statistic:
    """The statistic as the entry asks for it, by the weight of the schema or not."""
    where, schema = f"Statistic '{statistic.name}'", entry.schema
    if not weighted(entry.get("weighted", default), where):
        return statistic
    if schema.weight is None:
        raise SchemaError(
            f"{where} is weighted, and the schema has no weight.",
            "Give one column `role: weight` in the schema.",
        )
    kind, name = statistic.kind, schema.weight.name
    if kind not in _KINDS or len(statistic.columns) > 1:
        raise ParameterError(
            f"{where} cannot be weighted.",
            "Counts and histograms (of few cells), proportions, and sums and means of one column can; write "
            "weighted: false for this one.",
        )
    if name in statistic.columns:
        raise ParameterError(f"{where}: '{name}' is the weight itself.", "Write weighted: false.")
    if kind in (StatisticKind.COUNT, StatisticKind.SUM):
        # The least size is one of records, not of weights.
        columns = (name, *statistic.columns)
        return replace(statistic, kind=StatisticKind.SUM, columns=columns, weighted_by=name)
    return replace(statistic, weighted_by=name)


def mean_weight(content: object, schema: Schema, records: int | None) -> float | None:
    """The mean weight as declared, or as public totals say; never the true one."""
    stated = positive_of(content, "`mean_weight`")
    weight = schema.weight
    if stated is None:
        return schema.totals.population / records if schema.totals is not None and records else None
    if weight is None:
        raise SchemaError(
            "`mean_weight` is given, and the schema has no weight.", "Give one column `role: weight`."
        )
    if weight.domain is not None and not weight.domain.lower <= stated <= weight.domain.upper:
        raise ParameterError(
            "`mean_weight` lies outside the bounds of the weight.", "Correct one of the two."
        )
    return stated


def of_group(content: Mapping[Any, Any], label: str, where: str) -> object:
    """What a mapping says about one group. A key is a value (1.0 is 1), or a label as it stands in the name."""
    found = [value for key, value in content.items() if label in (_key_text(key), str(key))]
    if len(found) > 1:
        raise ParameterError(f"{where} mentions group '{label}' twice.", "Keep one of the two entries.")
    return found[0] if found else None


def _key_text(key: object) -> str:
    whole = isinstance(key, int) and not isinstance(key, bool)
    return str(key) if whole else label_text(key if isinstance(key, float) else str(key))


def _by_label(content: object, reserved: tuple[str, ...] = ()) -> bool:
    """Whether a mapping speaks of groups, each under its label."""
    return isinstance(content, dict) and not set(content) & set(reserved)


def _check_labels(content: object, groups: tuple[StatisticGroup, ...], place: str) -> None:
    """A misspelt group would be planned as if nothing were said of it."""
    assert isinstance(content, dict)
    labels = [group.label for group in groups if group.label]
    for key in content:
        if not labels:
            raise ParameterError(
                f"{place} speaks of groups, but there are none.", "Write one value, or `by`."
            )
        if _key_text(key) not in labels and str(key) not in labels:
            raise ParameterError(f"{place} names the unknown group '{key}'.", nearest(str(key), labels))


_ENTRIES = (
    *("kind", "of", "where", "by", "totals", "complete", "that", "at_least", "at_most", "bins", "values"),
    *("quantile", "shape", "candidates", "trim", "least_std", "expected", "about", "weight", "tolerance"),
    *("summary", "route", "weighted"),
)
_ABOUT = ("size", "mean", "std")
_MADE = (StatisticKind.KEYS, StatisticKind.TABLE)  # of counts with `by`
ShapeOf = Callable[[object, str, str, Filter, float, float | None, str], tuple[ValueShape, float]]


def expand(
    content: Mapping[str, Any],
    schema: Schema,
    shape_of: ShapeOf,
    weighted: bool = False,
) -> tuple[tuple[Statistic, ...], tuple[tuple[Filter, tuple[Filter, ...]], ...]]:
    """All single statistics, and the groups that are complete: of which base, and all of them.

    `weighted`: so they are, unless an entry says otherwise.
    """
    if not content:
        raise ParameterError("No statistic is asked for.", "Write at least one under `statistics:`.")
    statistics: list[Statistic] = []
    complete: list[tuple[Filter, tuple[Filter, ...]]] = []
    for name, written in content.items():
        where = f"Statistic '{name}'"
        if not isinstance(written, dict):
            raise ParameterError(f"{where} has no description.", "Give it at least a `kind`.")
        if not _usable_in_formulas(str(name)):
            raise ParameterError(
                f"{where} cannot be used in a formula.",
                "Use letters, digits and _ only; begin with a letter.",
            )
        members(written, _ENTRIES, where)
        kind = one_of(written.get("kind"), StatisticKind, f"{where}, kind", _MADE)
        entry = StatisticEntry(written, kind, schema, where, str(name))
        key = private_key(entry)
        axes = [] if key is not None else axes_of(entry)
        table = large_table(entry, axes)
        if key is not None or table is not None:
            whole = _single(entry, StatisticGroup(), shape_of)
            if key is not None:
                whole = replace(whole, kind=StatisticKind.KEYS, columns=(key,))
            else:
                whole = replace(whole, kind=StatisticKind.TABLE, columns=(), table=table)
            statistics.append(with_weight(whole, entry, default=weighted))
            continue
        groups = groups_of(entry, axes)
        for key, reserved in (("expected", ()), ("about", _ABOUT), ("shape", SHAPE_ENTRIES)):
            if groups[0].choices and _by_label(entry.get(key), reserved):
                _check_labels(entry.get(key), groups, f"{where}, {key}")
        made = [
            (group, with_weight(_single(entry, group, shape_of), entry, default=weighted)) for group in groups
        ]
        parts = [(group, statistic) for group, statistic in made if not group.total]
        statistics += [_total_of(group, single, parts) if group.total else single for group, single in made]
        if entry.get("complete") is True and parts[0][0].choices:
            base = read_filter(entry.get("where"), where)
            complete.append((base, tuple(part.where for _, part in parts)))
    # Statistics that mean the same records share them from here on, however their values were written.
    statistics = [_respelled(statistic, schema) for statistic in statistics]
    spelled = (tuple(one_spelling(f, schema) for f in (base, *parts)) for base, parts in complete)
    return tuple(statistics), tuple((base, tuple(parts)) for base, *parts in spelled)


def _respelled(statistic: Statistic, schema: Schema) -> Statistic:
    where, that = one_spelling(statistic.where, schema) & _answered(statistic, schema), statistic.that
    return replace(statistic, where=where, that=None if that is None else one_spelling(that, schema))


def _answered(statistic: Statistic, schema: Schema) -> Filter:
    """Only records with a value are added up, where values may be missing: whether there is one is public of nobody."""
    described = {attribute.name: attribute for attribute in schema.attributes}
    asked = {column for column, condition in statistic.where.conditions if isinstance(condition, Between)}
    found = Filter()
    for column in () if statistic.kind.of_keys else dict.fromkeys(statistic.columns):
        attribute = described.get(column)
        if column not in asked and attribute is not None and attribute.gaps and attribute.domain is not None:
            found = found.and_also(column, Between(start=attribute.domain.lower))
    return found


def _total_of(
    group: StatisticGroup, statistic: Statistic, parts: list[tuple[StatisticGroup, Statistic]]
) -> Statistic:
    """A total of counts or sums, of which nothing is said, is expected to be what its parts add up to."""
    if statistic.expected is not None or statistic.kind not in (StatisticKind.COUNT, StatisticKind.SUM):
        return statistic
    expected, ranges = [], []
    for part, single in parts:
        if group.holds(part):
            if single.expected is None:
                return statistic
            expected.append(single.expected)
            ranges.append(single.possible or Range(single.expected, single.expected))
    possible = Range(sum(r.lower for r in ranges), sum(r.upper for r in ranges))
    return replace(statistic, expected=sum(expected), possible=possible if possible.width else None)


def _single(entry: StatisticEntry, group: StatisticGroup, shape_of: ShapeOf) -> Statistic:
    kind, label, where = entry.kind, group.label, entry.where
    # One figure for all groups is no figure for a total of counts or sums.
    added_up = kind in (StatisticKind.COUNT, StatisticKind.SUM, StatisticKind.HISTOGRAM)
    apart = group.total and added_up and not isinstance(entry.get("expected"), dict)
    expected, possible = _expected(None if apart else entry.get("expected"), label, where)
    columns = entry.get("of")
    listed = [] if columns is None else columns if isinstance(columns, list) else [columns]
    if kind is StatisticKind.HISTOGRAM:
        kind, listed = StatisticKind.COUNT, []
    quantile = 0.5
    if kind is StatisticKind.QUANTILE:
        quantile = number_of(entry.get("quantile"), f"{where}, quantile")
        if not 1e-6 <= quantile <= 1 - 1e-6:
            raise ParameterError(
                f"{where}: the quantile must lie between 0 and 1, by at least a millionth.",
                "For example 0.9.",
            )
    if kind is StatisticKind.MEDIAN:
        kind = StatisticKind.QUANTILE
    _check_alone(entry)
    least = positive_of(entry.get("least_std"), f"{where}, least_std")
    chosen = read_filter(entry.get("where"), where) & group.where
    shape = None
    said = entry.get("shape")
    unsaid = group.total and _by_label(said, SHAPE_ENTRIES) and of_group(said, label, where) is None
    if "shape" in entry.content and not unsaid:
        if kind is not StatisticKind.QUANTILE or len(listed) != 1:
            raise ParameterError(f"{where} has a shape, but is no quantile.", "Drop `shape`.")
        shape, expected = shape_of(said, label, str(listed[0]), chosen, quantile, expected, where)
    about = _about(entry.get("about"), label, len(listed), where)
    if group.total and not _by_label(entry.get("about"), _ABOUT):
        about = replace(about, size=None)
    return Statistic(
        name=f"{entry.name}[{label}]" if label else entry.name,
        kind=kind,
        columns=tuple(str(column) for column in listed),
        where=chosen,
        that=read_filter(entry.get("that"), where) if "that" in entry.content else None,
        at_least=positive_integer(entry.get("at_least"), f"{where}, at_least"),
        quantile=quantile,
        about=about,
        shape=shape,
        candidates=positive_integer(entry.get("candidates", 1024), f"{where}, candidates", 2) or 1024,
        expected=expected,
        possible=possible,
        weight=number_of(entry.get("weight", 1.0), f"{where}, weight", at_least=0.0),
        tolerance=positive_of(entry.get("tolerance"), f"{where}, tolerance"),
        summary=one_of(entry.get("summary", "mean"), ErrorSummary, f"{where}, summary"),
        route=one_of(entry.get("route", "auto"), Route, f"{where}, route"),
        least_stds=() if least is None else (least,),
        at_most=positive_integer(entry.get("at_most"), f"{where}, at_most"),
        trim=_trim(entry.get("trim", 0.1), where),
        group=group.columns,
    )


_ALONE = {  # entries that only some kinds have
    "trim": (StatisticKind.TRIMMED_MEAN,),
    "at_most": (StatisticKind.COUNT_DISTINCT,),
    "least_std": (StatisticKind.SLOPE, StatisticKind.INTERCEPT),
}


def _check_alone(entry: StatisticEntry) -> None:
    for name, kinds in _ALONE.items():
        if entry.get(name) is not None and entry.kind not in kinds:
            raise ParameterError(f"{entry.where} has `{name}`, but is no {' or '.join(kinds)}.", "Drop it.")


def _trim(content: object, where: str) -> float:
    trim = number_of(content, f"{where}, trim")
    if not 0.001 <= trim <= 0.49:
        raise ParameterError(
            f"{where}: `trim` is the part left out at each end, from 0.001 to 0.49.", "For example trim: 0.1."
        )
    return trim


def _expected(content: object, label: str, where: str) -> tuple[float | None, Range | None]:
    """A number, a range [low, high], or a mapping from the group's label to either."""
    if isinstance(content, dict):
        if not label:
            raise ParameterError(
                f"{where}, expected speaks of groups, but there are none.", "Write one number, or `by`."
            )
        content = of_group(content, label, where)
    if content is None:
        return None, None
    if isinstance(content, list):
        if len(content) != 2:
            raise ParameterError(f"{where}: an expected range has two ends.", "Write expected: [low, high].")
        low, high = (number_of(end, f"{where}, expected") for end in content)
        if low > high:
            raise ParameterError(f"{where}: the expected range is inverted.", "Write expected: [low, high].")
        return (low + high) / 2, Range(low, high)
    return number_of(content, f"{where}, expected"), None


def _usable_in_formulas(name: str) -> bool:
    """Formulas are read with compatibility characters folded (ﬁ is fi), so a name must be folded already."""
    return name.isidentifier() and unicodedata.normalize("NFKC", name) == name


def _about(content: object, label: str, columns: int, where: str) -> About:
    """size, mean and std of the group (of two columns: lists of two); or a mapping from the group's label to them."""
    if label and _by_label(content, _ABOUT):
        content = of_group(content, label, where)  # type: ignore[arg-type]
    if content is None:
        return About()
    if not isinstance(content, dict):
        raise ParameterError(
            f"{where}: `about` is a mapping.", "Write about: {size: 600, mean: 36, std: 11}."
        )
    members(content, _ABOUT, f"{where}, about")

    def listed(key: str) -> list[object]:
        values = content.get(key)
        if columns > 1 and values is not None and (not isinstance(values, list) or len(values) != columns):
            raise ParameterError(
                f"{where}, about, {key}: there are {columns} columns.", f"Write {key}: [first, second]."
            )
        return values if isinstance(values, list) and columns > 1 else [values]

    means = (None if v is None else number_of(v, f"{where}, about, mean") for v in listed("mean"))
    stds = (positive_of(v, f"{where}, about, std") for v in listed("std"))
    return About(positive_of(content.get("size"), f"{where}, about, size"), tuple(means), tuple(stds))
