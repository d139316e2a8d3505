"""The hierarchy CSV that ARX users have: one row a category, its levels by `;` from leaf to root."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from coterie.errors import SchemaError
from coterie.taxonomy.documents import read_text
from coterie.taxonomy.tree import Edge, Taxonomy


def read_hierarchy_csv(path: Path) -> Taxonomy:
    """The first column holds the categories; the last one the root, usually `*`.

    ARX fills short branches by repeating a label on neighbouring levels (`Guam;Oceania;Oceania;*`). Such
    repetitions are one node here, since a repeated level would say that a label is its own ancestor.
    """
    first_seen: dict[str, int] = {}
    above: dict[str, str | None] = {}
    edges: list[Edge] = []
    width = 0
    rows = csv.reader(io.StringIO(read_text(path), newline=""), delimiter=";", strict=True)
    try:
        for row in rows:
            line = rows.line_num
            if not row:
                continue
            width = width or len(row)
            if len(row) < 2:
                raise SchemaError(
                    f"Line {line} has no level above the category.",
                    "Separate levels by `;` and end each row with the root, e.g. `France;Europe;*`.",
                )
            if len(row) != width:
                raise SchemaError(
                    f"Line {line} has {len(row)} levels; the rows before it have {width}.",
                    "Fill a short branch by repeating a label.",
                )
            if row[0] in first_seen:
                raise SchemaError(
                    f"Category '{row[0]}' has two rows, at lines {first_seen[row[0]]} and {line}.",
                    "Keep one of them.",
                )
            first_seen[row[0]] = line
            levels = [label for place, label in enumerate(row) if place == 0 or label != row[place - 1]]
            for child, parent in zip(levels, [*levels[1:], None], strict=True):
                # An inner label recurs in the row of each of its leaves: only a new claim is an edge.
                if child not in above or above[child] != parent:
                    above[child] = parent
                    edges.append(Edge(child, parent, line))
    except csv.Error as error:
        raise SchemaError(f"Line {rows.line_num} is not valid CSV: {error}.", "Correct that line.") from None
    return Taxonomy.build(edges, first_seen)
