"""Kendall's τ: counted right, its sensitivity exact, and quick."""

from __future__ import annotations

import time
from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from coterie.chain.synthesis.kendall import concordance, concordance_sensitivity

columns = st.integers(2, 30).flatmap(
    lambda n: st.tuples(*(st.lists(st.integers(0, 6), min_size=n, max_size=n) for _ in range(2)))
)


def by_pairs(x: np.ndarray, y: np.ndarray) -> int:
    signs = np.sign(np.subtract.outer(x, x)) * np.sign(np.subtract.outer(y, y))
    return int(signs.sum()) // 2


@given(columns)
def test_it_is_the_sum_of_signs_over_all_pairs(pair: tuple[list[int], list[int]]) -> None:
    x, y = (np.array(column, dtype=float) for column in pair)
    assert concordance(x, y) == by_pairs(x, y)


def test_one_replacement_moves_it_by_no_more_than_the_bound_ties_included() -> None:
    """All tables of 3 records over a 3 × 3 domain, all replacements of the first record."""
    cells = [np.array(cell, dtype=float) for cell in product(range(3), range(3))]
    worst = 0
    for others in product(cells, repeat=2):
        found = []
        for first in cells:
            table = np.array([first, *others])
            found.append(by_pairs(table[:, 0], table[:, 1]))
        worst = max(worst, max(found) - min(found))
    assert worst == concordance_sensitivity(3)  # reached, so nothing smaller would do


@given(columns, st.integers(0, 29), st.integers(0, 6), st.integers(0, 6))
def test_the_bound_holds_for_larger_tables(
    pair: tuple[list[int], list[int]], place: int, u: int, v: int
) -> None:
    x, y = (np.array(column, dtype=float) for column in pair)
    other_x, other_y = x.copy(), y.copy()
    other_x[place % len(x)], other_y[place % len(x)] = u, v
    assert abs(concordance(x, y) - concordance(other_x, other_y)) <= concordance_sensitivity(len(x))


def test_the_bound_is_four_over_n_and_is_reached() -> None:
    n = 50
    rising = np.arange(n, dtype=float)
    with_all, against_all = rising.copy(), rising.copy()
    against_all[0] = n + 1  # the smallest x now has the largest y
    moved = concordance(rising, with_all) - concordance(rising, against_all)
    assert moved == concordance_sensitivity(n)
    assert moved / (n * (n - 1) / 2) == 4 / n


def test_tau_b_would_need_more() -> None:
    """Why τ-a: the denominator of τ-b follows the data, and one record moves it by more than 4/n."""
    from scipy.stats import kendalltau

    n = 20
    x, y = np.zeros(n), np.zeros(n)
    x[0], y[0] = 1, 1
    changed = y.copy()
    changed[0] = -1
    assert abs(kendalltau(x, y).statistic - kendalltau(x, changed).statistic) > 4 / n


def test_a_hundred_thousand_records_take_no_time_to_speak_of() -> None:
    draw = np.random.Generator(np.random.PCG64(1))
    x, y = draw.normal(size=(2, 100_000))
    concordance(x[:10], y[:10])  # compile
    started = time.process_time()  # the machine may be busy with other things
    concordance(x, y)
    assert time.process_time() - started < 2  # pairwise counting would take minutes
