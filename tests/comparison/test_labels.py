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

from coterie.chain.noise.exponential import exponential_mechanism
from coterie.chain.noise.seeded import SeededSampler, seeded_words
from coterie.comparison import labels
from coterie.comparison.labels import LongDraws, SortedDraws, distinct_rows, stream_of, uniform
from coterie.evaluation.clustered_labels import ClusteredLabels, DrawnCodes, DrawnTallies
from coterie.schema.attributes import Attribute, AttributeType, Categories, Role
from coterie.table.columns.categories import category_column


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
    draws = uniform(words)
    together = SortedDraws.of(draws, clusters).draw(clusters, epsilon, 1.5, seed)
    scores = clusters.marginality[clusters.group]
    for run in range(3):
        alone = exponential_mechanism(scores, epsilon, 1.5, SeededSampler(seed + run), "job")
        np.testing.assert_array_equal(together[run], alone)
    tallies = LongDraws(draws).draw(clusters, epsilon, 1.5, seed)
    codes, tallied = DrawnCodes(clusters, together), DrawnTallies(clusters, tallies)
    assert tallies.min() >= 0
    np.testing.assert_array_equal(tallied.histogram, codes.histogram)
    np.testing.assert_allclose(tallied.distance, codes.distance, rtol=1e-12, atol=1e-12)


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
        return np.array([1, 0], dtype=np.int32)

    monkeypatch.setattr(labels, "exponential_mechanism", exact)
    clusters = clustered(np.array([[1.0, 1.0], [0.0, 1e6]]))
    words = np.array([[word, 1 << 62], [1 << 61, 1 << 62]], dtype=np.uint64)
    drawn = SortedDraws.of(uniform(words), clusters).draw(clusters, Fraction(1), 1.0, 5)
    assert drawn[1].tolist() == [0, 1]
    assert len(asked) == doubtful
    assert drawn[0].tolist() == ([1, 0] if doubtful else [0, 1])
    tallies = LongDraws(uniform(words)).draw(clusters, Fraction(1), 1.0, 5)
    assert tallies[1][clusters.group].tolist() == [[1, 0], [0, 1]]
    # Beside the last word lies no boundary here: no unit of another distribution follows.
    again = doubtful and word != (1 << 64) - 1
    assert len(asked) == doubtful + again
    last = [[0, 1], [1, 0]] if again else [[0, 1], [0, 1]] if doubtful else [[1, 0], [0, 1]]
    assert tallies[0][clusters.group].tolist() == last


def test_labels_that_nobody_holds() -> None:
    """A distribution without clusters, the last one too, has nothing to draw."""
    some = clustered(np.eye(4))
    few = ClusteredLabels(some.source, some.counts, np.array([1, 1, 2, 1, 2]))
    draws = uniform(seeded_words([(run, stream_of("job")) for run in range(2)], 5))
    tallies = LongDraws(draws).draw(few, Fraction(2), 1.0, 0)
    assert tallies.sum(axis=2).tolist() == [[0, 3, 2, 0]] * 2
    codes = SortedDraws.of(draws, few).draw(few, Fraction(2), 1.0, 0)
    np.testing.assert_array_equal(DrawnTallies(few, tallies).histogram, DrawnCodes(few, codes).histogram)


def test_distinct_rows() -> None:
    scores = np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0], [2.0, 1.0]])
    first, group = distinct_rows(scores)
    assert len(first) == 3
    pairs = np.zeros((41 * 41, 41))  # clusters of five that hold two of 41 labels
    pairs[np.arange(len(pairs)), np.arange(len(pairs)) // 41] += 2
    pairs[np.arange(len(pairs)), np.arange(len(pairs)) % 41] += 3
    assert len(distinct_rows(np.tile(pairs, (2, 1)))[0]) == 41 * 41
    np.testing.assert_array_equal(scores[first][group], scores)
