"""Exchanging a unit of at most c rows for any other, or for none: every reading moves by c times what one record does.

All tables of a few fixed rows and one unit of 0 to c rows, beside all tables with another such unit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement, product
from typing import TypeVar

import numpy as np
import pytest

from coterie.chain.private_bounds import interval_scores
from coterie.chain.synthesis.cells import number_cells
from coterie.chain.synthesis.decimals import decimal_counts
from coterie.chain.synthesis.scores import Scores, _widest
from coterie.chain.synthesis.tables import Binning

Row = TypeVar("Row")
UNITS = pytest.mark.parametrize("c", [1, 2, 3])


def exchanged(rows: Sequence[Row], others: Sequence[Row], c: int) -> Iterator[tuple[list[Row], list[Row]]]:
    """Order plays no part in a reading, so a unit is a multiset."""
    units = [unit for size in range(c + 1) for unit in combinations_with_replacement(rows, size)]
    for before, after in product(units, repeat=2):
        yield [*before, *others], [*after, *others]


@UNITS
def test_the_number_of_records_moves_by_c(c: int) -> None:
    assert max(abs(len(a) - len(b)) for a, b in exchanged([0, 1], [0], c)) == c


@UNITS
def test_histograms_of_every_grid_move_by_2c(c: int) -> None:
    cells = number_cells(0, 10, 0.5, missing=True)
    worst = [0, 0]
    for before, after in exchanged([0.0, 3.0, 10.0, float("nan")], [3.0], c):
        fine = [np.bincount(cells.encode(np.array(t)), minlength=cells.size) for t in (before, after)]
        for grid in cells.levels:
            moved = np.bincount(grid, weights=fine[0] - fine[1])
            worst = [max(worst[0], int(np.abs(moved).sum())), max(worst[1], int((moved**2).sum()))]
    assert worst == [2 * c, 2 * c**2]


@UNITS
def test_decimal_places_move_by_2c(c: int) -> None:
    values = [1.0, 0.25, 0.1234567891, float("nan")]
    moved = [decimal_counts(np.array(a)) - decimal_counts(np.array(b)) for a, b in exchanged(values, [], c)]
    assert max(int(np.abs(change).sum()) for change in moved) == 2 * c


@pytest.mark.parametrize("c", [1, 2])
def test_the_score_matrix_moves_by_c_r_squared(c: int) -> None:
    q = 3
    tables = tuple(np.array([-(2**10), 2**10]) for _ in range(q))
    scores = Scores(tables, tuple(range(q)), np.ones(q))
    rows = [np.array(codes) for codes in product(range(2), repeat=q)]
    alone = [scores.gram(row[None]) for row in rows]  # clipped row by row, so a unit's matrix is a sum
    upper = np.triu_indices(q, 1)
    worst_l1, worst_l2 = 0, 0.0
    for before, after in exchanged(range(len(rows)), [], c):
        moved = sum((alone[i] for i in before), np.zeros((q, q), np.int64)) - sum(
            (alone[i] for i in after), np.zeros((q, q), np.int64)
        )
        worst_l1 = max(worst_l1, int(np.abs(moved[upper]).sum()))
        worst_l2 = max(worst_l2, float((moved[upper].astype(float) ** 2).sum()))
    assert worst_l1 <= c * _widest(q)
    assert worst_l2 <= (c * scores.limit) ** 2
    assert worst_l2 > 0.4 * (c * scores.limit) ** 2  # an exchange, not only adding or removing, is what costs


@UNITS
def test_scores_of_tables_move_by_2c(c: int) -> None:
    binning = Binning((np.arange(2), np.arange(2)), np.array([2, 2]))
    rows = [np.array(codes) for codes in product(range(2), repeat=2)]
    models = [np.array([[1, 0], [0, 1]]), np.zeros((2, 2), np.int64), np.array([[1 + c, 0], [0, 1]])]
    worst = 0
    for before, after in exchanged(range(4), [0, 3], c):
        tables = [
            binning.counted(binning.binned(np.column_stack([rows[i] for i in unit])))[0]
            for unit in (before, after)
        ]
        for model in models:
            first, second = (int(np.abs(table - model).sum()) for table in tables)
            worst = max(worst, abs(first - second))
    assert worst == 2 * c


@UNITS
def test_scores_of_private_bounds_move_by_c(c: int) -> None:
    grid, worst = np.array([0.0, 1.0, 2.0, 4.0]), 0.0
    for before, after in exchanged([0.0, 1.5, 4.0], [1.0, 2.0], c):
        scores = []
        for values in (before, after):
            ordered = np.sort(values)
            above = len(ordered) - np.searchsorted(ordered, grid, side="right")
            above[0] = len(ordered)
            scores.append(np.stack([interval_scores(above[:-1], above[1:], t) for t in range(6)]))
        worst = max(worst, float(np.abs(scores[0] - scores[1]).max()))
    assert worst == c


def test_additive_readings_reach_c_times_the_diameter() -> None:
    """The additive lemma on random sets Φ: c·diam(Φ ∪ {0}) is reached, and never passed."""
    draws = np.random.default_rng(5)
    for _ in range(20):
        points = draws.integers(-5, 6, (3, 2))
        with_zero = np.vstack([points, np.zeros((1, 2), np.int64)])
        for norm in (1, 2):
            diameter = max(float(np.linalg.norm(a - b, norm)) for a in with_zero for b in with_zero)
            for c in (1, 2, 3):
                worst = max(
                    float(
                        np.linalg.norm(
                            sum((points[i] for i in before), np.zeros(2))
                            - sum((points[i] for i in after), np.zeros(2)),
                            norm,
                        )
                    )
                    for before, after in exchanged(range(3), [], c)
                )
                assert worst == pytest.approx(c * diameter)
