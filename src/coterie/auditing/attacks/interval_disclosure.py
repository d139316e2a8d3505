"""Interval disclosure: whose true value lies close around the released one (Domingo-Ferrer and Torra 2001, by rank).

The attacker has found a person's row and claims that the true value lies among the 5 % of released values nearest in rank.
"""

from __future__ import annotations

import numpy as np

from coterie.auditing.attacks import Attack, Outcome, Subject
from coterie.auditing.attacks.evidence import ReleaseEvidence, Seen, nearest_in_rank
from coterie.auditing.attacks.finding import FEWEST_TRIALS, beyond_control, percent, worst_of
from coterie.schema.arrays import Whole

MOST_TARGETS = 20_000


def _run(evidence: ReleaseEvidence) -> Outcome:
    if evidence.trials < FEWEST_TRIALS:
        return ATTACK.not_run(f"{evidence.trials} people are too few for any interval")
    attributes = [attribute for attribute in evidence.attributes if attribute.protected]
    draws = evidence.draws(ATTACK.name)
    people = evidence.targets(draws, MOST_TARGETS)
    tried = len(people)
    rows = evidence.places[people], draws.choice(evidence.rows, tried)  # their own, and strangers'
    hits = {a.name: [_inside(a, people, those) for those in rows] for a in attributes}
    worst = worst_of(
        {name: beyond_control(own, tried, chance, tried) for name, (own, chance) in hits.items()}
    )
    own, chance = (count / tried for count in hits[worst.name])
    return ATTACK.found_worst(
        worst,
        f"{worst.attribute}: the true value lies in the narrow interval around the released one for {percent(own)} of "
        f"people, around a stranger's for {percent(chance)}: a risk of {worst.words}.",
        worst.values("risk for"),
    )


def _inside(attribute: Seen, people: Whole, rows: Whole) -> int:
    """Count the people whose true value lies in the interval around that of a row."""
    values, released = attribute.original[people], attribute.released[rows]
    if not attribute.is_number:
        return int((values == released).sum())
    low, high = nearest_in_rank(np.sort(attribute.released), released)
    return int(((low <= values) & (values <= high)).sum())


ATTACK = Attack(
    name="interval-disclosure",
    title="Interval disclosure",
    subject=Subject.RELEASE,
    story="Someone knows which row is a person's and claims that the true value is among the 5 % of released values "
    "around it.",
    inputs=("which row is the person's", "the released rows"),
    statistic="share of values inside the interval beyond chance (worst attribute)",
    baseline="the same interval around a stranger's row",
    cost="sorting each attribute; at most 20,000 targets",
    run=_run,
    rank=15,
    needs_order=True,
)
