"""Confidence intervals: a risk is a value with an interval, never a bare number."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

CONFIDENCE = 0.95
FEWEST_TRIALS = 20  # with fewer, even 0 of 20 leaves 17 % possible: an interval would say nothing


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value between two ends that hold it with 95 % confidence; `trials` is how many times it was tried."""

    value: float
    low: float
    high: float
    trials: int

    @classmethod
    def exact(cls, value: float, trials: int = 0) -> Estimate:
        """Nothing was sampled: a fact about these tables."""
        return cls(value, value, value, trials)


def proportion(hits: int, trials: int, confidence: float = CONFIDENCE) -> Estimate:
    """Clopper and Pearson (1934): never covers less often than it says, however small the counts."""
    if trials == 0:
        return Estimate(math.nan, 0.0, 1.0, 0)
    from scipy.special import betaincinv  # here: commands that only show risks start without it

    tail = (1 - confidence) / 2
    low = 0.0 if hits == 0 else float(betaincinv(hits, trials - hits + 1, tail))
    high = 1.0 if hits == trials else float(betaincinv(hits + 1, trials - hits, 1 - tail))
    return Estimate(hits / trials, low, high, trials)


def over_control(attack: Estimate, control: Estimate) -> Estimate:
    """(a - c)/(1 - c): of those whom general knowledge does not give away, the share that the release does.

    This is the residual risk of Giomi et al. (Anonymeter, 2023, section 4). The two intervals are combined by the
    square root of the sum of squares of their half-widths (MOVER), each side by itself.
    """
    a, c = attack.value, control.value
    if c >= 1:
        return Estimate(0.0, 0.0, 1.0, attack.trials)  # nothing is left that the release could give away
    value = (a - c) / (1 - c)
    by_attack, by_control = 1 / (1 - c), (1 - a) / (1 - c) ** 2
    below = math.hypot((a - attack.low) * by_attack, (control.high - c) * by_control)
    above = math.hypot((attack.high - a) * by_attack, (c - control.low) * by_control)
    return Estimate(value, value - below, min(1.0, value + above), attack.trials)


def area_under_curve(members: NDArray[np.float64], others: NDArray[np.float64]) -> Estimate:
    """Probability that a member scores above a non-member; interval by DeLong's variance, never narrower than Hanley's.

    With no overlap at all DeLong's variance is 0; Hanley and McNeil (1982) at the nearest attainable value then serves.
    """
    from scipy.stats import rankdata  # half a second to load: only those who need it pay

    m, n = len(members), len(others)
    both = rankdata(np.concatenate([members, others]))
    own, theirs = rankdata(members), rankdata(others)
    above = (both[:m] - own) / n
    below = 1 - (both[m:] - theirs) / m
    value = float(above.mean())
    inner = min(max(value, 1 / (2 * m * n)), 1 - 1 / (2 * m * n))
    q1, q2 = inner / (2 - inner), 2 * inner**2 / (1 + inner)
    hanley = (inner * (1 - inner) + (m - 1) * (q1 - inner**2) + (n - 1) * (q2 - inner**2)) / (m * n)
    delong = float(above.var(ddof=1)) / m + float(below.var(ddof=1)) / n
    half = 1.96 * math.sqrt(max(hanley, delong, 0.0))
    return Estimate(value, max(0.0, value - half), min(1.0, value + half), m + n)


def true_positives_at(
    members: NDArray[np.float64], others: NDArray[np.float64], false_positives: float
) -> Estimate:
    """Share of members above the score that at most the given share of non-members exceeds.

    The interval is that of the share of members; the threshold is taken as it was found.
    """
    allowed = int(false_positives * len(others))
    threshold = np.sort(others)[len(others) - 1 - allowed]
    return proportion(int((members > threshold).sum()), len(members))


def epsilon_lower_bound(hits: int, trials: int, other_hits: int, other_trials: int) -> float:
    """log(p/p′) with p at its lower and p′ at its upper end, 97.5 % each: together at least 95 % (one-sided)."""
    p = proportion(hits, trials, CONFIDENCE).low
    other = proportion(other_hits, other_trials, CONFIDENCE).high
    return math.log(p / other) if p > 0 else -math.inf
