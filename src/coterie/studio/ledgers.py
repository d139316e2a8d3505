"""What a ledger says, for the pages: each population with its balance and all its releases."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from coterie.promise.loss import LossModel
from coterie.publication.ledger import Balance, Entry, Ledger, Purpose, ReleaseState, Terms
from coterie.schema.exact import brief, readable

MEANING = {
    ReleaseState.RESERVED: "under way, or interrupted before it was charged",
    ReleaseState.READY: "charged, not all in place yet",
    ReleaseState.RELEASED: "released",
    ReleaseState.LOST: "charged, its files are gone",
    ReleaseState.ABANDONED: "given back: nothing was published",
}


@dataclass(frozen=True, slots=True)
class Line:
    at: str
    method: str
    costs: str
    counts: bool
    outside: bool
    meaning: str
    status: str
    target: str


@dataclass(frozen=True, slots=True)
class Account:
    population: str
    terms: str
    lifetime: str
    spent: str
    held: str
    remaining: str
    individual: str  # the total of individual differential privacy, where it differs
    refuses_unproved: bool
    lines: tuple[Line, ...]


def accounts(ledger: Path) -> list[Account]:
    """Read only: nothing is settled by looking."""
    book = Ledger.inspect(ledger)
    shown = []
    for population in sorted(book.lifetimes):
        for balance in book.balances(population):
            lines = tuple(_line(entry, balance.terms) for entry in book.releases(population))
            shown.append(_account(balance, lines))
    return shown


def counted(purpose: Purpose, terms: Terms) -> str:
    """What an account will make of a release, in words."""
    dp, individual = terms.counted(purpose.loss)
    if individual is None:
        return "outside the account: there is no proof, so nothing is counted"
    if dp is None:
        return f"{individual} in the total of individual differential privacy, nothing in that of differential privacy"
    return str(dp)


def _account(balance: Balance, lines: tuple[Line, ...]) -> Account:
    terms = balance.terms
    numbers = (balance.lifetime, balance.spent, balance.held, balance.remaining)
    lifetime, spent, held, remaining = map(readable, numbers)
    alone = (balance.individual_spent, balance.individual_held) != (balance.spent, balance.held)
    return Account(
        terms.population,
        str(terms) + (f", δ = {brief(terms.delta)}" if terms.delta is not None else ""),
        lifetime,
        spent,
        held,
        remaining,
        readable(balance.individual_spent + balance.individual_held) if alone else "",
        balance.refuses_unproved,
        lines,
    )


def _line(entry: Entry, terms: Terms) -> Line:
    counted = terms.counted(entry.purpose.loss)[1]
    return Line(
        at=entry.changed_at[:16].replace("T", " "),
        method=entry.purpose.method,
        costs=(counted or entry.purpose.loss).amount(brief),
        counts=entry.state.charged or entry.state is ReleaseState.RESERVED,
        outside=entry.purpose.loss.model is LossModel.NONE,
        meaning=MEANING[entry.state],
        status=entry.purpose.status,
        target=entry.purpose.target,
    )
