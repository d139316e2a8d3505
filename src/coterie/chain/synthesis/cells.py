"""The public cells of one attribute: values → codes of a fine grid, nested coarser grids above it, and codes → values.

Everything here follows from the declared domain alone. What the method reads of a column is how many records lie in each
cell, so that a chunk of records adds up with any other chunk.

Numbers: single cells for zero and, where noise is small, the two bounds (spikes stand there), cells of equal width, and
cells that grow by powers of four from zero (long tails). Each is cut into four, four times over, down to the step between
values: into equal parts, but small cells beside zero into parts that grow again, so that bounds may be far too wide.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from coterie.schema.arrays import Floats, Whole
from coterie.schema.domain import multiples

LINEAR = 8  # cells of equal width on the coarsest grid
SPLIT = 4  # parts of a cell on the next finer grid
LEVELS = 4  # grids below the coarsest
POWERS = 6  # powers of four below the larger bound, at most …
FEWEST = (
    1  # … and at least: then bounds have no cells of their own either, unless they are zero or nearest to it
)
# Of the larger bound: cells beside zero up to there are cut into parts that grow. (Beside wider ones, where noise leaves
# few cuts, equal parts tell more.)
NEAR = 4.0**-POWERS
FEW = 24  # possible values that are counted one by one from the start


@dataclass(frozen=True, slots=True)
class LabelCells:
    """One cell per label, and one for missing where that is an outcome."""

    labels: int
    missing: bool
    ordered: bool = False

    @property
    def size(self) -> int:
        return self.labels + self.missing

    @property
    def levels(self) -> tuple[Whole, ...]:
        return (np.arange(self.size),)

    @property
    def positions(self) -> Floats:
        """Where each cell stands among the others, for scores; missing has none."""
        return np.where(np.arange(self.size) < self.labels, np.arange(self.size), np.nan).astype(np.float64)

    @property
    def widths(self) -> Floats:
        return np.ones(self.size)

    def encode(self, codes: NDArray[np.integer]) -> Whole:
        """Code -1 is missing."""
        return np.where(codes < 0, self.labels, codes).astype(np.int64)

    def decode(self, cells: Whole, uniform: Floats) -> Whole:
        return np.where(cells == self.labels, -1, cells) if self.missing else cells


@dataclass(frozen=True, slots=True)
class NumberCells:
    """Cell i holds the values from `lows[i]` to `highs[i]`: both ends equal for a single value, else the upper one excluded.

    With a step, values are whole multiples of it. Ends are counted in steps from the first one inside the bounds, and
    `highs` are included.
    """

    lows: Floats
    highs: Floats
    levels: tuple[
        Whole, ...
    ]  # fine cell → cell of each grid, coarsest first; missing is the last cell of each
    missing: bool
    step: float | None
    lower: float  # the smallest and the largest value that is released
    upper: float
    first: float = 0.0  # the lower one in steps
    ordered: bool = True

    @property
    def size(self) -> int:
        return len(self.lows) + self.missing

    @property
    def positions(self) -> Floats:
        middle = np.arange(len(self.lows), dtype=np.float64)
        return np.append(middle, np.nan) if self.missing else middle

    @property
    def widths(self) -> Floats:
        """How much of the domain each fine cell covers: possible values, or length; missing counts for one."""
        found = np.maximum(self.highs - self.lows, 0.0) + (self.step is not None)
        return np.append(found, 1.0) if self.missing else found

    def encode(self, values: Floats) -> Whole:
        """NaN is missing; values beyond the bounds lie in the outermost cells."""
        gaps = np.isnan(values)
        inside = np.clip(np.where(gaps, self.lower, values), self.lower, self.upper)
        if self.step is not None:
            inside = np.rint(inside * round(1 / self.step)) - self.first
        found = np.searchsorted(self.lows, inside, side="right") - 1
        if (
            self.step is None
        ):  # a single value starts where the next cell does: the value itself is the single one's
            before = np.maximum(found - 1, 0)
            found = np.where((self.lows[before] == inside) & (self.highs[before] == inside), before, found)
        return np.where(gaps, len(self.lows), found).astype(np.int64)

    def decode(self, cells: Whole, uniform: Floats) -> Floats:
        """A value evenly from the cell; NaN for missing. `uniform` lies in [0, 1)."""
        gaps = cells == len(self.lows)
        place = np.where(gaps, 0, cells)
        low, high = self.lows[place], self.highs[place]
        if self.step is not None:
            values = self.at(low + np.floor(uniform * (high - low + 1)))
        else:
            values = low + uniform * (high - low)
        return np.where(gaps, np.nan, np.clip(values, self.lower, self.upper))

    def ends(self, first: int, last: int) -> tuple[float, float, str]:
        """From which value to which the cells first … last reach, and which of the two they include."""
        low, high = self.at(np.array([self.lows[first], self.highs[last]])).tolist()
        if self.step is not None:
            return low, high, "both"
        # A single value has its own cell, before the one that starts there.
        taken = first > 0 and self.lows[first - 1] == self.highs[first - 1] == self.lows[first]
        ends = last == len(self.lows) - 1 or self.lows[last] == self.highs[last]
        return low, high, {(0, 0): "from", (0, 1): "both", (1, 0): "neither", (1, 1): "to"}[taken, ends]

    def at(self, ends: Floats) -> Floats:
        """Ends of cells as values."""
        return ends if self.step is None else (self.first + ends) / round(1 / self.step)


Cells = LabelCells | NumberCells


def powers_for(signal: float) -> int:
    """Small cells around zero collect as much noise as wide ones: few of them where n is small beside the noise."""
    return POWERS if signal >= 100 else 3 if signal >= 30 else FEWEST


@lru_cache(maxsize=64)  # for those who release again and again: audits and comparisons
def number_cells(
    lower: float, upper: float, step: float | None, missing: bool, powers: int = POWERS
) -> NumberCells:
    found = None if step is None else multiples(lower, upper, step)
    if step is not None and found is not None:
        first, last = found
        steps = last - first
        ends = (first / round(1 / step), last / round(1 / step), first)
        if steps < FEW:
            alone = np.arange(steps + 1)
            level = _with_gap(np.arange(len(alone)), missing)
            return NumberCells(alone, alone, (level,), missing, step, *ends)
        centre = min(max(-first, 0.0), steps)
        lows, highs, levels = _nested(0.0, steps, centre, powers, whole=True)
        return NumberCells(lows, highs, _gapped(levels, missing), missing, step, *ends)
    lows, highs, levels = _nested(lower, upper, min(max(0.0, lower), upper), powers, whole=False)
    return NumberCells(lows, highs, _gapped(levels, missing), missing, None, lower, upper)


def _nested(
    lower: float, upper: float, centre: float, powers: int, *, whole: bool
) -> tuple[Floats, Floats, list[Whole]]:
    """The fine cells from the lower bound to the upper, and the cell of each on every grid; zero lies nearest `centre`."""
    cells = _coarse(lower, upper, centre, powers, whole=whole)
    levels = [np.arange(len(cells))]
    near = NEAR * max(upper - centre, centre - lower)
    for _ in range(LEVELS):
        finer: list[tuple[float, float]] = []
        parents: list[int] = []
        for number, cell in enumerate(cells):
            parts = _cut(*cell, centre, near, whole=whole)
            finer.extend(parts)
            parents.extend([number] * len(parts))
        levels = [level[parents] for level in levels] + [np.arange(len(finer))]
        cells = finer
    lows, highs = np.array(cells, dtype=np.float64).T
    return lows, highs, levels


def _coarse(
    lower: float, upper: float, centre: float, powers: int, *, whole: bool
) -> list[tuple[float, float]]:
    width = upper - lower
    edges = {lower, upper}
    edges |= {lower + width * i / LINEAR for i in range(1, LINEAR)}
    reach = max(upper - centre, centre - lower)
    for power in range(1, powers + 1):
        for side in (-1, 1):
            edges.add(centre + side * reach * 4.0**-power)
    if whole:
        edges = {float(np.rint(edge)) for edge in edges}
    ordered = sorted(edge for edge in edges if lower <= edge <= upper)
    # A bound far from everything else, with noise on it, would do more harm than a spike there that is missed.
    single = {lower, upper, centre} if powers > FEWEST else {centre}
    cells: list[tuple[float, float]] = []
    ordered = sorted(set(ordered) | single)
    for place, edge in enumerate(ordered):
        following = ordered[place + 1] if place + 1 < len(ordered) else None
        if edge in single:
            cells.append((edge, edge))
        if following is None:
            break
        if whole:
            low = edge + 1 if edge in single else edge
            high = following if following == upper and upper not in single else following - 1
            if low <= high:
                cells.append((low, high))
        else:
            cells.append((edge, following))
    return cells


def _cut(low: float, high: float, centre: float, near: float, *, whole: bool) -> list[tuple[float, float]]:
    """Into four: equal parts, or growing by powers of four beside `centre` where the cell is small but long in steps."""
    values = int(high - low) + 1 if whole else 0
    if whole and values <= SPLIT**3:
        shares = [i / min(SPLIT, values) for i in range(min(SPLIT, values))]
    elif high <= low:
        return [(low, high)]
    elif high - low > near or min(abs(low - centre), abs(high - centre)) > whole:
        shares = [i / SPLIT for i in range(SPLIT)]
    elif low >= centre:
        shares = [0.0, *(float(SPLIT) ** (i - SPLIT) for i in range(1, SPLIT))]
    else:
        shares = [0.0, *(1 - float(SPLIT) ** -i for i in range(1, SPLIT))]
    if whole:
        starts = [low + int(values * share) for share in shares]
        return list(zip(starts, [*(start - 1 for start in starts[1:]), high], strict=True))
    return list(pairwise([*(low + (high - low) * share for share in shares), high]))


def _with_gap(level: Whole, missing: bool) -> Whole:
    return np.append(level, level.max() + 1) if missing else level


def _gapped(levels: list[Whole], missing: bool) -> tuple[Whole, ...]:
    return tuple(_with_gap(level, missing) for level in levels)
