"""Released distributions and the shapes that noise is made to keep."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.chain.mechanism.listed import at_bounds
from coterie.chain.synthesis.copula import nearest_correlation, square_root
from coterie.chain.synthesis.marginal import Line, Steps, onto_counts, rising, rounded, with_margins
from coterie.schema.attributes import Domain

noisy = st.lists(st.floats(-100, 100), min_size=1, max_size=12).map(np.array)


def test_every_entry_appears_as_often_as_its_weight() -> None:
    steps = Steps(np.array([5.0, 1.0, 3.0]), np.array([2.0, 2.0, 3.0]))
    assert steps.at((np.arange(7) + 0.5) / 7).tolist() == [5, 5, 1, 1, 3, 3, 3]
    assert steps.tied == pytest.approx((4 + 4 + 9) / 49)


def test_an_entry_without_weight_never_appears() -> None:
    steps = Steps(np.array([1.0, 2.0, 3.0]), np.array([0.0, 4.0, 0.0]))
    assert set(steps.at(np.linspace(0, 1, 50)[:-1])) == {2.0}


def test_a_line_rises_from_end_to_end_and_keeps_its_step() -> None:
    line = Line(np.array([0.0, 1.0]), np.array([0.0, 10.0]), step=1.0)
    found = line.at(np.array([0.0, 0.26, 1.0]))
    assert found.tolist() == [0, 3, 10]
    assert rounded(np.array([0.123]), 0.01).tolist() == [0.12]


def test_means_near_a_bound_become_it_and_noise_wider_than_the_domain_takes_no_side() -> None:
    domain, means = Domain(lower=0, upper=10), np.array([-3.0, 1.0, 4.0, 9.0, 20.0])
    assert at_bounds(means, domain, 2.0).tolist() == [0, 0, 4, 10, 10]
    for wide in (7.0, 10.0, 1e6):
        assert at_bounds(means, domain, wide).tolist() == [0, 0, 0, 10, 10]


@given(noisy)
def test_rising_lists_rise_and_keep_their_mean(values: np.ndarray) -> None:
    smooth = rising(values, np.ones(len(values)))
    assert np.all(np.diff(smooth) >= -1e-9)
    assert smooth.mean() == pytest.approx(values.mean(), abs=1e-9)


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
    fitted = with_margins(table, np.array([2.0, 8.0]), np.array([5.0, 5.0]))
    assert fitted.sum(axis=1) == pytest.approx([2, 8])
    assert fitted.sum(axis=0) == pytest.approx([5, 5], rel=1e-3)


@given(st.integers(2, 7), st.integers(0, 10_000))
def test_the_nearest_correlation_matrix_is_one(size: int, seed: int) -> None:
    draw = np.random.Generator(np.random.PCG64(seed))
    wild = draw.uniform(-1, 1, (size, size))
    wild = (wild + wild.T) / 2
    np.fill_diagonal(wild, 1)
    found = nearest_correlation(wild)
    assert np.allclose(np.diag(found), 1)
    assert np.linalg.eigvalsh(found).min() > -1e-6
    root = square_root(found)
    assert np.allclose(root @ root.T, found, atol=1e-4)
    assert np.allclose(nearest_correlation(found), found, atol=1e-6)  # what is one already stays


def test_it_is_nearer_than_clipping_eigenvalues() -> None:
    """Higham's matrix is the nearest one; cutting eigenvalues and rescaling is merely some correlation matrix."""
    wild = np.array([[1, 0.9, -0.9], [0.9, 1, 0.3], [-0.9, 0.3, 1.0]])
    values, vectors = np.linalg.eigh(wild)
    cut = (vectors * np.maximum(values, 0)) @ vectors.T
    cut = cut / np.sqrt(np.outer(np.diag(cut), np.diag(cut)))
    assert np.linalg.norm(nearest_correlation(wild) - wild) < np.linalg.norm(cut - wild) - 1e-3
