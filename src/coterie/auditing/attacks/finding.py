"""What an attack reports: an estimate with its interval, a level compared with a baseline, and the worst of several.

A risk is a value with an interval, never a bare number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from statistics import NormalDist

import numpy as np

from coterie.schema.arrays import Floats
from coterie.schema.exact import number

Details = Mapping[str, float | int | str]
CONFIDENCE = 0.95
FEWEST_TRIALS = 20  # with fewer, even 0 of 20 leaves 17 % possible: an interval would say nothing


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its 95 % confidence interval, from so many trials."""

    value: float
    low: float
    high: float
    trials: int

    @classmethod
    def exact(cls, value: float, trials: int = 0) -> Estimate:
        """A fact about these tables, from which nothing was sampled."""
        return cls(value, value, value, trials)


def half_width(confidence: float) -> float:
    """Half the width of a normal interval, in standard errors."""
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


def ranks_of(values: Floats) -> Floats:
    """1, 2, … in rising order; equal values share the mean of their ranks."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(count) - (count - 1) / 2)[place]


def area_under_curve(members: Floats, others: Floats) -> Estimate:
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


def true_positives_at(members: Floats, others: Floats, false_positives: float) -> Estimate:
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


# What an attack reports: a statistic with its interval, beside what anyone would get without the release.

SEVERE_FROM = 0.1  # one in ten of those whom chance would have spared


class Level(StrEnum):
    """What an attack says of a release, once its estimate is compared with the baseline."""

    NOTHING = "nothing found"  # not told apart from the baseline; a better attacker may find more
    SOME = "some risk"
    SEVERE = "severe risk"
    UNKNOWN = "no verdict"  # nothing could be run, or nothing shows that the release is of this original


class Unit(StrEnum):
    """What the number of a finding is."""

    SHARE = "share"  # 0 to 1
    AREA = "area"  # under the curve: 0.5 is blind
    EPSILON = "epsilon"  # privacy loss
    TIMES = "times"  # a multiple of what is claimed


@dataclass(frozen=True, slots=True, repr=False)
class Finding:
    """What an attack found: an estimate beside its baseline, a level, and the sentence to print.

    `baseline` is what the same attacker gets without the release, or on people who are not in it.
    `looked_at` is how many attributes, styles … the worst was taken from: the interval holds for all of them together.
    `p_value` is the probability that chance alone clears the baseline by so much, corrected for that choice. None: nothing
    was sampled, or the interval decides.
    """

    attack: str
    statistic: str
    estimate: Estimate
    baseline: Estimate
    baseline_story: str
    level: Level
    words: str
    details: Details = field(default_factory=dict)
    seconds: float = 0.0
    unit: Unit = Unit.SHARE
    looked_at: int = 1
    p_value: float | None = None

    def __repr__(self) -> str:
        measured = (
            f"{number(self.estimate.value)} ({number(self.estimate.low)} to {number(self.estimate.high)})"
        )
        return f"<Finding of {self.attack}: {self.level.value}; {measured}, baseline {number(self.baseline.value)}>"

    @property
    def gain(self) -> Estimate:
        """What the attacker has beyond the baseline, as a share of what was left to gain; of shares and areas only."""
        start = self.baseline.value
        if self.unit not in (Unit.SHARE, Unit.AREA) or start >= 1:
            return Estimate.exact(0.0)
        low, value, high = (
            (end - start) / (1 - start)
            for end in (self.estimate.low, self.estimate.value, self.estimate.high)
        )
        return Estimate(max(value, 0.0), max(low, 0.0), max(high, 0.0), self.estimate.trials)


@dataclass(frozen=True, slots=True)
class NotRun:
    """An attack that gave no result, and why. Never silence."""

    attack: str
    reason: str


def graded(estimate: Estimate, baseline: Estimate) -> Level:
    """Grade how far the lower end lies above the baseline's upper end, as a share of what was left to gain."""
    if estimate.low <= baseline.high or baseline.high >= 1:
        return Level.NOTHING
    gain = (estimate.low - baseline.high) / (1 - baseline.high)
    return Level.SEVERE if gain >= SEVERE_FROM else Level.SOME


def percent(share: float) -> str:
    """Readable at both ends: 97 %, 0.04 %. The blank does not break."""
    if share != share:
        return "unknown"
    shown = 100 * share
    return f"{shown:.0f}\u00a0%" if shown == 0 or abs(shown) >= 9.95 else f"{number(shown, 2)}\u00a0%"


