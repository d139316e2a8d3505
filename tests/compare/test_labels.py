"""Labels of many runs at once are those that the exponential mechanism draws run by run."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from coterie.columns.categories import category_column
from coterie.compare import labels
from coterie.compare.labels import SortedDraws, distinct_rows, draw_labels, stream_of, uniform
from coterie.noise.exponential import exponential_mechanism
from coterie.noise.seeded import SeededSampler, seeded_words
from coterie.schema import Attribute, AttributeType, Categories, Role
from coterie.utility.clustered import ClusteredLabels


def clustered(counts: np.ndarray) -> ClusteredLabels:
    """Labels that are as far from each other as they can be."""
    labels = tuple("abcdef"[: counts.shape[1]])
    attribute = Attribute(
        name="job",
        role=Role.PROTECT,
        type=AttributeType.CATEGORICAL,
        categories=Categories(labels=labels),
    )
    column = category_column(pa.chunked_array([labels]), attribute, Path())
    first, group = distinct_rows(counts)
    return ClusteredLabels(column, counts[first], group)


@settings(max_examples=60, deadline=None)
@given(
    arrays.arrays(
        np.float64, st.tuples(st.integers(1, 30), st.integers(1, 6)), elements=st.integers(0, 4).map(float)
    ),
    st.fractions(min_value=Fraction(1, 50), max_value=40),
    st.integers(0, 1000),
)
def test_same_labels_as_run_by_run(counts: np.ndarray, epsilon: Fraction, seed: int) -> None:
    clusters = clustered(counts)
    words = seeded_words([(seed + run, stream_of("job")) for run in range(3)], len(counts))
    draws = SortedDraws.of(uniform(words), clusters.group)
    together = draw_labels(clusters, epsilon, 1.5, draws, seed)
    scores = clusters.marginality[clusters.group]
    for run in range(3):
        alone = exponential_mechanism(scores, epsilon, 1.5, SeededSampler(seed + run), "job")
        np.testing.assert_array_equal(together[run], alone)


@pytest.mark.parametrize(
    ("word", "doubtful"), [(1 << 63, True), ((1 << 63) - 1, True), ((1 << 64) - 1, True), (1 << 61, False)]
)
def test_doubtful_draws_go_through_the_exact_mechanism(
    word: int, doubtful: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Boundaries lie at one half and, with label 0 all but impossible in the other cluster, where its unit begins."""
    asked = []

    def exact(*arguments: object) -> np.ndarray:
        asked.append(arguments)
        return np.array([7, 7], dtype=np.int32)

    monkeypatch.setattr(labels, "exponential_mechanism", exact)
    clusters = clustered(np.array([[1.0, 1.0], [0.0, 1e6]]))
    words = np.array([[word, 1 << 62], [1 << 61, 1 << 62]], dtype=np.uint64)
    drawn = draw_labels(clusters, Fraction(1), 1.0, SortedDraws.of(uniform(words), clusters.group), 5)
    assert drawn[1].tolist() == [0, 1]
    assert len(asked) == doubtful
    assert drawn[0].tolist() == ([7, 7] if doubtful else [0, 1])


def test_distinct_rows() -> None:
    scores = np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0], [2.0, 1.0]])
    first, group = distinct_rows(scores)
    assert len(first) == 3
    np.testing.assert_array_equal(scores[first][group], scores)
