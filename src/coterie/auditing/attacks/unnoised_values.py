"""Zero-noise groups in a release: rows that share a value, and that value is exactly the mean of their true values.

Noise made for a group's own spread is 0 where all members are equal (Soria-Comas et al., Prop. 3), so such values go
out as they are. By chance a value with noise can round to the true mean too: it then misses it by one step just as often.
"""

from __future__ import annotations

import numpy as np

from coterie.auditing.attacks import Attack, Outcome, Subject
from coterie.auditing.attacks.evidence import ReleaseEvidence, Seen
from coterie.auditing.attacks.finding import Estimate, Measured, percent, proportion, worst_of
from coterie.schema.arrays import Whole


def _run(evidence: ReleaseEvidence) -> Outcome:
    attributes = [a for a in evidence.attributes if a.protected and a.is_number]
    if not attributes:
        return ATTACK.not_run("no protected attribute is a number")
    worst = worst_of({attribute.name: _shares(attribute, evidence.places) for attribute in attributes})
    return ATTACK.found_worst(
        worst,
        f"{worst.attribute}: {worst.words} of the released values are exactly the mean "
        f"of the people who share them; {percent(worst.baseline.value)} would be by chance.",
        worst.values("without noise in"),
    )


def _shares(attribute: Seen, truth: Whole) -> Measured:
    """Values released exactly, and those that chance makes so. Without a step, it hits the mean with probability 0."""
    hits, misses, groups = _counts(attribute, truth)
    return lambda confidence: (
        proportion(hits, groups, confidence),
        proportion(misses, groups, confidence) if attribute.step is not None else Estimate.exact(0.0),
    )


def _counts(attribute: Seen, truth: Whole) -> tuple[int, int, int]:
    """Groups released exactly; groups one step off, both sides averaged; all groups."""
    values, group = np.unique(attribute.released[truth], return_inverse=True)
    means = np.bincount(group, weights=attribute.original) / np.bincount(group)
    if attribute.step is None:
        return int(np.sum(np.abs(values - means) <= 1e-9 * attribute.width)), 0, len(values)
    steps = np.rint((values - means) / attribute.step)
    return int(np.sum(steps == 0)), int(np.ceil(np.sum(np.abs(steps) == 1) / 2)), len(values)


ATTACK = Attack(
    name="unnoised-values",
    title="Values without noise",
    subject=Subject.RELEASE,
    story="Someone who knows the method looks for groups of equal true values, which get no noise: their value is "
    "published as it is.",
    inputs=("the method, which is public", "the released rows"),
    statistic="share of released values that carry no noise (worst attribute)",
    baseline="values one step off, which noise makes as likely",
    cost="sorting each attribute",
    run=_run,
    rank=12,
    needs_order=True,
    personal=False,
)
