"""What a release is charged for: one Purpose for one request, recognised when the same request comes again."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from pathlib import Path

from coterie.errors import ParameterError
from coterie.ledger import Purpose, without_credentials
from coterie.methods.recipe import Method
from coterie.schema import Schema


def purpose_of(
    recipe: Method, epsilon: Fraction, schema: Schema, *, population: str, target: str, fingerprint: str
) -> Purpose:
    """`target` is `Destination.shown`. The status follows from the release, and is filled in when there is one."""
    if not recipe.adds_noise:
        raise ParameterError(
            f"Method '{recipe.name}' adds no noise: no epsilon describes it, so no ledger can count it.",
            "Leave out the ledger, or choose a method with noise.",
        )
    cost = recipe.cost(epsilon, len(schema.protected))
    return Purpose(population, cost, recipe.name, "", target, fingerprint)


def fingerprint_of(data: str, request: tuple[object, ...]) -> str:
    """Tells one request from another, so that one that is made again after a kill is recognised."""
    place = Path(data)
    state = (place.stat().st_size, place.stat().st_mtime_ns) if place.is_file() else ()
    return hashlib.sha256(repr((without_credentials(repr(request)), state)).encode()).hexdigest()
