"""What the executors do, without Spark: buckets by (key, record number), clusters inside and across them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.chain.partition.clustering import ClusterShape
from coterie.chain.partition.univariate import individual_ranking
from coterie.engines.spark.sorting import KEY, ROW, bucket_of, cut, range_length, together

columns = st.lists(
    st.one_of(st.integers(0, 3).map(float), st.just(-0.0), st.floats(-9, 9)), min_size=1, max_size=80
)


@given(columns, st.data())
def test_a_bucket_holds_what_lies_between_its_boundaries(column: list[float], data: st.DataObject) -> None:
    keys, rows = np.array(column), np.arange(len(column))
    chosen = sorted(
        data.draw(st.lists(st.integers(0, len(column) - 1), max_size=6)), key=lambda i: (keys[i] + 0.0, i)
    )
    bucket = bucket_of(keys, rows, keys[chosen], rows[chosen])
    for row in rows:
        not_above = sum((keys[c] + 0.0, c) <= (keys[row] + 0.0, row) for c in chosen)
        assert bucket[row] == not_above


@given(columns, st.integers(1, 20), st.data())
def test_pieces_and_shared_clusters_are_those_of_individual_ranking(
    column: list[float], k: int, data: st.DataObject
) -> None:
    keys, n = np.array(column), len(column)
    k = min(k, n)
    shape, expected = ClusterShape.ranked(n, k), individual_ranking(keys, k).labels
    order = np.argsort(keys, kind="stable")
    ends = sorted(data.draw(st.lists(st.integers(0, n), max_size=4)))
    labels, shared = np.full(n, -1), []
    for start, end in zip([0, *ends], [*ends, n], strict=True):
        rows = data.draw(st.permutations(order[start:end].tolist()))  # a shuffle keeps no order
        if not rows:
            continue
        table = pa.table({ROW: pa.array(rows, pa.int64()), KEY: keys[rows]})
        piece, edge = cut(table, start, k, shape, [KEY])
        if piece is not None:
            assert (np.diff(piece.rows) > 0).all()
            assert piece.clustering.sizes.tolist() == np.bincount(piece.clustering.labels).tolist()
            labels[piece.rows] = piece.clustering.labels + piece.first
        if edge is not None and len(edge):
            shared.append(edge)
    if shared:
        edges = pa.concat_tables(shared)
        cluster = edges.column("__coterie_cluster").to_numpy()
        for number in np.unique(cluster):
            piece = together(edges.filter(pa.array(cluster == number)), shape, [KEY])
            assert (np.diff(piece.rows) > 0).all()
            labels[piece.rows] = piece.first
    assert labels.tolist() == expected.tolist()


@pytest.mark.parametrize("share", [0.9, 1.0])
def test_a_value_that_most_records_share_is_split_evenly(share: float) -> None:
    draw = np.random.Generator(np.random.PCG64(1))
    keys, rows = draw.random(100_000), np.arange(100_000)
    keys[draw.random(len(keys)) < share] = 0.0
    sample = np.sort(draw.choice(len(keys), 8 * 256, replace=False))
    order = sample[np.lexsort((sample, keys[sample]))]
    cuts = order[np.arange(1, 8) * len(order) // 8]
    sizes = np.bincount(bucket_of(keys, rows, keys[cuts], rows[cuts]), minlength=8)
    assert sizes.max() < 2 * len(keys) / 8


def test_a_wide_table_comes_together_in_shorter_ranges() -> None:
    """A billion × 50 at a million rows a range would be 50 million values in one worker."""
    assert range_length(10**9, 50, 200) * 50 <= 1 << 22
    assert range_length(1000, 2, 7) == 143
    assert range_length(1, 1, 2) == 1
