"""What is known in advance about each kind of noise: size, quantiles, draws from uniform points.

Planning needs only this; the noise of a release comes from the sampler. A family's `scale` is the Laplace
b or the Gaussian σ. Budgets are ε under pure DP and ρ under zCDP, so a scale falls as budget^(−1/power).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_HALF_NORMAL = math.sqrt(2.0 / math.pi)


class Family(StrEnum):
    # The first of each pair has steps so fine (2^32 to the sensitivity) that the continuous law predicts it.
    LAPLACE = "discrete Laplace, fine steps"
    DISCRETE_LAPLACE = "discrete Laplace"  # counts
    GAUSSIAN = "discrete Gaussian, fine steps"
    DISCRETE_GAUSSIAN = "discrete Gaussian"  # counts
    RANK = "exponential mechanism on ranks"  # quantiles; the search takes Laplace noise of the same mean size

    @property
    def discrete(self) -> bool:
        return self in (Family.DISCRETE_LAPLACE, Family.DISCRETE_GAUSSIAN)

    @property
    def gaussian(self) -> bool:
        return self in (Family.GAUSSIAN, Family.DISCRETE_GAUSSIAN)

    @property
    def continuous(self) -> bool:
        return not self.discrete and self is not Family.RANK

    @property
    def smooth(self) -> Family:
        """The continuous family used while searching through draws: steps have no gradient."""
        return {Family.DISCRETE_LAPLACE: Family.LAPLACE, Family.DISCRETE_GAUSSIAN: Family.GAUSSIAN}.get(
            self, self
        )


@dataclass(frozen=True, slots=True)
class ScaleLaw:
    """scale = coefficient · budget^(−1/power): Δ/ε or Δ/√(2ρ)."""

    coefficient: float
    power: int

    def scale(self, budget: Array | float) -> Array | float:
        if self.power == 1:
            return self.coefficient / budget
        return self.coefficient / np.sqrt(budget)

    def noise_scale(self, budget: float) -> float:
        return float(self.scale(budget))

    def slope(self, budget: Array | float) -> Array | float:
        """∂scale/∂budget."""
        return -self.scale(budget) / (self.power * budget)


def scale_law(family: Family, sensitivity: float) -> ScaleLaw:
    """How noise shrinks with its budget: Laplace noise costs ε = Δ/b, Gaussian noise ρ = Δ²/(2σ²)."""
    return ScaleLaw(sensitivity / math.sqrt(2.0), 2) if family.gaussian else ScaleLaw(sensitivity, 1)


def mean_absolute(family: Family, scale: Array) -> Array:
    """E|noise|: b; 1/sinh(1/b) on the integers; σ√(2/π); a short sum for the discrete Gaussian."""
    scale = np.asarray(scale, dtype=np.float64)
    if family is Family.DISCRETE_LAPLACE:
        return np.asarray(1.0 / np.sinh(np.minimum(1.0 / scale, 700.0)))
    if family is Family.GAUSSIAN:
        return scale * _HALF_NORMAL
    if family is Family.DISCRETE_GAUSSIAN:
        return np.asarray(np.vectorize(_discrete_gaussian_mean, otypes=[np.float64])(scale))
    return scale


def upper_tail_area(family: Family, scale: Array, room: Array) -> Array:
    """∫₀^room P(noise > t) dt: the expected overshoot on one side when the value is clamped there."""
    scale, room = np.asarray(scale, dtype=np.float64), np.maximum(np.asarray(room, dtype=np.float64), 0.0)
    if family is Family.GAUSSIAN:
        from scipy.special import ndtr  # slow to load: paid by those who use it

        z = room / scale
        density = np.exp(-0.5 * np.minimum(z, 40.0) ** 2) / math.sqrt(2 * math.pi)
        tail = np.where(np.isfinite(z), np.where(np.isfinite(z), z, 0.0) * ndtr(-z), 0.0)
        return np.asarray(scale * (tail + 1.0 / math.sqrt(2 * math.pi) - density))
    if family is Family.DISCRETE_LAPLACE:
        decay = np.exp(-1.0 / scale)
        steps = np.floor(room + 1e-9)
        return np.asarray(decay * (1.0 - decay**steps) / ((1.0 - decay) * (1.0 + decay)))
    if family is Family.DISCRETE_GAUSSIAN:
        return np.asarray(np.vectorize(_discrete_gaussian_area, otypes=[np.float64])(scale, room))
    return np.asarray(0.5 * scale * -np.expm1(-room / scale))


def tail_area_slope(family: Family, scale: float, room: float) -> float:
    """The derivative of `upper_tail_area` by the scale (discrete Laplace and the continuous shapes)."""
    if family is Family.DISCRETE_LAPLACE:
        p, whole = math.exp(-1.0 / scale), math.floor(min(room, 1e15) + 1e-9)
        last = p**whole
        by_decay = (1.0 - (whole + 1.0) * last) * (1.0 - p * p) + 2.0 * p * p * (1.0 - last)
        return by_decay / (1.0 - p * p) ** 2 * p / scale**2
    steps = room / scale
    if family.gaussian:
        return (1.0 - math.exp(-0.5 * min(steps, 40.0) ** 2)) / math.sqrt(2.0 * math.pi)
    falling = math.exp(-min(steps, 700.0))
    return 0.5 * (1.0 - falling) - 0.5 * min(steps, 700.0) * falling


def absolute_quantile(family: Family, scale: float, probability: float) -> float:
    """The size that |noise| stays within, with this probability (rounded up to a whole step if discrete)."""
    tail = 1.0 - probability
    if family is Family.DISCRETE_GAUSSIAN and scale <= 100.0:
        _, weights = _discrete_gaussian_weights(scale)
        beyond = 2.0 * np.cumsum(weights[::-1])[::-1]  # P(|noise| ≥ 1), P(|noise| ≥ 2), …
        return float((beyond > tail).sum())
    if family.gaussian:
        return float(scale * _normal_quantile(1.0 - tail / 2.0))
    if family is Family.DISCRETE_LAPLACE:
        decay = math.exp(-1.0 / scale)
        if 2 * decay / (1 + decay) <= tail:  # P(|noise| ≥ 1)
            return 0.0
        return float(math.ceil(-scale * math.log(tail * (1 + decay) / 2) - 1e-12) - 1)
    return float(-scale * math.log(tail))


def from_uniform(family: Family, points: Array, scale: Array | float) -> Array:
    """Noise by inverting the distribution function at points of (0, 1)."""
    if family is Family.GAUSSIAN:
        return np.asarray(scale * _normal_quantile(points))
    if family is Family.DISCRETE_GAUSSIAN:
        return _discrete_gaussian_inverse(points, float(scale))
    tail = 1.0 - np.abs(2.0 * points - 1.0)
    sign = np.sign(points - 0.5)
    if family is Family.DISCRETE_LAPLACE:
        size = np.asarray(scale, dtype=np.float64)
        steps = np.floor(-size * np.log(tail * (1.0 + np.exp(-1.0 / size)) / 2.0))
        return np.asarray(sign * np.maximum(steps, 0.0))
    return np.asarray(-scale * sign * np.log(tail))


def log_characteristic(family: Family, scaled: Array) -> Array:
    """ln φ at scale·t for the two continuous shapes: in logarithms, because 1 − φ is tiny for small t."""
    squared = np.asarray(scaled) ** 2
    return np.asarray(-0.5 * squared if family.gaussian else -np.log1p(squared))


def _normal_quantile(points: Array | float) -> Array:
    from scipy.special import ndtri  # slow to load: paid by those who use it

    return np.asarray(ndtri(points))


def _discrete_gaussian_weights(scale: float) -> tuple[Array, Array]:
    steps = np.arange(1, int(12 * scale) + 13, dtype=np.float64)
    weights = np.exp(-0.5 * (steps / scale) ** 2)
    return steps, weights / (1.0 + 2.0 * weights.sum())


def _discrete_gaussian_inverse(points: Array, scale: float) -> Array:
    if scale > 100.0:
        return np.asarray(
            np.rint(scale * _normal_quantile(points))
        )  # rounding is then below anything that is printed
    steps, weights = _discrete_gaussian_weights(scale)
    support = np.concatenate([-steps[::-1], [0.0], steps])
    masses = np.concatenate([weights[::-1], [1.0 - 2.0 * weights.sum()], weights])
    place = np.searchsorted(np.cumsum(masses), points)
    return np.asarray(support[np.minimum(place, len(support) - 1)])


def _discrete_gaussian_mean(scale: float) -> float:
    if scale > 100.0:
        return scale * _HALF_NORMAL  # the difference is below double precision
    steps, weights = _discrete_gaussian_weights(scale)
    return float(2.0 * (steps * weights).sum())


def _discrete_gaussian_area(scale: float, room: float) -> float:
    if scale > 100.0:
        return float(upper_tail_area(Family.GAUSSIAN, np.float64(scale), np.float64(room)))  # type: ignore[arg-type]
    steps, weights = _discrete_gaussian_weights(scale)
    return float((np.minimum(steps, math.floor(min(room, 1e15) + 1e-9)) * weights).sum())
