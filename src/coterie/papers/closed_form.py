"""What the formulas that the papers print give on average, worked out without a random number and without the kernel.

A second reader of the same text: sort, cut into ⌊n/k⌋ groups (the last takes the remainder), centre, scale, one Laplace
draw per group, bounded to the domain. If the kernel draws too much or too little noise, forgets to split ε, trims or
cuts otherwise than the text says, its means leave these.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from coterie.schema.arrays import Floats, Whole


@dataclass(frozen=True)
class RankedGroups:
    """One attribute, sorted and cut as the text says; `centre` and `scale` are what noise is drawn around and with."""

    values: Floats  # sorted
    sizes: Whole
    centre: Floats
    scale: Floats

    @property
    def starts(self) -> Whole:
        return np.asarray(np.cumsum(self.sizes) - self.sizes)


Scale = Callable[[Floats, Whole, int, float, float], Floats]


def _edges(values: Floats, sizes: Whole, depth: int) -> tuple[list[Floats], list[Floats]]:
    """The smallest, second smallest, … and the largest, second largest, … of each group."""
    ends = np.cumsum(sizes)
    starts = ends - sizes
    return [values[starts + i] for i in range(depth)], [values[ends - 1 - i] for i in range(depth)]


def _per_k(values: Floats, sizes: Whole, k: int, low: float, high: float) -> Floats:
    """Δ/k (Sánchez et al. 2016, Lemma 1)."""
    return np.full(len(sizes), (high - low) / k)


def _per_size(values: Floats, sizes: Whole, k: int, low: float, high: float) -> Floats:
    """Δ/|C| (Soria-Comas et al., §3.1)."""
    return np.asarray((high - low) / sizes)


def _local(values: Floats, sizes: Whole, k: int, low: float, high: float) -> Floats:
    """Soria-Comas et al., Proposition 2."""
    (smallest,), (largest,) = _edges(values, sizes, 1)
    return np.asarray(np.maximum(high - smallest, largest - low) / sizes)


def _cluster_based(values: Floats, sizes: Whole, k: int, low: float, high: float) -> Floats:
    """Soria-Comas et al., Proposition 3: the larger of expressions (2) and (3)."""
    (a, b, c), (z, y, x) = _edges(values, sizes, 3)
    return np.asarray(np.maximum((z - b) + (c - b) + (z - y), (y - a) + (y - x) + (b - a)) / sizes)


def _silent(values: Floats, sizes: Whole, k: int, low: float, high: float) -> Floats:
    return np.zeros(len(sizes))


_SCALES: dict[str, Scale] = {
    "laplace": _per_k,
    "ir": _silent,
    "dp-ir": _per_k,
    "dp-um": _per_size,
    "idp-ls": _local,
    "idp-cbls": _cluster_based,
}
METHODS = tuple(_SCALES)


def grouped(values: Floats, method: str, k: int, low: float, high: float, epsilon: float) -> RankedGroups:
    """`epsilon` is the share of this attribute."""
    k = 1 if method == "laplace" else k
    ordered = np.sort(values)
    sizes = np.full(len(ordered) // k, k)
    sizes[-1] += len(ordered) % k
    total = np.add.reduceat(ordered, np.cumsum(sizes) - sizes)
    if method == "idp-cbls":  # the outermost two are replaced by their neighbours (§3.2.2)
        (a, b), (z, y) = _edges(ordered, sizes, 2)
        total = total + (b - a) - (z - y)
    return RankedGroups(
        ordered, sizes, total / sizes, _SCALES[method](ordered, sizes, k, low, high) / epsilon
    )


# One Laplace draw Z of scale b around c, bounded to [low, high]: Y. With r = high − c, P(Y − c > u) = ½·e^(−u/b) for u < r.

_SMALL = 0.3  # r/b below which the integral is a short series, because its closed form cancels
_TERMS = 16
_EXTREME = 14.0  # scales: a draw beyond has a chance of one in a million


def _integrals(reach: Floats, scale: Floats, highest: int) -> list[Floats]:
    """∫₀^r uᵐ·e^(−u/b) du for m = 0 … highest, also where b = 0."""
    b = np.maximum(scale, 1e-300)
    ratio = np.minimum(reach / b, 700.0)
    left = np.exp(-ratio)
    found: list[Floats] = []
    for m in range(highest + 1):
        last = found[-1] * (m * b) if m else 0.0
        closed = last - b * (reach**m * left - (m == 0))
        power, series = np.ones_like(b), np.zeros_like(b)
        for j in range(_TERMS):
            series += power / (m + 1 + j)
            power = power * -np.minimum(ratio, _SMALL) / (j + 1)
        found.append(np.where(ratio < _SMALL, reach ** (m + 1) * series, closed))
    return found


def deviation(
    centre: Floats, scale: Floats, low: float, high: float, step: float | None, highest: int = 4
) -> list[Floats]:
    """E[(Y − c)ⁱ] for i = 1 … highest; with a step, Y is rounded to its multiples."""
    if step is not None:
        alike, place = _alike(centre, scale)  # many groups of rounded values are
        points, chance = lattice(alike[0], alike[1], low, high, step)
        off = points - alike[0][:, None]
        return [np.sum(chance * off**i, axis=1)[place] for i in range(1, highest + 1)]
    up, down = (_integrals(reach, scale, highest - 1) for reach in (high - centre, centre - low))
    return [0.5 * i * (up[i - 1] + (-1.0) ** i * down[i - 1]) for i in range(1, highest + 1)]


def _alike(*lines: Floats) -> tuple[Floats, Whole]:
    """The columns that differ, and which of them each column is."""
    order = np.lexsort(lines)
    ordered = np.stack(lines)[:, order]
    first = np.append(True, (np.diff(ordered) != 0).any(axis=0))
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.cumsum(first) - 1
    return ordered[:, first], place


def lattice(centre: Floats, scale: Floats, low: float, high: float, step: float) -> tuple[Floats, Floats]:
    """The multiples of the step in the domain, and how likely each group is released as each."""
    points = np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step
    cuts = (points[:-1] + step / 2)[None] - centre[:, None]
    below = np.minimum(np.abs(cuts) / np.maximum(scale, 1e-300)[:, None], 700.0)
    up_to = np.where(cuts < 0, 0.5 * np.exp(-below), 1 - 0.5 * np.exp(-below))
    # Without noise a half is rounded to the even multiple, as IEEE 754 does.
    rounded = np.rint(centre / step)[:, None] * step <= points[:-1]
    up_to = np.where(scale[:, None] > 0, up_to, rounded)
    edges = np.column_stack([np.zeros(len(centre)), up_to, np.ones(len(centre))])
    return points, np.diff(edges, axis=1)


@dataclass(frozen=True)
class SquaredError:
    """Σ (Y − x)² over all records: its mean, its variance, and what one extreme draw adds to it."""

    mean: float
    variance: float
    extreme: float


def squared_error(groups: RankedGroups, low: float, high: float, step: float | None = None) -> SquaredError:
    one, two, three, four = deviation(groups.centre, groups.scale, low, high, step)
    total = np.add.reduceat(groups.values, groups.starts)
    sizes, off = groups.sizes, groups.sizes * groups.centre - total
    # Of a group, with D = Y − c: Σ(c − x)² + |C|·D² + 2·off·D.
    inside = np.sum((groups.values - np.repeat(groups.centre, sizes)) ** 2)
    noisy = sizes * two + 2 * off * one
    square = sizes**2 * four + 4 * sizes * off * three + 4 * off**2 * two
    reach = np.minimum(_EXTREME * groups.scale, np.maximum(high - groups.centre, groups.centre - low))
    reach = np.where(groups.scale > 0, np.maximum(reach, step or 0.0), 0.0)
    return SquaredError(
        float(inside + noisy.sum()),
        float(np.maximum(square - noisy**2, 0.0).sum()),
        float(np.max(sizes * reach**2 + 2 * np.abs(off) * reach)),
    )


def variance(groups: RankedGroups, low: float, high: float, step: float | None = None) -> float:
    """E σ² of the released values, with n − 1 in the denominator."""
    one, two = deviation(groups.centre, groups.scale, low, high, step, highest=2)
    middle = float(groups.values.mean())  # around it, for precision
    mean = groups.centre - middle + one
    square = two + 2 * (groups.centre - middle) * one + (groups.centre - middle) ** 2
    sizes, records = groups.sizes, len(groups.values)
    total = np.sum(sizes**2 * (square - mean**2)) + np.sum(sizes * mean) ** 2
    return float((np.sum(sizes * square) - total / records) / (records - 1))


def absolute_error(
    groups: RankedGroups, unit: Floats, low: float, high: float, step: float | None = None
) -> float:
    """E Σ |Y − x|/unit over all records; `unit` goes with the sorted values."""
    centre, scale = np.repeat(groups.centre, groups.sizes), np.repeat(groups.scale, groups.sizes)
    if step is not None:
        alike, place = _alike(groups.values, unit, centre, scale)
        points, chance = lattice(alike[2], alike[3], low, high, step)
        each = np.sum(chance * np.abs(points - alike[0][:, None]), axis=1) / alike[1]
        return float(np.bincount(place) @ each)
    return float(np.sum(absolute_deviation(groups.values, centre, scale, low, high) / unit))


def absolute_deviation(values: Floats, centre: Floats, scale: Floats, low: float, high: float) -> Floats:
    """E|Y − x| for x anywhere in the domain: E(Y − x)⁺ + E(x − Y)⁺, of which the smaller is one integral."""
    (mean,) = deviation(centre, scale, low, high, None, highest=1)
    away = np.abs(values - centre)
    edge = np.where(values >= centre, high - centre, centre - low)
    beyond = 0.5 * (_integrals(edge, scale, 0)[0] - _integrals(away, scale, 0)[0])
    return np.asarray(2 * beyond + np.abs(values - centre - mean) * _sign_of(values, centre, mean))


def _sign_of(values: Floats, centre: Floats, mean: Floats) -> Floats:
    """+1 where the rest x − E[Y] has the sign of x − c, as it nearly always has; −1 where bounding turned it."""
    return np.where((values >= centre) == (values - centre - mean >= 0), 1.0, -1.0)
