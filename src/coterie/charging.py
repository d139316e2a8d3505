"""What a release is charged for: one Purpose for one request, recognised when the same request comes again."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from pathlib import Path

from coterie.errors import ParameterError
from coterie.ledger import Purpose, without_credentials
from coterie.methods.recipe import Method
from coterie.promise import forecast, loss_of
from coterie.schema import Schema


def purpose_of(
    recipe: Method,
    epsilon: Fraction,
    schema: Schema,
    k: int | None,
    *,
    population: str,
    target: str,
    fingerprint: str,
    shuffled: bool = False,
    clipped: bool = True,
) -> Purpose:
    """`target` is `Destination.shown`. Status and loss are a forecast, until the release itself states them."""
    if not recipe.adds_noise:
        raise ParameterError(
            f"Method '{recipe.name}' adds no noise: no epsilon describes it, so no ledger can count it.",
            "Leave out the ledger, or choose a method with noise.",
        )
    guarantee = forecast(schema, recipe, epsilon, k, shuffled=shuffled, clipped=clipped)
    loss = loss_of(guarantee, recipe.cost(epsilon, len(schema.protected)))
    return Purpose(population, loss, recipe.name, guarantee.status, target, fingerprint)


def fingerprint_of(data: str, request: tuple[object, ...]) -> str:
    """Tells one request from another, so that one that is made again after a kill is recognised."""
    place = Path(data)
    state = (place.stat().st_size, place.stat().st_mtime_ns) if place.is_file() else ()
    return hashlib.sha256(repr((without_credentials(repr(request)), state)).encode()).hexdigest()
