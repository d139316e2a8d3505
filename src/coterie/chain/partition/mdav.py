"""MDAV: multivariate groups of alike records, by exact searches over indexes that are rebuilt now and then."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from coterie.chain.partition._compiled import compiled
from coterie.chain.partition._mdav_boxes import NearestIndex, build_nearest, remove_from_nearest
from coterie.chain.partition._mdav_mixed import group_mixed
from coterie.chain.partition._mdav_places import (
    Places,
    add_row,
    check_group_size,
    check_points,
    find_places,
    sum_rows,
)
from coterie.chain.partition._mdav_search import (
    FarthestIndex,
    build_farthest,
    clear,
    find_farthest,
    find_nearest,
    remove_from_farthest,
)
from coterie.chain.partition.clustering import Clustering
from coterie.errors import DataError
from coterie.schema.arrays import Codes, Floats, Whole


@compiled
def form_groups(
    points: Floats,
    places: Places,
    nearest: NearestIndex,
    farthest: FarthestIndex,
    sums: Floats,
    labels: Codes,
    progress: Whole,
    enough: int,
    k: int,
) -> None:
    """Form groups until fewer than 2k records, or at a pair's start at most `enough` places, are left.

    `points` has one row a place. `progress` holds the records left, the places left and the groups formed.
    """
    distances, records = np.empty(k - 1), np.empty(k - 1, np.int64)
    chosen = np.empty(k, np.int64)
    centroid = np.empty(points.shape[1])
    leader = 0
    second_of_pair = False
    while progress[0] >= 2 * k and (second_of_pair or progress[1] > enough):
        if second_of_pair:
            leader = find_farthest(farthest, points[leader], places)
            second_of_pair = False
        else:
            for j in range(len(centroid)):
                centroid[j] = sums[0, j] / progress[0]
            leader = find_farthest(farthest, centroid, places)
            second_of_pair = progress[0] >= 3 * k
        # The leader leaves first, so that its k-1 nearest are others.
        chosen[k - 1] = leader
        labels[places.queue[places.head[leader]]] = progress[2]
        places.head[leader] += 1
        if k > 1:
            clear(distances, records, chosen[: k - 1])
            find_nearest(nearest, leader, points[leader], places, distances, records, chosen[: k - 1])
            for t in range(k - 1):
                labels[records[t]] = progress[2]
                places.head[chosen[t]] += 1
        for t in range(k):
            p = int(chosen[t])
            add_row(sums, points[p], -1.0)
            # A place chosen several times is empty at its first turn already.
            if places.head[p] == places.end[p] and nearest.position[p] >= 0:
                remove_from_nearest(nearest, p)
                remove_from_farthest(farthest, p)
                progress[1] -= 1
        progress[0] -= k
        progress[2] += 1


# MDAV, maximum distance to average vector (Domingo-Ferrer and Torra, 2005): alike records in groups of k.
#
# While 3k or more records are left, take r, the record farthest from the centroid of those left, and group it
# with its k-1 nearest; then take s, the record farthest from r among those still left, and group it likewise.
# With 2k … 3k-1 left there is one more group around r, and the rest is the last group.
#
# What the original leaves open is fixed here, so that a partition is one value and not a matter of luck:
#
# * every tie, of the farthest as of the nearest, goes to the lowest record number;
# * the squared distance is summed over the columns from left to right in double precision;
# * the centroid is the exact sum of the records left, rounded, divided by their number (`_mdav_centroid`).
#
# Groups are numbered in the order they are formed. Distances are Euclidean in the coordinates given: the
# caller standardises. No noise, no differential privacy: every record shares its group with k-1 others.

_REBUILD_BELOW = 0.5  # share of an index's places left at which a smaller one pays
_SMALLEST_REBUILT = 2048


def mdav(points: Floats, k: int) -> Clustering:
    """Groups of at least k records, by Euclidean distance in the given coordinates. Exact, by two indexes."""
    matrix = check_points(points)
    k = check_group_size(k, len(matrix))
    places = find_places(matrix.view(np.uint64))
    rows = matrix[places.first]
    sums = sum_rows(matrix)
    labels = np.empty(len(matrix), np.int32)
    progress = np.array([len(matrix), len(rows), 0])
    while progress[0] >= 2 * k:
        alive = np.flatnonzero(places.head < places.end)
        centroid = sums[0] / progress[0]
        nearest, farthest = build_nearest(rows, alive), build_farthest(rows, alive, centroid)
        enough = int(_REBUILD_BELOW * len(alive)) if len(alive) > _SMALLEST_REBUILT else -1
        form_groups(rows, places, nearest, farthest, sums, labels, progress, enough, k)
    left = [places.queue[head:end] for head, end in zip(places.head, places.end, strict=True) if head < end]
    labels[np.concatenate(left)] = progress[2]
    return Clustering(labels, np.bincount(labels).astype(np.int64))


def mdav_mixed(numeric: Floats, codes: Codes, distances: Sequence[Floats], k: int) -> Clustering:
    """MDAV by a Gower-style distance: squared gaps of the numbers plus δ² of the categories.

    `distances[j]` is δ between the labels of category column j, computed once for its domain. The centroid of
    a category column is the label with the least summed δ to the records left (Sánchez et al. 2016, eq. 5), lowest
    code first.
    """
    matrix = check_points(numeric, "numeric columns", fewest_columns=0)
    table = _check_codes(codes, distances, len(matrix))
    k = check_group_size(k, len(matrix))
    label_counts = np.array([len(delta) for delta in distances], np.int64)
    most = int(label_counts.max(initial=1))
    deltas = np.zeros((len(distances), most, most))
    counts = np.zeros((len(distances), most), np.int64)
    for j, delta in enumerate(distances):
        deltas[j, : len(delta), : len(delta)] = delta
        counts[j] = np.bincount(table[:, j], minlength=most)
    words = np.concatenate([matrix.view(np.uint64), table.astype(np.uint64)], axis=1)
    places = find_places(words)
    labels = np.empty(len(matrix), np.int32)
    groups = group_mixed(
        np.ascontiguousarray(matrix[places.first].T),
        np.ascontiguousarray(table[places.first].T),
        deltas,
        deltas * deltas,
        label_counts,
        counts,
        sum_rows(matrix),
        places,
        k,
        labels,
    )
    return Clustering(labels, np.bincount(labels, minlength=groups).astype(np.int64))


def _check_codes(codes: Codes, distances: Sequence[Floats], records: int) -> Codes:
    table = np.asarray(codes)
    if table.ndim != 2 or table.shape != (records, len(distances)) or table.dtype.kind not in "iu":
        raise DataError(
            "The category codes do not fit the numeric columns and the distance matrices.",
            "Give whole-number codes: one row for each record, one column for each distance matrix.",
        )
    for j, delta in enumerate(distances):
        if np.ndim(delta) != 2 or delta.shape[0] != delta.shape[1]:
            raise DataError(
                f"The distance matrix of category column {j} is not square.",
                "Give δ for every pair of labels.",
            )
        if not (np.isfinite(delta).all() and (delta >= 0).all() and (delta == delta.T).all()):
            raise DataError(
                f"The distance matrix of category column {j} has a negative, missing or one-sided entry.",
                "Distances are finite numbers, 0 or more, and the same in both directions.",
            )
        if records and (table[:, j].min() < 0 or table[:, j].max() >= len(delta)):
            raise DataError(
                f"Category column {j} has codes without a row in its distance matrix.",
                "Number the labels 0 … C-1 as in the matrix.",
            )
    return np.ascontiguousarray(table, dtype=np.int32)
