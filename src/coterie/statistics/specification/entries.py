"""Entries of a specification → values: single fields, and statistics, which group-by and histograms make many of.

Each fault says where it is.
"""

from __future__ import annotations

import itertools
import math
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any, TypeVar

from coterie.errors import ParameterError, nearest
from coterie.statistics.specification.calculus import Range
from coterie.statistics.specification.filters import (
    Between,
    Filter,
    OneOf,
    label_text,
    number_text,
    read_filter,
    read_value,
)
from coterie.statistics.specification.shape import ValueShape
from coterie.statistics.specification.specification import (
    About,
    ErrorSummary,
    Route,
    Statistic,
    StatisticKind,
    Total,
)

Choice = TypeVar("Choice", bound=StrEnum)


def members(content: Mapping[Any, Any], known: Iterable[str], where: str) -> None:
    """Refuse entries that mean nothing."""
    known = list(known)
    for entry in content:
        if entry not in known:
            raise ParameterError(f"{where} has an unknown entry '{entry}'.", nearest(str(entry), known))


def one_of(value: object, choices: type[Choice], where: str) -> Choice:
    if isinstance(value, choices):
        return value
    known = [choice.value for choice in choices]
    if value is None:
        raise ParameterError(f"{where} is missing.", f"Choose one of: {', '.join(known)}.")
    if str(value) not in known:
        raise ParameterError(f"{where} is not one that Coterie knows.", nearest(str(value), known))
    return choices(str(value))


def number_of(value: object, where: str, at_least: float = -math.inf) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ParameterError(f"{where} is not a number.", "Write a number.")
    try:
        number = float(value)
    except ValueError:
        raise ParameterError(f"{where} is not a number.", "Write a number.") from None
    if not math.isfinite(number) or number < at_least:
        raise ParameterError(f"{where} is out of range.", f"Write a finite number of at least {at_least:g}.")
    return number


def positive_of(value: object, where: str) -> float | None:
    """An optional positive number."""
    if value is None:
        return None
    number = number_of(value, where)
    if number <= 0:
        raise ParameterError(f"{where} must be greater than 0.", "Write a positive number.")
    return number


def positive_integer(value: object, where: str, at_least: int = 1) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < at_least:
        raise ParameterError(f"{where} must be a whole number of at least {at_least}.", "Correct that entry.")
    return value


def of_group(content: Mapping[Any, Any], label: str, where: str) -> object:
    """What a mapping says about one group. A key is a value (1.0 is 1), or a label as it stands in the name."""
    found = [value for key, value in content.items() if label in (_key_text(key), str(key))]
    if len(found) > 1:
        raise ParameterError(f"{where} mentions group '{label}' twice.", "Keep one of the two entries.")
    return found[0] if found else None


def _key_text(key: object) -> str:
    whole = isinstance(key, int) and not isinstance(key, bool)
    return str(key) if whole else label_text(key if isinstance(key, float) else str(key))


# Statistics as written → single statistics: group-by and histograms become one statistic per group.

_ENTRIES = (
    *(
        "kind",
        "of",
        "where",
        "by",
        "that",
        "at_least",
        "quantile",
        "shape",
        "candidates",
        "expected",
        "about",
    ),
    *("weight", "tolerance", "summary", "route", "bins", "values", "complete", "least_std"),
)
Groups = list[tuple[str, Filter]]
ShapeOf = Callable[[object, str, str, Filter, float, float | None, str], tuple[ValueShape, float]]


def expand(
    content: Mapping[str, Any], size_is_public: bool, shape_of: ShapeOf
) -> tuple[tuple[Statistic, ...], tuple[Total, ...]]:
    """All single statistics, and which of them must add up.

    `size_is_public`: the number of records is known exactly, so that a complete group-by must add up to it. That
    is so under replace-one neighbours alone; under add-remove `records` is a figure for planning.
    """
    if not content:
        raise ParameterError("No statistic is asked for.", "Write at least one under `statistics:`.")
    statistics: list[Statistic] = []
    families: list[tuple[Statistic, tuple[str, ...]]] = []
    for name, entry in content.items():
        if not isinstance(entry, dict):
            raise ParameterError(f"Statistic '{name}' has no description.", "Give it at least a `kind`.")
        where = f"Statistic '{name}'"
        if not _usable_in_formulas(str(name)):
            raise ParameterError(
                f"{where} cannot be used in a formula.",
                "Use letters, digits and _ only; begin with a letter.",
            )
        members(entry, _ENTRIES, where)
        kind = one_of(entry.get("kind"), StatisticKind, f"{where}, kind")
        groups, complete = _groups(entry, kind, where)
        parts = []
        for label, extra in groups:
            full_name = f"{name}[{label}]" if label else str(name)
            parts.append(_single(full_name, label, kind, entry, extra, where, shape_of))
        statistics += parts
        if complete and parts[0].kind in (StatisticKind.COUNT, StatisticKind.SUM):
            base = _single(str(name), "", kind, entry, Filter(), where, shape_of)
            families.append((base, tuple(part.name for part in parts)))
    return tuple(statistics), _totals(statistics, families, size_is_public)


