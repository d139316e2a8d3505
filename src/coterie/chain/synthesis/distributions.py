"""Noisy counts on nested grids → the released distribution of one attribute.

A level reads one histogram of disjoint cells. Cells whose noisy count is large are cut for the next level, as the public
grid says; neighbours whose count stays small are merged; one last histogram on what came out gets the rest of the
attribute's budget. All histograms are then fitted together: non-negative counts that add up to n, nearest to every reading
in units of its noise. Only `read` looks at exact counts, and only through the accountant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from coterie.chain.synthesis.accountant import Accountant, Currency, Reading
from coterie.chain.synthesis.cells import Cells, NumberCells
from coterie.chain.synthesis.marginal import onto_counts
from coterie.schema.arrays import Floats, Whole

_CUT_ABOVE = 4.0  # standard deviations of the noise that a cell must hold to be cut …
_CUT_PACKED = 0.35
_NOISY = 100.0  # n over the noise on a count
_HOPELESS = {
    Currency.EPSILON: 0.45,
    Currency.RHO: 2.0,
}  # of all records; under ρ, reading twice costs nothing
_CUT_SHARE = 0.02  # … and the share of all records
_MERGE_BELOW = 1.5  # standard deviations of the last histogram: smaller neighbours are counted together
_STEPS = 400
_DOUBT = 2.0  # how much less than its distance says the expectation without data weighs
_FAINT = 10.0  # n over the noise on a count: below, counts are told with a prior, and not by least squares …
_MANY = 400  # … unless there are more: time grows with the cube
_USUAL = 6.0  # strength of that prior, in records, where noise hides how strong it should be
_LEAST_PULL, _MOST_PULL = 0.05, 20.0
_TRUSTED = 0.3  # … and the part of it that is trusted: tails are often empty
_LEAST = 1e-6  # prior share of a cell without width
_TURNS = 60
_SETTLED = 1e-9
DROWNED = 1e6  # noise so many times as large as n: nothing is left to fit


@dataclass(frozen=True, slots=True)
class Part:
    """A histogram that was read: the leaf → cell of it, and the noisy counts."""

    cell_of: Whole  # of each fine cell
    reading: Reading


@dataclass(frozen=True, slots=True)
class Distribution:
    """Released counts of every fine cell (they add up to n), and the noisy histograms they come from."""

    counts: Floats
    parts: tuple[Part, ...]

    @property
    def shares(self) -> Floats:
        return np.asarray(self.counts / self.counts.sum())

    @property
    def atoms(self) -> Whole:
        """Fine cell → the smallest part of the domain that was counted: inside it, nothing is known."""
        lines = np.column_stack([part.cell_of for part in self.parts])
        changes = np.append(True, (lines[1:] != lines[:-1]).any(axis=1))
        return np.cumsum(changes) - 1


def read(
    fine: Whole,
    cells: Cells,
    n: float,
    part: Fraction,
    levels: Sequence[Fraction],
    accountant: Accountant,
    name: str,
) -> Distribution:
    """`fine` are the exact counts of the fine cells; `levels` the shares of `part` for all histograms but the last."""
    grids = cells.levels
    parts: list[Part] = []
    leaf = grids[0]
    spent = Fraction(0)
    noisy = n / accountant.deviation(part) < _NOISY
    for number in range(min(len(levels), len(grids) - 1)):
        cost = part * levels[number]
        if _CUT_ABOVE * accountant.deviation(cost) > _HOPELESS[accountant.currency] * n:
            break  # hardly any cell could be large enough to be cut: a public rule
        found = _histogram(fine, leaf, cost, accountant, f"{name}: histogram {number + 1}")
        spent += cost
        parts.append(found)
        # Where noise is large, only what is packed into one cell is worth a closer look.
        least = _CUT_PACKED if noisy and number else _CUT_SHARE
        finer = _cut(leaf, grids, number, found.reading, least * n)
        if finer is None:
            break
        leaf = finer
    last = part - spent
    if parts:
        guess = _fitted(parts, cells, n)
        leaf = _merged(leaf, guess, cells, accountant.deviation(last))
    parts.append(_histogram(fine, leaf, last, accountant, f"{name}: last histogram"))
    return Distribution(_combined(parts, cells, n), tuple(parts))


def refined(released: Distribution, cells: Cells, n: float, more: Sequence[Part]) -> Distribution:
    """The same distribution once more is known: the margins of the tables that were read."""
    if not more:
        return released
    return Distribution(_combined([*more, *released.parts], cells, n), released.parts)


def _combined(parts: Sequence[Part], cells: Cells, n: float) -> Floats:
    """All readings, and what one would think without them. A public rule tells how: n over the noise on a count."""
    if n / parts[-1].reading.deviation < _FAINT and len(parts[-1].reading.values) <= _MANY:
        return _most_likely(parts, cells, n)
    return _fitted([_expected(parts[-1], cells, n), *parts], cells, n)


def _chance(cells: Cells) -> Floats:
    """What one would think without data, as shares.

    Half by the width of the cells, half the same for each cell of the coarsest grid: small values are common. Where zero
    lies inside the domain, by width alone.
    """
    coarse = cells.levels[0]
    widths = cells.widths
    by_width = widths / widths.sum()
    if isinstance(cells, NumberCells) and cells.lower < 0 < cells.upper:
        return np.asarray(by_width)
    alone = np.bincount(coarse, weights=widths)
    each = np.where(alone > 0, 1.0, 0.0) if alone.any() else np.ones(len(alone))
    by_cell = (each / each.sum())[coarse] * np.where(
        alone[coarse] > 0, widths / np.maximum(alone[coarse], 1e-300), 0.0
    )
    return np.asarray((by_width + by_cell) / 2)


def _expected(part: Part, cells: Cells, n: float) -> Part:
    """The same as a reading: the less noise explains of the distance to it, the less it weighs."""
    values: Floats = n * np.bincount(part.cell_of, weights=_chance(cells)).astype(np.float64)
    noise = part.reading.deviation
    if noise > DROWNED * max(n, 1.0):
        return part
    spread = float(np.mean((part.reading.values - values) ** 2)) - noise**2
    return Part(
        part.cell_of, Reading(values, _DOUBT * float(np.sqrt(max(spread, (1e-3 * noise) ** 2, 1e-6))))
    )


def _most_likely(parts: Sequence[Part], cells: Cells, n: float) -> Floats:
    """The most likely counts under a Dirichlet prior around what one would think without data; even inside cells.

    Where noise is as large as the counts, the nearest counts from 0 up are mostly zeros and a few far too large ones: the
    prior leaves something in every cell. How far it holds is told by the readings, as far as they can tell.
    """
    chance = _chance(cells)
    parts = [part for part in parts if part.reading.deviation < DROWNED * max(n, 1.0)]
    if not parts:
        return np.asarray(chance * n)
    atoms, place = _refinement(parts)
    prior = np.maximum(np.bincount(place, weights=chance), _LEAST)
    prior /= prior.sum()
    curved, slope = np.zeros((len(atoms), len(atoms))), np.zeros(len(atoms))
    for cell, part in zip(atoms.T, parts, strict=True):
        weight = (n / part.reading.deviation) ** 2
        curved += weight * (cell[:, None] == cell[None, :])
        slope += weight * (part.reading.values / n)[cell]
    sharpest = min(range(len(parts)), key=lambda i: parts[i].reading.deviation)
    expected: Floats = np.bincount(atoms[:, sharpest], weights=prior).astype(np.float64)
    pull = _pull(expected, parts[sharpest].reading, n) * prior
    shares = prior
    # Newton's method with shares that add up to 1; the problem is convex, and its barrier keeps them above 0.
    for _ in range(_TURNS):
        uphill = curved @ shares - slope - pull / shares
        steps = np.linalg.solve(
            curved + np.diag(pull / shares**2), np.column_stack([uphill, np.ones(len(shares))])
        )
        step = steps[:, 1] * (steps[:, 0].sum() / steps[:, 1].sum()) - steps[:, 0]
        gain = -float(uphill @ step)
        if not gain > _SETTLED:
            break
        down = step < 0
        length = min(1.0, 0.95 * float(np.min(-shares[down] / step[down]))) if down.any() else 1.0
        while length > _SETTLED:
            moved = length * step
            rise = float(uphill @ moved + moved @ curved @ moved / 2)  # of all but the prior …
            rise += float(pull @ (moved / shares - np.log1p(moved / shares)))  # … and of that, less its slope
            if rise <= -0.1 * length * gain:
                break
            length /= 2
        shares = shares + length * step
    widths = np.maximum(cells.widths, 1e-300)
    inside = widths / np.bincount(place, weights=widths)[place]
    return np.asarray(shares[place] / shares.sum() * inside * n)


def _pull(prior: Floats, reading: Reading, n: float) -> float:
    """What the prior is worth, in records: by its distance to a reading less noise, or as usual where noise hides it."""
    spread = float((prior * (1 - prior)).sum())
    noise = (reading.deviation / n) ** 2
    distance = float(((reading.values / n - prior) ** 2).sum()) - len(prior) * noise
    usual, doubt = (spread / (_USUAL + 1)) ** 2, 2 * len(prior) * noise**2
    likely = (distance * usual + spread / (_USUAL + 1) * doubt) / max(usual + doubt, 1e-300)
    found = spread / likely - 1 if likely > 0 else _MOST_PULL
    return _TRUSTED * min(max(found, _LEAST_PULL), _MOST_PULL)


def _histogram(fine: Whole, cell_of: Whole, cost: Fraction, accountant: Accountant, what: str) -> Part:
    counts = np.zeros(int(cell_of.max()) + 1, dtype=np.int64)
    np.add.at(counts, cell_of, fine)
    return Part(cell_of, accountant.noisy_histogram(counts, cost, what))


def _cut(leaf: Whole, grids: Sequence[Whole], level: int, reading: Reading, least: float) -> Whole | None:
    """The partition one level finer where much was found; None where nothing was."""
    parts = leaf[np.append(True, (leaf[1:] != leaf[:-1]) | (np.diff(grids[level + 1]) != 0))]
    large = reading.values > max(_CUT_ABOVE * reading.deviation, least)
    large &= np.bincount(parts, minlength=len(large)) > 1  # a single value cannot be cut
    if not large.any():
        return None
    finer = np.where(large[leaf], grids[level + 1], -1)
    # Cells are numbered along the domain: a new one wherever the old cell, or the part of a cut one, changes.
    changes = np.append(True, (leaf[1:] != leaf[:-1]) | (finer[1:] != finer[:-1]))
    return np.cumsum(changes) - 1


def _merged(leaf: Whole, guess: Floats, cells: Cells, deviation: float) -> Whole:
    """Neighbouring leaves counted together until each group holds more than the noise; heavy ones stay alone."""
    sizes = np.bincount(leaf, weights=guess)
    gap = int(leaf[-1]) if cells.missing else -1
    groups = np.empty(len(sizes), dtype=np.int64)
    group, held = -1, np.inf
    least = _MERGE_BELOW * deviation
    for number, size in enumerate(sizes):
        if number == gap or held >= least or size >= least:
            group, held = group + 1, 0.0
        held += size
        groups[number] = group
        if number == gap:
            held = np.inf
    return groups[leaf]


def _fitted(parts: Sequence[Part], cells: Cells, n: float) -> Floats:
    """Least squares over the common refinement, non-negative, with total n; even inside its cells."""
    parts = [part for part in parts if part.reading.deviation < DROWNED * max(n, 1.0)]
    if not parts:
        return np.asarray(_chance(cells) * n)
    atoms, place = _refinement(parts)
    weights = [1 / max(part.reading.deviation, 1e-9) ** 2 for part in parts]
    scale = sum(weights)
    widths: Floats = np.bincount(place, weights=np.maximum(cells.widths, 1e-300)).astype(np.float64)
    estimate = _start(parts, atoms, n, widths)
    # Projected gradient with momentum (FISTA); atoms share cells, so the step is over the largest cell.
    steepest = max(sum(w / scale * np.bincount(atoms[:, i]).max() for i, w in enumerate(weights)), 1e-12)
    ahead, momentum = estimate, 1.0
    for _ in range(_STEPS):
        gradient = np.zeros(len(atoms))
        for i, part in enumerate(parts):
            cell = atoms[:, i]
            off = np.bincount(cell, weights=ahead, minlength=len(part.reading.values)) - part.reading.values
            gradient += weights[i] / scale * off[cell]
        new = onto_counts(ahead - gradient / steepest, n)
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = new + (momentum - 1) / following * (new - estimate)
        moved = np.abs(new - estimate).max()
        estimate, momentum = new, following
        if moved < 1e-6 * max(n, 1.0):
            break
    inside = np.maximum(cells.widths, 1e-300) / widths[place]
    return np.asarray(estimate[place] * inside)


def _refinement(parts: Sequence[Part]) -> tuple[Whole, Whole]:
    """The atoms that the cells of all parts consist of, by their cell in each part, and the atom of every fine cell."""
    place = np.zeros(len(parts[0].cell_of), dtype=np.int64)
    # One number at a time: cells lie along the domain, and sorting finds them nearly in order.
    for part in parts:
        pair = place * (int(part.cell_of.max()) + 1) + part.cell_of
        _, first, place = np.unique(pair, return_index=True, return_inverse=True)
    return np.column_stack([part.cell_of[first] for part in parts]), place


def _start(parts: Sequence[Part], atoms: Whole, n: float, widths: Floats) -> Floats:
    """The last histogram, spread evenly inside its cells."""
    cell = atoms[:, -1]
    within = np.bincount(cell, weights=widths)
    return onto_counts(parts[-1].reading.values[cell] * widths / within[cell], n)
