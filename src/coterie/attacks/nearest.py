"""Nearest released row in a Gower-style distance: Σ |x - y|/width for numbers, δ for labels. Exact, mixed types.

Every target is compared with every row, attribute by attribute in blocks, so that nothing but one block of distances is
held. Large tables are handled by sampling targets, never by searching less carefully.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from coterie.attacks.clock import Clock
from coterie.attacks.evidence import Seen, Values

MOST_PAIRS = 200_000_000  # target-row pairs that an attack compares; more targets are sampled down to it
_BLOCK = 4_000_000  # pairs held at a time, 4 bytes each
Yardstick = Literal["domain", "spread"]


@dataclass(frozen=True, slots=True)
class Nearest:
    """For each target: the nearest row and how far it is. Fewer than asked if the clock ran out."""

    row: NDArray[np.int64]
    distance: Values


def affordable(targets: int, rows: int) -> int:
    """How many targets can be compared with all rows."""
    return min(targets, max(MOST_PAIRS // max(rows, 1), 500))


def nearest_rows(
    attributes: Sequence[Seen], targets: Sequence[Values], clock: Clock, yardstick: Yardstick = "domain"
) -> Nearest:
    """`targets[a]` holds the targets' values of `attributes[a]`; rows are the released ones."""
    rows, distances = [], []
    for block in _blocks(attributes, targets, yardstick):
        nearest = block.argmin(axis=1)
        rows.append(nearest)
        distances.append(np.take_along_axis(block, nearest[:, None], axis=1)[:, 0])
        if clock.up:
            break
    return Nearest(np.concatenate(rows).astype(np.int64), np.concatenate(distances).astype(np.float64))


def _blocks(
    attributes: Sequence[Seen], targets: Sequence[Values], yardstick: Yardstick
) -> Iterator[NDArray[np.float32]]:
    count, rows = len(targets[0]), len(attributes[0].released)
    scaled = [_scaled(a, values, yardstick) for a, values in zip(attributes, targets, strict=True)]
    size = max(_BLOCK // rows, 1)
    for start in range(0, count, size):
        part = slice(start, start + size)
        total = np.zeros((min(size, count - start), rows), dtype=np.float32)
        work = np.empty_like(total)
        for attribute, (mine, theirs) in zip(attributes, scaled, strict=True):
            if attribute.is_number:
                np.subtract(mine[part, None], theirs[None, :], out=work)
                np.abs(work, out=work)
            elif attribute.distance is None:
                np.not_equal(mine[part, None], theirs[None, :], out=work, casting="unsafe")
            else:
                table = attribute.distance.astype(np.float32)
                work = table[mine[part].astype(np.intp)][:, theirs.astype(np.intp)]
            total += work
        yield total


def _scaled(
    attribute: Seen, targets: Values, yardstick: Yardstick
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    if not attribute.is_number:
        return targets.astype(np.float32), attribute.released.astype(np.float32)
    unit = attribute.width if yardstick == "domain" else _spread(targets, attribute.width)
    # Centred first: single precision then keeps differences of dates and other large numbers.
    centre = attribute.lower + attribute.width / 2
    mine, theirs = (targets - centre) / unit, (attribute.released - centre) / unit
    return mine.astype(np.float32), theirs.astype(np.float32)


def _spread(values: Values, width: float) -> float:
    """Mean distance to the median of what the attacker knows: robust, and never 0."""
    spread = float(np.mean(np.abs(values - np.median(values))))
    return spread if spread > 0 else width
