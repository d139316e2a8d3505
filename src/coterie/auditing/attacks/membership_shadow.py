"""Membership inference with shadow releases and likelihood ratios (after Carlini et al., LiRA, 2022).

The attacker runs the public method on many random halves of a population like the real one, and learns for each person
how far the nearest released row is with them and without them. On the release under attack the ratio of the two normal
densities decides. Each person is tried on one release only, so that the trials are close to independent.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from coterie.auditing.attacks import Attack, Outcome, Subject
from coterie.auditing.attacks._nearest import nearest_rows
from coterie.auditing.attacks.evidence import (
    MethodEvidence,
    one_each,
    read_people,
    read_release,
    side_by_side,
    units_of,
)
from coterie.auditing.attacks.membership_distance import membership_finding
from coterie.schema.arrays import Flags, Floats

SHADOWS = 32
MOST_PEOPLE = 1000
MOST_TARGETS = 600
_FEWEST_PEOPLE = 200


def _run(evidence: MethodEvidence) -> Outcome:
    draws = evidence.draws(ATTACK.name)
    size = min(evidence.population.num_rows, max(MOST_PEOPLE, 4 * (evidence.k or 1)))
    if size < max(_FEWEST_PEOPLE, 4 * (evidence.k or 1)):
        return ATTACK.not_run("the population is too small to be halved again and again")
    chosen = np.sort(draws.choice(evidence.population.num_rows, size, replace=False))
    people = evidence.population.take(pa.array(chosen))
    inside = np.zeros((SHADOWS, size), dtype=np.bool_)
    everyone = read_people(people, evidence.schema)
    if everyone.records != size:
        return ATTACK.not_run("the schema drops rows, so halves would differ in size")
    of_row = units_of(people, evidence.schema)  # a whole unit is in a half, or outside it
    units = int(of_row.max()) + 1
    targets = one_each(of_row, size, draws, MOST_TARGETS)
    distance = np.empty((SHADOWS, len(targets)))
    for shadow in range(SHADOWS):
        evidence.clock.check()
        members = np.flatnonzero(np.isin(of_row, draws.permutation(units)[: units // 2]))
        inside[shadow, members] = True
        half = people.take(pa.array(np.sort(members)))
        released = read_release(evidence.releases(half)(50_000 + shadow), evidence.schema)
        attributes = side_by_side(everyone, released, None, evidence.schema)
        values = [attribute.original[targets] for attribute in attributes]
        distance[shadow] = nearest_rows(attributes, values, evidence.clock).distance
    ratios = _likelihood_ratios(np.log(distance + 1e-9), inside[:, targets], draws)
    attacked = draws.integers(0, SHADOWS, len(targets))
    scores = ratios[attacked, np.arange(len(targets))]
    member = inside[attacked, targets]
    return membership_finding(ATTACK, scores[member], scores[~member])


def _likelihood_ratios(distance: Floats, inside: Flags, draws: np.random.Generator) -> Floats:
    """For each release and person, from all other releases: log density with the person minus log density without."""
    ratios = np.empty_like(distance)
    for shadow in range(len(distance)):
        others = np.arange(len(distance)) != shadow
        means, spreads = [], []
        for side in (inside[others], ~inside[others]):
            count = np.maximum(side.sum(axis=0), 1)
            mean = np.sum(distance[others] * side, axis=0) / count
            variance = np.sum((distance[others] - mean) ** 2 * side, axis=0) / count
            means.append(mean)
            # A few releases give a rough variance: halfway to the average one.
            spreads.append(np.sqrt((variance + variance.mean()) / 2 + 1e-12))
        away = [
            ((distance[shadow] - mean) / spread) ** 2 / 2 + np.log(spread)
            for mean, spread in zip(means, spreads, strict=True)
        ]
        ratios[shadow] = away[1] - away[0]
    return ratios


ATTACK = Attack(
    name="membership-shadow",
    title="Membership by shadow releases",
    subject=Subject.METHOD,
    story="Someone who knows the method rehearses it on people of the same population, with and without the person, and "
    "compares the real release with both rehearsals.",
    inputs=(
        "the person's values",
        "the method and its parameters",
        "people of the same population",
        "the release",
    ),
    statistic="area under the curve (0.5 is blind)",
    baseline="0.5: members and strangers cannot be told apart",
    cost=f"{SHADOWS} releases of half a population",
    run=_run,
    rank=40,
)
