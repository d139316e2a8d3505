"""Singling out: from the release alone, describe somebody so narrowly that exactly one person fits.

Descriptions are taken from released rows and a few attributes, in two styles. *Tails*: at least or at most the released
number, on the side away from the median, or the same label, as Giomi et al. (Anonymeter, 2023) do. *Boxes*: close
around the released number. The style that finds more counts, and its interval is widened for the choice.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from coterie.attacks.attack import Attack, Outcome, Subject
from coterie.attacks.clock import Clock
from coterie.attacks.evidence import ReleaseEvidence, Rows, Values
from coterie.attacks.finding import Finding, NotRun, graded, percent
from coterie.attacks.intervals import CONFIDENCE, FEWEST_TRIALS, Estimate, over_control, proportion

NAME = "singling-out"
MOST_DESCRIPTIONS = 1000
MOST_ATTRIBUTES = 4
MOST_PEOPLE = 20_000

STYLES = ("tails", "boxes")
WINDOW = 0.05  # a box spans 5 % of the released values

Description = tuple[tuple[int, float, float], ...]  # attribute, from, to


def _run(evidence: ReleaseEvidence) -> Outcome:
    if evidence.people < FEWEST_TRIALS or 0 < evidence.others < FEWEST_TRIALS:
        return NotRun(NAME, "too few people for any interval")
    draws = evidence.draws(NAME)
    # Whether one person fits depends on how many there are: both groups must be of one size.
    size = min(evidence.people, MOST_PEOPLE, evidence.others or evidence.people)
    people = draws.choice(evidence.people, size, replace=False)
    inside = [attribute.original[people] for attribute in evidence.attributes]
    released = [attribute.released for attribute in evidence.attributes]
    outside = []
    if evidence.others:
        others = draws.choice(evidence.others, size, replace=False)
        outside = [a.control[others] for a in evidence.attributes if a.control is not None]
    found: dict[str, tuple[Estimate, Estimate]] = {}
    for style in STYLES:
        descriptions = _descriptions(evidence, released, style, draws)
        hits = _singled_out(descriptions, inside, evidence.clock)
        if outside:
            control = _singled_out(descriptions, outside, evidence.clock)
        else:
            mixed = [draws.permutation(values) for values in released]  # attributes no longer belong together
            control = _singled_out(_descriptions(evidence, mixed, style, draws), inside, evidence.clock)
        if min(len(hits), len(control)) >= FEWEST_TRIALS:
            found[style] = _rate(hits), _rate(control)
    if not found:
        return NotRun(NAME, "the release gives too few different descriptions, or the time was up")
    risks = {style: over_control(*pair) for style, pair in found.items()}
    style = max(risks, key=lambda name: risks[name].low)
    (attack, baseline), nothing = found[style], Estimate.exact(0.0)
    return Finding(
        NAME,
        ATTACK.statistic,
        risks[style],
        nothing,
        ATTACK.baseline,
        graded(risks[style], nothing),
        f"{percent(attack.value)} of descriptions taken from the release ({style}) fit exactly one person in it; "
        f"{percent(baseline.value)} do so by chance.",
        {"style": style, **{f"{name} fit one person": pair[0].value for name, pair in found.items()}},
    )


def _rate(hits: NDArray[np.bool_]) -> Estimate:
    return proportion(int(hits.sum()), len(hits), 1 - (1 - CONFIDENCE) / len(STYLES))


def _descriptions(
    evidence: ReleaseEvidence, released: Sequence[Values], style: str, draws: np.random.Generator
) -> list[Description]:
    count = len(released)
    ordered = [np.sort(values) for values in released]
    rows: Rows = draws.integers(0, len(released[0]), MOST_DESCRIPTIONS)
    found = set()
    for row in rows:
        size = int(draws.integers(min(2, count), min(MOST_ATTRIBUTES, count) + 1))
        places = np.sort(draws.choice(count, size, replace=False)).tolist()
        parts = []
        for place in places:
            value = float(released[place][row])
            number = evidence.attributes[place].is_number
            parts.append((place, *(_range(value, ordered[place], style) if number else (value, value))))
        found.add(tuple(parts))
    return sorted(found)


def _range(value: float, ordered: Values, style: str) -> tuple[float, float]:
    if style == "tails":
        return (value, np.inf) if value > ordered[len(ordered) // 2] else (-np.inf, value)
    reach = max(round(WINDOW / 2 * len(ordered)), 1)
    low = max(int(np.searchsorted(ordered, value, "left")) - reach, 0)
    high = min(int(np.searchsorted(ordered, value, "right")) - 1 + reach, len(ordered) - 1)
    return float(ordered[low]), float(ordered[high])


def _singled_out(
    descriptions: Sequence[Description], people: Sequence[Values], clock: Clock
) -> NDArray[np.bool_]:
    hits = []
    for description in descriptions:
        fits = np.ones(len(people[0]), dtype=np.bool_)
        for place, low, high in description:
            fits &= (low <= people[place]) & (people[place] <= high)
        hits.append(np.count_nonzero(fits) == 1)
        if clock.up:
            break
    return np.array(hits, dtype=np.bool_)


ATTACK = Attack(
    name=NAME,
    title="Singling out",
    subject=Subject.RELEASE,
    story="Someone has nothing but the release and writes a description that exactly one person of the original fits.",
    inputs=("the released rows",),
    statistic="share of descriptions that fit one person, beyond chance",
    baseline="the same descriptions on people who are not in the release (or descriptions that mix different rows)",
    cost="descriptions × people; at most 1,000 descriptions and 20,000 people",
    run=_run,
    rank=50,
)
