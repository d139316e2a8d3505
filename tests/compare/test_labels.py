"""Labels of many runs at once are those that the exponential mechanism draws run by run."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from coterie.compare import labels
from coterie.compare.labels import distinct_rows, draw_labels
from coterie.noise.exponential import exponential_mechanism
from coterie.noise.seeded import SeededSampler


@settings(max_examples=60, deadline=None)
@given(
    arrays.arrays(
        np.float64, st.tuples(st.integers(1, 30), st.integers(1, 6)), elements=st.integers(0, 4).map(float)
    ),
    st.fractions(min_value=Fraction(1, 50), max_value=40),
    st.integers(0, 1000),
)
def test_same_labels_as_run_by_run(scores: np.ndarray, epsilon: Fraction, seed: int) -> None:
    together = draw_labels(scores, epsilon, 1.0, range(seed, seed + 3), "job")
    for run in range(3):
        alone = exponential_mechanism(scores, epsilon, 1.0, SeededSampler(seed + run), "job")
        np.testing.assert_array_equal(together[run], alone)


def test_doubtful_draws_go_through_the_exact_mechanism(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal scores of two labels put the boundary at exactly one half: a word near it must not be decided by rounding."""
    half = np.array([[1 << 63, (1 << 63) - 1, 1]], dtype=np.uint64)
    monkeypatch.setattr(labels, "words_of", lambda sampler, clusters, name, depth: half[0])
    asked = []

    def exact(*arguments: object) -> np.ndarray:
        asked.append(arguments)
        return np.array([7, 7, 7], dtype=np.int32)

    monkeypatch.setattr(labels, "exponential_mechanism", exact)
    drawn = draw_labels(np.zeros((3, 2)), Fraction(1), 1.0, [1], "job")
    assert len(asked) == 1
    assert drawn.tolist() == [[7, 7, 7]]


def test_distinct_rows() -> None:
    scores = np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0], [2.0, 1.0]])
    first, group = distinct_rows(scores)
    assert len(first) == 3
    np.testing.assert_array_equal(scores[first][group], scores)
