"""What is known in advance of each kind of noise, and the mean error of sums of noises, exactly.

    E|S| = (2/π) ∫₀^∞ (1 − φ_S(t)) t⁻² dt,     φ_S(t) = Π φ(β_i t),  β_i = |c_i|·scale_i.

With t = e^u / max β the integrand is analytic in a strip and falls as e^−|u| on both sides, so the plain
trapezoid rule converges exponentially: the fixed grid below is exact to about 1e-13."""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from enum import StrEnum
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from coterie.errors import ParameterError
from coterie.schema.arrays import Floats

# What is known in advance about each kind of noise: size, quantiles, draws from uniform points.
#
# Planning needs only this; the noise of a release comes from the sampler. A family's `scale` is the Laplace
# b or the Gaussian σ. Budgets are ε under pure DP and ρ under zCDP, so a scale falls as budget^(−1/power).


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

    def scale(self, budget: Floats | float) -> Floats | float:
        if self.power == 1:
            return self.coefficient / budget
        return self.coefficient / np.sqrt(budget)

    def noise_scale(self, budget: float) -> float:
        return float(self.scale(budget))

    def slope(self, budget: Floats | float) -> Floats | float:
        """∂scale/∂budget."""
        return -self.scale(budget) / (self.power * budget)


def scale_law(family: Family, sensitivity: float) -> ScaleLaw:
    """How noise shrinks with its budget: Laplace noise costs ε = Δ/b, Gaussian noise ρ = Δ²/(2σ²)."""
    return ScaleLaw(sensitivity / math.sqrt(2.0), 2) if family.gaussian else ScaleLaw(sensitivity, 1)


def mean_absolute(family: Family, scale: Floats) -> Floats:
    """E|noise|: the overshoot on both sides."""
    return 2.0 * upper_tail_area(family, scale, np.asarray(np.inf))


def standard_deviation(family: Family, scale: float) -> float:
    if family.gaussian:
        return scale
    if family is Family.DISCRETE_LAPLACE:
        return 1.0 / (math.sqrt(2.0) * math.sinh(min(1.0 / (2.0 * scale), 700.0)))
    return math.sqrt(2.0) * scale


def upper_tail_area(family: Family, scale: Floats, room: Floats) -> Floats:
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


def from_uniform(family: Family, points: Floats, scale: Floats | float) -> Floats:
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


def log_characteristic(family: Family, scaled: Floats) -> Floats:
    """ln φ at scale·t for the two continuous shapes: in logarithms, because 1 − φ is tiny for small t."""
    squared = np.asarray(scaled) ** 2
    return np.asarray(-0.5 * squared if family.gaussian else -np.log1p(squared))


def _normal_quantile(points: Floats | float) -> Floats:
    from scipy.special import ndtri  # slow to load: paid by those who use it

    return np.asarray(ndtri(points))


def _discrete_gaussian_weights(scale: float) -> tuple[Floats, Floats]:
    steps = np.arange(1, int(12 * scale) + 13, dtype=np.float64)
    weights = np.exp(-0.5 * (steps / scale) ** 2)
    return steps, weights / (1.0 + 2.0 * weights.sum())


def _discrete_gaussian_inverse(points: Floats, scale: float) -> Floats:
    if scale > 100.0:
        # Rounding is then below anything that is printed.
        return np.asarray(np.rint(scale * _normal_quantile(points)))
    steps, weights = _discrete_gaussian_weights(scale)
    support = np.concatenate([-steps[::-1], [0.0], steps])
    masses = np.concatenate([weights[::-1], [1.0 - 2.0 * weights.sum()], weights])
    place = np.searchsorted(np.cumsum(masses), points)
    return np.asarray(support[np.minimum(place, len(support) - 1)])


def _discrete_gaussian_area(scale: float, room: float) -> float:
    if scale > 100.0:  # the difference is below double precision
        return float(upper_tail_area(Family.GAUSSIAN, np.float64(scale), np.float64(room)))  # type: ignore[arg-type]
    steps, weights = _discrete_gaussian_weights(scale)
    return float((np.minimum(steps, math.floor(min(room, 1e15) + 1e-9)) * weights).sum())


_STEP = 0.15
_GRID = np.arange(-34.0, 34.0 + _STEP / 2, _STEP)
_T = np.exp(_GRID)


def mean_absolute_sum(families: Sequence[Family], scales: Floats) -> Floats:
    """E|S| for each row of `scales` (allocations × noises)."""
    scales = np.atleast_2d(np.asarray(scales, dtype=np.float64))
    if all(family.gaussian for family in families):
        return np.asarray(np.sqrt((scales**2).sum(axis=1)) * math.sqrt(2.0 / math.pi))
    if len(families) == 1:
        return scales[:, 0]
    largest = scales.max(axis=1)
    results = np.empty(len(scales))
    for start in range(0, len(scales), 4096):
        part = slice(start, start + 4096)
        logs = np.zeros((len(largest[part]), len(_T)))
        for index, family in enumerate(families):
            logs += log_characteristic(family, (scales[part, index] / largest[part])[:, None] * _T)
        results[part] = (2.0 / math.pi) * _STEP * (-np.expm1(logs) / _T).sum(axis=1) * largest[part]
    return results


