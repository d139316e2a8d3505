"""The noise of a release: exact samplers on whole numbers, or a seeded stand-in for experiments.

A measurement is a whole number of public steps, and its noise is drawn on the same steps: discrete Laplace under pure
DP, discrete Gaussian under zCDP. A quantile is chosen by the exponential mechanism."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from coterie.chain.noise import keystream
from coterie.chain.noise.discrete_gaussian import ExactSampler
from coterie.chain.noise.exponential import exponential_mechanism
from coterie.chain.noise.keystream import Keystream
from coterie.chain.noise.sampler import Sampler
from coterie.chain.noise.secure import SecureSampler
from coterie.chain.noise.seeded import SeededSampler
from coterie.schema.arrays import Floats
from coterie.schema.exact import float_up
from coterie.statistics.prediction.measurement import Measurement, Neighbours
from coterie.statistics.prediction.noise_model import Family, from_uniform
from coterie.statistics.prediction.value_grid import distances

NAME = (
    "exact discrete Laplace and discrete Gaussian on public steps, exact exponential mechanism; "
    "AES-256-CTR keyed by the operating system"
)
# More than the rows of a plan may be off by: they are doubles, and a quotient rounded down to steps of 2^-32 of its
# sensitivity may move by one step more than a record that enters its group, at least half as far, moves it.
SLACK = 1 + Fraction(1, 2**28)


@dataclass(frozen=True)
class Noise:
    """Adds noise to exact measurements; `sampler` says whether it is the real one."""

    sampler: Sampler

    @classmethod
    def secure(cls) -> Noise:
        return cls(SecureSampler())

    @classmethod
    def seeded(cls, seed: int) -> Noise:
        return cls(SeededSampler(seed))

    @property
    def name(self) -> str:
        return NAME if self.sampler.private else self.sampler.name

    def add(
        self,
        exact: int,
        m: Measurement,
        family: Family,
        budget: Fraction,
        neighbours: Neighbours,
        stream: str,
        times: int = 1,
    ) -> Floats:
        """The measurement's value with noise, drawn so many times."""
        steps = m.steps(neighbours)
        if self.sampler.private:
            draw = ExactSampler(Keystream.named(keystream.fresh_key(), "statistics", stream))
            if family.gaussian:
                variance = steps**2 / (2 * budget) * SLACK
                return np.array([m.value(exact + draw.gaussian(variance)) for _ in range(times)])
            scale = steps / budget * SLACK
            return np.array([m.value(exact + draw.laplace(scale)) for _ in range(times)])
        scales = np.full(times, float(steps * m.unit / budget))
        if family.gaussian:
            scales = np.full(times, float(steps * m.unit) / math.sqrt(2.0 * float(budget)))
        centres = np.full(times, m.value(exact))
        if family is Family.LAPLACE:
            return self.sampler.laplace(centres, scales, stream)
        return np.asarray(centres + from_uniform(family, self._uniform(times, stream), scales[0]))

    def choose(
        self,
        counts: NDArray[np.int64],
        m: Measurement,
        budget: Fraction,
        zcdp: bool,
        neighbours: Neighbours,
        stream: str,
        times: int = 1,
    ) -> Floats:
        """Candidates, each with probability ∝ exp(ε·u/(2Δu)); `counts` says how many records lie in each."""
        level = m.level
        p, q = level.numerator, level.denominator
        scores = np.asarray(distances(counts, p, q), dtype=np.float64)  # q times the distance: whole numbers
        epsilon = _root(8 * budget) if zcdp else budget
        reach = max(p, q - p) if neighbours is Neighbours.ADD_REMOVE else q
        released = m.candidates.released
        if self.sampler.private:
            chosen = [
                int(exponential_mechanism(scores[None, :], epsilon, float(reach), self.sampler, stream)[0])
                for _ in range(times)
            ]
            return np.asarray(released[chosen])
        weights = np.cumsum(np.exp(-float(epsilon) / (2.0 * reach) * (scores - scores.min())))
        places = np.searchsorted(weights, self._uniform(times, stream) * weights[-1], side="right")
        return np.asarray(released[np.minimum(places, len(released) - 1)])

    def _uniform(self, count: int, stream: str) -> NDArray[np.float64]:
        words = self.sampler.uniform_words(count, stream)
        return ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


def release_scale(family: Family, sensitivity: float, budget: Fraction, zcdp: bool) -> float:
    """The scale of the noise as a certificate states it, rounded up."""
    if family.gaussian:
        return math.nextafter(sensitivity / math.sqrt(2.0 * float(budget)), math.inf)
    epsilon = _root(8 * budget) if zcdp else budget
    return float_up((2 if family is Family.RANK else 1) * Fraction(sensitivity) / epsilon)


def _root(value: Fraction) -> Fraction:
    """√value, rounded down: a smaller ε, and never a larger one."""
    wide = 2**200
    return Fraction(math.isqrt(value.numerator * wide**2 // value.denominator), wide)
