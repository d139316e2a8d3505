"""Copula and tree: what they keep when ε is large, what they cost, and that scores are as insensitive as claimed."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from coterie import Attribute, Domain, Role, Schema, protect
from coterie.chain.synthesis.copula import factor_correlation, factor_is_better, normal_scores
from coterie.chain.synthesis.marginal import Line
from coterie.chain.synthesis.tree import Binned, chosen_tree, counts, public_bins, score
from coterie.schema.attributes import AttributeType, Categories
from coterie.table.checked import check

N = 4000


def _numbers(*names: str) -> list[Attribute]:
    return [Attribute(name=name, role=Role.PROTECT, domain=Domain(lower=-6, upper=6)) for name in names]


def _labels(name: str, labels: str) -> Attribute:
    return Attribute(
        name=name,
        role=Role.PROTECT,
        type=AttributeType.CATEGORICAL,
        categories=Categories(labels=tuple(labels)),
    )


def _normal(rho: float) -> pa.Table:
    draw = np.random.Generator(np.random.PCG64(3))
    x, other = draw.normal(size=(2, N))
    return pa.table({"x": np.clip(x, -6, 6), "y": np.clip(rho * x + np.sqrt(1 - rho**2) * other, -6, 6)})


def _release(table: pa.Table, attributes: list[Attribute], **options: Any) -> pa.Table:
    return protect(
        table, Schema(attributes=tuple(attributes)), **{"epsilon": "50", "seed": 1, **options}
    ).table


@pytest.mark.parametrize(("method", "tolerance"), [("dp-copula", 0.03), ("dp-tree", 0.1)])
@pytest.mark.parametrize("rho", [-0.8, 0.0, 0.6])
def test_correlation_survives_where_epsilon_is_large(method: str, tolerance: float, rho: float) -> None:
    released = _release(_normal(rho), _numbers("x", "y"), method=method)
    assert np.corrcoef(released["x"], released["y"])[0, 1] == pytest.approx(rho, abs=tolerance)
    assert np.std(released["x"].to_numpy()) == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("method", ["dp-copula", "dp-tree", "dp-sorted"])
def test_at_a_tiny_epsilon_nothing_is_left(method: str) -> None:
    released = _release(_normal(0.9), _numbers("x", "y"), method=method, epsilon="0.0001")
    x, y = (released[name].to_numpy() - released[name].to_numpy().mean() for name in "xy")
    assert abs(np.mean(x * y)) <= 0.5 * np.std(x) * np.std(y)  # a constant column is fine, too


def test_dp_sorted_keeps_no_dependence_even_at_a_large_epsilon() -> None:
    released = _release(_normal(0.9), _numbers("x", "y"), method="dp-sorted", k=10)
    assert abs(np.corrcoef(released["x"], released["y"])[0, 1]) < 0.1


def test_ties_do_not_pass_for_independence() -> None:
    """Two labels that always agree: τ-a is only ½, because half of all pairs are tied."""
    half = ["a", "b"] * (N // 2)
    table = pa.table({"x": half, "y": half})
    released = _release(table, [_labels("x", "ab"), _labels("y", "ab")], method="dp-copula")
    agree = np.mean(np.array(released["x"].to_pylist()) == np.array(released["y"].to_pylist()))
    assert agree > 0.95


def test_the_tree_keeps_what_no_rank_correlation_sees() -> None:
    """y depends on |x|: Kendall's τ is 0, and only the table shows it."""
    draw = np.random.Generator(np.random.PCG64(4))
    x = draw.uniform(-6, 6, N)
    label = np.where(np.abs(x) < 3, "a", "b")
    table, attributes = pa.table({"x": x, "y": label}), [*_numbers("x"), _labels("y", "ab")]

    def agreement(method: str) -> float:
        released = _release(table, attributes, method=method)
        near = np.abs(released["x"].to_numpy()) < 3
        return float(np.mean(near == (np.array(released["y"].to_pylist()) == "a")))

    assert agreement("dp-tree") > 0.9
    assert agreement("dp-copula") < 0.6


def test_one_common_factor_where_pairs_would_drown() -> None:
    """Eight attributes, 1,000 records, ε = 3: 28 pairs are too many, eight sums are not."""
    draw = np.random.Generator(np.random.PCG64(8))
    names, common = "abcdefgh", draw.normal(size=1000)
    table = pa.table({name: np.clip(0.8 * common + 0.6 * draw.normal(size=1000), -6, 6) for name in names})
    assert factor_is_better(1000, 8, Fraction(3, 5))
    assert not factor_is_better(100_000, 8, Fraction(4, 5))
    assert not factor_is_better(10, 3, Fraction(1, 10))
    released = _release(table, _numbers(*names), method="dp-copula", epsilon="3")
    ranks = np.array([np.argsort(np.argsort(released[name].to_numpy())) for name in names])
    found = np.corrcoef(ranks)[np.triu_indices(8, 1)]
    assert (
        np.abs(found - 0.62).mean() < 0.2
    )  # Spearman's ρ of the original; 0.62 off if rows were independent


