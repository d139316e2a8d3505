"""The worst of several things looked at, with an interval that holds for all of them at once.

An attack that looks at m attributes and reports the worst would, with m intervals of 95 %, beat its baseline by luck up
to m times as often as it says. So each of the m intervals is at 1 - 0.05/m (Bonferroni): all hold together with 95 %,
whichever is chosen and however they depend on each other. To choose on one half of the people and estimate on the
other would widen an interval by √2 whatever m is; 1 - 0.05/m widens it by less up to m = 8, and shows every attribute.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from coterie.attacks.finding import Level, graded
from coterie.attacks.intervals import CONFIDENCE, Estimate, proportion

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
