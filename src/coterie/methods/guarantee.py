"""What a release promises, how firmly, and about what: the words that go on the certificate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from typing import Protocol

from coterie.schema.declared import DeclaredFacts
from coterie.schema.unit import Above

REPLACE_ONE = "replace one record by any other of the domain; the number of records is public"
EXCHANGE = "replace one unit by any other of {rows}, or by none; the number of rows is private"
CHOSEN_BLIND = (
    "method, ε, k, attribute types, decimals, labels, bounds and the treatment of missing values were chosen without "
    "looking at the data"
)
RECODED_BLIND = "how values are recoded was chosen without looking at the data too"


DELIVERED = (
    "the weights in {} count as part of the table as delivered: where they were calibrated on this sample, what one person "
    "changed in the weights of others is not covered"
)
TOTALS = "the totals that {} adds up to are known without this table"


class Status(StrEnum):
    """How firmly something is promised."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts(DeclaredFacts):
    """Everything public that a guarantee may depend on: what is declared of the columns, and how they are released."""

    epsilon: Fraction
    records: int
    k: int
    clusters: int
    sizes_from_data: bool = False
    rules_hold: bool = False  # whether every released row satisfies the rules
    derived: tuple[tuple[str, str], ...] = ()  # attributes that are computed from others, and the rule
    taxonomies: tuple[tuple[str, str], ...] = ()  # attribute and digest of its declared labels
    shuffled: bool = False
    clipped: bool = True
    synthetic: bool = False  # no row stands for a record
    private_noise: bool = True
    delta: Fraction | None = None  # None: pure ε
    rho: Fraction | None = None  # what the noise of a release with δ was calibrated for
    released: int = 0  # rows, where they are not one per record
    raking: tuple[str, ...] = ()  # how weights met their totals, in words


@dataclass(frozen=True, slots=True, repr=False)
class Guarantee:
    """What is promised about the object that is released. What is known of another object stands `beside` it."""

    model: str  # "differential privacy", "individual differential privacy", "none", …
    value: str  # the privacy loss, as exact text
    status: Status
    scope: str  # which object the status describes
    label: str  # the sentence to print
    assumptions: tuple[str, ...]
    citation: str
    neighbours: str = REPLACE_ONE
    rests_on_noise: bool = True  # False: a property of the groups alone, such as k-anonymity
    beside: tuple[Guarantee, ...] = ()  # of the list of group means, say, where rows are released
    delta: str | None = None  # exact text; None: pure ε
    rho: str | None = None  # zero-concentrated DP, from which ε and δ follow
    unit: str | None = None  # whom it is promised to; None: one row
    relation: str | None = None  # with a unit: the `coterie.promise.loss.NeighbourRelation`
    rows_per_unit: int = 1
    policy: str | None = None  # what happened to units with more rows

    def __repr__(self) -> str:
        return f"<Guarantee of {self.scope}: {self.status.value}, {self.label}>"


class Statement(Protocol):
    """A Guarantee, or what a certificate says of one."""

    @property
    def model(self) -> str: ...
    @property
    def value(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def scope(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def beside(self) -> Sequence[Statement]: ...
    @property
    def delta(self) -> str | None: ...
    @property
    def rho(self) -> str | None: ...
    @property
    def unit(self) -> str | None: ...
    @property
    def rows_per_unit(self) -> int: ...


def beside_in_words(beside: Iterable[Statement]) -> list[str]:
    """One line for each statement about another object than the one released."""
    return [f"Of {other.scope}: {other.status!s}, {other.label}" for other in beside]


def label_beside_status(promise: Statement) -> str:
    """The label without the status that some begin with."""
    return promise.label.removeprefix(f"{promise.status!s}; ")


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
    stated = promise(facts)
    settled = _weakened(stated, facts)
    # A statement about another object is weakened by the same choices; one that says nothing any more is left out.
    beside = tuple(
        other
        for other in (_weakened(other, facts) for other in stated.beside)
        if other.status is not Status.NONE
    )
    return replace(settled, beside=beside)


def _weakened(guarantee: Guarantee, facts: Facts) -> Guarantee:
    assumed = (
        CHOSEN_BLIND,
        *((RECODED_BLIND,) if facts.recoded else ()),
        *((TOTALS if facts.totals else DELIVERED).format(name) for name in (facts.weight,) if name),
    )
    guarantee = replace(guarantee, assumptions=(*guarantee.assumptions, *assumed))
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
            already = f"{guarantee.label}. Also " if guarantee.status is Status.REFUTED else ""
            label = f"{already}{refutation}{_at_least(facts)}"
            return replace(guarantee, value="unbounded", status=Status.REFUTED, label=label)
    if guarantee.status is Status.REFUTED:
        return guarantee
    if facts.unit is not None and facts.unit.above is Above.REFUSE:
        guarantee = _under(
            guarantee, f"no {facts.unit.word} has more than {facts.unit.at_most} rows (else it was refused)"
        )
    if facts.parameters_from_data and guarantee.rests_on_noise:
        guarantee = _under(
            guarantee,
            "what the choice of method, ε and k shows needs no protection (chosen by comparing results on these data)",
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
    if facts.order_from_data or (facts.bounds_from_data and guarantee.status is not Status.HEURISTIC):
        taken = [*facts.bounds_from_data, *(f"category order of {name}" for name in facts.order_from_data)]
        return f"not {guarantee.model}: {_listed(taken)} taken from the data, and the release shows it"
    return None


def _listed(taken: list[str]) -> str:
    words = ", ".join(part if part.startswith("some ") else f"the {part}" for part in taken)
    plural = len(taken) > 1 or taken[0].partition(" of ")[0].endswith("s")
    return f"{words} {'were' if plural else 'was'}"


def _at_least(facts: Facts) -> str:
    """What groups whose sizes follow the data still promise."""
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
