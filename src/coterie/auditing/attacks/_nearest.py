"""Nearest released row in a Gower-style distance: Σ |x - y|/width for numbers, δ for labels. Exact, mixed types.

Every target is compared with every row, attribute by attribute in blocks, so that nothing but one block of distances is
held. Large tables are handled by sampling targets, never by searching less carefully.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from coterie.auditing.attacks import Clock
from coterie.auditing.attacks.evidence import Seen
from coterie.schema.arrays import Floats, Whole

MOST_PAIRS = 200_000_000  # target-row pairs that an attack compares; more targets are sampled down to it
_BLOCK = 1_000_000  # pairs held at a time, 4 bytes each: few enough for the caches
_LABEL_CELLS = 20_000_000  # labels × rows whose distances are looked up once
Yardstick = Literal["domain", "spread"]
Matrix = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Nearest:
    """For each target: the nearest row and how far it is. Fewer than asked if the clock ran out."""

    row: Whole
    distance: Floats


def affordable(targets: int, rows: int) -> int:
    """How many targets can be compared with all rows."""
    return min(targets, max(MOST_PAIRS // max(rows, 1), 500))


def nearest_rows(
    attributes: Sequence[Seen], targets: Sequence[Floats], clock: Clock, yardstick: Yardstick = "domain"
) -> Nearest:
    """`targets[a]` holds the targets' values of `attributes[a]`; rows are the released ones."""
    rows, distances = [], []
    apart = [_distances(a, values, yardstick) for a, values in zip(attributes, targets, strict=True)]
    for part in _blocks(len(targets[0]), len(attributes[0].released), 1):
        total = _sum(measure(part) for measure in apart)
        nearest = total.argmin(axis=1)
        rows.append(nearest)
        distances.append(np.take_along_axis(total, nearest[:, None], axis=1)[:, 0])
        if clock.up:
            break
    return Nearest(np.concatenate(rows).astype(np.int64), np.concatenate(distances).astype(np.float64))


def nearest_without_each(
    attributes: Sequence[Seen], targets: Sequence[Floats], left_out: Sequence[int], clock: Clock
) -> dict[int, Whole]:
    """For each attribute in `left_out`, the nearest rows by all others: one pass for all of them."""
    found: dict[int, list[Whole]] = {place: [] for place in left_out}
    apart = [_distances(a, values, "domain") for a, values in zip(attributes, targets, strict=True)]
    for part in _blocks(len(targets[0]), len(attributes[0].released), len(attributes)):
        clock.check()
        each = [measure(part) for measure in apart]
        total = _sum([each[0].copy(), *each[1:]])
        for place in left_out:
            found[place].append((total - each[place]).argmin(axis=1).astype(np.int64))
    return {place: np.concatenate(rows) for place, rows in found.items()}


def _blocks(targets: int, rows: int, held: int) -> Iterator[slice]:
    """Slices of targets, so that `held` matrices of targets × rows fit into a block."""
    size = max(_BLOCK // (rows * held), 1)
    for start in range(0, targets, size):
        yield slice(start, start + size)


def _sum(parts: Iterable[Matrix]) -> Matrix:
    iterator = iter(parts)
    total = next(iterator)
    for part in iterator:
        total += part
    return total


def _distances(attribute: Seen, targets: Floats, yardstick: Yardstick) -> Callable[[slice], Matrix]:
    """Distances in one attribute, targets × rows, for any slice of the targets."""
    released = attribute.released
    if not attribute.is_number:
        if attribute.distance is None:
            return lambda part: np.not_equal(targets[part, None], released[None, :]).astype(np.float32)
        table = attribute.distance.astype(np.float32)
        codes, wanted = targets.astype(np.intp), released.astype(np.intp)
        if table.shape[0] * len(released) <= _LABEL_CELLS:
            by_label = table[:, wanted]  # a target's distances are then one row to copy
            return lambda part: by_label[codes[part]]
        return lambda part: table[codes[part]][:, wanted]
    unit = attribute.width if yardstick == "domain" else _spread(targets, attribute.width)
    # Centred first: single precision then keeps differences of dates and other large numbers.
    centre = attribute.lower + attribute.width / 2
    mine = ((targets - centre) / unit).astype(np.float32)
    theirs = ((released - centre) / unit).astype(np.float32)

    def numbers(part: slice) -> Matrix:
        apart = np.subtract(mine[part, None], theirs[None, :])
        np.abs(apart, out=apart)
        return apart

    return numbers


def _spread(values: Floats, width: float) -> float:
    """Mean distance to the median of what the attacker knows: robust, and never 0."""
    spread = float(np.mean(np.abs(values - np.median(values))))
    return spread if spread > 0 else width
