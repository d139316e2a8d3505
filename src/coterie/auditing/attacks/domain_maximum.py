"""The maximum behind the bound: noise is cut at the domain's upper end, so the largest released value is that end.

If the end was taken from the data (the papers' experiments use 1.5 times the maximum, Soria-Comas et al., §4.1),
dividing by the factor gives one person's exact value. A bound that is public knowledge gives nothing away, also when
somebody reaches it, or when one of several factors happens to fit: ages of at most 100 under a bound of 120 are 1.2
times apart by luck.
"""

from __future__ import annotations

import math

import numpy as np

from coterie.auditing.attacks import Attack, Outcome, Subject
from coterie.auditing.attacks.evidence import ReleaseEvidence, Seen
from coterie.auditing.attacks.finding import CONFIDENCE, Estimate, Level, percent
from coterie.schema.arrays import Floats

FACTORS = (1.0, 1.05, 1.1, 1.2, 1.25, 1.5, 2.0, 3.0, 10.0)  # what people multiply a maximum by
_TOP = 20  # largest values, from which the spread of maxima is estimated


def _run(evidence: ReleaseEvidence) -> Outcome:
    numbers = [a for a in evidence.attributes if a.protected and a.is_number]
    if not numbers:
        return ATTACK.not_run("no protected attribute is a number")
    factors = {a.name: _factor(a, a.original) for a in numbers}
    luck = {a.name: _luck(a) for a in numbers if factors[a.name] is not None}
    # The attributes are looked at together: 5 % for all of them.
    names = [name for name, chance in luck.items() if chance * len(numbers) <= 1 - CONFIDENCE]
    doubtful = [name for name in luck if name not in names]
    others = sum(a.control is not None and _factor(a, a.control) is not None for a in numbers)
    share = Estimate.exact(len(names) / len(numbers), len(numbers))
    words = "No bound in the release gives away the largest true value."
    if names:
        words = (
            f"The largest released value gives away the largest true value of {', '.join(names)} exactly: the bound was a "
            "multiple of it."
        )
    if doubtful:
        words += (
            f" A usual factor fits {', '.join(doubtful)}, but with so few possible values one may by luck "
            f"(up to {percent(max(luck[name] for name in doubtful))})."
        )
    known = any(a.bounds_from_data for a in numbers if a.name in names)
    return ATTACK.found(
        share,
        Estimate.exact(others / len(numbers), len(numbers)),
        Level.SEVERE if names else Level.NOTHING,
        words,
        {f"factor for {name}": factor for name, factor in factors.items() if factor is not None},
        looked_at=len(numbers),
        p_value=None if known else min(len(numbers) * min(luck.values(), default=1.0), 1.0),
    )


def _luck(attribute: Seen) -> float:
    """Upper limit for the probability that a bound unrelated to the largest value is one of the factors times it.

    The largest of many values follows Gumbel's law where their tail falls off like exp(-x/β): its density is at most
    1/(eβ). β is the mean distance of the top values from the lowest of them.
    """
    if attribute.bounds_from_data:
        return 0.0
    values = np.unique(attribute.original)
    if len(values) == 1:  # all are alike: no tail, but the rounded mean of decimals would leave one
        return 1.0
    top = np.sort(attribute.original)[-_TOP:]
    tail = float(top.mean() - top[0])
    if tail <= 0:
        return 1.0
    grain = attribute.step or float(np.diff(values).min())
    return min((len(FACTORS) - 1) * grain / (math.e * tail), 1.0)


def _factor(attribute: Seen, people: Floats) -> float | None:
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
    name="domain-maximum",
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
