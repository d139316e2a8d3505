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
class Groups:
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


def grouped(values: Floats, method: str, k: int, low: float, high: float, epsilon: float) -> Groups:
    """`epsilon` is the share of this attribute."""
    k = 1 if method == "laplace" else k
    ordered = np.sort(values)
    sizes = np.full(len(ordered) // k, k)
    sizes[-1] += len(ordered) % k
    total = np.add.reduceat(ordered, np.cumsum(sizes) - sizes)
    if method == "idp-cbls":  # the outermost two are replaced by their neighbours (§3.2.2)
        (a, b), (z, y) = _edges(ordered, sizes, 2)
        total = total + (b - a) - (z - y)
    return Groups(ordered, sizes, total / sizes, _SCALES[method](ordered, sizes, k, low, high) / epsilon)


# One Laplace draw Z of scale b around c, bounded to [low, high]: Y. With r = high − c, P(Y − c > u) = ½·e^(−u/b) for u < r.


def _beyond(reach: Floats, scale: Floats) -> tuple[Floats, Floats]:
    """∫₀^r ½e^(−u/b) du and ∫₀^r u·e^(−u/b) du, also where b = 0."""
    b = np.maximum(scale, 1e-300)
    left = np.exp(-np.minimum(reach / b, 700.0))
    return 0.5 * scale * (1 - left), np.asarray(scale * (scale - (scale + reach) * left))


def deviation(centre: Floats, scale: Floats, low: float, high: float, step: float | None) -> tuple[Floats, Floats]:
    """E[Y − c] and E[(Y − c)²]; with a step, Y is rounded to its multiples."""
    if step is not None:
        points, chance = lattice(centre, scale, low, high, step)
        off = points - centre[:, None]
        return np.sum(chance * off, axis=1), np.sum(chance * off**2, axis=1)
    (up, up_square), (down, down_square) = _beyond(high - centre, scale), _beyond(centre - low, scale)
    return up - down, up_square + down_square


def lattice(centre: Floats, scale: Floats, low: float, high: float, step: float) -> tuple[Floats, Floats]:
    """The multiples of the step in the domain, and how likely each group is released as each."""
    points = np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step
    cuts = (points[:-1] + step / 2)[None] - centre[:, None]
    below = np.minimum(np.abs(cuts) / np.maximum(scale, 1e-300)[:, None], 700.0)
    up_to = np.where(cuts < 0, 0.5 * np.exp(-below), 1 - 0.5 * np.exp(-below))
    edges = np.column_stack([np.zeros(len(centre)), up_to, np.ones(len(centre))])
    return points, np.diff(edges, axis=1)


def squared_error(groups: Groups, low: float, high: float, step: float | None = None) -> float:
    """E Σ (Y − x)² over all records."""
    first, second = deviation(groups.centre, groups.scale, low, high, step)
    total = np.add.reduceat(groups.values, groups.starts)
    off = groups.sizes * groups.centre - total
    inside = np.sum((groups.values - np.repeat(groups.centre, groups.sizes)) ** 2)
    return float(inside + np.sum(groups.sizes * second + 2 * off * first))


def absolute_error(groups: Groups, unit: Floats, low: float, high: float, step: float | None = None) -> float:
    """E Σ |Y − x|/unit over all records; `unit` goes with the sorted values."""
    if step is not None:
        points, chance = lattice(groups.centre, groups.scale, low, high, step)
        place = np.repeat(np.arange(len(groups.sizes)), groups.sizes)
        found = 0.0
        for point, likely in zip(points, chance.T, strict=True):
            found += float(np.sum(likely[place] * np.abs(point - groups.values) / unit))
        return found
    centre, scale = np.repeat(groups.centre, groups.sizes), np.repeat(groups.scale, groups.sizes)
    return float(np.sum(absolute_deviation(groups.values, centre, scale, low, high) / unit))


def absolute_deviation(values: Floats, centre: Floats, scale: Floats, low: float, high: float) -> Floats:
    """E|Y − x| for x anywhere in the domain: E(Y − x)⁺ + E(x − Y)⁺, of which the smaller is one integral."""
    mean = deviation(centre, scale, low, high, None)[0]
    away = np.abs(values - centre)
    edge = np.where(values >= centre, high - centre, centre - low)
    beyond = _beyond(edge, scale)[0] - _beyond(away, scale)[0]
    return np.asarray(2 * beyond + np.abs(values - centre - mean) * _sign_of(values, centre, mean))


def _sign_of(values: Floats, centre: Floats, mean: Floats) -> Floats:
    """+1 where the rest x − E[Y] has the sign of x − c, as it nearly always has; −1 where bounding turned it."""
    return np.where((values >= centre) == (values - centre - mean >= 0), 1.0, -1.0)