def _single(
    name: str,
    label: str,
    kind: StatisticKind,
    entry: Mapping[str, Any],
    extra: Filter,
    where: str,
    shape_of: ShapeOf,
) -> Statistic:
    expected, possible = _expected(entry.get("expected"), label, where)
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
    chosen = read_filter(entry.get("where"), where) & extra
    shape = None
    if "shape" in entry:
        if kind is not StatisticKind.QUANTILE or len(listed) != 1:
            raise ParameterError(f"{where} has a shape, but is no quantile.", "Drop `shape`.")
        shape, expected = shape_of(entry["shape"], label, str(listed[0]), chosen, quantile, expected, where)
    return Statistic(
        name=name,
        kind=kind,
        columns=tuple(str(column) for column in listed),
        where=chosen,
        that=read_filter(entry["that"], where) if "that" in entry else None,
        at_least=positive_integer(entry.get("at_least"), f"{where}, at_least"),
        quantile=quantile,
        about=_about(entry.get("about"), label, len(listed), where),
        shape=shape,
        candidates=positive_integer(entry.get("candidates", 1024), f"{where}, candidates", 2) or 1024,
        expected=expected,
        possible=possible,
        weight=number_of(entry.get("weight", 1.0), f"{where}, weight", at_least=0.0),
        tolerance=positive_of(entry.get("tolerance"), f"{where}, tolerance"),
        summary=one_of(entry.get("summary", "mean"), ErrorSummary, f"{where}, summary"),
        route=one_of(entry.get("route", "auto"), Route, f"{where}, route"),
        least_stds=_least_std(entry.get("least_std"), kind, where),
    )


def _least_std(content: object, kind: StatisticKind, where: str) -> tuple[float, ...]:
    least = positive_of(content, f"{where}, least_std")
    if least is None:
        return ()
    if kind not in (StatisticKind.SLOPE, StatisticKind.INTERCEPT):
        raise ParameterError(f"{where} has `least_std`, but is no slope or intercept.", "Drop it.")
    return (least,)


def _expected(content: object, label: str, where: str) -> tuple[float | None, Range | None]:
    """A number, a range [low, high], or a mapping from the group's label to either."""
    if isinstance(content, dict):
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
    entries = ("size", "mean", "std")
    if isinstance(content, dict) and label and not set(content) & set(entries):
        content = of_group(content, label, where)
    if content is None:
        return About()
    if not isinstance(content, dict):
        raise ParameterError(
            f"{where}: `about` is a mapping.", "Write about: {size: 600, mean: 36, std: 11}."
        )
    members(content, entries, f"{where}, about")

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


def _groups(entry: Mapping[str, Any], kind: StatisticKind, where: str) -> tuple[Groups, bool]:
    """Labels and extra conditions; and whether the groups are declared to be all there are."""
    by = entry.get("by") or {}
    if not isinstance(by, dict):
        raise ParameterError(
            f"{where}: `by` must give each column's public list of values.",
            "Write by: {region: [north, south]}. (Values found in the data would themselves be a disclosure.)",
        )
    axes: list[Groups] = []
    for column, values in by.items():
        if not isinstance(values, list) or not values:
            raise ParameterError(
                f"{where}: `by` has no values for '{column}'.", "List them: they are public."
            )
        axes.append([_value_group(str(column), value, where) for value in values])
    if kind is StatisticKind.HISTOGRAM:
        axes.append(_bins(entry, where))
    elif "bins" in entry or "values" in entry:
        raise ParameterError(f"{where} has bins, but is no histogram.", "Set kind: histogram, or use `by`.")
    groups: Groups = []
    for combination in itertools.product(*axes):
        chosen = Filter()
        for _, condition in combination:
            chosen = chosen & condition
        groups.append((", ".join(label for label, _ in combination), chosen))
    return groups, bool(axes) and entry.get("complete") is True


def _value_group(column: str, value: object, where: str) -> tuple[str, Filter]:
    known = read_value(value, where)
    return label_text(known), Filter().and_also(column, OneOf((known,)))


def _bins(entry: Mapping[str, Any], where: str) -> Groups:
    column, edges, values = entry.get("of"), entry.get("bins"), entry.get("values")
    if not isinstance(column, str) or (edges is None) == (values is None):
        raise ParameterError(
            f"{where}: a histogram needs `of` and either `bins` (edges) or `values`.",
            "For example of: age, bins: [0, 20, 40, 65, 100].",
        )
    if values is not None:
        if not isinstance(values, list) or not values:
            raise ParameterError(f"{where}: `values` must be a list.", "List the public values.")
        return [_value_group(column, value, where) for value in values]
    if not isinstance(edges, list) or len(edges) < 2:
        raise ParameterError(f"{where}: `bins` needs at least two edges.", "For example [0, 20, 40].")
    numbers = [number_of(edge, f"{where}, bins") for edge in edges]
    if any(a >= b for a, b in itertools.pairwise(numbers)):
        raise ParameterError(f"{where}: the edges of the bins must rise.", "Sort them and drop repeats.")
    groups: Groups = []
    for index, (start, end) in enumerate(itertools.pairwise(numbers)):
        last = index == len(numbers) - 2
        # The last bin holds its upper edge, as in every histogram.
        condition = Between(start, math.nextafter(end, math.inf) if last else end)
        groups.append((f"{number_text(start)}..{number_text(end)}", Filter().and_also(column, condition)))
    return groups


def _totals(
    statistics: list[Statistic], families: list[tuple[Statistic, tuple[str, ...]]], size_is_public: bool
) -> tuple[Total, ...]:
    totals = []
    for base, parts in families:
        whole = next(
            (
                other.name
                for other in statistics
                if (other.kind, other.columns, other.where) == (base.kind, base.columns, base.where)
            ),
            None,
        )
        public = base.kind is StatisticKind.COUNT and base.where.everyone and size_is_public
        if whole is not None or public:
            totals.append(Total(parts, whole))
    return tuple(totals)
