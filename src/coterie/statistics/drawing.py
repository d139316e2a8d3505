"""The noise of a release: OpenDP's exact samplers, or a seeded stand-in for experiments.

Counts get integer noise (discrete Laplace or discrete Gaussian); a quantile is chosen by the exponential
mechanism, which is the maximum of utilities with Gumbel noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.budget import float_up
from coterie.errors import ParameterError
from coterie.noise.grid import SMALLEST_PART
from coterie.noise.sampler import Sampler
from coterie.noise.secure import SecureSampler
from coterie.noise.seeded import SeededSampler
from coterie.statistics.measurement import Measurement
from coterie.statistics.noise_model import Family, from_uniform

Array = NDArray[np.float64]
_UP = 1.0 + 2.0**-50


@dataclass(frozen=True)
class Noise:
    """Adds noise to exact values; `sampler` says whether it is the real one."""

    sampler: Sampler

    @classmethod
    def secure(cls) -> Noise:
        return cls(SecureSampler())

    @classmethod
    def seeded(cls, seed: int) -> Noise:
        return cls(SeededSampler(seed))

    @property
    def name(self) -> str:
        return "OpenDP exact samplers" if self.sampler.private else self.sampler.name

    def add(self, values: Array, family: Family, scale: float, stream: str) -> Array:
        """Each value with its own noise; counts stay whole numbers."""
        if family is Family.LAPLACE:
            return self.sampler.laplace(values, np.full(len(values), scale), stream)
        if not self.sampler.private:
            return np.asarray(values + from_uniform(family, self._uniform(len(values), stream), scale))
        plain = [int(value) for value in values] if family.discrete else [float(value) for value in values]
        return np.array(_exact(family, scale)(plain), dtype=np.float64)

    def choose(
        self, counts: NDArray[np.int64], m: Measurement, scale: float, stream: str, times: int = 1
    ) -> Array:
        """Grid points, each with probability ∝ exp(u/scale), u = −|#below − q·n|; scale = 2Δu/ε."""
        below = np.concatenate([[0], np.cumsum(counts)]).astype(np.float64)
        utility = -np.abs(below - m.quantile * below[-1])
        if self.sampler.private:
            choose, listed = _noisy_max(scale), utility.tolist()
            chosen = np.array([int(choose(listed)) for _ in range(times)])
        else:
            gumbel = -np.log(-np.log(self._uniform(times * len(utility), stream)))
            chosen = np.argmax(utility + scale * gumbel.reshape(times, -1), axis=1)
        return np.asarray(m.domains[0].lower + m.domains[0].width * chosen / m.candidates)

    def _uniform(self, count: int, stream: str) -> NDArray[np.float64]:
        words = self.sampler.uniform_words(count, stream)
        return ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


def release_scale(family: Family, sensitivity: float, budget: Fraction, zcdp: bool) -> float:
    """The scale for an exact budget, rounded up: rounding may add noise, never take it away."""
    if family.gaussian:
        return sensitivity / math.sqrt(2.0 * float(budget)) * _UP
    epsilon = float(budget) if not zcdp else math.sqrt(8.0 * float(budget)) / _UP
    if family is Family.RANK:
        return 2.0 * sensitivity / epsilon * _UP
    if family is Family.LAPLACE and budget < SMALLEST_PART:
        raise ParameterError(
            "A measurement's part of ε is below 1/32768, where the noise of sums is not proved to suffice.",
            "Give it more of ε, or ask for fewer statistics.",
        )
    return float_up(Fraction(sensitivity) / budget)


@lru_cache(maxsize=256)
def _exact(family: Family, scale: float) -> Any:
    import opendp.prelude as dp  # 0.3 s to import: paid only by real releases

    dp.enable_features("contrib")
    number = int if family.discrete else float
    domain = dp.vector_domain(
        dp.atom_domain(T=int) if family.discrete else dp.atom_domain(T=float, nan=False)
    )
    if family.gaussian:
        return dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=scale)
    return dp.m.make_laplace(domain, dp.l1_distance(T=number), scale=scale)


def _noisy_max(scale: float) -> Any:
    """OpenDP adds Gumbel noise under this measure, which makes the choice the exponential mechanism."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False))
    return dp.m.make_noisy_max(
        domain, dp.linf_distance(T=float), dp.zero_concentrated_divergence(), scale=scale
    )
