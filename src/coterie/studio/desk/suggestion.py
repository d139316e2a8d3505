"""A first specification to change: from the description of the table alone, never from its values."""

from __future__ import annotations

import re
from typing import Any

from coterie.schema import Attribute, AttributeType, Role, Schema
from coterie.studio.counted import last_account
from coterie.studio.desk.statistic import NUMERIC
from coterie.studio.project import Project

_MOST_LABELS = 6
_MOST_MEANS = 2


def settings(project: Project) -> dict[str, Any]:
    """What every specification has. Under replace-one neighbours the number of records is public by definition.

    Its people are those of the table's last release, if a ledger counted it: one budget for both.
    """
    name = project.state.name.rsplit(".", 1)[0].lower()
    slug = re.sub(r"[^a-z0-9]+", "-", name).strip("-") or "statistics"
    return {
        "coterie_statistics": 1,
        "release": f"{slug}-1",
        "population": last_account(project)[1] or slug,
        "records": project.state.loaded.rows if project.state.loaded else 0,
        "neighbours": "replace-one",
        "budget": {"epsilon": "1"},
        "expected_from": "the publisher's expectation",
        "statistics": {},
        "equations": {},
    }


def suggested(schema: Schema) -> tuple[dict[str, Any], dict[str, Any]]:
    """Averages of numbers with bounds, by the first attribute with few labels; and one difference."""
    usable = [a for a in schema.attributes if a.role is not Role.IDENTIFIER]
    numbers = [a for a in usable if a.type in NUMERIC and a.domain is not None][:_MOST_MEANS]
    groups = next(((a.name, _labels(a)) for a in usable if 2 <= len(_labels(a)) <= _MOST_LABELS), None)
    statistics: dict[str, Any] = {}
    equations: dict[str, Any] = {}
    if groups:
        statistics["n"] = {"kind": "count", "by": {groups[0]: list(groups[1])}}
    for attribute in numbers:
        name = f"average_{_word(attribute.name)}"
        statistics[name] = {"kind": "mean", "of": attribute.name}
        if groups:
            statistics[name]["by"] = {groups[0]: list(groups[1])}
            first, second = groups[1][:2]
            equations.setdefault(
                "difference",
                {"ready": "difference", "of": {"a": f"{name}[{first}]", "b": f"{name}[{second}]"}},
            )
    if not groups and len(numbers) == 1:
        statistics[f"spread_{_word(numbers[0].name)}"] = {"kind": "std", "of": numbers[0].name}
    return statistics, equations


def _labels(attribute: Attribute) -> tuple[str, ...]:
    if attribute.type is AttributeType.BOOLEAN:
        return ("true", "false")
    return (attribute.categories.labels if attribute.categories else None) or ()


def _word(name: str) -> str:
    return re.sub(r"\W+", "_", name).strip("_").lower() or "value"
