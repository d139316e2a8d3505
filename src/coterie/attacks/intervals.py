"""Confidence intervals: a risk is a value with an interval, never a bare number."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

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


def half_width(confidence: float) -> float:
    """Of a normal interval, in standard errors."""
    return NormalDist().inv_cdf((1 + confidence) / 2)


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

    This is the residual risk of Giomi et al. (Anonymeter, 2023, section 4): 1 minus the ratio r of two failure rates.
    The interval holds the r at which f - r·g may be 0, the half-widths of f and g combined by the square root of the sum
    of squares (Donner and Zou 2012, Stat. Methods Med. Res. 21, 347–359, eq. (9)). A straight line through the estimate
    instead of r would be too narrow, the more so the higher the confidence.
    """
    f, g = 1 - attack.value, 1 - control.value
    if g <= 0:
        return Estimate(0.0, 0.0, 1.0, attack.trials)  # nothing is left that the release could give away
    value = 1 - f / g
    # f² less the square of a half-width, in the form that keeps its digits.
    f_below, f_above = ((1 - end) * (2 * f - (1 - end)) for end in (attack.high, attack.low))
    g_below, g_above = ((1 - end) * (2 * g - (1 - end)) for end in (control.high, control.low))
    middle = f * g
    most = (
        (middle + math.sqrt(max(middle**2 - f_above * g_below, 0.0))) / g_below if g_below > 0 else math.inf
    )
    least = f_below / (middle + math.sqrt(max(middle**2 - f_below * g_above, 0.0))) if f > 0 else 0.0
    # Far below 0 the end says no more than "no leak"; without a control that ever failed it would be open.
    return Estimate(value, max(1 - most, min(value, -1.0)), 1 - least, attack.trials)


def ranks_of(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """1, 2, … in rising order; equal values share the mean of their ranks."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(count) - (count - 1) / 2)[place]


def area_under_curve(members: NDArray[np.float64], others: NDArray[np.float64]) -> Estimate:
    """Probability that a member scores above a non-member; interval by DeLong's variance, never narrower than Hanley's.

    With no overlap at all DeLong's variance is 0; Hanley and McNeil (1982) at the nearest attainable value then serves.
    """
    m, n = len(members), len(others)
    both = ranks_of(np.concatenate([members, others]))
    own, theirs = ranks_of(members), ranks_of(others)
    above = (both[:m] - own) / n
    below = 1 - (both[m:] - theirs) / m
    value = float(above.mean())
    inner = min(max(value, 1 / (2 * m * n)), 1 - 1 / (2 * m * n))
    q1, q2 = inner / (2 - inner), 2 * inner**2 / (1 + inner)
    hanley = (inner * (1 - inner) + (m - 1) * (q1 - inner**2) + (n - 1) * (q2 - inner**2)) / (m * n)
    delong = float(above.var(ddof=1)) / m + float(below.var(ddof=1)) / n
    half = half_width(CONFIDENCE) * math.sqrt(max(hanley, delong, 0.0))
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


def epsilon_lower_bound(
    hits: int, trials: int, other_hits: int, other_trials: int, confidence: float = CONFIDENCE
) -> float:
    """log(p/p′) with p at its lower and p′ at its upper end, 97.5 % each: together at least 95 % (one-sided)."""
    p = proportion(hits, trials, confidence).low
    other = proportion(other_hits, other_trials, confidence).high
    return math.log(p / other) if p > 0 else -math.inf
