"""Groups that are smaller at both ends: sizes from n and k alone, consecutive values."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from coterie.chain.partition.graded_ranking import graded_sizes
from coterie.chain.partition.individual_ranking import cut, ranks


@given(st.integers(1, 3000), st.integers(1, 400))
def test_sizes_add_up_and_shrink_towards_the_ends(records: int, k: int) -> None:
    k = min(k, records)
    sizes = graded_sizes(records, k)
    assert sizes.sum() == records
    assert sizes.min() >= 1
    assert sizes.max() < 2 * k
    peak = int(sizes.argmax())
    assert np.all(np.diff(sizes[: peak + 1]) >= 0)
    assert np.all(np.diff(sizes[peak:]) <= 0)
    assert np.all(sizes * records >= np.minimum(5 * k * k, k * records))


def test_the_smallest_groups_stand_at_both_ends() -> None:
    assert graded_sizes(1000, 40).tolist()[:4] == [10, 20, 40, 40]
    assert graded_sizes(1000, 40).tolist()[-3:] == [60, 20, 10]
    assert graded_sizes(10, 5).tolist() == [5, 5]  # nothing to spare
    assert graded_sizes(7, 7).tolist() == [7]


@given(st.lists(st.integers(0, 9), min_size=1, max_size=80), st.integers(1, 20))
def test_clusters_hold_consecutive_values(values: list[int], k: int) -> None:
    column = np.array(values, dtype=float)
    clustering = cut(ranks(column), graded_sizes(len(values), min(k, len(values))))
    assert np.bincount(clustering.labels).tolist() == clustering.sizes.tolist()
    ordered = column[np.argsort(clustering.labels, kind="stable")]
    ends = np.cumsum(clustering.sizes)[:-1]
    for end in ends:
        assert ordered[:end].max() <= ordered[end:].min()
