"""The compiled loops over rows: count all pairs of bins, move rows from over-full cells to under-full ones, swap values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.chain.partition._compiled import compiled
from coterie.schema.arrays import Floats, Whole


@compiled
def _next(state: NDArray[np.uint64]) -> np.uint64:
    """xorshift64*: post-processing needs no secrecy, only a stream that a seed repeats."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return np.uint64((x * np.uint64(2685821657736338717)) >> np.uint64(11))


@compiled
def _below(state: NDArray[np.uint64], limit: int) -> Any:
    return np.int64(_next(state) % np.uint64(limit))


@compiled
def count_pairs(
    bins: NDArray[np.uint16], first: Whole, second: Whole, sizes: Whole, starts: Whole, out: Whole
) -> None:
    """Add to `out` the two-way tables of all pairs (first[p], second[p]), one behind the other at starts[p]."""
    for p in range(len(first)):
        a, b, size, start = first[p], second[p], sizes[second[p]], starts[p]
        for row in range(bins.shape[1]):
            out[start + int(bins[a, row]) * size + int(bins[b, row])] += 1


@compiled
def repair(
    rows: NDArray[np.int32],
    bins: NDArray[np.uint16],
    a: int,
    b: int,
    sizes: Whole,
    target: Whole,
    pools: NDArray[np.int32],
    pool_starts: Whole,
    bin_of: NDArray[np.uint16],
    share: float,
    copies: float,
    state: NDArray[np.uint64],
) -> int:
    """One pass over one table: `share` of the surplus of each cell moves, `copies` of it by copying a whole row.

    `rows` and `bins` hold one line per attribute. A row that is not copied gets new values in `a` and `b` only,
    drawn from the pool of its new bin. Returns how many rows moved.
    """
    n = rows.shape[1]
    width = sizes[b]
    cells = sizes[a] * width
    counts = np.zeros(cells, dtype=np.int64)
    for row in range(n):
        counts[int(bins[a, row]) * width + int(bins[b, row])] += 1
    surplus = np.zeros(cells, dtype=np.int64)
    wanted = np.zeros(cells, dtype=np.int64)
    much, lack = 0, 0
    for cell in range(cells):
        off = counts[cell] - target[cell]
        if off > 0:
            part = share * off
            take = int(part)
            if _below(state, 1 << 30) < (part - take) * (1 << 30):
                take += 1
            surplus[cell] = take
            much += take
        elif off < 0:
            wanted[cell] = -off
            lack += -off
    moves = min(much, lack)
    if moves == 0:
        return 0
    places = np.empty(lack, dtype=np.int64)
    at = 0
    for cell in range(cells):
        for _ in range(wanted[cell]):
            places[at] = cell
            at += 1
    for i in range(moves):  # the first `moves` of a shuffle
        j = i + _below(state, lack - i)
        places[i], places[j] = places[j], places[i]
    per_cell = np.zeros(cells + 1, dtype=np.int64)
    for i in range(moves):
        per_cell[places[i] + 1] += 1
    for cell in range(cells):
        per_cell[cell + 1] += per_cell[cell]
    donors = np.full(moves, -1, dtype=np.int64)
    filled = np.zeros(cells, dtype=np.int64)
    movers = np.empty(moves, dtype=np.int64)
    found = 0
    # Rows in a random order: a random start and a stride without a common factor with n.
    stride = 1 + _below(state, n)
    while True:
        x, y = stride, n
        while y:
            x, y = y, x % y
        if x == 1:
            break
        stride += 1
    row = _below(state, n)
    for _ in range(n):
        row = (row + stride) % n
        cell = int(bins[a, row]) * width + int(bins[b, row])
        if surplus[cell] > 0:
            if found < moves:
                surplus[cell] -= 1
                movers[found] = row
                found += 1
        elif per_cell[cell + 1] - per_cell[cell] > filled[cell]:
            donors[per_cell[cell] + filled[cell]] = row
            filled[cell] += 1
    for i in range(found):
        cell, mover = places[i], movers[i]
        known = filled[cell]
        if known > 0 and _below(state, 1 << 30) < copies * (1 << 30):
            donor = donors[per_cell[cell] + _below(state, known)]
            for j in range(rows.shape[0]):
                rows[j, mover] = rows[j, donor]
                bins[j, mover] = bins[j, donor]
        else:
            new_a, new_b = cell // width, cell % width
            if int(bins[a, mover]) != new_a:
                start, end = pool_starts[a, new_a], pool_starts[a, new_a + 1]
                if end > start:
                    rows[a, mover] = pools[a, start + _below(state, end - start)]
                    bins[a, mover] = bin_of[a, rows[a, mover]]
            if int(bins[b, mover]) != new_b:
                start, end = pool_starts[b, new_b], pool_starts[b, new_b + 1]
                if end > start:
                    rows[b, mover] = pools[b, start + _below(state, end - start)]
                    bins[b, mover] = bin_of[b, rows[b, mover]]
    return found


@compiled
def balance(
    rows: NDArray[np.int32],
    bins: NDArray[np.uint16],
    starts: Whole,
    own: Whole,
    other: Whole,
    off: Floats,
    weights: Floats,
    tries: int,
    state: NDArray[np.uint64],
) -> int:
    """Swap the values of one attribute between two rows, wherever that brings the tables of all pairs nearer.

    `rows` and `bins` hold one line per row. The cell of attributes a and b lies at starts[a, b] + own[a, b]·(bin of a) +
    other[a, b]·(bin of b); `off` is how many rows too many it holds. Distributions stay as they are. Returns how many
    swaps were made.
    """
    n, m = bins.shape
    swaps = 0
    for _ in range(tries):
        a = _below(state, m)
        i, j = _below(state, n), _below(state, n)
        ai, aj = int(bins[i, a]), int(bins[j, a])
        if ai == aj:
            continue
        gain = 0.0
        for b in range(m):
            bi, bj = int(bins[i, b]), int(bins[j, b])
            if b == a or bi == bj:
                continue
            start, x, y = starts[a, b], own[a, b], other[a, b]
            ii, ij = start + x * ai + y * bi, start + x * ai + y * bj
            ji, jj = start + x * aj + y * bi, start + x * aj + y * bj
            gain += weights[ii] * (2 * off[ii] - 1) + weights[jj] * (2 * off[jj] - 1)
            gain -= weights[ij] * (2 * off[ij] + 1) + weights[ji] * (2 * off[ji] + 1)
        if gain <= 0:
            continue
        swaps += 1
        for b in range(m):
            bi, bj = int(bins[i, b]), int(bins[j, b])
            if b == a or bi == bj:
                continue
            start, x, y = starts[a, b], own[a, b], other[a, b]
            off[start + x * ai + y * bi] -= 1
            off[start + x * aj + y * bj] -= 1
            off[start + x * ai + y * bj] += 1
            off[start + x * aj + y * bi] += 1
        bins[i, a], bins[j, a] = aj, ai
        rows[i, a], rows[j, a] = rows[j, a], rows[i, a]
    return swaps
