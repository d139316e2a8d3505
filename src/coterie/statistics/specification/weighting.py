"""`weighted: true`: a count becomes the sum of the weights, a sum one of products, a mean or a proportion a ratio of sums.

So sensitivities, plans and reconstruction are those of sums: one record moves a weighted count by w_max at most.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from coterie.errors import ParameterError, SchemaError
from coterie.schema.attributes import Schema
from coterie.statistics.specification.fields import positive_of
from coterie.statistics.specification.specification import Statistic, StatisticKind

_KINDS = (StatisticKind.COUNT, StatisticKind.SUM, StatisticKind.MEAN, StatisticKind.PROPORTION)


def weighted(content: object, where: str) -> bool:
    if not isinstance(content, bool):
        raise ParameterError(f"{where}: `weighted` is true or false.", "Write weighted: true.")
    return content


def with_weight(
    statistic: Statistic, entry: Mapping[str, Any], schema: Schema, *, default: bool
) -> Statistic:
    """The statistic as the entry asks for it, by the weight of the schema or not."""
    where = f"Statistic '{statistic.name}'"
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
    """As declared, or as public totals say; never the true one."""
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
