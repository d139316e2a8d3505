"""What the page Look says of a preview: each column and relation with a word, its threshold and the figure, worst first."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

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
            | {"word": relation_word(after - before), "number": place if place <= _WORST else ""}
            for place, (one, other, before, after) in enumerate(related["pairs"], 1)
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


CELLS = "look-cells.npz"  # in the project's folder: the cell of every row of the last preview
_EACH = 8  # tables, one for each label of a third column
_BOLD = 0.03  # from which on a difference of shares stands out


@dataclass(frozen=True, slots=True)
class CrossTable:
    """Shares of all people, of one label of a third column or of all of them: a line of cells for each row."""

    title: str
    columns: list[str]
    lines: list[tuple[str, list[tuple[float, float, bool]]]]  # before, after, whether that is far off


def crossed(
    folder: Path, known: list[dict[str, Any]], asked: Sequence[str], *, weighted: bool
) -> list[CrossTable]:
    """The table of two columns before and after; of a third, one for each of its labels."""
    places = {one["name"]: place for place, one in enumerate(known)}
    if len({*asked}) != len(asked) or not 2 <= len(asked) <= 3 or not {*asked} <= {*places}:
        return []
    try:
        with np.load(folder / CELLS) as kept:
            stored = {name: kept[name] for name in kept.files}
    except (OSError, ValueError):
        return []
    names = [known[places[name]]["cells"] for name in asked]
    shape, shares = tuple(len(one) for one in names), []
    for side in ("before", "after"):
        rows = stored[side][[places[name] for name in asked]].astype(np.intp)
        by = stored.get(f"weights_{side}") if weighted else None
        counts = np.bincount(np.ravel_multi_index(tuple(rows), shape), by, math.prod(shape)).reshape(shape)
        shares.append(counts / counts.sum())
    there = (shares[0] + shares[1]) > 0
    rows_there, columns_there = (
        there.any(axis=tuple(a for a in range(len(shape)) if a != axis)) for axis in (0, 1)
    )
    found = []
    for third in range(shape[2]) if len(shape) == 3 else (None,):
        before, after = (side if third is None else side[:, :, third] for side in shares)
        if third is not None and not (before + after).any():
            continue
        lines = [
            (
                names[0][row],
                [
                    (float(before[row, column]), float(after[row, column]), bool(abs(off) >= _BOLD))
                    for column in np.flatnonzero(columns_there)
                    for off in [after[row, column] - before[row, column]]
                ],
            )
            for row in np.flatnonzero(rows_there)
        ]
        title = "" if third is None else f"{asked[2]}: {names[2][third]}"
        found.append(CrossTable(title, [names[1][column] for column in np.flatnonzero(columns_there)], lines))
    return found[:_EACH]


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
    places = {name: place for place, name in enumerate(names)}
    worst = [(one, other) for one, other, *_ in found["pairs"][:_WORST]]
    numbered = {
        (places[one], places[other]): number
        for number, (one, other) in enumerate(worst, 1)
        if one in places and other in places
    }
    change = [
        [b - a for a, b in zip(one, other, strict=True)] for one, other in zip(before, after, strict=True)
    ]
    most = max(0.1, *(abs(value) for matrix in (before, after) for line in _below(matrix) for value in line))
    reach = max(0.1, *(abs(value) for line in _below(change) for value in line))
    return [
        charts.relation_matrix("Before", names, before, most=most),
        charts.relation_matrix("After", names, after, most=most),
        charts.correlation_matrix(
            "Change", names, change, reach=reach, note="Orange is weaker, purple stronger.", numbered=numbered
        ),
    ]


def _below(matrix: list[list[float]]) -> list[list[float]]:
    """Under the diagonal."""
    return [line[:place] for place, line in enumerate(matrix)]