def test_the_loadings_are_found_again() -> None:
    loadings = np.array([0.9, 0.7, 0.5, 0.3, -0.4])
    true = np.outer(loadings, loadings)
    np.fill_diagonal(true, 1)
    with_others = []
    for a in range(5):
        others = np.delete(np.arange(5), a)
        with_others.append(true[a, others].sum() / np.sqrt(true[np.ix_(others, others)].sum()))
    assert factor_correlation(np.array(with_others)) == pytest.approx(true, abs=0.02)


def test_no_common_factor_is_no_trouble() -> None:
    for with_others in (np.zeros(4), np.array([0.9, -0.9, 0.9, -0.9]), np.ones(4), -np.ones(4)):
        found = factor_correlation(with_others)
        assert np.isfinite(found).all()
        assert np.linalg.eigvalsh(found).min() > -1e-9


def test_a_score_is_a_function_of_its_own_record() -> None:
    """So that one replacement touches one record's sum, and n - 1 pairs."""
    marginal = Line(np.array([0.0, 1.0]), np.array([-6.0, 6.0]))
    schema = Schema(attributes=tuple(_numbers("x")))
    first, second = (
        normal_scores(check(pa.table({"x": [value, 1.0, -2.0]}), schema).columns["x"], marginal)
        for value in (5.0, -5.0)
    )
    assert first[0] != second[0]
    assert first[1:].tolist() == second[1:].tolist()


def test_the_budget_is_exact_and_on_the_certificate() -> None:
    attributes = [*_numbers("x", "y", "z")]
    table = pa.table({name: np.zeros(40) for name in "xyz"})
    for method, share in (
        ("dp-copula", Fraction(1, 5)),
        ("dp-tree", Fraction(1, 2)),
        ("dp-sorted", Fraction(0)),
    ):
        certificate = protect(
            table, Schema(attributes=tuple(attributes)), method=method, epsilon="0.7"
        ).certificate
        parts = [Fraction(entry.epsilon or 0) for entry in certificate.attributes]
        assert certificate.dependence is not None
        assert Fraction(certificate.dependence.epsilon) == share * Fraction("0.7")
        assert sum(parts) + Fraction(certificate.dependence.epsilon) == Fraction("0.7")
        assert any("synthetic" in note for note in certificate.notes)


def test_one_attribute_needs_no_dependence() -> None:
    table = pa.table({"x": np.linspace(-6, 6, 50)})
    for method in ("dp-copula", "dp-tree"):
        certificate = protect(
            table, Schema(attributes=tuple(_numbers("x"))), method=method, epsilon="1"
        ).certificate
        assert certificate.dependence is not None
        assert certificate.dependence.epsilon == "0"
        assert certificate.attributes[0].epsilon == "1"


def test_score_and_table_move_by_at_most_two() -> None:
    """All tables of 3 records over 2 × 2 bins, all replacements of the first."""
    share = np.array([0.3, 0.7])
    cells = list(product(range(2), repeat=2))
    moved_scores, moved_tables = set(), set()
    for others in product(cells, repeat=2):
        tables = []
        for first in cells:
            bins = np.array([first, *others])
            tables.append([Binned(bins[:, column], share) for column in range(2)])
        for one, other in product(tables, repeat=2):
            moved_scores.add(abs(score(one, (0, 1)) - score(other, (0, 1))))
            moved_tables.add(int(np.abs(counts(one, (0, 1)) - counts(other, (0, 1))).sum()))
    assert max(moved_scores) == 2
    assert max(moved_tables) == 2


class _Choosing:
    """Always the lowest uniform number: the exponential mechanism then takes the first pair with any weight."""

    name, private = "for this test", False

    def laplace(self, centres: Any, scales: Any, stream: str) -> Any:
        return centres

    def uniform_words(self, count: int, stream: str) -> Any:
        return np.zeros(count, dtype=np.uint64) + np.uint64(1 << 40)


def test_the_tree_joins_all_and_closes_no_circle() -> None:
    draw = np.random.Generator(np.random.PCG64(5))
    parts = [Binned(draw.integers(0, 2, 60), np.array([0.5, 0.5])) for _ in range(6)]
    tree = chosen_tree(parts, Fraction(1), _Choosing())
    joined = {0}
    for _ in tree:
        for a, b in tree:
            if a in joined or b in joined:
                joined |= {a, b}
    assert len(tree) == 5
    assert joined == set(range(6))


def test_more_epsilon_means_more_bins_within_limits() -> None:
    assert public_bins(1080, Fraction(1, 120)) == 2
    assert public_bins(30_000, Fraction(1, 30)) == 11
    assert public_bins(10**9, Fraction(1)) == 32
