"""What the page Look says of a preview: each column and relation with a word, its threshold and the figure, worst first."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from coterie.report import charts
from coterie.report.figures import Counted, attribute_figure
from coterie.schema.attributes import Schema

CLOSE, ROUGH = 0.03, 0.1  # the largest share of people who moved
KEPT, WEAKENED = 0.1, 0.25  # the same for the change of a relation
_DRAWN = 24  # columns; of more, the rest is a table
_WORST = 5


def moved_word(moved: float) -> str:
    return "close" if moved <= CLOSE else "rough" if moved <= ROUGH else "lost"


def relation_word(change: float) -> str:
    return (
        "kept"
        if abs(change) < KEPT
        else "stronger"
        if change > 0
        else "weakened"
        if -change <= WEAKENED
        else "lost"
    )


def looked(found: dict[str, Any], schema: Schema) -> dict[str, Any]:
    """What the page says of a preview, worst first."""
    labels = {attribute.name: attribute.label for attribute in schema.attributes}
    drawn, columns = all_figures(found), _worst_first(found)
    told = [
        {
            "name": one["name"],
            "label": labels.get(one["name"]),
            "moved": one["moved"],
            "word": moved_word(one["moved"]),
            "figure": f"column-{place}",
            # One legend for all of them stands above.
            "drawn": replace(drawn[f"column-{place}"], keys=()) if place <= _DRAWN else None,
        }
        for place, one in enumerate(columns, 1)
    ]
    words = Counter(one["word"] for one in told)
    related, pairs = found["relations"], []
    if related:
        pairs = [
            {"names": (one, other), "before": before, "after": after, "change": after - before}
            | {"word": relation_word(after - before)}
            for one, other, before, after in related["pairs"]
        ]
    return {
        "columns": told,
        "words": words,
        "pairs": pairs,
        "worst": pairs[:_WORST],
        "strong": related["strong"] if related else [],
        "strong_kept": sum(change < KEPT for change in related["strong"]) if related else 0,
        "legend": replace(drawn["column-1"], panels=(), rows=()) if told else "",
        "relations": [drawn[name] for name in RELATIONS if name in drawn],
        "two_way": next((one["value"] for one in found["measures"] if one["name"] == "two-way"), None),
        "thresholds": {"close": CLOSE, "rough": ROUGH, "kept": KEPT, "weakened": WEAKENED},
        "rules_kept": sum(after <= before for _, before, after in found["rules"]),
    }


def _worst_first(found: dict[str, Any]) -> list[dict[str, Any]]:
    return sorted(found["attributes"], key=lambda one: -one["moved"])


RELATIONS = ("relations-before", "relations-after", "relations-change")


def all_figures(found: dict[str, Any]) -> dict[str, charts.Figure]:
    """Every figure of the page by the name under which it can be taken along."""
    drawn = {}
    for place, one in enumerate(_worst_first(found), 1):
        known = {name: one[name] for name in ("labels", "edges", "unit", "dates") if name in one}
        counts = Counted(one["name"], one["before"], [one["after"]], **known)
        drawn[f"column-{place}"] = replace(attribute_figure(counts, ["after"]), caption="")
    return drawn | dict(zip(RELATIONS, _relations(found["relations"]), strict=False))


def _relations(found: dict[str, Any] | None) -> list[charts.Figure]:
    if found is None:
        return []
    names, before, after = found["names"], found["before"], found["after"]
    change = [
        [b - a for a, b in zip(one, other, strict=True)] for one, other in zip(before, after, strict=True)
    ]
    most = max(0.1, *(abs(value) for matrix in (before, after) for line in _below(matrix) for value in line))
    reach = max(0.1, *(abs(value) for line in _below(change) for value in line))
    return [
        charts.relation_matrix("Before", names, before, most=most),
        charts.relation_matrix("After", names, after, most=most),
        charts.correlation_matrix(
            "Change", names, change, reach=reach, note="Orange is weaker, purple stronger."
        ),
    ]


def _below(matrix: list[list[float]]) -> list[list[float]]:
    """Under the diagonal."""
    return [line[:place] for place, line in enumerate(matrix)]
