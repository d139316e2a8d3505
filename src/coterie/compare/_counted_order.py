"""The compiled loop behind `stable_order`: long columns are sorted twelve bits at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.partition._compiled import compiled

_BITS = np.uint64(12)  # 4,096 open places: more of them would evict one another from the cache
_PLACES = 4096
_MASK = np.uint64(_PLACES - 1)
_SIGN = np.uint64(2**63)
_NONE, _ONE, _WORD = np.uint64(0), np.uint64(1), np.uint64(64)


@compiled
def counted_order(values: NDArray[np.float64], order: NDArray[np.int64]) -> None:
    """order becomes np.argsort(values, kind="stable"). Bits that all values share are passed over."""
    n = len(values)
    keys = np.empty(n, np.uint64)
    differ = _rising_keys(values, keys)
    keys_moved = np.empty(n, np.uint64)
    record = np.arange(n).astype(np.int32)
    record_moved = np.empty(n, np.int32)
    place = np.empty(_PLACES, np.int32)
    shift = _NONE
    while shift < _WORD and differ >> shift != _NONE:
        while (differ >> shift) & _ONE == _NONE:
            shift += _ONE
        place[:] = 0
        for i in range(n):
            place[(keys[i] >> shift) & _MASK] += 1
        start = 0
        for digit in range(_PLACES):
            count = place[digit]
            place[digit] = start
            start += count
        for i in range(n):
            digit = (keys[i] >> shift) & _MASK
            to = place[digit]
            place[digit] = to + 1
            keys_moved[to] = keys[i]
            record_moved[to] = record[i]
        keys, keys_moved = keys_moved, keys
        record, record_moved = record_moved, record
        shift += _BITS
    order[:] = record


@compiled
def _rising_keys(values: NDArray[np.float64], keys: NDArray[np.uint64]) -> np.uint64:
    """Whole numbers in the order of the values, -0.0 as 0.0. Returns the bits in which some differ."""
    bits = values.view(np.uint64)
    some, every = _NONE, ~_NONE
    for i in range(len(values)):
        pattern = bits[i]
        if pattern == _SIGN:
            pattern = _NONE
        # Patterns rise with positive doubles and fall with negative ones: these are turned over, and put below.
        key = pattern ^ ((_NONE - (pattern >> np.uint64(63))) | _SIGN)
        keys[i] = key
        some |= key
        every &= key
    return some ^ every
