"""Tie linkage: match people to rows by which rows share values, never by the values themselves.

Noise changes what a group is called, not who is in it. So this attack works at every ε on releases that put noisy
centroids back on the rows (`dp-ir` and its kin), also when the rows are shuffled. Two attackers are tried: one holds the
original values, the other the file, whose order tells how equal values were ranked. The better counts, with an interval
widened for the choice.
"""

from __future__ import annotations

import numpy as np

from coterie.auditing.attacks import Attack, Outcome, Subject
from coterie.auditing.attacks._ties import UNKNOWN, match_by_ties, tie_patterns
from coterie.auditing.attacks.evidence import ReleaseEvidence, one_each
from coterie.auditing.attacks.finding import (
    FEWEST_TRIALS,
    Estimate,
    Level,
    Measured,
    percent,
    proportion,
    share_against,
    worst_of,
)

# What the attacker holds → whether it tells in which order equal values were ranked.
HOLDINGS = {"the original values": False, "the original file": True}


def _run(evidence: ReleaseEvidence) -> Outcome:
    if evidence.people < FEWEST_TRIALS:
        return ATTACK.not_run(f"{evidence.people} people are too few for any interval")
    draws = evidence.draws(ATTACK.name)
    chance = Estimate.exact(1 / evidence.rows)
    count = round(evidence.known * evidence.people)
    seeds = draws.choice(evidence.people, count, replace=False)
    others = np.setdiff1d(np.arange(evidence.people), seeds)
    if evidence.units is not None:
        # An attacker who knows one row of a household is tried on one row of each other household only.
        others = others[~np.isin(evidence.units[others], evidence.units[seeds])]
        others = others[one_each(evidence.units[others], len(others), draws, len(others))]
    if len(others) < FEWEST_TRIALS:
        return ATTACK.not_run("almost everybody's row is known already: nobody is left to find")
    details: dict[str, float | int | str] = {"people whose row is known": count}
    found: dict[str, Measured] = {}
    known = np.full(evidence.people, UNKNOWN, dtype=np.int64)
    known[seeds] = evidence.places[seeds]
    for holding, by_order in HOLDINGS.items():
        patterns = tie_patterns(evidence, by_order=by_order)
        if patterns and count:
            guesses = match_by_ties(patterns, known, evidence.clock, draws)
            hits = int(np.sum(guesses[others] == evidence.places[others]))
            found[holding] = share_against(chance, hits, len(others))
            details[f"linked by {holding}"] = hits / len(others)
    if not found:
        nobody = proportion(0, len(others))
        why = "no two rows share a value" if count else "nobody's row is known to start from"
        words = f"There is nothing to start from: {why}."
        return ATTACK.found(nobody, chance, Level.NOTHING, words, details)
    best = worst_of(found)
    return ATTACK.found_worst(
        best,
        f"Knowing the rows of {percent(evidence.known)} of people, an attacker who holds {best.name} finds the rows of "
        f"{best.words} of the others from shared values alone; "
        f"a blind guess would find {percent(chance.value)}.",
        details,
    )


ATTACK = Attack(
    name="tie-linkage",
    title="Tie linkage",
    subject=Subject.RELEASE,
    story="Someone holds the original values and knows the released rows of a few people (their own, friends', those of a "
    "public figure). They look only at which rows share values, and extend from the known rows to all others.",
    inputs=(
        "the original values, or the original file",
        "the rows of a share of people (`known`)",
        "k, which is public",
        "the released rows, in any order",
    ),
    statistic="share of the other people linked to their own row",
    baseline="a blind guess: one in the number of rows",
    cost="sorting each attribute, a few times",
    run=_run,
    rank=10,
    needs_order=True,
)
