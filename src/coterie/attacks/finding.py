"""What an attack reports: a statistic with its interval, beside what anyone would get without the release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from coterie.attacks.intervals import Estimate

SEVERE_FROM = 0.1  # one in ten of those whom chance would have spared


class Level(StrEnum):
    NOTHING = "nothing found"  # not told apart from the baseline; a better attacker may find more
    SOME = "some risk"
    SEVERE = "severe risk"
    UNKNOWN = "no verdict"  # nothing could be run, or nothing shows that the release is of this original


class Unit(StrEnum):
    SHARE = "share"  # 0 to 1
    AREA = "area"  # under the curve: 0.5 is blind
    EPSILON = "epsilon"  # privacy loss
    TIMES = "times"  # a multiple of what is claimed


@dataclass(frozen=True, slots=True)
class Finding:
    """`baseline` is what the same attacker gets without the release, or on people who are not in it.

    `looked_at` is how many attributes, styles … the worst was taken from: the interval holds for all of them together.
    `p_value` is the chance that luck alone would clear the baseline so far, that choice counted; None: nothing was drawn,
    or the attack leaves it to the interval.
    """

    attack: str
    statistic: str
    estimate: Estimate
    baseline: Estimate
    baseline_story: str
    level: Level
    words: str
    details: Mapping[str, float | int | str] = field(default_factory=dict)
    seconds: float = 0.0
    unit: Unit = Unit.SHARE
    looked_at: int = 1
    p_value: float | None = None

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
    """By how much the lower end clears the baseline's upper end, as a share of what was left to gain."""
    if estimate.low <= baseline.high or baseline.high >= 1:
        return Level.NOTHING
    gain = (estimate.low - baseline.high) / (1 - baseline.high)
    return Level.SEVERE if gain >= SEVERE_FROM else Level.SOME


def percent(share: float) -> str:
    """Readable at both ends: 97 %, 0.04 %. The blank does not break."""
    if share != share:
        return "unknown"
    shown = 100 * share
    return f"{shown:.0f}\u00a0%" if shown == 0 or abs(shown) >= 9.95 else f"{shown:.2g}\u00a0%"


def interval_words(estimate: Estimate, looked_at: int = 1) -> str:
    value, low = (
        percent(max(end, 0.0)) for end in (estimate.value, estimate.low)
    )  # luck can leave a risk below 0
    if estimate.low == estimate.high:
        return value
    widened = f", widened for the choice among {looked_at}" if looked_at > 1 else ""
    return f"{value} (95\u00a0% interval {low} to {percent(estimate.high)}{widened})"
