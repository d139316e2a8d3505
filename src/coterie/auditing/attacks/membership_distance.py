"""Membership inference by the distance to the closest record: members lie nearer to some released row than strangers do."""

from __future__ import annotations

from coterie.auditing.attacks import Attack, Outcome, Subject
from coterie.auditing.attacks._nearest import affordable, nearest_rows
from coterie.auditing.attacks.evidence import ReleaseEvidence
from coterie.auditing.attacks.finding import (
    FEWEST_TRIALS,
    Details,
    Estimate,
    Finding,
    Unit,
    area_under_curve,
    graded,
    true_positives_at,
)
from coterie.schema.arrays import Floats

MOST_TARGETS = 2000
FALSE_POSITIVES = 0.01


def _run(evidence: ReleaseEvidence) -> Outcome:
    if not evidence.others:
        return ATTACK.not_run("there is no control group: nobody is known not to be in the release")
    count = min(evidence.trials, evidence.other_trials, affordable(MOST_TARGETS, 2 * evidence.rows))
    if count < FEWEST_TRIALS:
        return ATTACK.not_run("too few people on one side for any interval")
    draws = evidence.draws(ATTACK.name)
    people = evidence.targets(draws, count)
    others = evidence.strangers(draws, count)
    inside = [attribute.original[people] for attribute in evidence.attributes]
    outside = [attribute.others[others] for attribute in evidence.attributes]
    members = -nearest_rows(evidence.attributes, inside, evidence.clock).distance
    evidence.clock.check()
    strangers = -nearest_rows(evidence.attributes, outside, evidence.clock).distance
    if min(len(members), len(strangers)) < FEWEST_TRIALS:
        return ATTACK.not_run("the time was up before enough people were tried")
    return membership_finding(ATTACK, members, strangers)


def membership_finding(attack: Attack, inside: Floats, outside: Floats) -> Finding:
    """AUC, and how many members are found when one stranger in a hundred may be accused."""
    area, half = area_under_curve(inside, outside), Estimate.exact(0.5)
    details: Details = {"members": len(inside), "strangers": len(outside)}
    words = (
        f"A member looks more like a member than a stranger does with probability {area.value:.2f} "
        f"(95 % interval {area.low:.2f} to {area.high:.2f}; 0.50 is blind)."
    )
    if len(outside) * FALSE_POSITIVES >= 1:
        found = true_positives_at(inside, outside, FALSE_POSITIVES)
        details = {
            **details,
            "members found at 1 % false alarms": found.value,
            "lower end of that": found.low,
            "upper end of that": found.high,
        }
        words += f" At 1 % false alarms {100 * found.value:.1f} % of members are found."
    return attack.found(area, half, graded(area, half), words, details, unit=Unit.AREA)


ATTACK = Attack(
    name="membership-distance",
    title="Membership by distance",
    subject=Subject.RELEASE,
    story="Being in the table is itself a secret (patients of a clinic). Someone holds a person's values and calls them a "
    "member if some released row is unusually near.",
    inputs=("the person's values", "the released rows"),
    statistic="area under the curve (0.5 is blind)",
    baseline="0.5: members and strangers cannot be told apart",
    cost="targets × rows × attributes; at most 2,000 targets on each side",
    run=_run,
    rank=40,
    needs_control=True,
)
