"""Buckets by (key, record number), and clusters across them: those of individual ranking over the whole column."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.chain.partition.clustering import Piece
from coterie.chain.partition.univariate import individual_ranking
from coterie.engines.buckets import BucketPart, BucketRanking, Fields, Splitters, smallest
from coterie.errors import DataError

columns = st.lists(
    st.one_of(st.integers(0, 3).map(float), st.just(-0.0), st.floats(-9, 9)), min_size=1, max_size=80
)


@given(columns, st.integers(0, 5), st.data())
def test_a_bucket_holds_what_lies_between_its_splitters(
    column: list[float], first: int, data: st.DataObject
) -> None:
    keys, rows = np.array(column), np.arange(len(column)) + first
    chosen = data.draw(st.lists(st.integers(0, len(column) - 1), max_size=6))
    splitters = Splitters.of_sample(keys[chosen], rows[chosen], len(chosen) + 1)
    bucket, count = splitters.choose(keys, first)
    for key, row, number in zip(keys, rows, bucket, strict=True):
        assert number == sum((keys[c] + 0.0, rows[c]) <= (key + 0.0, row) for c in chosen)
    assert count.tolist() == np.bincount(bucket, minlength=len(chosen) + 1).tolist()


@given(columns, st.integers(0, 90))
def test_the_smallest_are_those_of_a_stable_sort(column: list[float], count: int) -> None:
    keys = np.array(column)
    assert smallest(keys, count).tolist() == sorted(np.argsort(keys, kind="stable")[:count].tolist())


def ranking(records: int, k: int) -> BucketRanking:
    return BucketRanking(records, k, lambda fields: fields[0], ("key", "record"), (np.dtype("<i8"),))


def cluster_numbers(piece: Piece) -> Sequence[np.ndarray]:
    assert (np.diff(piece.fields["record"]) > 0).all()  # record order: sums come out to the last bit
    assert piece.clustering.sizes.tolist() == np.bincount(piece.clustering.labels).tolist()
    return [piece.clustering.labels + piece.first]


def settled(keys: np.ndarray, k: int, splitters: Splitters, cuts: Sequence[int]) -> np.ndarray:
    """The cluster of each record, worked out bucket by bucket from parts that end at `cuts`."""
    one, n = ranking(len(keys), k), len(keys)
    sent = []
    for start, end in zip([0, *cuts], [*cuts, n], strict=True):
        fields: Fields = (keys[start:end], np.arange(start, end))
        sent.append(one.parts(fields, start, splitters))
    clusters, across, left_out = np.full(n, -1), [], 0
    for number in range(splitters.buckets):
        mine: list[BucketPart] = [parts[number] for parts in sent]
        for part, back in zip(mine, one.settle(mine, cluster_numbers), strict=True):
            assert back.first == part.first
            clusters[part.fields[1]] = back.values[0]
            across.append((part.first + back.position, back.next[0]))
            left_out += back.left_out
    for rows, numbers in across:
        clusters[rows] = numbers
    assert left_out == sum(len(rows) for rows, _ in across)
    return clusters


@settings(max_examples=300)
@given(columns, st.integers(1, 20), st.data())
def test_clusters_are_those_of_individual_ranking(column: list[float], k: int, data: st.DataObject) -> None:
    keys, n = np.array(column), len(column)
    k = min(k, n)
    chosen = data.draw(st.lists(st.integers(0, n - 1), max_size=4))
    cuts = sorted(data.draw(st.lists(st.integers(0, n), max_size=3)))
    splitters = Splitters.of_sample(keys[chosen], np.array(chosen, dtype=np.int64), len(chosen) + 1)
    try:
        found = settled(keys, k, splitters, cuts)
    except DataError:
        sizes = splitters.choose(keys, 0)[1]
        assert sizes[1:].min() < 2 * k - 1  # by construction as improbable as it is small here
    else:
        assert found.tolist() == individual_ranking(keys, k).labels.tolist()


@pytest.mark.parametrize("share", [0.9, 1.0])
def test_a_value_that_most_records_share_is_split_evenly(share: float) -> None:
    draw = np.random.Generator(np.random.PCG64(1))
    keys = draw.random(100_000)
    keys[draw.random(len(keys)) < share] = 0.0
    sample = draw.choice(len(keys), 8 * 256, replace=False)
    count = Splitters.of_sample(keys[sample], sample, 8).choose(keys, 0)[1]
    assert count.max() < 2 * len(keys) / 8
