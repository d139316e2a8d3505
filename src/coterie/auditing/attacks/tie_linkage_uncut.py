"""Tie linkage against the method as Sánchez et al. 2016 publishes it: noise may leave the domain, so every group keeps
a value of its own.

Coterie cuts released values at the domain's ends (Soria-Comas et al., §4.1 does too). At a small ε most groups then fall
on the same two values and ties say little. That is luck of the cut, not protection by the noise, and this attack shows the
difference.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from coterie.auditing.attacks import Outcome, Subject
from coterie.auditing.attacks.evidence import (
    MethodEvidence,
    ReleaseEvidence,
    hidden_order,
    read_people,
    read_release,
    side_by_side,
)
from coterie.auditing.attacks.tie_linkage import ATTACK as TIE_LINKAGE
from coterie.methods import get_method
from coterie.methods.recipe import Method
from coterie.publication.protect import protect
from coterie.schema.attributes import Schema


def can_be_unclipped(method: str | Method, schema: Schema) -> bool:
    """Whether the method is Laplace noise on group values that go back on their rows, and all attributes are numbers."""
    recipe = get_method(method)
    numbers = all(attribute.type.ranged and attribute.domain for attribute in schema.protected)
    return recipe.numeric.adds_laplace and not recipe.synthetic and numbers


def _run(evidence: MethodEvidence) -> Outcome:
    schema = evidence.schema
    if not can_be_unclipped(evidence.method, schema):
        return ATTACK.not_run("the method does more than put Laplace noise on numbers")
    released = protect(
        evidence.population,
        schema,
        method=evidence.method,
        epsilon=evidence.epsilon,
        k=evidence.k,
        seed=evidence.seed,
        clip=False,
    ).table
    people = read_people(evidence.population, schema)
    seen = side_by_side(people, read_release(released, schema), None, schema)
    draws = evidence.draws(ATTACK.name)
    attributes, truth = hidden_order(seen, np.arange(people.records), draws)
    k = get_method(evidence.method).fixed_k or evidence.k
    outcome = TIE_LINKAGE.run(
        ReleaseEvidence(
            attributes, truth, evidence.known, k, evidence.seed, evidence.clock, columns=people.columns
        )
    )
    return replace(outcome, attack=ATTACK.name)


ATTACK = replace(
    TIE_LINKAGE,
    name="tie-linkage-uncut",
    title="Tie linkage, noise not cut",
    subject=Subject.METHOD,
    story=f"{TIE_LINKAGE.story} Here noise may leave the domain, as the paper has it, so that no two groups are cut to one "
    "value.",
    run=_run,
    rank=5,
)
