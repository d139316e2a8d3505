"""What a ledger says, for the pages: each population with its balance and all its releases."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from coterie.budget import readable
from coterie.ledger import Entry, Ledger, State

MEANING = {
    State.RESERVED: "under way, or interrupted before it was charged",
    State.READY: "charged, not all in place yet",
    State.RELEASED: "released",
    State.LOST: "charged, its files are gone",
    State.ABANDONED: "given back: nothing was published",
}


@dataclass(frozen=True, slots=True)
class Line:
    at: str
    method: str
    epsilon: str
    counts: bool
    meaning: str
    status: str
    target: str


@dataclass(frozen=True, slots=True)
class Account:
    population: str
    lifetime: str
    spent: str
    held: str
    remaining: str
    lines: tuple[Line, ...]


def accounts(ledger: Path) -> list[Account]:
    """Read only: nothing is settled by looking."""
    book = Ledger.inspect(ledger)
    shown = []
    for population in sorted(book.lifetimes):
        balance = book.balance(population)
        lines = tuple(_line(entry) for entry in book.releases(population))
        numbers = (balance.lifetime, balance.spent, balance.held, balance.remaining)
        lifetime, spent, held, remaining = map(readable, numbers)
        shown.append(Account(population, lifetime, spent, held, remaining, lines))
    return shown


def _line(entry: Entry) -> Line:
    return Line(
        at=entry.changed_at[:16].replace("T", " "),
        method=entry.purpose.method,
        epsilon=readable(entry.purpose.epsilon),
        counts=entry.state.charged or entry.state is State.RESERVED,
        meaning=MEANING[entry.state],
        status=entry.purpose.status,
        target=entry.purpose.target,
    )
