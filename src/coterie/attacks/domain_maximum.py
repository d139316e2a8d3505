"""The maximum behind the bound: noise is cut at the domain's upper end, so the largest released value is that end.

If the end was taken from the data (the papers' experiments use 1.5 times the maximum, 000 §4.1), dividing by the factor
gives one person's exact value. A bound that is public knowledge gives nothing away, also when somebody reaches it.
"""

from __future__ import annotations

from coterie.attacks.attack import Attack, Outcome, Subject
from coterie.attacks.evidence import ReleaseEvidence, Seen, Values
from coterie.attacks.finding import Finding, Level, NotRun
from coterie.attacks.intervals import Estimate

NAME = "domain-maximum"
FACTORS = (1.0, 1.05, 1.1, 1.2, 1.25, 1.5, 2.0, 3.0, 10.0)  # what people multiply a maximum by


def _run(evidence: ReleaseEvidence) -> Outcome:
    numbers = [a for a in evidence.attributes if a.protected and a.is_number]
    if not numbers:
        return NotRun(NAME, "no protected attribute is a number")
    leaking = {a.name: _factor(a, a.original) for a in numbers}
    names = [name for name, factor in leaking.items() if factor is not None]
    others = sum(a.control is not None and _factor(a, a.control) is not None for a in numbers)
    share = Estimate.exact(len(names) / len(numbers), len(numbers))
    words = "No bound in the release gives away the largest true value."
    if names:
        words = (
            f"The largest released value gives away the largest true value of {', '.join(names)} exactly: the bound was a "
            "multiple of it."
        )
    return Finding(
        NAME,
        ATTACK.statistic,
        share,
        Estimate.exact(others / len(numbers), len(numbers)),
        ATTACK.baseline,
        Level.SEVERE if names else Level.NOTHING,
        words,
        {f"factor for {name}": factor for name, factor in leaking.items() if factor is not None},
    )


def _factor(attribute: Seen, people: Values) -> float | None:
    """The factor by which the largest released value exceeds the largest true one, if it is one that people use."""
    largest, visible = float(people.max()), float(attribute.released.max())
    if largest <= 0 or abs(visible - attribute.upper) > 1e-9 * attribute.width:
        return None  # the bound itself is not visible
    for factor in FACTORS:
        if factor == 1 and not attribute.bounds_from_data:
            continue  # somebody reaches a public bound: no news
        if abs(visible - factor * largest) <= 1e-9 * largest:
            return factor
    return None


ATTACK = Attack(
    name=NAME,
    title="Maximum behind the bound",
    subject=Subject.RELEASE,
    story="Someone divides the largest released value by 1.5 and other usual factors, because the bound may have been "
    "computed from the largest true value.",
    inputs=("the released rows",),
    statistic="share of numeric attributes whose largest true value is given away",
    baseline="the same guesses against the largest value of the control group",
    cost="one look at each attribute",
    run=_run,
    rank=14,
    personal=False,
)
