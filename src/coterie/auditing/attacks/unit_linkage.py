"""Which released rows belong to one household? Guessed from the order of rows, and from values that members share.

One row is taken of each unit that has several, so that each unit is tried once. The attacker names one other row: the next
one of the release, or the one that agrees in the most attributes.
"""

from __future__ import annotations

import numpy as np

from coterie.auditing.attacks import Attack, Outcome, Subject
from coterie.auditing.attacks.evidence import ReleaseEvidence
from coterie.auditing.attacks.finding import (
    FEWEST_TRIALS,
    Estimate,
    Measured,
    percent,
    share_against,
    worst_of,
)
from coterie.schema.arrays import Whole

MOST_UNITS = 1000


def _run(evidence: ReleaseEvidence) -> Outcome:
    if evidence.units is None:
        return ATTACK.not_run("the schema names no unit, or its column is not in the original")
    assert evidence.published is not None  # as `truth` is
    draws = evidence.draws(ATTACK.name)
    sizes = np.bincount(evidence.units)
    people = evidence.targets(draws, evidence.people)
    targets = people[sizes[evidence.units[people]] > 1][:MOST_UNITS]
    if len(targets) < FEWEST_TRIALS:
        return ATTACK.not_run("too few units have several rows")
    chance = Estimate.exact(float(np.mean((sizes[evidence.units[targets]] - 1) / (evidence.people - 1))))
    guesses = {"the order of rows": _next_rows(evidence.published, targets)}
    guesses["values in common"] = _alike_rows(evidence, targets, draws)
    found: dict[str, Measured] = {}
    for name, guessed in guesses.items():
        hits = int(np.sum(evidence.units[guessed] == evidence.units[targets[: len(guessed)]]))
        found[name] = share_against(chance, hits, len(guessed))
    best = worst_of(found)
    return ATTACK.found_worst(
        best,
        f"From {best.name}, another row of the same unit is found for {best.words} of "
        f"units; a blind guess would be right for {percent(chance.value)}.",
        best.values("linked by"),
    )


def _next_rows(published: Whole, targets: Whole) -> Whole:
    """The people behind the row after each target's own; of the last row, the one before."""
    places = published[targets] + 1
    return np.argsort(published)[np.where(places < len(published), places, places - 2)]


def _alike_rows(evidence: ReleaseEvidence, targets: Whole, draws: np.random.Generator) -> Whole:
    """The people behind the row that agrees with each target's own in the most attributes; ties at random."""
    person, guessed = np.argsort(evidence.places), []
    for target in targets:
        row = evidence.places[target]
        agreed = draws.random(evidence.rows)  # below 1: only breaks ties
        for attribute in evidence.attributes:
            agreed += attribute.released == attribute.released[row]
        agreed[row] = -1.0
        guessed.append(person[int(np.argmax(agreed))])
        if evidence.clock.up and len(guessed) >= FEWEST_TRIALS:
            break
    return np.array(guessed, dtype=np.int64)


ATTACK = Attack(
    name="unit-linkage",
    title="Linking the rows of one unit",
    subject=Subject.RELEASE,
    story="Someone looks for rows of one household: rows that stand together, or that have values in common.",
    inputs=("the released rows, in the order in which they were published",),
    statistic="share of units of which two rows are linked",
    baseline="a blind guess: another row of the unit among all others",
    cost="units × rows × attributes; at most 1,000 units",
    run=_run,
    rank=25,
    needs_order=True,
    needs_unit=True,
)
