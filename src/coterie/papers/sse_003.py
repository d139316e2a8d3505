"""What 003 Fig. 2–4 share: iDP-IR over ε × k on Adult and on both Wines, 50 runs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import pyarrow as pa

from coterie.papers.grids import PaperGrid, paper_grid
from coterie.papers.tables import ADULT_003, adult, adult_003_schema, both_wines, numeric_schema
from coterie.schema import Schema

EPSILONS = ("0.1", "0.25", "0.5", "0.75", "1")
ADULT_KS = (1, 50, 100, 250, 500, 1000, 2000)
WINE_KS = (1, 50, 100, 150, 200, 250, 300)
MEASURES = ("sse-paper", "sse")
RUNS = 50


def _grid(table: pa.Table, schema: Schema, ks: Sequence[int]) -> PaperGrid:
    return paper_grid(table, schema, ("idp-ls", "dp-ir"), EPSILONS, ks, RUNS, MEASURES)


@lru_cache(maxsize=1)
def adult_grid() -> PaperGrid:
    table = adult(("adult-train", "adult-test")).select(list(ADULT_003))
    return _grid(table, adult_003_schema(table), ADULT_KS)


@lru_cache(maxsize=1)
def wine_grid() -> PaperGrid:
    table = both_wines()
    return _grid(table, numeric_schema(table, table.column_names, alpha=2.0), WINE_KS)


def field(grid: PaperGrid, method: str, measure: str = "sse-paper") -> np.ndarray:
    """Rows k, columns ε."""
    return np.column_stack([grid.line(measure, method, epsilon) for epsilon in grid.epsilons])


def falls(values: np.ndarray, axis: int) -> tuple[int, int]:
    """How many steps along the axis go down (or stay), of how many."""
    steps = np.diff(values, axis=axis) <= 0
    return int(steps.sum()), steps.size
