"""The noisy numbers behind synthetic rows, as a table that may be published: they cost nothing beyond the rows.

One line per number that was read: of which attributes, of which cell (from which value to which, or which labels), the noisy
count or correlation, and the standard deviation of its noise. Analysts can compute honest intervals from them; the rows have
none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from typing import Any

import numpy as np
import pyarrow as pa

from coterie.chain.synthesis.cells import LabelCells
from coterie.chain.synthesis.decimals import MOST
from coterie.chain.synthesis.whole_table import CodedColumn, Drawn
from coterie.schema.arrays import Whole
from coterie.table.columns.column import CategoryColumn, Column

MISSING = "(missing)"


_CELL = ("from", "to", "includes")
_TEXT = ("reading", "attribute", *_CELL, "second_attribute", *(f"second_{name}" for name in _CELL))
_NUMBERS = ("noisy_count", "noisy_correlation", "standard_deviation")
_COLUMNS = pa.schema([*((name, pa.string()) for name in _TEXT), *((name, pa.float64()) for name in _NUMBERS)])

# A cell in words: its first and last value or label, and which of the two belong to it (both, from, to, neither).
Shown = tuple[str | None, str | None, str | None]
_NO_CELL: Shown = (None, None, None)


def measurements_table(drawn: Drawn, columns: Sequence[Column]) -> pa.Table:
    """One line per noisy number, in the columns of `_COLUMNS`."""
    columnwise = zip(*_lines(drawn, [column.attribute.name for column in columns], columns), strict=True)
    arrays = [pa.array(values, field.type) for values, field in zip(columnwise, _COLUMNS, strict=True)]
    return pa.Table.from_arrays(arrays, schema=_COLUMNS)


def _lines(drawn: Drawn, names: Sequence[str], columns: Sequence[Column]) -> Iterator[tuple[Any, ...]]:
    model, coded = drawn.model, drawn.columns
    for name, column in zip(names, coded, strict=True):
        if column.places is not None:
            for places, count in enumerate(column.places.values):
                written, noise = (
                    str(places) if places <= MOST else f"more than {MOST}",
                    column.places.deviation,
                )
                yield "decimal places", name, written, None, None, None, *_NO_CELL, count, None, noise
    for number, released in enumerate(model.distributions):
        for place, part in enumerate(released.parts):
            shown = _shown(coded[number], columns[number], part.cell_of)
            what, noise = f"histogram {place + 1}", part.reading.deviation
            for cell, count in zip(shown, part.reading.values, strict=True):
                yield what, names[number], *cell, None, *_NO_CELL, count, None, noise
    if model.correlations is not None:
        noise = model.correlations.deviation
        for (a, b), value in zip(combinations(model.scored, 2), model.correlations.values, strict=True):
            yield "correlation of ranks", names[a], *_NO_CELL, names[b], *_NO_CELL, None, value, noise
    for (a, b), reading in model.readings.items():
        first, second = (_shown(coded[n], columns[n], model.binning.bin_of[n]) for n in (a, b))
        for (one, other), count in zip(product(first, second), reading.values, strict=True):
            yield "table", names[a], *one, names[b], *other, count, None, reading.deviation


def _shown(coded: CodedColumn, column: Column, cell_of: Whole) -> list[Shown]:
    """Every cell in words: labels, or the lowest and the highest value of it."""
    cells = coded.cells
    found: list[Shown] = []
    for cell in range(int(cell_of.max()) + 1):
        fine = np.flatnonzero(cell_of == cell)
        if cells.missing and len(fine) and fine[-1] == cells.size - 1:
            found.append((MISSING, None, None))
        elif isinstance(cells, LabelCells):
            assert isinstance(column, CategoryColumn)
            codes = coded.decode(fine, np.zeros(len(fine)))
            found.append((" | ".join(column.taxonomy.categories[code] for code in codes), None, None))
        else:
            low, high, includes = cells.ends(int(fine[0]), int(fine[-1]))
            both = column.restore(np.array([low, high]))
            found.append((str(both[0].as_py()), str(both[1].as_py()), includes))
    return found
