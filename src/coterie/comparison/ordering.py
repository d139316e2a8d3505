"""The compiled loops behind `stable_order`: long columns are sorted ten bits at a time.

What is moved is one word a record: the bits of its value that differ from others', as many as fit, above its number.
Whole numbers have few such bits, counted from the least of them, and can be read off from the sorted words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.chain.partition._compiled import compiled, compiled_for_finite
from coterie.evaluation.clustered import LONG
from coterie.table.memory_limit import room_for

_DIGIT = 10  # bits: from 2,048 open places on, these evict one another from the caches of the processor
_PLACES = 1 << _DIGIT
_SIGN = np.uint64(2**63)
_NONE, _ONE = np.uint64(0), np.uint64(1)
_MOST_STEPS = 32
_BLOCK = 1024
_LARGEST = 2.0**52  # differences of whole numbers up to this one are exact


@compiled
def counted_order(values: NDArray[np.float64], order: NDArray[np.int64], ranked: NDArray[np.float64]) -> bool:
    """order becomes np.argsort(values, kind="stable"), ranked the values in it, -0.0 as 0.0.

    Unless it returns False: then too many bits did not fit.
    """
    n = len(values)
    words = np.empty(n, np.uint64)
    bits = 0  # of a record's number
    while n >> bits:
        bits += 1
    least, span = _whole(values)
    if 0 <= span < 2.0 ** (64 - bits):
        _order_whole(values, least, span, bits, words, order, ranked)
        return True
    differ = _rising_keys(values, words)
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
    words = _sort_words(words, bits, high - kept)
    mask = (_ONE << number) - _ONE
    for i in range(n):
        order[i] = words[i] & mask
    if kept > low and not _settle(values, order):
        return False
    for i in range(n):
        ranked[i] = values[order[i]] + 0.0
    return True


@compiled
def _order_whole(
    values: NDArray[np.float64],
    least: float,
    span: float,
    bits: int,
    words: NDArray[np.uint64],
    order: NDArray[np.int64],
    ranked: NDArray[np.float64],
) -> None:
    number = np.uint64(bits)
    for i in range(len(values)):
        words[i] = np.uint64(np.int64(values[i] - least)) << number | np.uint64(i)
    width = 0
    while np.int64(span) >> width:
        width += 1
    words = _sort_words(words, bits, width)
    mask = (_ONE << number) - _ONE
    for i in range(len(words)):
        order[i] = words[i] & mask
        ranked[i] = np.float64(np.int64(words[i] >> number)) + least


@compiled_for_finite
def _whole(values: NDArray[np.float64]) -> tuple[float, float]:
    """The least of the values and how far the largest is from it; -1 if not all are whole, or some are very large."""
    least, most = np.inf, -np.inf
    for first in range(0, len(values), _BLOCK):
        broken = 0.0
        for i in range(first, min(first + _BLOCK, len(values))):
            least, most = min(least, values[i]), max(most, values[i])
            broken = max(broken, abs(values[i] - np.rint(values[i])))
        if broken > 0 or least < -_LARGEST or most > _LARGEST:
            return 0.0, -1.0
    return least, most - least


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
def _sort_words(words: NDArray[np.uint64], low: int, width: int) -> NDArray[np.uint64]:
    """By the bits from low on."""
    place, moved = np.empty(_PLACES, np.int32), np.empty(len(words), np.uint64)
    for shift in range(low, low + width, _DIGIT):
        _sort_by_digit(words, np.uint64(shift), place, moved)
        words, moved = moved, words
    return words


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


# A stable argsort of doubles, some bits at a time: numbers that short are counted instead of compared.

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
_WORTH_COUNTING = 1_000  # shorter columns are sorted sooner by comparison
_STABLE_ORDER_SIGN = np.int64(-(2**63))


def stable_order(values: Floats) -> Whole:
    """As np.argsort(values, kind="stable"), row by row: -0.0 equals 0.0. The values must be finite."""
    if values.shape[-1] < _WORTH_COUNTING:
        return np.argsort(values, kind="stable")
    if values.shape[-1] >= LONG:
        return _by_compiled_loop(values)[0]
    bits = (values + 0.0).view(np.int64)  # no -0.0 is left
    # Patterns rise with positive doubles and fall with negative ones: these are turned over, and put below.
    keys = np.where(bits < 0, ~bits, bits ^ _STABLE_ORDER_SIGN).astype("<i8", copy=False)
    digits = keys.view("<u2").reshape(*values.shape, 4)
    order: Whole | None = None
    for place in range(4):
        digit = digits[..., place]
        if digit.min() == digit.max():  # whole numbers have nothing but zeros at the low end
            continue
        if order is None:
            order = np.argsort(digit, kind="stable")
        else:
            again = np.argsort(np.take_along_axis(digit, order, axis=-1), kind="stable")
            order = np.take_along_axis(order, again, axis=-1)
    return np.broadcast_to(np.arange(values.shape[-1]), values.shape) if order is None else order


def in_order(values: Floats) -> tuple[Whole, Floats]:
    """That order, and the values in it; -0.0 becomes 0.0, as in a summary."""
    if values.shape[-1] >= LONG:
        return _by_compiled_loop(values)
    order = stable_order(values)
    return order, np.take_along_axis(values, order, axis=-1) + 0.0


def _by_compiled_loop(values: Floats) -> tuple[Whole, Floats]:
    from coterie.chain.partition._compiled import for_reading
    from coterie.comparison.ordering import counted_order

    order: Whole = room_for(values.size, np.int64).reshape(values.shape)
    ranked: Floats = room_for(values.size, np.float64).reshape(values.shape)
    for row, *line in zip(*map(np.atleast_2d, (values, order, ranked)), strict=True):
        if not counted_order(for_reading(row), *line):
            line[0][:] = np.argsort(row, kind="stable")
            np.add(row[line[0]], 0.0, out=line[1])
    return order, ranked
