"""Attribute inference: everything about a person is known but one attribute, which the nearest released row supplies.

Part of every success is general knowledge: it works as well on people who are not in the release. That part is measured on
a control group and taken off (Giomi et al., Anonymeter, 2023): only the rest is due to a person's being in the release.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from coterie.auditing.attacks import Attack, Outcome, Subject
from coterie.auditing.attacks._nearest import affordable, nearest_without_each
from coterie.auditing.attacks.evidence import ReleaseEvidence, Seen
from coterie.auditing.attacks.finding import FEWEST_TRIALS, beyond_control, percent, worst_of
from coterie.schema.arrays import Flags, Floats, Whole

MOST_TARGETS = 1000
TOLERANCE = 0.05  # a number counts as guessed within 5 % of the true value, as Anonymeter has it
_COARSE = 0.01  # dates: within 1 % of the domain


def _run(evidence: ReleaseEvidence) -> Outcome:
    attributes = evidence.attributes
    secrets = [place for place, attribute in enumerate(attributes) if attribute.protected]
    if len(attributes) < 2:
        return ATTACK.not_run("there is only one attribute: nothing is left to know the person by")
    if evidence.trials < FEWEST_TRIALS or 0 < evidence.other_trials < FEWEST_TRIALS:
        return ATTACK.not_run("too few people for any interval")
    draws = evidence.draws(ATTACK.name)
    most = affordable(MOST_TARGETS, evidence.rows)
    people = evidence.targets(draws, most)
    inside = _guesses(evidence, [a.original[people] for a in attributes], secrets)
    if evidence.others:
        others = evidence.strangers(draws, most)
        outside = _guesses(evidence, [a.others[others] for a in attributes], secrets)
    else:
        outside = {s: _constant_guess(attributes[s], people) for s in secrets}
    counts = {attributes[s].name: (*inside[s], *outside[s]) for s in secrets}
    worst = worst_of({name: beyond_control(*four) for name, four in counts.items()})
    hits, trials, control_hits, control_trials = counts[worst.name]
    attack, control = hits / trials, control_hits / control_trials
    compared = "of people who are not in it" if evidence.others else "by always guessing the commonest value"
    gain = (
        "the release itself gives away"
        if evidence.others
        else "beyond that one guess, and with all that the release says about everybody, it gives away"
    )
    return ATTACK.found_worst(
        worst,
        f"{worst.attribute}: guessed for {percent(attack)} of the people in the release and {percent(control)} {compared}; "
        f"{gain} {worst.words}.",
        worst.risks("for"),
    )


def _guesses(
    evidence: ReleaseEvidence, targets: Sequence[Floats], secrets: Sequence[int]
) -> dict[int, tuple[int, int]]:
    """For each secret, how many were guessed, and how many tried."""
    rows = nearest_without_each(evidence.attributes, targets, secrets, evidence.clock)
    found = {}
    for secret in secrets:
        attribute, truth = evidence.attributes[secret], targets[secret]
        hits = guessed(attribute, attribute.released[rows[secret]], truth)
        found[secret] = int(hits.sum()), len(hits)
    return found


def guessed(attribute: Seen, guess: Floats, truth: Floats) -> Flags:
    if not attribute.is_number:
        return np.asarray(guess == truth)
    if attribute.relative:
        return np.asarray(np.abs(guess - truth) <= TOLERANCE * np.abs(truth))
    coarse = _COARSE * attribute.width
    return np.asarray(np.abs(guess - truth) <= (coarse if coarse >= (attribute.step or 0) else 0))


def _constant_guess(attribute: Seen, people: Whole) -> tuple[int, int]:
    """As `_guesses`, for one guess about everybody: the best of 200 values that the release suggests."""
    candidates = np.unique(np.quantile(attribute.released, np.linspace(0, 1, 200), method="nearest"))
    truth = attribute.original[people]
    seen = attribute.released[:: max(len(attribute.released) // 5000, 1)]
    best = max(candidates, key=lambda value: int(guessed(attribute, np.full(len(seen), value), seen).sum()))
    return int(guessed(attribute, np.full(len(truth), best), truth).sum()), len(truth)


ATTACK = Attack(
    name="attribute-inference",
    title="Attribute inference",
    subject=Subject.RELEASE,
    story="A colleague knows all but one attribute of a person, finds the released row nearest in those, and reads the "
    "missing one there.",
    inputs=("all other attributes of the person", "the released rows"),
    statistic="share of secrets guessed beyond the baseline (worst attribute)",
    baseline="the same guesses about people who are not in the release (or, without a control group, one constant guess)",
    cost="targets × rows × attributes; at most 1,000 targets on each side",
    run=_run,
    rank=30,
    needs_control=True,
)
