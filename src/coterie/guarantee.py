"""What a release promises, how firmly, and about what: the words that go on the certificate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction

REPLACE_ONE = "replace one record by any other of the domain; the number of records is public"


class Status(StrEnum):
    PROVED = "proved"  # a proof in docs/guarantees and a test that could fail
    BOUNDED = "bounded"  # a weaker value than the paper's is proved
    CONDITIONAL = "conditional"  # holds only if a named condition outside our control holds
    HEURISTIC = "heuristic"  # no proof; the shortfall is known
    REFUTED = "refuted"  # claimed in the literature, and there is a counterexample
    NONE = "none"  # nothing is promised


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything public that a guarantee may depend on."""

    epsilon: Fraction
    records: int
    k: int
    clusters: int
    protected: tuple[str, ...]
    kept: tuple[str, ...] = ()
    bounds_from_data: tuple[str, ...] = ()
    rows_may_drop: tuple[str, ...] = ()
    shuffled: bool = False
    private_noise: bool = True


@dataclass(frozen=True, slots=True)
class Guarantee:
    model: str  # "differential privacy", "individual differential privacy", "none", …
    value: str  # the privacy loss, as exact text
    status: Status
    scope: str  # what the promise covers: the rows, or only the list of centroids
    label: str  # the sentence to print
    assumptions: tuple[str, ...]
    citation: str
    neighbours: str = REPLACE_ONE


NOTHING = Guarantee(
    model="none",
    value="none",
    status=Status.NONE,
    scope="nothing",
    label="no formal guarantee",
    assumptions=(),
    citation="",
    neighbours="none",
)

Promise = Callable[[Facts], Guarantee]


def settle(promise: Promise, facts: Facts) -> Guarantee:
    """The method's promise, weakened by what the user chose. Nothing here can strengthen it."""
    guarantee = promise(facts)
    if guarantee.status is Status.NONE:
        return guarantee
    if not facts.private_noise:
        return replace(
            guarantee,
            model="none",
            value="none",
            status=Status.NONE,
            label="reproducible: not private (the noise can be drawn again from the seed)",
            scope="nothing",
        )
    if guarantee.status not in (Status.PROVED, Status.CONDITIONAL, Status.BOUNDED):
        return guarantee
    if facts.bounds_from_data:
        names = ", ".join(facts.bounds_from_data)
        return replace(
            guarantee,
            status=Status.REFUTED,
            label=f"not {guarantee.model}: the bounds of {names} were taken from the data, and clipping shows them",
        )
    if facts.rows_may_drop:
        names = ", ".join(facts.rows_may_drop)
        guarantee = _under(
            guarantee, f"which rows miss a value in {names} is public (such rows were dropped)"
        )
    if facts.kept:
        names = ", ".join(facts.kept)
        guarantee = _under(guarantee, f"{names} released untouched, outside the promise")
    return guarantee


def _under(guarantee: Guarantee, condition: str) -> Guarantee:
    return replace(
        guarantee,
        status=Status.CONDITIONAL,
        label=f"{guarantee.label}; only if: {condition}",
        assumptions=(*guarantee.assumptions, condition),
    )
