"""The noisy numbers behind synthetic rows, as a table that may be published: they cost nothing beyond the rows.

One line per number that was read: of which attributes, of which cell (from which value to which, or which labels), the noisy
count or correlation, and the standard deviation of its noise. Analysts can compute honest intervals from them; the rows have
none.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from coterie.chain.synthesis.cells import LabelCells
from coterie.chain.synthesis.decimals import MOST
from coterie.chain.synthesis.whole_table import CodedColumn, Drawn
from coterie.schema.arrays import Whole
from coterie.table.columns.column import CategoryColumn, Column

MISSING = "(missing)"


class Shown(NamedTuple):
    """A cell in words. `includes`: which of the two ends belong to it (both, from, to, neither)."""

    first: str | None = None
    last: str | None = None
    includes: str | None = None


class _Line(NamedTuple):
    reading: str
    attribute: str
    cell: Shown
    second_attribute: str | None
    second_cell: Shown
    noisy_count: float | None
    noisy_correlation: float | None
    standard_deviation: float


def measurements_table(drawn: Drawn, columns: Sequence[Column]) -> pa.Table:
    lines = _lines(drawn, [column.attribute.name for column in columns], columns)
    fields = {
        "reading": [line.reading for line in lines],
        "attribute": [line.attribute for line in lines],
        "from": [line.cell.first for line in lines],
        "to": [line.cell.last for line in lines],
        "includes": [line.cell.includes for line in lines],
        "second_attribute": [line.second_attribute for line in lines],
        "second_from": [line.second_cell.first for line in lines],
        "second_to": [line.second_cell.last for line in lines],
        "second_includes": [line.second_cell.includes for line in lines],
        "noisy_count": [line.noisy_count for line in lines],
        "noisy_correlation": [line.noisy_correlation for line in lines],
        "standard_deviation": [line.standard_deviation for line in lines],
    }
    numbers = ("noisy_count", "noisy_correlation", "standard_deviation")
    return pa.table(
        {
            name: pa.array(values, pa.float64() if name in numbers else pa.string())
            for name, values in fields.items()
        }
    )


def _lines(drawn: Drawn, names: Sequence[str], columns: Sequence[Column]) -> list[_Line]:
    model, coded = drawn.model, drawn.columns
    lines: list[_Line] = []
    for name, column in zip(names, coded, strict=True):
        if column.places is not None:
            for places, count in enumerate(column.places.values):
                cell = Shown(str(places) if places <= MOST else f"more than {MOST}")
                noise = column.places.deviation
                lines.append(_Line("decimal places", name, cell, None, Shown(), count, None, noise))
    for number, released in enumerate(model.distributions):
        for place, part in enumerate(released.parts):
            shown = _shown(coded[number], columns[number], part.cell_of)
            what, noise = f"histogram {place + 1}", part.reading.deviation
            for cell, count in zip(shown, part.reading.values, strict=True):
                lines.append(_Line(what, names[number], cell, None, Shown(), count, None, noise))
    if model.correlations is not None:
        pairs = combinations(model.scored, 2)
        for (a, b), value in zip(pairs, model.correlations.values, strict=True):
            noise = model.correlations.deviation
            lines.append(
                _Line("correlation of ranks", names[a], Shown(), names[b], Shown(), None, value, noise)
            )
    for (a, b), reading in model.readings.items():
        first, second = (_shown(coded[n], columns[n], model.binning.bin_of[n]) for n in (a, b))
        counts = reading.values.reshape(len(first), len(second))
        for one, line in zip(first, counts, strict=True):
            for other, count in zip(second, line, strict=True):
                lines.append(_Line("table", names[a], one, names[b], other, count, None, reading.deviation))
    return lines


def _shown(coded: CodedColumn, column: Column, cell_of: Whole) -> list[Shown]:
    """Every cell in words: labels, or the lowest and the highest value of it."""
    cells = coded.cells
    found: list[Shown] = []
    for cell in range(int(cell_of.max()) + 1):
        fine = np.flatnonzero(cell_of == cell)
        if cells.missing and len(fine) and fine[-1] == cells.size - 1:
            found.append(Shown(MISSING))
        elif isinstance(cells, LabelCells):
            assert isinstance(column, CategoryColumn)
            codes = coded.decode(fine, np.zeros(len(fine)))
            found.append(Shown(" | ".join(column.taxonomy.categories[code] for code in codes)))
        else:
            low, high, includes = cells.ends(int(fine[0]), int(fine[-1]))
            both = column.restore(np.array([low, high]))
            found.append(Shown(str(both[0].as_py()), str(both[1].as_py()), includes))
    return found