def sum_gradient(families: Sequence[Family], scales: Floats) -> Floats:
    """∂E|S|/∂scale_i at one allocation."""
    scales = np.asarray(scales, dtype=np.float64)
    if all(family.gaussian for family in families):
        return scales * (math.sqrt(2.0 / math.pi) / math.sqrt(float((scales**2).sum())))
    if len(families) == 1:
        return np.ones(1)
    largest = float(scales.max())
    beta = scales / largest
    parts = np.exp([log_characteristic(family, b * _T) for family, b in zip(families, beta, strict=True)])
    product = parts.prod(axis=0)
    gradient = np.empty(len(beta))
    for index, family in enumerate(families):
        # −φ′(βt)/φ(βt)·t: 2βt²/(1+β²t²) for Laplace, βt² for Gaussian; one t⁻² of the integral cancels.
        slope = beta[index] if family.gaussian else 2.0 * beta[index] * parts[index]
        gradient[index] = (2.0 / math.pi) * _STEP * (product * slope * _T).sum()
    return gradient


# Evenly spread points for expectations without a closed form.
#
# The same points serve every allocation (common random numbers), so two allocations differ by their
# budgets and not by luck, and the score is a smooth function that a gradient method can follow.
# Several independently scrambled sets give an honest standard error.

SEED = 20020513  # planning never sees data, so a fixed seed discloses nothing and makes plans repeatable
REPLICATES = 16


@lru_cache(maxsize=64)
def points(dimension: int, exponent: int, replicates: int = 1) -> NDArray[np.float64]:
    """replicates × 2^exponent points in (0, 1)^dimension; replicate by replicate."""
    from scipy.stats import qmc  # half a second to load: only those who need it pay

    parts = []
    for replicate in range(replicates):
        engine = qmc.Sobol(dimension, scramble=True, rng=np.random.default_rng([SEED, dimension, replicate]))
        parts.append(engine.random_base2(exponent))
    joined = np.vstack(parts)
    joined = np.asarray(np.clip(joined, 2.0**-40, 1.0 - 2.0**-40), dtype=np.float64)
    joined.setflags(write=False)
    return joined


# Groups whose names are private: which noisy counts may be shown, and what a shown one says about the true count.
#
# A key that only one record has must not be seen. Every key that occurs gets a count with discrete Gaussian noise N, and is
# shown if the noisy count reaches τ: the smallest whole number with Pr(1 + N ≥ τ) ≤ δ.

_EXACT = Context(prec=100)
_NEGLIGIBLE = Decimal(10) ** -330  # of the weight of 0: beyond it no double can hold a tail
_SURE = _EXACT.add(Decimal(1), Decimal(10) ** -60)  # far more than all roundings in 100 digits together
MOST_STEPS = 2_000_000


@dataclass(frozen=True)
class KeyThreshold:
    """Noise of this variance on each key's count; δ is what one record's own key may be seen with."""

    variance: Fraction
    delta: Fraction

    @cached_property
    def least(self) -> int:
        """τ."""
        tails, limit = self._tails, _decimal(self.delta)
        # Tails fall, so the first that is small enough is found by halving. A count of 1 needs noise of τ − 1.
        return 1 + bisect.bisect_left(
            range(len(tails)), True, key=lambda t: _EXACT.multiply(tails[t], _SURE) <= limit
        )

    def seen(self, count: int, least: int | None = None) -> Decimal:
        """Pr(count + N ≥ τ), to about 60 digits."""
        return self._above((self.least if least is None else least) - count)

    def interval(self, noisy: int, level: float) -> tuple[int, int]:
        """The true counts that a key shown with this noisy count may have; right for shown keys, not only for all.

        Shown are counts of τ and more, so the noise of a shown count has the law of N given that count + N ≥ τ. An end
        is the last count under which a noisy count so far off has more than half of 1 − level.
        """
        tail = (1 - level) / 2

        def below(count: int) -> bool:  # is so small a count excluded?
            return float(self._above(noisy - count) / self._above(self.least - count)) <= tail

        def above(count: int) -> bool:
            seen = self._above(self.least - count)
            return float((seen - self._above(noisy + 1 - count)) / seen) <= tail

        reach = len(self._tails)
        lower = 1 + bisect.bisect_left(range(1, noisy + 1), True, key=lambda c: not below(c))
        upper = noisy + bisect.bisect_left(range(noisy, noisy + reach), True, key=above) - 1
        return min(lower, noisy), max(upper, noisy)

    @cached_property
    def _tails(self) -> list[Decimal]:
        """Pr(N ≥ t) for t = 0, 1, … Weights exp(−t²/2σ²) are made by multiplication: ratios q^(2t+1), q = exp(−1/2σ²)."""
        with localcontext(_EXACT):
            root = (-1 / (2 * _decimal(self.variance))).exp()
            weights: list[Decimal] = []
            weight, ratio = Decimal(1), root
            while weight > _NEGLIGIBLE:
                if len(weights) == MOST_STEPS:
                    raise ParameterError(
                        "A count by private keys has almost no budget: no key would ever be shown.",
                        "Raise the budget, or its `weight`.",
                    )
                weights.append(weight)
                weight, ratio = weight * ratio, ratio * root * root
            suffix, tails = Decimal(0), []
            for weight in reversed(weights):
                suffix += weight
                tails.append(suffix)
            whole = 2 * suffix - 1  # both sides, and 0 once
            return [tail / whole for tail in reversed(tails)]

    def _above(self, least: int) -> Decimal:
        if least <= 0:  # N and −N have the same law
            return _EXACT.subtract(Decimal(1), self._above(1 - least))
        return self._tails[least] if least < len(self._tails) else Decimal(0)


@lru_cache(maxsize=64)
def key_threshold(variance: Fraction, delta: Fraction) -> KeyThreshold:
    return KeyThreshold(variance, delta)


def _decimal(value: Fraction) -> Decimal:
    return _EXACT.divide(Decimal(value.numerator), Decimal(value.denominator))
