"""The shape of an attribute, as far as it is public: the error of a quantile depends on how dense values lie there.

A shape is a quantile function, piecewise linear between knots (p, x); a flat piece is a value that many
records share. It comes from the specification, never from the data, and decides nothing but predictions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from coterie.schema.arrays import Floats
from coterie.statistics.specification.calculus import Range

MOST_STEPS = 200_000  # a lattice finer than this is as good as a continuum
_TAIL = np.geomspace(1e-9, 1.0 / 2048.0, 40, endpoint=False)
_P = np.concatenate(
    [[0.0], _TAIL, np.linspace(1.0 / 2048.0, 2047.0 / 2048.0, 2047), 1.0 - _TAIL[::-1], [1.0]]
)


@dataclass(frozen=True, slots=True)
class ValueShape:
    """`p` and `x` never fall; p runs from 0 to 1. `step`: values are multiples of it."""

    p: tuple[float, ...]
    x: tuple[float, ...]
    step: float | None = None
    declared: bool = True  # False: nobody said anything, and this is an assumption

    def at(self, probability: float) -> float:
        """The value that this share of the records lies below."""
        return float(self.values(np.array([probability]))[0])

    def values(self, probabilities: Floats) -> Floats:
        return np.asarray(np.interp(probabilities, self.p, self.x))

    def below(self, values: Floats) -> Floats:
        """The share of records strictly below each value."""
        p, x = np.array(self.p), np.array(self.x)
        right = np.clip(np.searchsorted(x, values, side="left"), 1, len(x) - 1)
        left = right - 1
        width = x[right] - x[left]
        part = np.where(width > 0, (values - x[left]) / np.where(width > 0, width, 1.0), 1.0)
        inside = p[left] + np.clip(part, 0.0, 1.0) * (p[right] - p[left])
        return np.where(values <= x[0], 0.0, np.where(values > x[-1], 1.0, inside))

    def upto(self, values: Floats) -> Floats:
        """The share of records at or below each value."""
        mirrored = ValueShape(tuple(1.0 - p for p in reversed(self.p)), tuple(-x for x in reversed(self.x)))
        return np.asarray(1.0 - mirrored.below(-values))

    def moved(self, probability: float, to: float) -> ValueShape:
        """Shifted so that this quantile lies there; on a lattice by whole steps."""
        shift = to - self.at(probability)
        if self.step is not None:
            shift = round(shift / self.step) * self.step
        return self if shift == 0 else replace(self, x=tuple(value + shift for value in self.x))

    def within(self, domain: Range) -> ValueShape:
        """The shape as the release sees it: clipped to the bounds, on the lattice if there is one."""
        p, x = np.array(self.p), np.array(self.x)
        for bound in (domain.lower, domain.upper):
            place = int(np.searchsorted(x, bound))
            if 0 < place < len(x) and x[place - 1] < bound < x[place]:  # the piece is cut where it crosses
                p = np.insert(p, place, self.below(np.array([bound]))[0])
                x = np.insert(x, place, bound)
        clipped = replace(self, p=tuple(p.tolist()), x=tuple(np.clip(x, domain.lower, domain.upper).tolist()))
        if self.step is None or domain.width / self.step > MOST_STEPS:
            return clipped
        first, last = np.ceil(domain.lower / self.step), np.floor(domain.upper / self.step)
        lattice = np.arange(first, last + 1) * self.step
        upto = np.append(clipped.below(lattice[1:] - self.step / 2), 1.0)
        stepped = from_values(dict(zip(lattice.tolist(), np.diff(upto, prepend=0.0).tolist(), strict=True)))
        return replace(clipped, p=stepped.p, x=stepped.x)


def from_values(shares: Mapping[float, float]) -> ValueShape:
    """Few distinct values, each with the share of records that have it."""
    kept = {value: share for value, share in sorted(shares.items()) if share > 0}
    upto = np.cumsum(list(kept.values()))
    upto = upto / upto[-1]
    p = np.column_stack([np.append(0.0, upto[:-1]), upto]).ravel()
    return ValueShape(tuple(p.tolist()), tuple(float(v) for v in np.repeat(list(kept), 2)))


def from_quantiles(known: Mapping[float, float], domain: Range) -> ValueShape:
    """Through the stated quantiles without an overshoot (Fritsch and Carlson 1980); the bounds where none is."""
    from scipy.interpolate import PchipInterpolator  # slow to load: paid by those who use it

    stated = {0.0: domain.lower, 1.0: domain.upper, **known}
    p = np.array(sorted(stated))
    curve = PchipInterpolator(p, [stated[key] for key in p])
    grid = np.union1d(_P, p)
    return ValueShape(tuple(grid.tolist()), tuple(np.maximum.accumulate(curve(grid)).tolist()))


def from_sample(values: Floats) -> ValueShape:
    """A public sample: its order statistics, joined; repeated values stay repeated."""
    ordered = np.sort(values)
    places = (np.arange(len(ordered)) + 0.5) / len(ordered)
    p = np.concatenate([[0.0], places, [1.0]])
    x = np.concatenate([ordered[:1], ordered, ordered[-1:]])
    if len(p) > len(_P):
        p, x = _P, np.interp(_P, p, x)
    return ValueShape(tuple(p.tolist()), tuple(x.tolist()))


def uniform_around(quantile: float, expected: float, domain: Range) -> ValueShape:
    """Evenly spread over the bounds on either side of the expected quantile: what is left to assume."""
    return ValueShape((0.0, quantile, 1.0), (domain.lower, expected, domain.upper))


def of_distribution(name: str, mean: float, std: float) -> ValueShape:
    """One of DISTRIBUTIONS, as its quantile function at the knots; infinite ends are cut by the bounds later."""
    if name == "uniform":
        half = np.sqrt(3.0) * std
        return ValueShape((0.0, 1.0), (mean - half, mean + half))
    from scipy.special import gammaincinv, ndtri  # slow to load: paid by those who use it

    if name == "normal":
        values = mean + std * ndtri(_P)
    elif name == "lognormal":
        sigma = np.sqrt(np.log1p((std / mean) ** 2))
        values = np.exp(np.log(mean) - sigma**2 / 2 + sigma * ndtri(_P))
    else:  # an exponential is a gamma whose spread equals its mean
        values = gammaincinv((mean / std) ** 2, _P) * (std**2 / mean)
    return ValueShape(tuple(_P.tolist()), tuple(np.clip(values, -1e300, 1e300).tolist()))


DISTRIBUTIONS = ("normal", "lognormal", "gamma", "uniform", "exponential")
FORMS = ("quantiles", "distribution", "values", "sample")
ENTRIES = (*FORMS, "mean", "std", "step")  # of `shape:` in a specification
