"""Counts of at least what is known in public: records are moved, in every table that they are in.

A record lies in one cell of each table. As it is moved in all of them at once, they still agree on every margin that they
share.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from coterie.schema.arrays import Floats
from coterie.statistics.prediction.linking import SharedMargin

LeastCount = tuple[NDArray[np.bool_], int]  # cells of a table, and the fewest records that they hold together
CellOfEach = list[NDArray[np.int64]]  # of each table the cell, draw by draw


def with_least_counts(
    tables: Sequence[Floats],
    bounds: Sequence[Sequence[LeastCount]],
    margins: Sequence[SharedMargin],
    *,
    exactly: bool,
) -> list[Floats]:
    """Tables (draws × cells) that keep their bounds.

    `exactly`: the number of records is known, so what is short comes from elsewhere.
    """
    made = [cells.copy() for cells in tables]
    for table, of_table in enumerate(bounds):
        for held, least in of_table:
            tried = np.broadcast_to(held, made[table].shape).copy()
            for _ in range(len(held)):
                short = np.maximum(least - made[table] @ held, 0.0)
                draws = np.flatnonzero(short)
                if not len(draws):
                    break
                parts, count = [cells[draws] for cells in made], short[draws]
                into, fits = _one_record(parts, margins, table, held)
                if exactly and not held.all():
                    rooms = [
                        _room(cells, one, at) for cells, one, at in zip(parts, bounds, into, strict=True)
                    ]
                    out, most = _one_record(rooms, margins, table, ~tried[draws])
                    count = np.minimum(count, np.maximum(most, 0.0))
                    tried[draws, out[table]] |= most <= 0  # nobody there can move: others may
                else:
                    out = None
                count = np.where(fits >= 0, count, 0.0)
                for place, cells in enumerate(made):
                    cells[draws, into[place]] += count
                    if out is not None:
                        cells[draws, out[place]] -= count
    return made


def _one_record(
    sizes: Sequence[Floats], margins: Sequence[SharedMargin], table: int, among: NDArray[np.bool_]
) -> tuple[CellOfEach, Floats]:
    """Draw by draw a record in the largest cell `among` those of a table, and in the largest of the others' that fit.

    Also how large the smallest of these cells is; −1 where none fits.
    """
    order = [table, *(other for other in range(len(sizes)) if other != table)]
    found: CellOfEach = [np.zeros(len(cells), dtype=np.int64) for cells in sizes]
    least = np.full(len(sizes[table]), np.inf)
    for number, place in enumerate(order):
        fits = np.broadcast_to(among if place == table else np.True_, sizes[place].shape).copy()
        for margin in margins:
            mine = margin.classes.get(place)
            for other in order[:number]:
                if mine is not None and other in margin.classes:
                    fits &= mine == margin.classes[other][found[other], None]
        sized = np.where(fits, sizes[place], -1.0)
        found[place] = sized.argmax(axis=1)
        least = np.minimum(least, sized.max(axis=1))
    return found, least


def _room(cells: Floats, bounds: Sequence[LeastCount], into: NDArray[np.int64]) -> Floats:
    """How many records each cell can give away to another one without breaking a bound."""
    room = cells
    for held, least in bounds:
        left = np.maximum(cells @ held - least, 0.0)[:, None]
        room = np.where(held & ~held[into][:, None], np.minimum(room, left), room)
    return room
