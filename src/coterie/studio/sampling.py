"""The declared sample that previews work on: drawn with a fixed seed, so that two looks see the same rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from coterie.comparison.compare import sample_schema, synthetic_sample
from coterie.schema.attributes import Schema
from coterie.studio.project import Project

SEED = 0  # of the sample and of the noise: a preview can be repeated, and protects nobody
ROWS = 5_000
RUNS = 3  # of every choice in a comparison


@dataclass(frozen=True, slots=True)
class Sample:
    table: pa.Table
    schema: Schema
    rows: int
    of: int
    synthetic: bool  # invented from the public bounds alone

    def told(self) -> dict[str, int | bool]:
        return {"rows": self.rows, "of": self.of, "synthetic": self.synthetic}


def drawn_sample(project: Project, rows: int, *, synthetic: bool = False) -> Sample:
    """So many rows of the project's table, or as many invented ones that know nothing but the description."""
    schema = project.schema()
    assert project.state.loaded is not None
    rows, of = min(rows, project.state.loaded.rows), project.state.loaded.rows
    if synthetic:
        return Sample(synthetic_sample(schema, rows, SEED), sample_schema(schema), rows, of, synthetic)
    return Sample(sample_rows(project.typed_table(), rows), schema, rows, of, synthetic)


def sample_rows(table: pa.Table, rows: int, seed: int = SEED) -> pa.Table:
    """`rows` random rows in their order. Batch by batch: a table that is mapped from a file is not read whole."""
    if rows >= table.num_rows:
        return table
    draw = np.random.Generator(np.random.PCG64(seed))
    chosen = np.sort(draw.choice(table.num_rows, rows, replace=False))
    taken, first = [], 0
    for batch in table.to_batches():
        low, high = np.searchsorted(chosen, (first, first + batch.num_rows))
        if high > low:
            taken.append(batch.take(pa.array(chosen[low:high] - first)))
        first += batch.num_rows
    return pa.Table.from_batches(taken, table.schema)
