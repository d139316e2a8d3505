"""MDAV with categories: every distance is looked at, so it costs O(n²/k), but of distinct rows only."""

from __future__ import annotations

import numpy as np

from coterie.chain.partition._compiled import compiled
from coterie.chain.partition._mdav_places import Places, add_row
from coterie.chain.partition._mdav_search import clear, is_before, replace_worst
from coterie.schema.arrays import Codes, Floats, Whole


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
def _farthest_slot(distance: Floats, place_at: Whole, places: Places) -> int:
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
    places: Places,
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
    places: Places,
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
