"""Floating-point leak: do the last bits of the noise tell which value it was added to? (Mironov 2012)

Naive noise in double precision reaches some numbers from one true value and not from another. Around a true value of 1
every output is a multiple of 2^-53; around 0 it often is not. Reported apart from the empirical ε, because it is a fault
of the sampler, not of the method: both samplers are tried, and the verdict is on the one for real releases. Either true
value may be the likelier one to leave the grid; the larger bound counts, each at a confidence that holds for both.
"""

from __future__ import annotations

import numpy as np

from coterie.auditing.attacks import Attack, Outcome, Subject
from coterie.auditing.attacks.evidence import MethodEvidence
from coterie.auditing.attacks.finding import (
    Estimate,
    Level,
    Unit,
    Worst,
    epsilon_beyond,
    worst_of,
)
from coterie.chain.noise.sampler import Sampler
from coterie.chain.noise.secure import SecureSampler
from coterie.chain.noise.seeded import SeededSampler

DRAWS = 4000
EPSILON = 1.0


def off_grid(sampler: Sampler, true_value: float, draws: int = DRAWS) -> int:
    """How many outputs are not multiples of 2^-53, at scale 1 around a true value."""
    centres, scales = np.full(draws, true_value), np.ones(draws)
    noisy = sampler.laplace(centres, scales, f"floating-point attack at {true_value}")
    scaled = noisy * 2.0**53
    return int(np.sum(scaled != np.rint(scaled)))


def _run(evidence: MethodEvidence) -> Outcome:
    bounds: dict[str, Worst] = {}
    for sampler in (SecureSampler(), SeededSampler(evidence.seed)):
        at_zero, at_one = off_grid(sampler, 0.0), off_grid(sampler, 1.0)
        both = {"0": (at_zero, DRAWS, at_one, DRAWS), "1": (at_one, DRAWS, at_zero, DRAWS)}
        measured = {name: epsilon_beyond(counts, EPSILON, DRAWS) for name, counts in both.items()}
        bounds[sampler.name] = worst_of(measured, sides=1)
        if sampler.private:
            real, shares = bounds[sampler.name], (at_zero / DRAWS, at_one / DRAWS)
    low = max(real.estimate.low, 0.0)
    leaks = low > EPSILON
    naive = bounds[SeededSampler(evidence.seed).name].estimate.low > EPSILON
    words = (
        f"The sampler for real releases leaves the 2⁻⁵³ grid with probability {shares[0]:.2f} around one true value and "
        f"{shares[1]:.2f} around another: {'it leaks.' if leaks else 'no leak found.'} The seeded sampler for experiments "
        f"{'leaks, and its releases are labelled not private.' if naive else 'did not leak here.'}"
    )
    return ATTACK.found(
        Estimate(low, low, float("inf"), DRAWS),
        Estimate.exact(EPSILON),
        Level.SEVERE if leaks else Level.NOTHING,
        words,
        {f"lower bound, {name}": max(bound.estimate.low, 0.0) for name, bound in bounds.items()},
        unit=Unit.EPSILON,
        looked_at=real.looked_at,
        p_value=real.p_value,
    )


ATTACK = Attack(
    name="floating-point",
    title="Floating-point leak",
    subject=Subject.METHOD,
    story="Someone looks at the last bits of released numbers, which naive noise can reach from one true value only.",
    inputs=("released numbers in full precision",),
    statistic="lower bound on the privacy loss ε of one draw at ε = 1",
    baseline="ε = 1, for which the draw is calibrated",
    cost="a few thousand draws",
    run=_run,
    rank=20,
    personal=False,
)
