"""What one account counts, and what it adds up to.

An account counts for one population, one privacy unit and one neighbour relation. ε of pure releases is added exactly. With
a lifetime δ it also takes releases in ρ and in (ε, δ); the total ε at that δ is then the smaller of

    Σε + Σεᵢ + ε(Σρ, δ - Σδᵢ)           plain addition; ρ turned into ε by dp-accounting
    ε(Σρ + Σε²/2 + Σεᵢ²/2, δ - Σδᵢ)     all of it as ρ (Bun & Steinke 2016, Proposition 14 and Lemma 8.2)

both of which are upper bounds. Individual differential privacy has a second total: it holds the releases with that promise
and the differentially private ones, never the reverse.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from coterie.errors import BudgetExceeded, LedgerError, ParameterError
from coterie.promise.loss import ROW, Loss, LossModel, NeighbourRelation, epsilon_at, for_unit, under
from coterie.publication.ledger.seals import Event, canonical
from coterie.schema.exact import as_text, brief, parse_epsilon


@dataclass(frozen=True, slots=True)
class Terms:
    """What was promised to a population when its account was made. It never changes."""

    population: str
    lifetime: Fraction
    delta: Fraction | None = None
    relation: NeighbourRelation = NeighbourRelation.REPLACE_ONE
    unit: str = ROW
    rows_per_unit: int = 1
    individual_lifetime: Fraction | None = None  # of the total of individual differential privacy

    def __post_init__(self) -> None:
        if self.delta is not None and self.delta >= 1:
            raise ParameterError(
                "A lifetime delta of 1 or more promises nothing.",
                "Give for example 1e-6, below 1/(number of people).",
            )
        if not self.unit.isidentifier():
            raise ParameterError("The unit is not one word.", "Write for example person or household.")
        if isinstance(self.rows_per_unit, bool) or self.rows_per_unit < 1:
            raise ParameterError("The rows per unit are not a whole number from 1 up.", "Give for example 5.")
        if self.unit == ROW and self.rows_per_unit != 1:
            raise ParameterError("A row is one row.", "Name the unit that has several: --unit household.")

    def counted(self, loss: Loss) -> Counted:
        """What a release counts in the two totals of this account; None where it has no place."""
        if loss.model is LossModel.NONE:
            return None, None
        if self.delta is None and (loss.rho is not None or loss.delta is not None):
            raise LedgerError(
                f"This release costs {loss}, and the account of '{self.population}' has no lifetime delta.",
                "It takes releases in pure epsilon only. Give the release an epsilon without delta; or make a population "
                "with `coterie ledger init … --delta 1e-6`.",
            )
        here = for_unit(under(loss, self.relation), self.unit, self.rows_per_unit)
        return (here if here.model is LossModel.DP else None), here

    def __str__(self) -> str:
        rows = f" of at most {self.rows_per_unit} rows" if self.rows_per_unit > 1 else ""
        return f"{self.relation}, unit {self.unit}{rows}"


Counted = tuple[Loss | None, Loss | None]  # in the total of differential privacy, and of individual


@dataclass(frozen=True, repr=False)
class Balance:
    """One account as it stands: `held` is reserved by releases that are being computed now."""

    terms: Terms
    spent: Fraction
    held: Fraction
    individual_spent: Fraction
    individual_held: Fraction
    refuses_unproved: bool = False

    @property
    def population(self) -> str:
        return self.terms.population

    @property
    def lifetime(self) -> Fraction:
        return self.terms.lifetime

    @property
    def remaining(self) -> Fraction:
        return self.lifetime - self.spent - self.held

    def __repr__(self) -> str:
        spent, lifetime = as_text(self.spent), as_text(self.lifetime)
        held = f", {as_text(self.held)} held" if self.held else ""
        return f"<Balance of {self.population}: ε {spent} spent of {lifetime}{held}>"

    @property
    def individual_remaining(self) -> Fraction | None:
        limit = self.terms.individual_lifetime
        return None if limit is None else limit - self.individual_spent - self.individual_held

    @property
    def individual_differs(self) -> bool:
        """Whether the total of individual differential privacy holds more than the other."""
        return (self.individual_spent, self.individual_held) != (self.spent, self.held)

    def to_dict(self) -> dict[str, Any]:
        """For JSON, exactly."""
        terms, left = self.terms, self.individual_remaining
        limit = terms.individual_lifetime
        return {
            **{name: getattr(terms, name) for name in ("population", "relation", "unit", "rows_per_unit")},
            "delta": None if terms.delta is None else as_text(terms.delta),
            **{name: as_text(getattr(self, name)) for name in ("lifetime", "spent", "held", "remaining")},
            "individual": {
                "lifetime": None if limit is None else as_text(limit),
                "spent": as_text(self.individual_spent),
                "held": as_text(self.individual_held),
                "remaining": None if left is None else as_text(left),
            },
            "refuse_unproved": self.refuses_unproved,
        }


class Tally:
    """The sums of one total: of pure ε, of ρ, of ε and δ of the approximate ones, and of all of them as ρ."""

    SUMS = ("pure", "approximate", "delta", "rho", "squares")
    __slots__ = ("_with_delta", *SUMS)

    def __init__(self, with_delta: bool) -> None:
        self._with_delta = with_delta
        self.pure = self.approximate = self.delta = self.rho = self.squares = Fraction(0)

    def add(self, loss: Loss, sign: int = 1) -> None:
        if loss.rho is not None:
            self.rho += sign * loss.rho
            self.squares += sign * loss.rho
            return
        assert loss.epsilon is not None
        if loss.delta is None:
            self.pure += sign * loss.epsilon
        else:
            self.approximate += sign * loss.epsilon
            self.delta += sign * loss.delta
        if self._with_delta:
            self.squares += sign * loss.epsilon**2 / 2

    def total(self, delta: Fraction | None) -> Fraction:
        """ε of all of it at the lifetime δ."""
        if delta is None:
            return self.pure
        return _total(self.pure + self.approximate, self.rho, self.squares, delta - self.delta)


@lru_cache(maxsize=256)
def _total(epsilon: Fraction, rho: Fraction, all_as_rho: Fraction, delta: Fraction) -> Fraction:
    if delta <= 0:  # nothing of δ is left for a conversion, and without ρ there is none to make
        return epsilon
    return min(epsilon + epsilon_at(rho, delta), epsilon_at(all_as_rho, delta))


class LedgerAccount:
    """Two totals, each of what is charged and of what is charged or held."""

    __slots__ = ("everything", "spent", "terms")

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        with_delta = terms.delta is not None
        self.spent = Tally(with_delta), Tally(with_delta)
        self.everything = Tally(with_delta), Tally(with_delta)

    def hold(self, counted: Counted) -> None:
        limits = self.terms.lifetime, self.terms.individual_lifetime
        for tally, loss, limit in zip(self.everything, counted, limits, strict=True):
            if loss is None:
                continue
            tally.add(loss)
            # An overspent ledger: no Coterie has written this. With δ it is found when the balance is computed.
            if self.terms.delta is None and limit is not None and tally.pure > limit:
                raise ValueError

    def spend(self, counted: Counted) -> None:
        """What was held is charged."""
        for tally, loss in zip(self.spent, counted, strict=True):
            if loss is not None:
                tally.add(loss)

    def give_back(self, counted: Counted) -> None:
        for tally, loss in zip(self.everything, counted, strict=True):
            if loss is not None:
                tally.add(loss, -1)

    def balance(self, *, refuses_unproved: bool = False) -> Balance:
        spent, individual = (tally.total(self.terms.delta) for tally in self.spent)
        everything, everything_individual = (tally.total(self.terms.delta) for tally in self.everything)
        return Balance(
            self.terms,
            spent,
            everything - spent,
            individual,
            everything_individual - individual,
            refuses_unproved,
        )

    def afford(self, loss: Loss) -> Balance:
        """The balance while this release is under way, or a refusal."""
        counted = self.terms.counted(loss)
        before = self.balance()
        after = deepcopy(self)
        for tally, part in zip(after.everything, counted, strict=True):
            if part is None:
                continue
            tally.add(part)
            lifetime = self.terms.delta
            if lifetime is not None and (tally.delta > lifetime or (tally.rho and tally.delta == lifetime)):
                raise self._refusal("delta", lifetime, Fraction(0), loss)
        balance = after.balance()
        if counted[0] is not None and balance.remaining < 0:
            raise self._refusal("epsilon", before.lifetime, before.remaining, loss, before.held)
        left, limit = before.individual_remaining, self.terms.individual_lifetime
        if left is not None and limit is not None and (balance.individual_remaining or 0) < 0:
            raise self._refusal("individual epsilon", limit, left, loss, before.individual_held)
        return balance

    def _refusal(
        self, what: str, limit: Fraction, left: Fraction, loss: Loss, held: Fraction = Fraction(0)
    ) -> BudgetExceeded:
        counted = self.terms.counted(loss)[1]
        asks = f"this release asks for {_asked(loss)}"
        if counted is not None and _asked(counted) != _asked(loss):
            asks += f", which counts {_asked(counted)} here ({self.terms})"
        held_words = f" ({as_text(held)} is held by releases under way)" if held else ""
        has = (
            f"has no delta left of {brief(limit)} for this"
            if what == "delta"
            else f"has {what} {as_text(left)} left of {as_text(limit)}{held_words}"
        )
        return BudgetExceeded(
            f"Population '{self.terms.population}' {has}; {asks}.",
            ("Ask for a smaller epsilon, or do not release" if left > 0 else "Do not release")
            + ": the lifetime is a promise to the people in the table.",
        )


def _asked(loss: Loss) -> str:
    """A pure ε is the number alone, exactly."""
    if loss.epsilon is None or loss.delta is not None:
        return loss.amount(brief)
    return as_text(loss.epsilon)


# How accounts are written down: their terms, and a snapshot of all sums. Texts are exact, and one for one meaning.


def snapshot_of(accounts: Mapping[str, Iterable[LedgerAccount]], refusing: Iterable[str]) -> str:
    """Every account and its sums, in the order in which they were made. Nothing is held while a snapshot is taken."""
    written = [
        {"terms": terms_event(account.terms), "spent": [_sums(tally) for tally in account.spent]}
        for several in accounts.values()
        for account in several
    ]
    return canonical({"accounts": written, "refusing": sorted(refusing)})


def accounts_of(content: str) -> tuple[dict[str, list[LedgerAccount]], set[str]]:
    read = json.loads(content)
    accounts: dict[str, list[LedgerAccount]] = {}
    for written in read["accounts"]:
        account = LedgerAccount(terms_of(written["terms"]))
        for tallies in (account.spent, account.everything):
            for tally, sums in zip(tallies, written["spent"], strict=True):
                for name, value in sums.items():
                    setattr(tally, name, Fraction(value))
        accounts.setdefault(account.terms.population, []).append(account)
    return accounts, set(read["refusing"])


def digest_of(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()


def _sums(tally: Tally) -> dict[str, str]:
    return {name: str(getattr(tally, name)) for name in Tally.SUMS}


def terms_event(terms: Terms) -> dict[str, object]:
    optional = {"delta": terms.delta, "individual_lifetime": terms.individual_lifetime}
    return {
        "population": terms.population,
        "lifetime": as_text(terms.lifetime),
        "relation": terms.relation,
        "unit": terms.unit,
        "rows_per_unit": terms.rows_per_unit,
        **{name: as_text(value) for name, value in optional.items() if value is not None},
    }


def terms_of(event: Event) -> Terms:
    """Also of a population from before units were kept: replace-one, one row per person, no δ, one lifetime for all."""
    delta, individual = (
        parse_epsilon(event[name], name) if name in event else None
        for name in ("delta", "individual_lifetime")
    )
    if "relation" not in event:
        individual = parse_epsilon(event["lifetime"])
    return Terms(
        event["population"],
        parse_epsilon(event["lifetime"]),
        delta,
        NeighbourRelation(event.get("relation", NeighbourRelation.REPLACE_ONE)),
        event.get("unit", ROW),
        whole_count(event.get("rows_per_unit", 1)),
        individual,
    )


def whole_count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError
    return value
