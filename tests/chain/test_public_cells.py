"""Cells follow from the domain alone, hold every value once, and give back values that lie in them."""

from __future__ import annotations

import numpy as np
import pytest

from coterie.chain.synthesis.cells import FEW, LabelCells, number_cells
from coterie.schema.domain import Domain

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
    (-1e289, 1e289, None),
    (-1e9, 1e9, 1.0),
    (-1e9, 0.0, 1.0),
    (0.5, 100.5, 1.0),
    (0.05, 10.05, 0.1),
    (-0.125, 110, 0.01),
    (-1e289, 1e289, 1e-15),
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
    assert tuple(back[:2]) == Domain(lower=lower, upper=upper).limits(step)
    for coarse, fine in zip(cells.levels, cells.levels[1:], strict=False):
        assert len(np.unique(np.column_stack([coarse, fine]), axis=0)) == len(np.unique(fine))  # nested


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(
    ("lower", "upper", "step"),
    [
        (0.5, 100.5, 1.0),  # was: 1 and 2 became 2.5
        (0.5, 9.5, 1.0),
        (0.05, 10.05, 0.1),  # was: 0.05 was released
        (-0.125, 1.3, 0.01),
        (-7.77, -0.04, 0.1),
        (1.1, 4.35, 0.01),  # 1.1 · 100 is above 110, and 4.35 · 100 below 435
        (-2.5, 2.5, 1.0),
    ],
)
def test_every_multiple_of_the_step_inside_the_bounds_comes_back_as_it_is(
    lower: float, upper: float, step: float, missing: bool
) -> None:
    """Bounds need not be multiples of it: they are never released then, and no two values merge."""
    cells = number_cells(lower, upper, step, missing)
    places = len(f"{step:g}") - 2 if step < 1 else 0
    wanted = [float(f"{number / 10**places:.{places}f}") for number in range(-2000, 20_000)]
    wanted = [value for value in wanted if lower <= value <= upper]
    codes = cells.encode(np.array(wanted))
    for value, code in zip(wanted, codes, strict=True):
        inside = [float(end) for end in cells.at(np.array([cells.lows[code], cells.highs[code]]))]
        assert inside[0] <= value <= inside[1]
    drawn = [cells.decode(codes, np.full(len(codes), place)) for place in (0.0, 0.3, 0.999999)]
    assert {float(value) for line in drawn for value in line} <= set(wanted)
    single = cells.lows[codes] == cells.highs[codes]
    assert single.mean() > 0.9
    assert np.array_equal(drawn[1][single], np.array(wanted)[single])


def test_a_step_without_a_multiple_inside_the_bounds_leaves_numbers_as_they_are() -> None:
    cells = number_cells(0.2, 0.8, 1.0, missing=False)
    back = cells.decode(cells.encode(np.array([0.2, 0.5, 0.8])), np.zeros(3))
    assert np.all((back >= 0.2) & (back <= 0.8))


@pytest.mark.parametrize(("lower", "upper", "step"), [*DOMAINS[:8], *DOMAINS[13:16]])
@pytest.mark.parametrize("powers", [1, 6])
def test_what_a_cell_is_said_to_include_is_what_it_includes(
    lower: float, upper: float, step: float | None, powers: int
) -> None:
    cells = number_cells(lower, upper, step, missing=False, powers=powers)
    for level in cells.levels:
        for number in range(int(level.max()) + 1):
            fine = np.flatnonzero(level == number)
            low, high, includes = cells.ends(int(fine[0]), int(fine[-1]))
            inside = level[cells.encode(np.array([low, high]))] == number
            assert inside.tolist() == [includes in ("both", "from"), includes in ("both", "to")]
            if high > low and step is None:
                assert (level[cells.encode(np.nextafter([low, high], [high, low]))] == number).all()


def test_zero_has_a_cell_of_its_own() -> None:
    cells = number_cells(-5, 5, None, missing=False)
    assert len(set(cells.encode(np.array([-1e-9, 0.0, 1e-9])).tolist())) == 3


def test_cells_are_smallest_where_the_domain_is_nearest_to_zero() -> None:
    for step in (None, 1.0):
        cells = number_cells(-100_000, -1, step, missing=False)
        assert cells.widths[-2] < cells.widths[1]


@pytest.mark.parametrize(("lower", "upper"), [(-1e9, 1e9), (0.0, 1e9), (-1e9, 0.0)])
def test_small_numbers_stay_small_in_bounds_that_are_far_too_wide(lower: float, upper: float) -> None:
    """Was: the finest cell beside zero was about a thousand wide, and numbers from 0 to 4 had the median 360."""
    sign = 1.0 if upper > 0 else -1.0
    for step in (1.0, None):
        cells = number_cells(lower, upper, step, missing=False)
        widths = cells.widths[cells.encode(sign * np.arange(5.0))]
        assert widths[0] <= 1  # zero itself
        assert widths.max() <= 4
        assert cells.size < 5000


def test_few_values_are_counted_one_by_one() -> None:
    assert number_cells(0, FEW - 1, 1.0, missing=False).size == FEW


def test_labels_and_their_gap() -> None:
    cells = LabelCells(3, missing=True)
    codes = np.array([0, 2, -1])
    assert np.array_equal(cells.decode(cells.encode(codes), np.zeros(3)), codes)
