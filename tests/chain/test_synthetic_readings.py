"""Every reading of dp-synthetic on all pairs of tiny neighbours: it moves by no more than the accountant is told."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from coterie.chain.noise.seeded import SeededSampler
from coterie.chain.synthesis.accountant import Accountant, Currency, Reading
from coterie.chain.synthesis.cells import LabelCells, number_cells
from coterie.chain.synthesis.decimals import MOST, decimal_counts, noisy_step, price
from coterie.chain.synthesis.distributions import Distribution, Part
from coterie.chain.synthesis.scores import Scores, cut_to, scores_of
from coterie.chain.synthesis.synthesiser import CodedRecords
from coterie.chain.synthesis.tables import Binning, binning

VALUES = [0.0, 0.5, 3.0, 10.0, float("nan")]


def _neighbours(values: list[float], rows: int, c: int) -> list[tuple[list[float], list[float]]]:
    """All tables of `rows` records, and all that differ from them in the first c."""
    tables = list(product(values, repeat=rows))
    return [(list(table), [*other, *table[c:]]) for table in tables for other in product(values, repeat=c)]


@pytest.mark.parametrize("c", [1, 2])
def test_histograms_of_every_grid_move_by_two_per_record(c: int) -> None:
    cells = number_cells(0, 10, 0.5, missing=True)
    worst_l1, worst_l2 = 0, 0
    for before, after in _neighbours(VALUES, 2, c):
        fine = [np.bincount(cells.encode(np.array(t)), minlength=cells.size) for t in (before, after)]
        for grid in cells.levels:
            first, second = (np.bincount(grid, weights=counts) for counts in fine)
            worst_l1 = max(worst_l1, int(np.abs(first - second).sum()))
            worst_l2 = max(worst_l2, int(((first - second) ** 2).sum()))
    assert worst_l1 == 2 * c
    assert worst_l2 == 2 * c**2


@pytest.mark.parametrize("c", [1, 2])
def test_decimal_places_are_a_histogram(c: int) -> None:
    values = [1.0, 0.25, 0.1234567891, float("nan")]
    worst = 0
    for before, after in _neighbours(values, 2, c):
        first, second = (decimal_counts(np.array(t)) for t in (before, after))
        assert first.sum() == len(before)
        worst = max(worst, int(np.abs(first - second).sum()))
    assert worst == 2 * c


def test_decimal_places_of_plain_numbers() -> None:
    counts = decimal_counts(np.array([1.0, 2.5, 0.25, 0.1, 1 / 3, 9.9999999999]))
    assert counts.tolist() == [2, 2, 1, *[0] * (MOST - 2), 1]


@pytest.mark.parametrize("currency", Currency)
@pytest.mark.parametrize(("places", "finer"), [(0, 0.0), (1, 0.0), (2, 0.0), (1, 0.4)])
def test_decimal_places_are_rarely_read_wrong(currency: Currency, places: int, finer: float) -> None:
    """At the least budget that is enough for it. Was: 4 of 48 readings were wrong. 400 readings, of which 2 % may be: three
    in a hundred would be found out with probability 0.93, and six with certainty."""
    n, part, counts = 20_000, Fraction(1), np.zeros(MOST + 2, dtype=np.int64)
    counts[: places + 1] = np.array([1, 9, 90][: places + 1]) * n // sum([1, 9, 90][: places + 1])
    counts[0] += n - counts.sum()
    counts[places + 1] = int(finer * n)  # so many need one more
    counts[: places + 1] = counts[: places + 1] * (1 - finer)
    whole = Fraction(1)
    while price(n, part, Accountant(whole, currency, SeededSampler(0))) > 0:
        whole *= Fraction(9, 10)
    wrong = 0
    for seed in range(400):
        accountant = Accountant(whole * Fraction(10, 9), currency, SeededSampler(seed))
        cost = price(n, part, accountant)
        step, reading = noisy_step(counts, n, cost, 0.0, 100.0, accountant, f"{places}")
        wrong += step != 10.0 ** -(places + (finer > 0))
        assert n / reading.deviation >= 40
    assert wrong <= 8


def test_decimal_places_cost_little_where_noise_is_small() -> None:
    for currency in Currency:
        poor, rich = (
            Accountant(Fraction(whole), currency, SeededSampler(0)) for whole in (Fraction(1, 10**9), 1000)
        )
        assert price(1000, Fraction(1, 10), poor) == 0
        assert price(1000, Fraction(1, 10), rich) == Fraction(4, 1000)


def _scores(q: int) -> tuple[Scores, int]:
    cells = [number_cells(0, 3, 1.0, missing=False)] * q
    reading = Reading(np.array([1.0, 5.0, 2.0, 2.0]), 1.0)
    released = Distribution(reading.values, (Part(np.arange(4), reading),))
    return scores_of(cells, [released] * q), 4


@pytest.mark.parametrize("q", [2, 3, 4])
def test_the_score_matrix_moves_by_r_squared(q: int) -> None:
    scores, size = _scores(q)
    limit = scores.limit
    upper = np.triu_indices(q, 1)
    grams = [scores.gram(np.array([codes]))[upper] for codes in product(range(size), repeat=q)]
    worst_l2 = max(int(((a - b) ** 2).sum()) for a, b in combinations(grams, 2))
    worst_l1 = max(int(np.abs(a - b).sum()) for a, b in combinations(grams, 2))
    assert worst_l2 <= limit**2
    assert worst_l1**2 <= q * (q - 1) // 2 * limit**2


def test_the_bound_on_the_score_matrix_is_nearly_reached() -> None:
    """(1, 1, 0…) against (1, -1, 0…): half the bound would be wrong."""
    limit = 1000**2
    side = math.isqrt(limit // 2)
    first, second = (cut_to(np.array([[side, sign * side]], dtype=float), limit) for sign in (1, -1))
    moved = abs(float(first[0, 0] * first[0, 1] - second[0, 0] * second[0, 1]))
    assert 0.99 * limit < moved <= limit


def test_vectors_are_cut_to_length_in_whole_numbers() -> None:
    draw = np.random.default_rng(1)
    vectors = draw.integers(-(2**12), 2**12, (2000, 7)).astype(float)
    for limit in (1, 7, 12_345, 2**24):
        cut = cut_to(vectors.copy(), limit)
        assert np.all(cut == np.trunc(cut))
        assert ((cut**2).sum(axis=1) <= limit).all()
        assert np.all(np.abs(cut) <= np.abs(vectors))


def test_scores_of_tables_move_by_two() -> None:
    """|count - model| over all cells, for all tables of two records and any model."""
    bins = Binning((np.arange(2), np.arange(3)), np.array([2, 3]))
    records = list(product(range(2), range(3)))
    draw = np.random.default_rng(3)
    worst = 0
    for model in draw.integers(0, 3, (4, 2, 3)):
        scores = {}
        for pair in product(records, repeat=2):
            table = bins.counted(np.array(pair, dtype=np.uint16).T.copy())[0]
            scores[pair] = int(np.abs(table - model).sum())
        for kept, one, other in product(records, repeat=3):
            worst = max(worst, abs(scores[one, kept] - scores[other, kept]))
    assert worst == 2


def test_chunks_add_up_to_the_whole() -> None:
    """The same sums whichever pieces the records come in: what out of core and Spark rest on."""
    draw = np.random.default_rng(2)
    cells = [
        number_cells(0, 20, 1.0, missing=False),
        LabelCells(4, missing=True),
        number_cells(0, 9, 1.0, missing=True),
    ]
    codes = np.stack([draw.integers(0, cell.size, 101) for cell in cells])
    sizes = tuple(cell.size for cell in cells)
    whole, pieces = CodedRecords(codes, sizes), CodedRecords(codes, sizes, chunk=7)
    released = [
        Distribution(counts + 0.5, (Part(np.arange(len(counts)), Reading(counts + 0.5, 1.0)),))
        for counts in whole.histograms()
    ]
    scores, bins = scores_of(cells, released), binning(cells, released, 5)
    first, second = (part.dependence(scores, bins) for part in (whole, pieces))
    assert np.array_equal(first[0], second[0])
    assert all(np.array_equal(a, b) for a, b in zip(first[1], second[1], strict=True))
    assert all(table.sum() == 101 for table in first[1])
    missing = bins.bin_of[1]
    assert (missing == missing[-1]).sum() == 1  # missing is never counted together with values
