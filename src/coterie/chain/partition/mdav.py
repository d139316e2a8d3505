"""MDAV: multivariate groups of alike records, by exact searches over indexes that are rebuilt now and then."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from coterie.chain.partition._compiled import compiled
from coterie.chain.partition._mdav_index import (
    LARGEST_SCALED,
    CellPlaces,
    NearestIndex,
    add_row,
    build_nearest,
    check_group_size,
    check_points,
    find_places,
    rearranged,
    remove_from_nearest,
    sum_rows,
)
from coterie.chain.partition._mdav_search import (
    FarthestIndex,
    build_farthest,
    clear,
    find_farthest,
    find_nearest,
    is_before,
    remove_from_farthest,
    replace_worst,
)
from coterie.chain.partition.clustering import Clustering
from coterie.schema.arrays import Codes, Floats, Whole

# MDAV with categories: every distance is looked at, so it costs O(n²/k), but of distinct rows only.


@compiled
def _distances(
    numeric: Floats, codes: Codes, squared: Floats, alive: int, at: Floats, labels: Codes, out: Floats
) -> None:
    """Squared distances to the point (at, labels): numeric columns first, then categories, left to right."""
    out[:alive] = 0.0
    for j in range(len(numeric)):
        column = numeric[j]
        centre = at[j]
        for i in range(alive):
            gap = column[i] - centre
            out[i] += gap * gap
    for j in range(len(codes)):
        code = codes[j]
        row = squared[j, labels[j]]
        for i in range(alive):
            out[i] += row[code[i]]


@compiled
def _central_labels(counts: Whole, deltas: Floats, label_counts: Whole, out: Codes) -> None:
    """The label with the least summed δ to the records left (Sánchez et al. 2016, eq. 5); the lowest code wins ties."""
    for j in range(len(counts)):
        least = np.inf
        for label in range(label_counts[j]):
            total = 0.0
            for other in range(label_counts[j]):
                total += counts[j, other] * deltas[j, label, other]
            if total < least:
                least = total
                out[j] = label


@compiled
def _farthest_slot(distance: Floats, place_at: Whole, places: CellPlaces) -> int:
    far = 0
    for i in range(1, len(distance)):
        if distance[i] < distance[far]:
            continue
        rival = places.queue[places.head[place_at[i]]]
        if distance[i] > distance[far] or rival < places.queue[places.head[place_at[far]]]:
            far = i
    return far


@compiled
def _nearest_slots(
    distance: Floats,
    place_at: Whole,
    places: CellPlaces,
    near_distance: Floats,
    near_record: Whole,
    near_slot: Whole,
) -> None:
    clear(near_distance, near_record, near_slot)
    for i in range(len(distance)):
        if distance[i] > near_distance[0]:
            continue
        p = place_at[i]
        for position in range(places.head[p], places.end[p]):
            record = places.queue[position]
            if not is_before(distance[i], record, near_distance[0], near_record[0]):
                break
            replace_worst(near_distance, near_record, near_slot, distance[i], record, i)


@compiled
def group_mixed(
    numeric: Floats,
    codes: Codes,
    deltas: Floats,
    squared: Floats,
    label_counts: Whole,
    counts: Whole,
    sums: Floats,
    places: CellPlaces,
    k: int,
    labels: Codes,
) -> int:
    """Fill `labels` with group numbers in the order the groups are formed; returns how many there are.

    `numeric` and `codes` hold one row per attribute and one column per place; emptied places give way to the
    last. `deltas` and `squared` are δ and δ² of each category, `label_counts` how many labels it has;
    `counts` are the labels' frequencies and `sums` the numeric totals over all records.
    """
    width, slots = numeric.shape
    categories = len(codes)
    place_at = np.arange(slots)
    slot_of = np.arange(slots)
    queue, head, end = places.queue, places.head, places.end
    distance = np.empty(slots)
    near_distance, near_record = np.empty(k - 1), np.empty(k - 1, np.int64)
    near_slot = np.empty(k - 1, np.int64)
    chosen = np.empty(k, np.int64)
    centre, centre_labels = np.empty(width), np.zeros(categories, np.int32)
    gone = np.empty(width)
    left = len(queue)
    alive = slots
    group = 0
    from_centroid = True
    while left >= 2 * k:
        if from_centroid:
            for j in range(width):
                centre[j] = sums[0, j] / left
            _central_labels(counts, deltas, label_counts, centre_labels)
        # Otherwise `centre` still is r, and the farthest record from it is s.
        _distances(numeric, codes, squared, alive, centre, centre_labels, distance)
        far = _farthest_slot(distance[:alive], place_at, places)
        for j in range(width):
            centre[j] = numeric[j, far]
        for j in range(categories):
            centre_labels[j] = codes[j, far]
        # The farthest record leads its group even where another record stands at distance 0 from it.
        chosen[0] = place_at[far]
        labels[queue[head[place_at[far]]]] = group
        head[place_at[far]] += 1
        if k > 1:
            _distances(numeric, codes, squared, alive, centre, centre_labels, distance)
            _nearest_slots(distance[:alive], place_at, places, near_distance, near_record, near_slot)
        for t in range(k - 1):
            chosen[t + 1] = place_at[near_slot[t]]
            labels[near_record[t]] = group
            head[place_at[near_slot[t]]] += 1
        for t in range(k):
            slot = slot_of[chosen[t]]
            for j in range(width):
                gone[j] = numeric[j, slot]
            add_row(sums, gone, -1.0)
            for j in range(categories):
                counts[j, codes[j, slot]] -= 1
        group += 1
        left -= k
        for t in range(k):
            slot = slot_of[chosen[t]]
            # A place chosen several times is gone at its second turn.
            if slot >= 0 and head[chosen[t]] == end[chosen[t]]:
                alive -= 1
                place_at[slot] = place_at[alive]
                slot_of[place_at[slot]] = slot
                slot_of[chosen[t]] = -1
                for j in range(width):
                    numeric[j, slot] = numeric[j, alive]
                for j in range(categories):
                    codes[j, slot] = codes[j, alive]
        # A pair of groups starts only with at least 3k records; s is sought once r's group is gone.
        from_centroid = not (from_centroid and left + k >= 3 * k)
    for i in range(alive):
        p = place_at[i]
        for position in range(head[p], end[p]):
            labels[queue[position]] = group
    return group + 1


@compiled
def form_groups(
    points: Floats,
    places: CellPlaces,
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
            find_nearest(nearest, points, leader, places, distances, records, chosen[: k - 1])
            for t in range(k - 1):
                labels[records[t]] = progress[2]
                places.head[chosen[t]] += 1
        for t in range(k):
            p = int(chosen[t])
            add_row(sums, points[p], -1.0)
            # A place chosen several times is empty at its first turn already.
            if places.head[p] == places.end[p] and farthest.position[p] >= 0:
                remove_from_nearest(nearest, places, p)
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
# * the centroid is the exact sum of the records left, rounded, divided by their number (`add_row`).
#
# Groups are numbered in the order they are formed. Distances are Euclidean in the coordinates given: the
# caller standardises. No noise, no differential privacy: every record shares its group with k-1 others.

_REBUILD_BELOW = 0.5  # share of an index's places left at which a smaller one pays
_SMALLEST_REBUILT = 2048


def mdav(points: Floats, k: int) -> Clustering:
    """Groups of at least k records, by Euclidean distance in the given coordinates. Exact, by two indexes."""
    matrix = check_points(points)
    k = check_group_size(k, len(matrix))
    # A power of two: distances keep their order, to the last bit.
    matrix *= 2.0 ** min(LARGEST_SCALED - int(np.frexp(np.abs(matrix).max())[1]), 1000)
    places = find_places(matrix.view(np.uint64))
    rows = matrix[places.first]
    sums = sum_rows(matrix)
    labels = np.empty(len(matrix), np.int32)
    progress = np.array([len(matrix), len(rows), 0])
    while progress[0] >= 2 * k:
        rows, places = rearranged(rows, places)
        nearest, farthest = build_nearest(rows), build_farthest(rows, sums[0] / progress[0])
        enough = int(_REBUILD_BELOW * len(rows)) if len(rows) > _SMALLEST_REBUILT else -1
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
    table = np.ascontiguousarray(codes, dtype=np.int32)
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
