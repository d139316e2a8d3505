"""The compiled loops behind `stable_order`: long columns are sorted twelve bits at a time.

What is moved is one word a record: the bits of its value that differ from others', as many as fit, above its number.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.partition._compiled import compiled

_DIGIT = 12  # bits: with more than 4,096 open places, these would evict one another from the cache
_PLACES = 1 << _DIGIT
_SIGN = np.uint64(2**63)
_NONE, _ONE = np.uint64(0), np.uint64(1)
_MOST_STEPS = 32


@compiled
def counted_order(values: NDArray[np.float64], order: NDArray[np.int64]) -> bool:
    """order becomes np.argsort(values, kind="stable"), unless it returns False: then too many bits did not fit."""
    n = len(values)
    words = np.empty(n, np.uint64)
    differ = _rising_keys(values, words)
    bits = 0  # of a record's number
    while n >> bits:
        bits += 1
    high, low = 64, 0  # the bits that differ lie below high, and from low on
    while high and differ >> np.uint64(high - 1) == _NONE:
        high -= 1
    while low < high and (differ >> np.uint64(low)) & _ONE == _NONE:
        low += 1
    kept = max(low, high - (64 - bits))
    above, number = np.uint64(kept), np.uint64(bits)
    mask = (_ONE << np.uint64(high - kept)) - _ONE
    for i in range(n):
        words[i] = ((words[i] >> above) & mask) << number | np.uint64(i)
    moved = np.empty(n, np.uint64)
    place = np.empty(_PLACES, np.int32)
    for shift in range(bits, bits + high - kept, _DIGIT):
        _sort_by_digit(words, np.uint64(shift), place, moved)
        words, moved = moved, words
    mask = (_ONE << number) - _ONE
    for i in range(n):
        order[i] = words[i] & mask
    return kept == low or _settle(values, order)


@compiled
def _rising_keys(values: NDArray[np.float64], keys: NDArray[np.uint64]) -> np.uint64:
    """Whole numbers in the order of the values, -0.0 as 0.0. Returns the bits in which some differ."""
    patterns = values.view(np.uint64)
    some, every = _NONE, ~_NONE
    for i in range(len(values)):
        pattern = patterns[i]
        if pattern == _SIGN:
            pattern = _NONE
        # Patterns rise with positive doubles and fall with negative ones: these are turned over, and put below.
        key = pattern ^ ((_NONE - (pattern >> np.uint64(63))) | _SIGN)
        keys[i] = key
        some |= key
        every &= key
    return some ^ every


@compiled
def _sort_by_digit(
    words: NDArray[np.uint64], shift: np.uint64, place: NDArray[np.int32], moved: NDArray[np.uint64]
) -> None:
    mask = np.uint64(_PLACES - 1)
    place[:] = 0
    for i in range(len(words)):
        place[(words[i] >> shift) & mask] += 1
    start = 0
    for digit in range(_PLACES):
        count = place[digit]
        place[digit] = start
        start += count
    for i in range(len(words)):
        digit = (words[i] >> shift) & mask
        to = place[digit]
        place[digit] = to + 1
        moved[to] = words[i]


@compiled
def _settle(values: NDArray[np.float64], order: NDArray[np.int64]) -> bool:
    """Put right what differs only in bits that did not fit: neighbours, unless the column is a strange one."""
    for i in range(1, len(order)):
        record, to = order[i], i
        while to > 0 and values[order[to - 1]] > values[record]:
            if i - to == _MOST_STEPS:
                return False
            order[to] = order[to - 1]
            to -= 1
        order[to] = record
    return True
