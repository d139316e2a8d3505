"""Singling out: from the release alone, describe somebody so narrowly that exactly one person fits.

Two styles of description are tried. The style that finds more counts, and its interval is widened for the choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coterie.auditing.attacks import Attack, Clock, Outcome, Subject
from coterie.auditing.attacks.evidence import ReleaseEvidence, Seen, nearest_in_rank
from coterie.auditing.attacks.finding import (
    FEWEST_TRIALS,
    Estimate,
    over_control,
    percent,
    proportion,
    worst_of,
)
from coterie.schema.arrays import Flags, Floats, Whole

# Descriptions of people, taken from released rows and a few attributes, in two styles.
#
# *Tails*: at least or at most the released number, on the side away from the median, or the same label, as Giomi et al.
# (Anonymeter, 2023) do. *Boxes*: the 5 % of released values around the released number.

STYLES = ("tails", "boxes")
MOST_DESCRIPTIONS = 500
MOST_ATTRIBUTES = 4

Description = tuple[tuple[int, float, float], ...]  # attribute, from, to


def descriptions_of(
    attributes: Sequence[Seen], released: Sequence[Floats], style: str, draws: np.random.Generator
) -> list[Description]:
    count = len(released)
    ordered = [np.sort(values) for values in released]
    rows: Whole = draws.integers(0, len(released[0]), MOST_DESCRIPTIONS)
    found = set()
    for row in rows:
        size = int(draws.integers(min(2, count), min(MOST_ATTRIBUTES, count) + 1))
        places = np.sort(draws.choice(count, size, replace=False)).tolist()
        parts = []
        for place in places:
            value = float(released[place][row])
            number = attributes[place].is_number
            parts.append((place, *(_range(value, ordered[place], style) if number else (value, value))))
        found.add(tuple(parts))
    return sorted(found)


def _range(value: float, ordered: Floats, style: str) -> tuple[float, float]:
    if style == "tails":
        return (value, np.inf) if value > ordered[len(ordered) // 2] else (-np.inf, value)
    low, high = nearest_in_rank(ordered, value)
    return float(low), float(high)


def who_fits(description: Description, people: Sequence[Floats], clock: Clock) -> Whole:
    clock.check()
    fits = np.ones(len(people[0]), dtype=np.bool_)
    for place, low, high in description:
        fits &= (low <= people[place]) & (people[place] <= high)
    return np.flatnonzero(fits)


MOST_PEOPLE = 20_000

_DEALS = 100
_MIXES = 5


def _run(evidence: ReleaseEvidence) -> Outcome:
    if evidence.trials < FEWEST_TRIALS or 0 < evidence.other_trials < FEWEST_TRIALS:
        return ATTACK.not_run("too few people for any interval")
    draws = evidence.draws(ATTACK.name)
    # Whether one person fits depends on how many there are: both groups must be of one size.
    size = min(evidence.trials, MOST_PEOPLE, evidence.other_trials or evidence.trials)
    people = evidence.targets(draws, size)
    inside = [attribute.original[people] for attribute in evidence.attributes]
    # Where only some people are looked at, only their rows are described.
    rows = np.arange(evidence.rows) if evidence.truth is None else evidence.truth[people]
    released = [attribute.released[rows] for attribute in evidence.attributes]
    found: dict[str, _Fits] = {}
    for style in STYLES:
        descriptions = descriptions_of(evidence.attributes, released, style, draws)
        if evidence.others:
            others = evidence.strangers(draws, size)
            outside = [attribute.others[others] for attribute in evidence.attributes]
            found[style] = _against_control(descriptions, inside, outside, evidence.clock, draws)
        else:
            mixes = [[draws.permutation(values) for values in released] for _ in range(_MIXES)]
            mixed = [descriptions_of(evidence.attributes, mix, style, draws) for mix in mixes]
            found[style] = _against_mixed_rows(descriptions, mixed, inside, evidence.clock)
    found = {style: fits for style, fits in found.items() if fits.trials >= FEWEST_TRIALS}
    if not found:
        return ATTACK.not_run("the release gives too few different descriptions")
    worst = worst_of({style: fits.risk for style, fits in found.items()})
    fits = found[worst.name]
    return ATTACK.found_worst(
        worst,
        f"{percent(fits.hits / fits.trials)} of descriptions taken from the release ({worst.name}) fit exactly one person "
        f"in it; {percent(fits.control_hits / fits.control_trials)} do so by chance: a risk of "
        f"{worst.words}.",
        {"style": worst.name, **worst.risks("by")},
    )


@dataclass(frozen=True, slots=True)
class _Fits:
    """How many descriptions fit one person, and by how much such a count differs from the control's by luck.

    `spread` is a standard deviation found from `draws` repetitions.
    """

    hits: int
    trials: int
    control_hits: int
    control_trials: int
    spread: float
    draws: int

    def risk(self, confidence: float) -> tuple[Estimate, Estimate]:
        """Risk over control, with an interval at least as wide as the repetitions show it must be (Student's t)."""
        from scipy.special import stdtrit  # here: commands that only show risks start without it

        control = proportion(self.control_hits, self.control_trials, confidence)
        risk = over_control(proportion(self.hits, self.trials, confidence), control)
        half = (
            float(stdtrit(self.draws - 1, (1 + confidence) / 2)) * self.spread / max(1 - control.value, 1e-9)
        )
        low, high = min(risk.low, risk.value - half), max(risk.high, risk.value + half)
        return Estimate(risk.value, low, min(high, 1.0), risk.trials), Estimate.exact(0.0)


def _against_control(
    descriptions: Sequence[Description],
    inside: Sequence[Floats],
    outside: Sequence[Floats],
    clock: Clock,
    draws: np.random.Generator,
) -> _Fits:
    """Fits in both groups, and by how much they would differ if the groups were dealt out anew (standard deviation).

    Descriptions overlap, so their outcomes are not independent; dealing anew keeps that dependence.
    """
    pool = [np.concatenate(pair) for pair in zip(inside, outside, strict=True)]
    fitting = [who_fits(description, pool, clock) for description in descriptions]
    owner = np.repeat(np.arange(len(fitting)), [len(who) for who in fitting])
    who = np.concatenate(fitting)
    size = len(inside[0])

    def ones(member: Flags) -> int:
        return int(np.sum(np.bincount(owner, weights=member[who], minlength=len(fitting)) == 1))

    def both(order: Whole) -> tuple[int, int]:
        member = np.zeros(2 * size, dtype=np.bool_)
        member[order[:size]] = True
        return ones(member), ones(~member)

    hits, control = both(np.arange(2 * size))
    dealt = [both(draws.permutation(2 * size)) for _ in range(_DEALS)]
    spread = float(np.std([(one - other) / len(fitting) for one, other in dealt], ddof=1))
    return _Fits(hits, len(fitting), control, len(fitting), spread, _DEALS)


def _against_mixed_rows(
    descriptions: Sequence[Description],
    mixed: Sequence[Sequence[Description]],
    inside: Sequence[Floats],
    clock: Clock,
) -> _Fits:
    """Fits of real and of mixed descriptions, and how much one mixture differs from the mean of the others."""
    hits = sum(len(who_fits(description, inside, clock)) == 1 for description in descriptions)
    rates = [np.mean([len(who_fits(one, inside, clock)) == 1 for one in mix]) for mix in mixed]
    trials = sum(len(mix) for mix in mixed)
    spread = float(np.std(rates, ddof=1)) * (1 + 1 / len(mixed)) ** 0.5
    return _Fits(hits, len(descriptions), round(float(np.mean(rates)) * trials), trials, spread, len(mixed))


ATTACK = Attack(
    name="singling-out",
    title="Singling out",
    subject=Subject.RELEASE,
    story="Someone has nothing but the release and writes a description that exactly one person of the original fits.",
    inputs=("the released rows",),
    statistic="share of descriptions that fit one person, beyond the baseline",
    baseline="the same descriptions on people who are not in the release (or descriptions that mix different rows)",
    cost="descriptions × people; at most 500 descriptions in each style and 20,000 people",
    run=_run,
    rank=50,
    needs_control=True,
)
