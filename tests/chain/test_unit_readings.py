"""What one privacy unit of at most c rows moves in everything that synthetic rows are made of, and in what other methods
measure: each line of the design's UNITS.md, section 1, by enumeration and with the functions that the product uses.

The lines of statistics stand in tests/statistics/test_unit_table.py, those of missing values (section 2) in
tests/methods/test_missing_outcome.py, those of the ledger (section 6) in tests/promise/test_loss.py. Methods that refuse a
unit have lines, too: group privacy in the ledger multiplies by c what they are promised for one row.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from coterie.chain.noise.seeded import SeededSampler
from coterie.chain.partition.univariate import individual_ranking
from coterie.chain.private_bounds import interval_scores
from coterie.chain.sensitivity import list_sensitivity
from coterie.chain.synthesis.accountant import Accountant, Currency
from coterie.chain.synthesis.cells import number_cells
from coterie.chain.synthesis.decimals import decimal_counts
from coterie.chain.synthesis.scores import Scores, _limit, _widest
from coterie.chain.synthesis.tables import Binning
from coterie.errors import ParameterError
from coterie.methods import all_methods, get_method
from coterie.schema.attributes import Schema
from coterie.table.checked import check
from unit_neighbours import moves

UNITS = pytest.mark.parametrize("c", [1, 2, 3])
NAN = float("nan")
TWO = math.sqrt(2)
Line = tuple[float, float, float]  # under S, A and X

CELLS = number_cells(0, 10, 0.5, missing=True)
GRID = np.array([0.0, 1.0, 2.0, 4.0])
PAIRS = [np.array(codes) for codes in itertools.product(range(2), repeat=2)]
BINNING = Binning((np.arange(2), np.arange(2)), np.array([2, 2]))


def histogram(level: int) -> Callable[[list[float]], Any]:
    def read(values: list[float]) -> Any:
        fine = np.bincount(CELLS.encode(np.array(values)), minlength=CELLS.size)
        return np.bincount(CELLS.levels[level], weights=fine)

    return read


def decimals(values: list[float]) -> Any:
    return decimal_counts(np.array(values))


def table_choice(rows: list[int]) -> Any:
    """How far a table lies from the model of it, for the best of several models."""
    models = [np.array([[1, 0], [0, 1]]), np.zeros((2, 2)), np.array([[4, 0], [0, 1]])]
    codes = np.array([PAIRS[row] for row in rows]).reshape(len(rows), 2)
    table = BINNING.counted(BINNING.binned(codes.T))[0]
    return [np.abs(table - model).sum() for model in models]


def private_bounds(values: list[float]) -> Any:
    above = len(values) - np.searchsorted(np.sort(values), GRID, side="right")
    above[0] = len(values)
    return [interval_scores(above[:-1], above[1:], t) for t in range(6)]


@UNITS
@pytest.mark.parametrize(
    ("read", "kinds", "others", "norm", "line"),
    [
        (len, [0, 1], 1, 0, (0, 1, 1)),  # how many rows there are
        *((histogram(n), [0.0, 3.0, 10.0, NAN], 1, 0, (2, 1, 2)) for n in range(len(CELLS.levels))),
        (histogram(-1), [0.0, 10.0, NAN], 1, 1, (TWO, 1, TWO)),
        (decimals, [1.0, 0.25, 0.1234567891, NAN], 0, 0, (2, 1, 2)),
        (table_choice, range(4), [[0, 3]], 2, (2, 1, 2)),
        (private_bounds, [0.0, 1.5, 4.0], [[1.0, 2.0]], 2, (1, 1, 1)),
    ],
)
def test_readings_of_synthetic_rows(
    read: Callable[[list[Any]], Any], kinds: Sequence[Any], others: Any, norm: int, line: Line, c: int
) -> None:
    """c rows move each as many times as far as one row, and no further. (norm 0: L1, 1: L2, 2: L∞.)"""
    found = moves(read, kinds, c, others)
    assert [found[relation][norm] for relation in "SAX"] == pytest.approx([c * each for each in line])


@UNITS
def test_the_score_matrix(c: int) -> None:
    """cR², and cR²·√((1 − 1/q)/2) where the unit is there or not; both are reached, but for rounding towards zero."""
    q = 3
    limit = _limit(q)
    one, two, all_three = 0, math.isqrt(limit // 2), math.isqrt(limit // 3)
    steps = np.array([-10 * two, -two, one, all_three, two])
    scores = Scores((steps,) * q, tuple(range(q)), np.ones(q))
    rows = [np.array(codes) for codes in ((4, 4, 2), (4, 1, 2), (3, 3, 3), (0, 0, 0), (2, 2, 2))]
    alone = [scores.gram(row[None])[np.triu_indices(q, 1)] for row in rows]  # clipped row by row
    found = moves(lambda unit: sum((alone[row] for row in unit), np.zeros(q)), range(len(rows)), c)
    shares = {"S": 1.0, "A": math.sqrt((1 - 1 / q) / 2), "X": 1.0}
    for relation, share in shares.items():
        assert found[relation][1] <= c * limit * share
        assert found[relation][1] == pytest.approx(c * limit * share, rel=0.01)
        assert found[relation][0] <= c * _widest(q)


def test_additive_readings_reach_c_times_the_diameter() -> None:
    """The additive lemma on random sets Φ: c·diam Φ, c·max‖φ‖ and c·diam(Φ ∪ {0}) are reached, and never passed."""
    draws = np.random.default_rng(5)
    for _ in range(10):
        points = draws.integers(-5, 6, (3, 2))
        with_zero = np.vstack([points, np.zeros((1, 2), np.int64)])
        for c in (1, 2, 3):
            found = moves(lambda unit, at=points: sum((at[i] for i in unit), np.zeros(2)), range(3), c)
            for place, norm in enumerate((1, 2)):
                apart = np.linalg.norm(with_zero[:, None] - with_zero[None], norm, axis=2)
                line = (apart[:3, :3].max(), apart[3].max(), apart.max())
                for relation, each in zip("SAX", line, strict=True):
                    assert found[relation][place] == pytest.approx(c * each)


# Methods whose proof needs a public number of rows: all tables of n rows, and all that differ from one in c rows.

LOW, MIDDLE, HIGH = -1.0, 1.0, 3.0
NUMBER: dict[str, Any] = {"type": "continuous", "role": "protect", "domain": {"lower": LOW, "upper": HIGH}}


def columns(rows: Sequence[Sequence[Any]], entry: dict[str, Any]) -> list[Any]:
    names = [f"x{place}" for place in range(len(rows[0]))]
    table = pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))
    found = check(table, Schema.load({"attributes": dict.fromkeys(names, entry)})).columns
    return [found[name] for name in names]


def measured(method: str, k: int, entry: dict[str, Any] = NUMBER) -> Callable[[list[Any]], Any]:
    """All numbers that noise is added to, attribute by attribute, over the sensitivity for one row."""
    recipe = get_method(method)

    def read(rows: list[Any]) -> Any:
        found = []
        whole = columns(rows, entry)
        grouping = recipe.grouping.prepare(whole, k)
        for column in whole:
            mechanism = recipe.mechanism(column)
            centroids = mechanism.centroids(column, grouping(column))
            found.append(centroids.values / mechanism.sensitivity(column, centroids, k))
        return np.concatenate(found)

    return read


def beside(kinds: Sequence[Any], n: int, c: int) -> list[tuple[Any, ...]]:
    return list(itertools.combinations_with_replacement(kinds, n - c))


def replaced(read: Callable[[list[Any]], Any], kinds: Sequence[Any], n: int, c: int) -> Any:
    """What replacing c of n rows moves, value by value, for every such pair of tables."""
    for rest in beside(kinds, n, c):
        values = [read([*rest, *unit]) for unit in itertools.combinations_with_replacement(kinds, c)]
        for first, second in itertools.combinations(values, 2):
            yield np.abs(first - second)


ONE = [(LOW,), (MIDDLE,), (HIGH,)]
SEVERAL = [(x, y) for x in (LOW, HIGH) for y in (LOW, HIGH)]


@pytest.mark.parametrize(("kinds", "m"), [(ONE, 1), (SEVERAL, 2)])
@UNITS
def test_laplace_per_value(kinds: list[Any], m: int, c: int) -> None:
    """cmΔ in L1 and √(cm)·Δ in L2: noise of scale Δ/ε per value costs cε of each attribute."""
    moved = list(replaced(measured("laplace", 1), kinds, 3, c))
    assert max(by.sum() for by in moved) == pytest.approx(c * m)
    assert max(np.sqrt(by @ by) for by in moved) == pytest.approx(math.sqrt(c * m))


@pytest.mark.parametrize(
    ("groups", "k", "c"), [(2, 2, 1), (2, 2, 2), (2, 2, 3), (3, 2, 3), (2, 3, 2), (2, 3, 4), (1, 3, 3)]
)
def test_sorted_means(groups: int, k: int, c: int) -> None:
    """Δ·min(c/k, g) and Δ·√(⌊c/k⌋ + frac(c/k)²), both reached; the noise is for Δ/k."""
    moved = list(replaced(measured("dp-sorted", k), ONE, groups * k, c))
    assert max(by.sum() for by in moved) == pytest.approx(k * min(c / k, groups))
    assert max(by @ by for by in moved) == pytest.approx(k**2 * (c // k + (c % k / k) ** 2))


@pytest.mark.parametrize(
    ("groups", "k", "c"), [(2, 2, 1), (2, 2, 2), (2, 2, 3), (3, 2, 2), (2, 3, 2), (2, 3, 3), (3, 1, 2)]
)
def test_groups_of_all_attributes(groups: int, k: int, c: int) -> None:
    """gΔ·min(c/k, 1) per attribute; the noise of dp-mdav is for gΔ/k, so that is min(c, k) times what a row costs."""
    read = measured("dp-mdav", k)
    n, worst = groups * k, 0.0
    for by in replaced(read, SEVERAL, n, c):
        worst = max(worst, by[:groups].sum(), by[groups:].sum())
    assert worst <= min(c, k) + 1e-9
    assert worst > 0.49 * min(c, k)  # all groups at once move only where there are few


@pytest.mark.parametrize(
    ("groups", "k", "c", "tight"),
    [(4, 1, 1, True), (3, 2, 1, False), (5, 1, 2, False), (2, 2, 2, True), (2, 3, 2, True), (1, 4, 3, True)],
)
def test_labels_along_a_path(groups: int, k: int, c: int, tight: bool) -> None:
    """min(cP, g·min(c, k)·δmax): what the scores of all groups move in sum, each by its worst label."""
    entry = {"type": "categorical", "role": "protect", "categories": {"labels": list("abcd")}}
    column = columns([(label,) for label in "abcd"], entry)[0]
    distance, order = column.distance, column.order
    path, largest = list_sensitivity(distance, order, 10**6), list_sensitivity(distance, order, 1)
    mechanism = get_method("dp-sorted").mechanism(column)

    def read(labels: list[Any]) -> Any:
        found = columns(labels, entry)[0]
        scores = mechanism.centroids(found, individual_ranking(found.position, k))
        return scores.marginality[scores.line]

    worst = max(by.max(axis=1).sum() for by in replaced(read, [(label,) for label in "abcd"], groups * k, c))
    bound = min(c * path, groups * min(c, k) * largest)
    assert worst <= bound + 1e-9
    assert worst > (0.999 if tight else 0.6) * bound


def test_every_other_method_refuses_a_unit_and_names_one_that_has_a_proof() -> None:
    schema = Schema.load(
        {
            "unit": {"column": "home", "at_most": 2},
            "attributes": {"home": {"role": "identifier"}, "x": NUMBER},
        }
    )
    for name in all_methods().keys() - {"dp-synthetic"}:
        with pytest.raises(ParameterError, match=r"no statement for units.*Choose dp-synthetic\."):
            get_method(name).check_schema(schema)
    get_method("dp-synthetic").check_schema(schema)


# Section 5: the filter.


def test_an_adaptive_split_costs_the_whole_and_never_more() -> None:
    """Every transcript of two answers, the second at a price that the first decides: exact odds, the product's account."""
    whole = Fraction(1)

    def law(
        bits: tuple[int, int], first: Fraction, price: Callable[[int, Fraction], Fraction]
    ) -> dict[Any, float]:
        found = {}
        for answers in itertools.product(range(2), repeat=2):
            book = Accountant(whole, Currency.EPSILON, SeededSampler(1))
            chances = 1.0
            costs = [first, price(answers[0], whole - first)]
            for place, (bit, answer, cost) in enumerate(zip(bits, answers, costs, strict=True)):
                book.noisy_choice([0, 0], 1, cost, f"answer {place}")  # charged, or refused
                truth = math.exp(cost) / (1 + math.exp(cost))
                chances *= truth if answer == bit else 1 - truth
            found[answers] = chances
        return found

    def loss(first: Fraction, price: Callable[[int, Fraction], Fraction]) -> float:
        laws = [law(bits, first, price) for bits in itertools.product(range(2), repeat=2)]
        return max(math.log(a[t] / b[t]) for a, b in itertools.permutations(laws, 2) for t in a)

    third = Fraction(1, 3)
    assert loss(third, lambda answer, left: left if answer else left / 4) == pytest.approx(1)
    assert loss(third, lambda answer, left: left / 2) == pytest.approx(2 / 3)
    with pytest.raises(ParameterError, match="more than is left"):  # a refund after drawing
        loss(Fraction(1, 2), lambda answer, left: left + answer * Fraction(1, 2))
