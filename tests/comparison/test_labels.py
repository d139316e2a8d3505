"""Labels of many runs at once are those that the exponential mechanism draws run by run."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from coterie.chain.mechanism.categorical import label_counts
from coterie.chain.noise.exponential import exponential_mechanism
from coterie.chain.noise.seeded import SeededSampler
from coterie.chain.partition.clustering import Clustering
from coterie.comparison.shared_work import SharedNoise
from coterie.schema.attributes import Attribute, AttributeType, Categories, Role
from coterie.schema.taxonomy.semantics import cluster_counts
from coterie.table.columns.labels import category_column


@settings(max_examples=60, deadline=None)
@given(
    arrays.arrays(
        np.float64, st.tuples(st.integers(1, 30), st.integers(1, 6)), elements=st.integers(0, 4).map(float)
    ),
    st.fractions(min_value=Fraction(1, 50), max_value=40),
    st.integers(0, 1000),
)
def test_same_labels_as_run_by_run(scores: np.ndarray, epsilon: Fraction, seed: int) -> None:
    noise = SharedNoise({}, 1, seed, 3, slice(0, 3))
    together = exponential_mechanism(scores, epsilon, 1.5, noise, "job")
    for run in range(3):
        alone = exponential_mechanism(scores, epsilon, 1.5, SeededSampler(seed + run), "job")
        np.testing.assert_array_equal(np.broadcast_to(together, (3, len(scores)))[run], alone)


@given(st.lists(st.sampled_from("abcd"), min_size=2, max_size=40), st.data())
def test_clusters_that_are_alike_share_a_line(values: list[str], data: st.DataObject) -> None:
    attribute = Attribute(
        name="job",
        role=Role.PROTECT,
        type=AttributeType.CATEGORICAL,
        categories=Categories(labels=tuple("abcd")),
    )
    column = category_column(pa.chunked_array([values]), attribute, Path())
    count = data.draw(st.integers(1, len(values)))
    labels = np.array(data.draw(st.permutations([i % count for i in range(len(values))])), dtype=np.int32)
    clustering = Clustering(labels, np.bincount(labels))
    counts, line = label_counts(column, clustering)
    np.testing.assert_array_equal(counts[line], cluster_counts(labels, column.codes, count, 4))
