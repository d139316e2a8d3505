"""exact-values: how many people have their own number in the row that stands for them."""

from __future__ import annotations

import numpy as np

from coterie.extend import Attack, Estimate, Finding, Level, NotRun, ReleaseEvidence, Subject, percent

NAME = "exact-values"


def _run(evidence: ReleaseEvidence) -> Finding | NotRun:
    numbers = [a for a in evidence.attributes if a.protected and a.is_number]
    if evidence.truth is None or not numbers:
        return NotRun(NAME, "no row is known to stand for a person, or no protected attribute is a number")
    found = {a.name: float(np.mean(a.released[evidence.truth] == a.original)) for a in numbers}
    worst = max(found, key=lambda name: found[name])
    return Finding(
        NAME,
        ATTACK.statistic,
        Estimate.exact(found[worst], evidence.people),
        Estimate.exact(0.0),
        ATTACK.baseline,
        Level.SEVERE if found[worst] > 0.1 else Level.NOTHING,
        f"{worst}: {percent(found[worst])} of the people find their own number in their row.",
        {f"exact in {name}": share for name, share in found.items()},
    )


ATTACK = Attack(
    name=NAME,
    title="Exact values",
    subject=Subject.RELEASE,
    story="Somebody who knows which row is theirs looks whether their own number stands there.",
    inputs=("their own row",),
    statistic="share of people whose number was released as it is (worst attribute)",
    baseline="none",
    cost="one comparison per value",
    run=_run,
    rank=90,
)
