"""Cells follow from the domain alone, hold every value once, and give back values that lie in them."""

from __future__ import annotations

import numpy as np
import pytest

from coterie.chain.synthesis.cells import FEW, LabelCells, number_cells

DOMAINS = [
    (0, 100, 1.0),
    (0, 150_000, 1.0),
    (-50, 1_000_000, 1.0),
    (0, 7.3, None),
    (-2.3, 9.1, None),
    (-9.0, -1.0, None),
    (1, 7, 1.0),
    (0, 1.5, 0.01),
    (-(2.0**53), 2.0**53, 1.0),
    (1e-300, 2e-300, None),
    (-1e300, 1e300, None),
]


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(("lower", "upper", "step"), DOMAINS)
def test_values_come_back_to_their_cell(
    lower: float, upper: float, step: float | None, missing: bool
) -> None:
    cells = number_cells(lower, upper, step, missing)
    draw = np.random.default_rng(1)
    values = lower + (upper - lower) * draw.random(500) if upper < 1e200 else draw.uniform(-1, 1, 500) * upper
    values[:3] = lower, upper, np.clip(0, lower, upper)
    if missing:
        values[3] = np.nan
    codes = cells.encode(values)
    assert codes.min() >= 0
    assert codes.max() < cells.size
    back = cells.decode(codes, draw.random(500))
    assert np.array_equal(np.isnan(back), np.isnan(values))
    assert np.nanmin(back) >= lower
    assert np.nanmax(back) <= upper
    assert np.array_equal(cells.encode(back), codes)
    assert back[0] == lower
    assert back[1] == upper
    for coarse, fine in zip(cells.levels, cells.levels[1:], strict=False):
        assert len(np.unique(np.column_stack([coarse, fine]), axis=0)) == len(np.unique(fine))  # nested


def test_zero_has_a_cell_of_its_own() -> None:
    cells = number_cells(-5, 5, None, missing=False)
    assert len(set(cells.encode(np.array([-1e-9, 0.0, 1e-9])).tolist())) == 3


def test_few_values_are_counted_one_by_one() -> None:
    assert number_cells(0, FEW - 1, 1.0, missing=False).size == FEW


def test_labels_and_their_gap() -> None:
    cells = LabelCells(3, missing=True)
    codes = np.array([0, 2, -1])
    assert np.array_equal(cells.decode(cells.encode(codes), np.zeros(3)), codes)
