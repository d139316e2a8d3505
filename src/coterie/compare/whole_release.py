"""Cells that no sorting can be shared for: each run is a release, made by protect() and measured as it is.

Synthetic rows follow from the whole table at once, and bounds that ε pays for differ from run to run.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from coterie.compare.grid import Cell
from coterie.methods import get_method
from coterie.methods.recipe import Method
from coterie.release import protect
from coterie.schema import Schema, Source
from coterie.utility.measure import Measure, Settings
from coterie.utility.pair import bring_together

Floats = NDArray[np.float64]


def needs_whole_release(method: Method, schema: Schema) -> bool:
    paid = any(a.domain is not None and a.domain.source is Source.DP for a in schema.protected)
    return method.synthesis is not None or paid


def measure_releases(
    data: pa.Table,
    schema: Schema,
    cell: Cell,
    runs: int,
    seed: int,
    measures: Sequence[Measure],
    settings: Settings,
) -> dict[str, Floats]:
    """values[measure] with the axes cell (one), run, attribute. Synthetic rows have no measure that needs linkage."""
    method = get_method(cell.method)
    names = [attribute.name for attribute in schema.protected]
    found = {measure.name: np.full((1, runs, len(names)), np.nan) for measure in measures}
    for run in range(runs):
        k = None if method.fixed_k else cell.k
        released = protect(data, schema, method=cell.method, epsilon=cell.epsilon, k=k, seed=seed + run)
        pair = bring_together(data, released.table, schema)
        for measure in measures:
            if measure.needs_linkage and method.synthesis is not None:
                continue
            by_attribute = measure.compute(pair, settings).attributes
            found[measure.name][0, run] = [by_attribute.get(name, np.nan) for name in names]
    return found