def interval_words(estimate: Estimate, looked_at: int = 1) -> str:
    """A share with its interval, as a sentence has it."""
    # Luck can leave a risk below 0.
    value, low, high = (percent(max(end, 0.0)) for end in (estimate.value, estimate.low, estimate.high))
    if estimate.low == estimate.high:
        return value
    widened = f", widened for the choice among {looked_at}" if looked_at > 1 else ""
    return f"{value} (95\u00a0% interval {low} to {high}{widened})"


# The worst of several things looked at, with an interval that holds for all of them at once.
#
# An attack that looks at m attributes and reports the worst would, with m intervals of 95 %, beat its baseline by luck up
# to m times as often as it says. So each of the m intervals is at 1 - 0.05/m (Bonferroni): all hold together with 95 %,
# whichever is chosen and however they depend on each other. To choose on one half of the people and estimate on the
# other would widen an interval by √2 whatever m is; 1 - 0.05/m widens it by less up to m = 8, and shows every attribute.

# At a confidence: what the attacker gets, and the baseline it is compared with.
Measured = Callable[[float], tuple[Estimate, Estimate]]
_LEAST = 1e-9  # no smaller tail is asked for: doubles near 1 would blur it
_STEPS = 40


@dataclass(frozen=True, slots=True)
class Worst:
    name: str
    estimate: Estimate
    baseline: Estimate
    level: Level
    p_value: float
    looked_at: int
    every: Mapping[str, tuple[Estimate, Estimate]]  # estimate and baseline of each, in the order given

    @property
    def words(self) -> str:
        """The estimate with its interval, as a sentence has it."""
        return interval_words(self.estimate, self.looked_at)

    def values(self, of: str) -> Details:
        """The estimate of each; `of` begins its name."""
        return {f"{of} {name}": estimate.value for name, (estimate, _) in self.every.items()}

    def risks(self, of: str) -> Details:
        """The risk of each with both ends of its interval; `of` is "for" (an attribute) or "by" (a style)."""
        return {
            f"{what} {of} {name}": getattr(risk, end)
            for name, (risk, _) in self.every.items()
            for what, end in (("risk", "value"), ("lower end", "low"), ("upper end", "high"))
        }

    @property
    def attribute(self) -> str:
        """How the words of a finding begin."""
        return (
            f"Worst of {self.looked_at} attributes, '{self.name}'" if self.looked_at > 1 else f"'{self.name}'"
        )


def simultaneous(looked_at: int) -> float:
    """The confidence at which each of so many intervals must be, for all of them to hold with 95 %."""
    return 1 - (1 - CONFIDENCE) / looked_at


def worst_of(measured: Mapping[str, Measured], sides: int = 2) -> Worst:
    """The one whose lower end clears its baseline by most. `sides` as in p_value."""
    looked_at = len(measured)
    confidence = simultaneous(looked_at)
    every = {name: measure(confidence) for name, measure in measured.items()}
    worst = max(every, key=lambda name: every[name][0].low - every[name][1].high)
    luck = min(looked_at * p_value(measured[worst], sides), 1.0)
    return Worst(worst, *every[worst], graded(*every[worst]), luck, looked_at, every)


def share_against(baseline: Estimate, hits: int, trials: int) -> Measured:
    """A share beside a baseline that is known."""
    return lambda confidence: (proportion(hits, trials, confidence), baseline)


def beyond_control(hits: int, trials: int, control_hits: int, control_trials: int) -> Measured:
    """What a share is beyond that of a control (`over_control`): compared with 0."""

    def risk(confidence: float) -> tuple[Estimate, Estimate]:
        control = proportion(control_hits, control_trials, confidence)
        return over_control(proportion(hits, trials, confidence), control), Estimate.exact(0.0)

    return risk


def epsilon_beyond(counts: tuple[int, int, int, int], stated: float, runs: int) -> Measured:
    """A lower bound on ε from hits and trials on both tables, beside the ε that is stated."""

    def bound(confidence: float) -> tuple[Estimate, Estimate]:
        end = epsilon_lower_bound(*counts, confidence)
        return Estimate(end, end, math.inf, runs), Estimate.exact(stated)

    return bound


def p_value(measure: Measured, sides: int = 2) -> float:
    """The least error rate at which this would still clear its baseline: the intervals, inverted.

    `sides` is 2 where 1 - confidence is shared by both ends of an interval, 1 where it is all on the lower end.
    """

    def clears(tail: float) -> bool:
        estimate, baseline = measure(1 - tail)
        return estimate.low > baseline.high

    low, high = math.log(_LEAST), 0.0
    if clears(_LEAST):
        return _LEAST / sides
    if not clears(1 - _LEAST):
        return 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if clears(math.exp(middle)) else (middle, high)
    return math.exp(high) / sides
