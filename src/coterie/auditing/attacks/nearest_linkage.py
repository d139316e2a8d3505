"""Nearest-neighbour record linkage.

The attacker holds the true values of people in the table, perhaps from another register, and takes for each person the
released row that is nearest. Two yardsticks are tried, the public domain widths and the spread of what the attacker
holds; the better one counts, and its interval is widened for the choice.
"""

from __future__ import annotations

import numpy as np

from coterie.auditing.attacks import Attack, Outcome, Subject
from coterie.auditing.attacks._nearest import Yardstick, affordable, nearest_rows
from coterie.auditing.attacks.evidence import ReleaseEvidence
from coterie.auditing.attacks.finding import (
    FEWEST_TRIALS,
    Estimate,
    Measured,
    percent,
    share_against,
    worst_of,
)

YARDSTICKS: tuple[Yardstick, ...] = ("domain", "spread")
MOST_TARGETS = 5000


def _run(evidence: ReleaseEvidence) -> Outcome:
    if evidence.trials < FEWEST_TRIALS:
        return ATTACK.not_run(f"{evidence.trials} people are too few for any interval")
    count = affordable(min(evidence.trials, MOST_TARGETS), len(YARDSTICKS) * evidence.rows)
    people = evidence.targets(evidence.draws(ATTACK.name), count)
    targets = [attribute.original[people] for attribute in evidence.attributes]
    chance = Estimate.exact(1 / evidence.rows)
    found: dict[str, Measured] = {}
    for yardstick in YARDSTICKS:
        nearest = nearest_rows(evidence.attributes, targets, evidence.clock, yardstick)
        tried = len(nearest.row)
        hits = int(np.sum(nearest.row == evidence.places[people[:tried]]))
        found[yardstick] = share_against(chance, hits, tried)
        if evidence.clock.up:
            break
    best = worst_of(found)
    if best.estimate.trials < FEWEST_TRIALS:
        return ATTACK.not_run("the time was up before enough people were tried")
    return ATTACK.found_worst(
        best,
        f"The nearest released row is the person's own for {best.words} of people; "
        f"a blind guess would be right for {percent(chance.value)}.",
        {"yardstick": best.name, **best.values("linked by")},
    )


ATTACK = Attack(
    name="nearest-linkage",
    title="Nearest-neighbour linkage",
    subject=Subject.RELEASE,
    story="Someone holds a person's true values from another source and takes the released row nearest to them.",
    inputs=("the original values of the people to find", "the released rows, in any order"),
    statistic="share of people linked to their own row",
    baseline="a blind guess: one in the number of rows",
    cost="targets × rows × attributes; at most 5,000 targets, fewer on large tables",
    run=_run,
    rank=20,
    needs_order=True,
)
