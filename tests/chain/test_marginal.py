"""Released distributions and the shapes that noise is made to keep."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.chain.synthesis.marginal import Steps, onto_counts, rounded
from coterie.chain.synthesis.scores import nearest_correlation
from coterie.chain.synthesis.tables import fitted, whole_counts

noisy = st.lists(st.floats(-100, 100), min_size=1, max_size=12).map(np.array)


def test_every_entry_appears_as_often_as_its_weight() -> None:
    steps = Steps(np.array([5.0, 1.0, 3.0]), np.array([2.0, 2.0, 3.0]))
    assert steps.at((np.arange(7) + 0.5) / 7).tolist() == [5, 5, 1, 1, 3, 3, 3]


def test_an_entry_without_weight_never_appears() -> None:
    steps = Steps(np.array([1.0, 2.0, 3.0]), np.array([0.0, 4.0, 0.0]))
    assert set(steps.at(np.linspace(0, 1, 50)[:-1])) == {2.0}


def test_whole_multiples_of_a_step() -> None:
    assert rounded(np.array([0.123]), 0.01).tolist() == [0.12]


@given(noisy, st.floats(0.5, 1000))
def test_counts_are_positive_and_add_up(values: np.ndarray, total: float) -> None:
    counts = onto_counts(values, total)
    assert np.all(counts >= 0)
    assert counts.sum() == pytest.approx(total)


def test_counts_that_are_right_already_stay() -> None:
    right = np.array([3.0, 0.0, 7.0])
    assert onto_counts(right, 10).tolist() == right.tolist()


def test_a_table_gets_its_margins_even_with_an_empty_line() -> None:
    table = np.array([[0.0, 0.0], [3.0, 1.0]])
    found = fitted(table, np.array([2.0, 8.0]), np.array([5.0, 5.0]))
    assert found.sum(axis=1) == pytest.approx([2, 8])
    assert found.sum(axis=0) == pytest.approx([5, 5], rel=1e-3)


@given(noisy, st.integers(1, 1000))
def test_whole_counts_add_up_and_every_run_of_neighbours_is_within_one(
    values: np.ndarray, total: int
) -> None:
    counts = whole_counts(values, total)
    assert counts.min() >= 0
    assert counts.sum() == total
    shares = np.maximum(values, 0) if values.max() > 0 else np.ones(len(values))
    ends = np.cumsum(shares) / shares.sum() * total
    assert np.abs(np.cumsum(counts) - ends).max() <= 0.5 + 1e-6


def test_many_small_shares_are_not_lost_beside_slightly_larger_ones() -> None:
    """A thousand cells for 225 records: the larger half must not take them all."""
    counts = whole_counts(np.repeat([0.2, 0.25], 500), 225)
    assert counts[:500].sum() == pytest.approx(100, abs=1)
    table = whole_counts(np.full((10, 10), 0.3), 30)
    assert np.abs(table.sum(axis=1) - 3).max() <= 1


@given(st.integers(2, 7), st.integers(0, 10_000))
def test_the_nearest_correlation_matrix_is_one(size: int, seed: int) -> None:
    draw = np.random.Generator(np.random.PCG64(seed))
    wild = draw.uniform(-1, 1, (size, size))
    wild = (wild + wild.T) / 2
    np.fill_diagonal(wild, 1)
    found = nearest_correlation(wild)
    assert np.allclose(np.diag(found), 1)
    assert np.linalg.eigvalsh(found).min() > -1e-6
    assert np.allclose(nearest_correlation(found), found, atol=1e-6)  # what is one already stays


def test_it_is_nearer_than_clipping_eigenvalues() -> None:
    """Higham's matrix is the nearest one; cutting eigenvalues and rescaling is merely some correlation matrix."""
    wild = np.array([[1, 0.9, -0.9], [0.9, 1, 0.3], [-0.9, 0.3, 1.0]])
    values, vectors = np.linalg.eigh(wild)
    cut = (vectors * np.maximum(values, 0)) @ vectors.T
    cut = cut / np.sqrt(np.outer(np.diag(cut), np.diag(cut)))
    assert np.linalg.norm(nearest_correlation(wild) - wild) < np.linalg.norm(cut - wild) - 1e-3
