"""Descriptions of people, taken from released rows and a few attributes, in two styles.

*Tails*: at least or at most the released number, on the side away from the median, or the same label, as Giomi et al.
(Anonymeter, 2023) do. *Boxes*: close around the released number.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from coterie.auditing.attacks.attack import Clock
from coterie.auditing.attacks.evidence import Seen
from coterie.schema.arrays import Floats, Whole

STYLES = ("tails", "boxes")
MOST_DESCRIPTIONS = 500
MOST_ATTRIBUTES = 4
WINDOW = 0.05  # a box spans 5 % of the released values

Description = tuple[tuple[int, float, float], ...]  # attribute, from, to


def descriptions_of(
    attributes: Sequence[Seen], released: Sequence[Floats], style: str, draws: np.random.Generator
) -> list[Description]:
    count = len(released)
    ordered = [np.sort(values) for values in released]
    rows: Whole = draws.integers(0, len(released[0]), MOST_DESCRIPTIONS)
    found = set()
    for row in rows:
        size = int(draws.integers(min(2, count), min(MOST_ATTRIBUTES, count) + 1))
        places = np.sort(draws.choice(count, size, replace=False)).tolist()
        parts = []
        for place in places:
            value = float(released[place][row])
            number = attributes[place].is_number
            parts.append((place, *(_range(value, ordered[place], style) if number else (value, value))))
        found.add(tuple(parts))
    return sorted(found)


def _range(value: float, ordered: Floats, style: str) -> tuple[float, float]:
    if style == "tails":
        return (value, np.inf) if value > ordered[len(ordered) // 2] else (-np.inf, value)
    reach = max(round(WINDOW / 2 * len(ordered)), 1)
    low = max(int(np.searchsorted(ordered, value, "left")) - reach, 0)
    high = min(int(np.searchsorted(ordered, value, "right")) - 1 + reach, len(ordered) - 1)
    return float(ordered[low]), float(ordered[high])


def who_fits(description: Description, people: Sequence[Floats], clock: Clock) -> Whole:
    clock.check()
    fits = np.ones(len(people[0]), dtype=np.bool_)
    for place, low, high in description:
        fits &= (low <= people[place]) & (people[place] <= high)
    return np.flatnonzero(fits)
