"""The noisy numbers behind synthetic rows, as a table that may be published: they cost nothing beyond the rows.

One line per cell: which attributes it is a cell of, from which value to which (or which labels), the noisy count, and the
standard deviation of its noise. Analysts can compute honest intervals from them; the rows have none.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from coterie.chain.synthesis.cells import LabelCells, NumberCells
from coterie.chain.synthesis.whole_table import CodedColumn, Drawn
from coterie.schema.arrays import Whole
from coterie.table.columns.column import CategoryColumn, Column

Shown = tuple[str, str | None]
MISSING = "(missing)"


def measurements_table(drawn: Drawn, columns: Sequence[Column]) -> pa.Table:
    model = drawn.model
    lines: list[tuple[str, str, Shown, str | None, Shown, float, float]] = []
    nothing: Shown = ("", None)
    names = [column.attribute.name for column in columns]
    for number, released in enumerate(model.distributions):
        for place, part in enumerate(released.parts):
            shown = _shown(drawn.columns[number], columns[number], part.cell_of)
            what = f"histogram {place + 1}"
            for cell, value in zip(shown, part.reading.values, strict=True):
                lines.append((what, names[number], cell, None, nothing, value, part.reading.deviation))
    for (a, b), reading in model.readings.items():
        first, second = (_shown(drawn.columns[n], columns[n], model.binning.bin_of[n]) for n in (a, b))
        values = reading.values.reshape(len(first), len(second))
        for i, one in enumerate(first):
            for j, other in enumerate(second):
                lines.append(("table", names[a], one, names[b], other, values[i, j], reading.deviation))
    return pa.table(
        {
            "reading": pa.array([line[0] for line in lines], pa.string()),
            "attribute": pa.array([line[1] for line in lines], pa.string()),
            "from": pa.array([line[2][0] for line in lines], pa.string()),
            "to": pa.array([line[2][1] for line in lines], pa.string()),
            "second_attribute": pa.array([line[3] for line in lines], pa.string()),
            "second_from": pa.array([line[4][0] or None for line in lines], pa.string()),
            "second_to": pa.array([line[4][1] for line in lines], pa.string()),
            "noisy_count": pa.array([line[5] for line in lines], pa.float64()),
            "standard_deviation": pa.array([line[6] for line in lines], pa.float64()),
        }
    )


def _shown(coded: CodedColumn, column: Column, cell_of: Whole) -> list[Shown]:
    """Every cell in words: labels, or the lowest and the highest value of it."""
    cells = coded.cells
    found: list[Shown] = []
    for cell in range(int(cell_of.max()) + 1):
        fine = np.flatnonzero(cell_of == cell)
        if cells.missing and len(fine) and fine[-1] == cells.size - 1:
            found.append((MISSING, None))
        elif isinstance(cells, LabelCells):
            assert isinstance(column, CategoryColumn)
            codes = coded.decode(fine, np.zeros(len(fine)))
            found.append((" | ".join(column.taxonomy.categories[code] for code in codes), None))
        else:
            found.append(_ends(cells, column, fine))
    return found


def _ends(cells: NumberCells, column: Column, fine: Whole) -> Shown:
    both = column.restore(cells.at(np.array([cells.lows[fine[0]], cells.highs[fine[-1]]])))
    return str(both[0].as_py()), str(both[1].as_py())
