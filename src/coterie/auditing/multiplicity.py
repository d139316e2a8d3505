"""Many attacks, each at 95 %: one of them may beat its baseline by luck. Which findings stand when that is counted?

Holm (1979), *A simple sequentially rejective multiple test procedure*, Scand. J. Statist. 6, 65–70: p-values in ascending
order, the i-th of m against α/(m − i + 1), up to the first that fails. The chance that any finding which stands is luck is
at most α, however the attacks depend on each other. Where one attack took the worst of several attributes, its p-value
counts that choice already (see coterie.attacks.worst_of).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

from coterie.attacks.finding import Finding, Level
from coterie.attacks.intervals import CONFIDENCE, half_width
from coterie.attacks.worst_of import simultaneous

ALPHA = 1 - CONFIDENCE


def by_luck(finding: Finding) -> float:
    """p-value of "no better than the baseline".

    The attack's own, or from the sides of the two intervals that face each other, as if normal; times as many as the
    attack looked at.
    """
    if finding.p_value is not None:
        return finding.p_value
    gain = finding.estimate.value - finding.baseline.value
    own, other = finding.estimate.value - finding.estimate.low, finding.baseline.high - finding.baseline.value
    spread = math.hypot(own, other) / half_width(simultaneous(finding.looked_at))
    if not gain > 0 or not math.isfinite(spread):
        return 1.0
    return 0.0 if spread == 0 else min(finding.looked_at * NormalDist().cdf(-gain / spread), 1.0)


def sampled(finding: Finding) -> bool:
    """Whether chance had a part in it; the others are facts about these tables."""
    drawn = (finding.estimate, finding.baseline)
    return finding.p_value is not None or any(estimate.low < estimate.high for estimate in drawn)


def standing(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings of some risk that stand at 5 % in all, in their order."""
    luck = {place: by_luck(finding) for place, finding in enumerate(findings) if sampled(finding)}
    stands = {place for place in range(len(findings)) if place not in luck}
    for left, place in zip(range(len(luck), 0, -1), sorted(luck, key=luck.__getitem__), strict=True):
        if luck[place] > ALPHA / left:
            break
        stands.add(place)
    return tuple(findings[place] for place in sorted(stands) if findings[place].level is not Level.NOTHING)


def in_words(findings: Sequence[Finding]) -> str:
    """What the correction changes; empty where there is nothing to correct."""
    risks = [finding for finding in findings if finding.level is not Level.NOTHING]
    tried = sum(map(sampled, findings))
    if tried < 2 or not any(map(sampled, risks)):
        return ""
    opening = f"Corrected for {tried} attacks tried (Holm, 5\u00a0% in all)"
    firm = standing(findings)
    doubtful = [finding.attack for finding in risks if finding not in firm]
    if not doubtful:
        return f"{opening}, {'every finding stands' if len(risks) > 1 else 'the finding stands'}."
    if not firm:
        return f"{opening}, nothing found stands: it may be luck. More people or runs would tell."
    return f"{opening}, {', '.join(doubtful)} may be luck; the rest stands."
