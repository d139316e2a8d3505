"""Tie linkage against the method as Sánchez et al. 2016 publishes it: noise may leave the domain, so every group keeps
a value of its own.

Coterie cuts released values at the domain's ends. At a small ε most groups then fall on the same two values and ties say
little. That is luck of the cut, not protection by the noise, and this attack shows the difference.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from coterie.auditing.attacks._unclipped import can_be_unclipped, release_unclipped
from coterie.auditing.attacks.attack import Outcome, Subject
from coterie.auditing.attacks.evidence import (
    MethodEvidence,
    ReleaseEvidence,
    hidden_order,
    read_people,
    read_release,
    side_by_side,
)
from coterie.auditing.attacks.finding import NotRun
from coterie.auditing.attacks.tie_linkage import ATTACK as TIE_LINKAGE
from coterie.methods import get_method
from coterie.schema.exact import parse_epsilon

NAME = "tie-linkage-uncut"


def _run(evidence: MethodEvidence) -> Outcome:
    schema = evidence.schema
    if not can_be_unclipped(evidence.method, schema):
        return NotRun(NAME, "the method does more than put Laplace noise on numbers")
    released = release_unclipped(
        evidence.population,
        schema,
        method=evidence.method,
        epsilon=parse_epsilon(evidence.epsilon),
        k=evidence.k,
        seed=evidence.seed,
    )
    people = read_people(evidence.population, schema)
    seen = side_by_side(people, read_release(released, schema), None, schema)
    draws = evidence.draws(NAME)
    attributes, truth = hidden_order(seen, np.arange(people.records), draws)
    k = get_method(evidence.method).fixed_k or evidence.k
    outcome = TIE_LINKAGE.run(
        ReleaseEvidence(attributes, truth, evidence.known, k, evidence.seed, evidence.clock)
    )
    return replace(outcome, attack=NAME)


ATTACK = replace(
    TIE_LINKAGE,
    name=NAME,
    title="Tie linkage, noise not cut",
    subject=Subject.METHOD,
    story=f"{TIE_LINKAGE.story} Here noise may leave the domain, as the paper has it, so that no two groups are cut to one "
    "value.",
    run=_run,
    rank=5,
)
