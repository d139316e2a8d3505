"""Rows from noisy numbers: few rows say what many would, and little is read where noise is large."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from coterie.chain.noise.seeded import SeededSampler
from coterie.chain.synthesis.accountant import Accountant, Currency
from coterie.chain.synthesis.cells import Cells, LabelCells, number_cells
from coterie.chain.synthesis.distributions import Distribution, Part, Reading, read, refined
from coterie.chain.synthesis.marginal import onto_counts
from coterie.chain.synthesis.plan import Rule, distribution_share, plan_for
from coterie.chain.synthesis.synthesiser import CodedRecords, Model, synthesise

CELLS: list[Cells] = [number_cells(0, 9, 1.0, missing=False), LabelCells(5, missing=True)]
CELLS += [number_cells(0, 400, None, missing=False), number_cells(0, 6, 1.0, missing=False)]


def _model(n: int, epsilon: int, *, rows: int) -> tuple[np.ndarray, Model]:
    draw = np.random.default_rng(4)
    first = draw.integers(0, 10, n)
    codes = np.stack([first, draw.integers(0, 6, n), draw.integers(0, CELLS[2].size, n), first // 2])
    accountant = Accountant(Fraction(epsilon), Currency.EPSILON, SeededSampler(1))
    share = distribution_share(n, 4, accountant, rule=Rule())
    plan = plan_for(n, CELLS, [share / 4] * 4, accountant, rule=Rule())
    records = CodedRecords(codes, tuple(cell.size for cell in CELLS))
    told: list[float] = []
    model = synthesise(records, CELLS, n, rows, plan, accountant, built=told.append)
    assert told == sorted(told)  # a progress bar moves while the model is built
    assert len(told) == 1 + len(plan.rounds)
    return codes, model


def test_few_rows_have_the_distributions_and_the_tables_of_many() -> None:
    """A random choice of 300 rows would be off by about 2.4 per cell of a 10 × 6 table."""
    codes, model = _model(3000, 1000, rows=300)
    for attribute in (0, 1, 3):
        shares = np.bincount(codes[attribute]) / 3000
        found = np.bincount(model.rows[attribute], minlength=len(shares)) / 300
        assert np.abs(np.cumsum(shares - found)).max() < 0.01
    table = np.zeros((10, 6))
    np.add.at(table, (model.rows[0], model.rows[1]), 1)
    exact = np.zeros((10, 6))
    np.add.at(exact, (codes[0], codes[1]), 0.1)
    assert np.sqrt(np.mean((table - exact) ** 2)) < 1.2
    assert np.mean(model.rows[0] // 2 == model.rows[3]) > 0.95


def test_balance_keeps_distributions_and_lowers_the_distance() -> None:
    from coterie.chain.synthesis._row_loops import balance

    draw = np.random.default_rng(1)
    bins = draw.integers(0, 4, (200, 2)).astype(np.uint16)
    rows = bins.astype(np.int32)
    before = [np.bincount(column, minlength=4) for column in rows.T]
    aim = np.outer(*before) / 200
    table = np.zeros((4, 4))
    np.add.at(table, (bins[:, 0], bins[:, 1]), 1)
    starts = np.zeros((2, 2), dtype=np.int64)
    own, other = np.array([[0, 4], [1, 0]]), np.array([[0, 1], [4, 0]])
    off = (table - aim).ravel()
    balance(rows, bins, starts, own, other, off, np.ones(16), 20_000, np.array([7], dtype=np.uint64))
    after = np.zeros((4, 4))
    np.add.at(after, (rows[:, 0], rows[:, 1]), 1)
    assert np.allclose((after - aim).ravel(), off)
    assert np.abs(off).max() < 1.5 < np.abs(table - aim).max()
    assert all(
        (np.bincount(column, minlength=4) == was).all() for column, was in zip(rows.T, before, strict=True)
    )


@pytest.mark.parametrize(("currency", "large"), [(Currency.EPSILON, 100), (Currency.RHO, 10)])
def test_where_no_table_could_be_read_everything_goes_to_distributions(
    currency: Currency, large: int
) -> None:
    poor, rich = (
        Accountant(Fraction(whole), currency, SeededSampler(1))
        for whole in (Fraction(1, 20) if currency is Currency.EPSILON else Fraction(1, 2000), large)
    )
    assert distribution_share(500, 8, poor, rule=Rule()) == 1
    assert distribution_share(500, 8, rich, rule=Rule()) < Fraction(7, 10)
    assert distribution_share(500, 8, poor, target=True, rule=Rule()) < 1  # asked for


def test_margins_of_tables_improve_a_distribution() -> None:
    cells = LabelCells(4, missing=False)
    whole = np.arange(4)
    released = Distribution(
        np.array([40.0, 20, 20, 20]), (Part(whole, Reading(np.array([40.0, 20, 20, 20]), 10.0)),)
    )
    better = refined(released, cells, 100.0, [Part(whole, Reading(np.full(4, 25.0), 1.0))])
    assert np.abs(better.counts - 25).max() < 1
    assert better.parts == released.parts
    assert refined(released, cells, 100.0, []) is released


def _faint(cells: Cells, counts: np.ndarray, currency: Currency, whole: Fraction, seed: int) -> Distribution:
    accountant = Accountant(whole, currency, SeededSampler(seed))
    return read(counts, cells, float(counts.sum()), Fraction(1), (), accountant, "one attribute")


@pytest.mark.parametrize("currency", list(Currency))
def test_counts_that_noise_is_as_large_as_are_told_with_a_prior(currency: Currency) -> None:
    """240 records in eight cells, noise of 70: nearest counts are off by 49 %, and 33 % here. Chance is 1 %."""
    cells, truth = LabelCells(8, missing=False), np.array([60, 50, 40, 30, 25, 20, 10, 5])
    whole = Fraction(1, 5000) if currency is Currency.RHO else Fraction(4, 100)
    nearest, found = [], []
    for seed in range(200):
        released = _faint(cells, truth, currency, whole, seed)
        assert released.counts.min() > 0
        assert released.counts.sum() == pytest.approx(240)
        counts = onto_counts(released.parts[0].reading.values, 240.0)
        nearest.append(np.abs(counts - truth).sum() / 480)
        found.append(np.abs(released.counts - truth).sum() / 480)
    assert np.mean(found) < 0.9 * np.mean(nearest)


def test_the_prior_fades_without_a_jump_and_nothing_is_too_faint() -> None:
    """Of the same cells at noise from a tenth of n to 10³⁰ times n; where all is noise, what one would think is left."""
    cells = number_cells(0, 1000, None, missing=True)
    truth = np.zeros(cells.size, dtype=np.int64)
    truth[5], truth[-1] = 900, 100
    for power in range(-1, 31):
        released = _faint(cells, truth, Currency.EPSILON, Fraction(1, 350) / Fraction(10) ** power, 1)
        assert np.isfinite(released.counts).all()
        assert released.counts.min() >= 0
        assert released.counts.sum() == pytest.approx(1000)
    present = released.counts[:-1] / released.counts[:-1].sum()
    assert present == pytest.approx(cells.widths[:-1] / cells.widths[:-1].sum(), abs=0.02)


def test_many_labels_that_noise_hides_take_no_time() -> None:
    """Newton's method would want a matrix of 10,000 × 10,000."""
    truth = np.ones(10_000, dtype=np.int64)
    released = _faint(LabelCells(10_000, missing=False), truth, Currency.EPSILON, Fraction(1, 1000), 1)
    assert released.counts.sum() == pytest.approx(10_000)
