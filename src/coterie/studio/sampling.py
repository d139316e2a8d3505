"""The declared sample that previews work on: drawn with a fixed seed, so that two looks see the same rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from coterie.auditing.attacks.finding import FEWEST_TRIALS
from coterie.auditing.auditing_method import CONTROL_SHARE
from coterie.comparison.invented import sample_schema, synthetic_sample
from coterie.schema.arrays import Whole
from coterie.schema.attributes import Schema
from coterie.studio.project import Project

SEED = 0  # of the sample and of the noise: a preview can be repeated, and protects nobody
ROWS = 5_000
RUNS = 3  # of every choice in a comparison


def drawn_sample(
    project: Project, rows: int, *, synthetic: bool
) -> tuple[pa.Table, Schema, dict[str, int | bool]]:
    """Draw rows of the project's table, or invent as many that know nothing but the description.

    With its schema, and what a page says of it.
    """
    schema = project.schema()
    assert project.state.loaded is not None
    of = project.state.loaded.rows
    told = {"rows": min(rows, of), "of": of, "synthetic": synthetic}
    if synthetic:  # invented from the public bounds alone
        return synthetic_sample(schema, min(rows, of), SEED), sample_schema(schema), told
    return sample_rows(project.typed_table(), rows), schema, told


def sample_rows(table: pa.Table, rows: int, seed: int = SEED) -> pa.Table:
    """`rows` random rows in their order. Batch by batch: a table that is mapped from a file is not read whole."""
    if rows >= table.num_rows:
        return table
    draw = np.random.Generator(np.random.PCG64(seed))
    return _taken(table, np.sort(draw.choice(table.num_rows, rows, replace=False)))


def sample_and_control(
    table: pa.Table, rows: int, unit: str | None = None
) -> tuple[pa.Table, pa.Table | None]:
    """`rows` random rows to attack, and as control group others that are not among them: as many, if there are.

    At least a fifth of the table is held back. None where that is too few people for any interval. All rows of one `unit`
    (the name of its column) go to one side: who lives with a control person must not be attacked.
    """
    kept = min(rows, table.num_rows - round(CONTROL_SHARE * table.num_rows))
    held_back = min(rows, table.num_rows - kept)
    if held_back < FEWEST_TRIALS:
        return sample_rows(table, rows), None
    draw = np.random.Generator(np.random.PCG64(SEED))
    if unit is not None:
        return _whole_units(table, unit, kept, held_back, draw)
    drawn = draw.choice(table.num_rows, kept + held_back, replace=False)
    return _taken(table, np.sort(drawn[:kept])), _taken(table, np.sort(drawn[kept:]))


def _whole_units(
    table: pa.Table, unit: str, kept: int, held_back: int, draw: np.random.Generator
) -> tuple[pa.Table, pa.Table]:
    """Units in random order: the first to be attacked, the next as control, none beyond its number of rows."""
    codes = table[unit].combine_chunks().dictionary_encode().indices.to_numpy(zero_copy_only=False)
    order = draw.permutation(int(codes.max()) + 1)
    sizes = np.bincount(codes)[order]
    upto = np.cumsum(sizes)
    first = int(np.searchsorted(upto, kept, side="right"))
    last = first + int(np.searchsorted(np.cumsum(sizes[first:]), held_back, side="right"))
    side = np.zeros(len(order), dtype=np.int8)
    side[order[:first]], side[order[first:last]] = 1, 2
    of_row = side[codes]
    return _taken(table, np.flatnonzero(of_row == 1)), _taken(table, np.flatnonzero(of_row == 2))


def _taken(table: pa.Table, chosen: Whole) -> pa.Table:
    taken, first = [], 0
    for batch in table.to_batches():
        low, high = np.searchsorted(chosen, (first, first + batch.num_rows))
        if high > low:
            taken.append(batch.take(pa.array(chosen[low:high] - first)))
        first += batch.num_rows
    return pa.Table.from_batches(taken, table.schema)
