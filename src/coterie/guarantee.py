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

    @property
    def proof(self) -> bool:
        """Whether a value is proved, if perhaps a weaker one or under a condition."""
        return self in (Status.PROVED, Status.BOUNDED, Status.CONDITIONAL)


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
    bounds_paid: tuple[str, ...] = ()  # found by a DP quantile, from the attribute's own ε
    order_from_data: tuple[str, ...] = ()
    sizes_from_data: bool = False
    rows_may_drop: tuple[str, ...] = ()
    taxonomies: tuple[tuple[str, str], ...] = ()  # attribute and digest of its declared labels
    shuffled: bool = False
    clipped: bool = True
    synthetic: bool = False  # no row stands for a record
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
    rests_on_noise: bool = True  # False: a property of the groups alone, such as k-anonymity
    beside: tuple[Guarantee, ...] = ()  # of the list of group means, say, where rows are released


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
        return replace(guarantee, label=f"{guarantee.label}{_at_least(facts)}")
    if guarantee.rests_on_noise:
        if not facts.private_noise:
            return replace(
                guarantee,
                model="none",
                value="none",
                status=Status.NONE,
                label="reproducible: not private (the noise can be drawn again from the seed)",
                scope="nothing",
            )
        refutation = _refutation(guarantee, facts)
        if refutation:
            label = f"{refutation}{_at_least(facts)}"
            return replace(guarantee, value="unbounded", status=Status.REFUTED, label=label)
    if guarantee.status is Status.REFUTED:
        return guarantee
    if facts.rows_may_drop:
        names = ", ".join(facts.rows_may_drop)
        guarantee = _under(
            guarantee, f"which rows miss a value in {names} is public (such rows were dropped)"
        )
    if facts.kept:
        names = ", ".join(facts.kept)
        guarantee = _under(
            guarantee, f"nothing in {names} needs protection (released untouched, outside the promise)"
        )
    return guarantee


def _refutation(guarantee: Guarantee, facts: Facts) -> str | None:
    """A choice that breaks the promise, in words."""
    if facts.sizes_from_data:
        return (
            "not differentially private: group sizes follow the data, so one record can move every centroid; "
            "noise was calibrated as if sizes were fixed"
        )
    if facts.order_from_data:
        return f"not DP: the category order of {', '.join(facts.order_from_data)} was taken from the data"
    if facts.bounds_from_data and guarantee.status in (Status.PROVED, Status.CONDITIONAL, Status.BOUNDED):
        names = ", ".join(facts.bounds_from_data)
        return (
            f"not {guarantee.model}: the domain of {names} was taken from the data, and the release shows it"
        )
    return None


def _at_least(facts: Facts) -> str:
    """What optimal groups do promise."""
    if not facts.sizes_from_data:
        return ""
    return f"; every value is shared by at least {facts.k} records of its attribute"


def _under(guarantee: Guarantee, condition: str) -> Guarantee:
    return replace(
        guarantee,
        # A heuristic under a condition is still a heuristic.
        status=Status.HEURISTIC if guarantee.status is Status.HEURISTIC else Status.CONDITIONAL,
        label=f"{guarantee.label}; only if: {condition}",
        assumptions=(*guarantee.assumptions, condition),
    )
