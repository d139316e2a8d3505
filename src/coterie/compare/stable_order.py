"""A stable argsort of doubles, some bits at a time: numbers that short are counted instead of compared."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.memory import room_for
from coterie.utility.clustered import LONG

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
_WORTH_COUNTING = 1_000  # shorter columns are sorted sooner by comparison
_SIGN = np.int64(-(2**63))


def stable_order(values: Floats) -> Whole:
    """As np.argsort(values, kind="stable"), row by row: -0.0 equals 0.0. The values must be finite."""
    if values.shape[-1] < _WORTH_COUNTING:
        return np.argsort(values, kind="stable")
    if values.shape[-1] >= LONG:
        return _by_compiled_loop(values)[0]
    bits = (values + 0.0).view(np.int64)  # no -0.0 is left
    # Patterns rise with positive doubles and fall with negative ones: these are turned over, and put below.
    keys = np.where(bits < 0, ~bits, bits ^ _SIGN).astype("<i8", copy=False)
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
    from coterie.compare._counted_order import counted_order
    from coterie.partition._compiled import for_reading

    order: Whole = room_for(values.size, np.int64).reshape(values.shape)
    ranked: Floats = room_for(values.size, np.float64).reshape(values.shape)
    for row, *line in zip(*map(np.atleast_2d, (values, order, ranked)), strict=True):
        if not counted_order(for_reading(row), *line):
            line[0][:] = np.argsort(row, kind="stable")
            np.add(row[line[0]], 0.0, out=line[1])
    return order, ranked
