"""GUARANTEES: naive double Laplace noise leaks its centre through the floating-point grid; the secure sampler does not.

x = 0 or x = 1, scale 1. Off the grid 2^-53 means: no multiple of 2^-53.
"""

from __future__ import annotations

import numpy as np
import pytest

from coterie.chain.noise.sampler import Sampler
from coterie.chain.noise.secure import SecureSampler
from coterie.chain.noise.seeded import SeededSampler

DRAWS = 4000


def off_the_grid(sampler: Sampler, centre: float) -> float:
    released = sampler.laplace(np.full(DRAWS, centre), np.ones(DRAWS), "x")
    return float(np.mean(released * 2.0**53 != np.rint(released * 2.0**53)))


@pytest.mark.statistical
def test_seeded_noise_leaks() -> None:
    at_zero, at_one = (off_the_grid(SeededSampler(1), centre) for centre in (0.0, 1.0))
    assert at_zero == pytest.approx(0.27, abs=0.04)
    assert at_one == 0.0  # an event of probability 0 on one side only: no ε at all


@pytest.mark.statistical
def test_secure_noise_does_not() -> None:
    """The event differs by a factor e at most, both ways; with 4,000 draws the tolerance is five standard errors."""
    at_zero, at_one = (off_the_grid(SecureSampler(), centre) for centre in (0.0, 1.0))
    assert at_zero <= np.e * at_one + 0.06
    assert at_one <= np.e * at_zero + 0.06
