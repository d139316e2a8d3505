"""The records that MDAV still has to place: input checks, equal records, and the sum of what is left."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from coterie.chain.partition._compiled import compiled, compiled_inline
from coterie.errors import DataError, ParameterError
from coterie.schema.arrays import Floats, Whole, Words

# What every partition of numbers must be given: enough records, and finite numbers of a sane size.

LARGEST_COORDINATE = 1e150  # above it a squared distance may overflow and distances stop being comparable


def check_group_size(k: int, records: int) -> int:
    """k as a plain int, if groups of at least k can be made at all."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer):
        raise ParameterError("k is not a whole number.", "Give k as an integer such as 10.")
    if k < 1:
        raise ParameterError("k must be at least 1.", "Choose how many records every group must have.")
    if records < k:
        raise ParameterError(
            f"k = {k} is larger than the number of records.",
            "Choose a smaller k, or protect more records together.",
        )
    return int(k)


def check_points(points: Floats, what: str = "points", fewest_columns: int = 1) -> Floats:
    """The matrix as contiguous doubles; one row per record, one column per attribute."""
    matrix = np.asarray(points)
    if matrix.ndim != 2:
        raise DataError(
            f"The {what} have {matrix.ndim} dimensions, not 2.",
            "Give one row for each record and one column for each attribute.",
        )
    if matrix.shape[1] < fewest_columns:
        raise DataError(f"The {what} have no attribute.", "Name at least one attribute to group by.")
    if matrix.dtype.kind not in "fiu":
        raise DataError(f"The {what} are not numbers.", "Encode categories as numbers or codes first.")
    matrix = np.ascontiguousarray(matrix, dtype=np.float64)
    bad = np.count_nonzero(~(np.abs(matrix) <= LARGEST_COORDINATE).all(axis=1))
    if bad:
        raise DataError(
            f"{bad} records have a missing, infinite or enormous value.",
            "Treat missing values first and standardise the attributes.",
        )
    return matrix + 0.0  # -0.0 becomes 0.0: equal values must also be equal bit by bit


# The sum of the records that are left, carried as an unevaluated pair of doubles.
#
# Taking a million records away from a plain sum drifts; a pair (high, low) keeps about 106 bits (Knuth's
# two-sum), so the centroid is the rounded exact mean for all but contrived tables, at any step, and does not
# depend on how many records were taken away before.


@compiled_inline
def _two_sum(a: float, b: float) -> tuple[float, float]:
    total = a + b
    b_part = total - a
    return total, (a - (total - b_part)) + (b - b_part)


@compiled
def add_row(sums: Floats, row: Floats, sign: float) -> None:
    """sums[0] + sums[1] += sign · row; sums[0] stays the rounded total."""
    for j in range(len(row)):
        high, error = _two_sum(sums[0, j], sign * row[j])
        low, lost = _two_sum(sums[1, j], error)
        high, error = _two_sum(high, low)
        sums[0, j] = high
        sums[1, j] = error + lost


@compiled
def sum_rows(rows: Floats) -> Floats:
    sums = np.zeros((2, rows.shape[1]))
    for i in range(len(rows)):
        add_row(sums, rows[i], 1.0)
    return sums


# Equal records stand at one place: each place keeps its records in a queue, lowest record number first.
#
# MDAV breaks ties by record number, so among equal records the lowest number always leaves first. A place is
# therefore a queue, and searches look at places only: tables full of duplicates cost no more than their
# distinct rows.


class Places(NamedTuple):
    """Distinct rows, and which records stand there: queue[head[p]:end[p]] in record order."""

    first: Whole
    queue: Whole
    head: Whole
    end: Whole


@compiled
def find_places(words: Words) -> Places:
    """Group equal rows of `words` by an open hash table; places are numbered by first appearance."""
    n, width = words.shape
    slots = 4
    while slots < 2 * n:
        slots *= 2
    table = np.full(slots, -1, np.int64)
    place_of = np.empty(n, np.int64)
    first = np.empty(n, np.int64)
    places = 0
    for i in range(n):
        h = np.uint64(0x9E3779B97F4A7C15)
        for j in range(width):
            h = (h ^ words[i, j]) * np.uint64(0xFF51AFD7ED558CCD)
            h ^= h >> np.uint64(32)
        slot = np.int64(h & np.uint64(slots - 1))
        while True:
            p = table[slot]
            if p < 0:
                table[slot] = places
                first[places] = i
                place_of[i] = places
                places += 1
                break
            same = True
            for j in range(width):
                if words[first[p], j] != words[i, j]:
                    same = False
                    break
            if same:
                place_of[i] = p
                break
            slot = (slot + 1) & (slots - 1)
    end = np.zeros(places, np.int64)
    for i in range(n):
        end[place_of[i]] += 1
    total = 0
    for p in range(places):
        total += end[p]
        end[p] = total
    head = end.copy()
    queue = np.empty(n, np.int64)
    for i in range(n - 1, -1, -1):
        p = place_of[i]
        head[p] -= 1
        queue[head[p]] = i
    return Places(first[:places].copy(), queue, head, end)
