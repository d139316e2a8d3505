"""Labels of many runs at once are those that the exponential mechanism draws run by run."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from coterie.compare import labels
from coterie.compare.labels import distinct_rows, draw_labels, stream_of, uniform
from coterie.noise.exponential import exponential_mechanism
from coterie.noise.seeded import SeededSampler, seeded_words


def draws_of(seeds: range, clusters: int, name: str) -> np.ndarray:
    return uniform(seeded_words([(seed, stream_of(name)) for seed in seeds], clusters))


@settings(max_examples=60, deadline=None)
@given(
    arrays.arrays(
        np.float64, st.tuples(st.integers(1, 30), st.integers(1, 6)), elements=st.integers(0, 4).map(float)
    ),
    st.lists(st.fractions(min_value=Fraction(1, 50), max_value=40), min_size=1, max_size=4),
    st.integers(0, 1000),
)
def test_same_labels_as_one_by_one(scores: np.ndarray, epsilons: list[Fraction], seed: int) -> None:
    budgets = [(epsilon, 1.0 + place) for place, epsilon in enumerate(epsilons)]
    draws = draws_of(range(seed, seed + 3), len(scores), "job")
    together = draw_labels(scores, distinct_rows(scores), budgets, draws, seed, "job")
    for place, (epsilon, spread) in enumerate(budgets):
        for run in range(3):
            alone = exponential_mechanism(scores, epsilon, spread, SeededSampler(seed + run), "job")
            np.testing.assert_array_equal(together[place, run], alone)


@pytest.mark.parametrize("word", [1 << 63, (1 << 63) - 1, (1 << 64) - 1, 0])
def test_doubtful_draws_go_through_the_exact_mechanism(word: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A word at a boundary (here 0, one half and 1, where the next distribution begins) must not be decided by rounding."""
    asked = []

    def exact(*arguments: object) -> np.ndarray:
        asked.append(arguments)
        return np.array([7, 7, 7], dtype=np.int32)

    monkeypatch.setattr(labels, "exponential_mechanism", exact)
    # Label 0 of the second row is all but impossible, label 1 of the first one as likely as label 0.
    scores = np.array([[0.0, 0.0], [1e6, 0.0], [0.0, 0.0]])
    draws = uniform(np.array([[word, 1 << 62, 3 << 60]], dtype=np.uint64))
    drawn = draw_labels(scores, distinct_rows(scores), [(Fraction(1), 1.0)], draws, 1, "job")
    if word in (0, (1 << 64) - 1):  # no boundary of its own there: only what rounding brings near is asked
        assert len(asked) <= 1
    else:
        assert len(asked) == 1
        assert drawn.tolist() == [[[7, 7, 7]]]


def test_distinct_rows() -> None:
    scores = np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0], [2.0, 1.0]])
    first, group = distinct_rows(scores)
    assert len(first) == 3
    np.testing.assert_array_equal(scores[first][group], scores)
