"""From events to balances: pure functions, exact arithmetic, no file in sight."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction

from coterie.budget import as_text, parse_epsilon
from coterie.errors import BudgetExceeded, LedgerError, ParameterError, nearest
from coterie.ledger.chain import Event, broken
from coterie.ledger.staging import StagedRecord


class State(StrEnum):
    RESERVED = "reserved"
    READY = "ready"
    RELEASED = "released"
    LOST = "lost"
    ABANDONED = "abandoned"

    @property
    def final(self) -> bool:
        return self not in (State.RESERVED, State.READY)

    @property
    def charged(self) -> bool:
        return self in (State.READY, State.RELEASED, State.LOST)


# From which state each event may come. `staging` only names temporary files; the state stays.
_BEFORE = {
    "staging": State.RESERVED,
    "ready": State.RESERVED,
    "abandoned": State.RESERVED,
    "released": State.READY,
    "lost": State.READY,
}


@dataclass(frozen=True)
class Purpose:
    """What a charge is for. `status` is the guarantee status; the calibrated ε counts whatever it says.

    `fingerprint` tells one request from another (a digest of parameters and input chosen by the caller), so
    that a command run again after a kill recognises the release that was finished for it.
    """

    population: str
    epsilon: Fraction
    method: str
    status: str
    target: str
    fingerprint: str = ""


@dataclass(frozen=True)
class Entry:
    """One release in the ledger."""

    release: str
    purpose: Purpose
    state: State
    reserved_at: str
    changed_at: str
    temporaries: tuple[str, ...] = ()
    staged: tuple[StagedRecord, ...] = ()


@dataclass(frozen=True)
class Balance:
    """A population's account: `held` is reserved by releases that are being computed now."""

    population: str
    lifetime: Fraction
    spent: Fraction
    held: Fraction

    @property
    def remaining(self) -> Fraction:
        return self.lifetime - self.spent - self.held


@dataclass(frozen=True)
class Book:
    """Everything the ledger says. `seals[i]` is the seal after event i; the last one stands for all of it."""

    seals: tuple[str, ...]
    lifetimes: dict[str, Fraction] = field(default_factory=dict)
    entries: dict[str, Entry] = field(default_factory=dict)

    @classmethod
    def of(cls, events: list[Event], seals: list[str]) -> Book:
        book = cls(tuple(seals))
        spent: dict[str, Fraction] = {}
        for number, event in enumerate(events, start=1):
            try:
                _apply(book, event, spent)
            except (KeyError, TypeError, ValueError, AttributeError, ParameterError):
                raise broken(number) from None
        return book

    @property
    def seal(self) -> str:
        return self.seals[-1]

    def balance(self, population: str) -> Balance:
        if population not in self.lifetimes:
            raise LedgerError(
                f"The ledger has no population '{population}'.",
                f"{nearest(population, self.lifetimes)} A new one is made by "
                "`coterie ledger init LEDGER --population NAME --lifetime EPSILON`.",
            )
        spent = held = Fraction(0)
        for entry in self.releases(population):
            if entry.state.charged:
                spent += entry.purpose.epsilon
            elif entry.state is State.RESERVED:
                held += entry.purpose.epsilon
        return Balance(population, self.lifetimes[population], spent, held)

    def releases(self, population: str) -> list[Entry]:
        return [entry for entry in self.entries.values() if entry.purpose.population == population]

    def unfinished(self) -> list[Entry]:
        return [entry for entry in self.entries.values() if not entry.state.final]

    def afford(self, purpose: Purpose) -> None:
        """Refuse a charge that would pass the lifetime ε."""
        balance = self.balance(purpose.population)
        if purpose.epsilon <= balance.remaining:
            return
        held = f" ({as_text(balance.held)} is held by releases under way)" if balance.held else ""
        raise BudgetExceeded(
            f"Population '{purpose.population}' has epsilon {as_text(balance.remaining)} left of "
            f"{as_text(balance.lifetime)}{held}; this release asks for {as_text(purpose.epsilon)}.",
            ("Ask for a smaller epsilon, or do not release" if balance.remaining > 0 else "Do not release")
            + ": the lifetime is a promise to the people in the table.",
        )


def _apply(book: Book, event: Event, used: dict[str, Fraction]) -> None:
    """Enter one event; `used` is the ε spent or held so far, so that an overspent ledger is found out."""
    kind, at = event["event"], event["at"]
    if kind == "ledger":
        return
    if kind == "population":
        if event["population"] in book.lifetimes:
            raise ValueError
        book.lifetimes[event["population"]] = parse_epsilon(event["lifetime"])
        return
    release = event["release"]
    if kind == "reserved":
        if release in book.entries:
            raise ValueError
        purpose = Purpose(
            event["population"],
            parse_epsilon(event["epsilon"]),
            event["method"],
            event["status"],
            event["target"],
            event["fingerprint"],
        )
        total = used.get(purpose.population, Fraction(0)) + purpose.epsilon
        if total > book.lifetimes[purpose.population]:
            raise ValueError
        used[purpose.population] = total
        book.entries[release] = Entry(release, purpose, State.RESERVED, at, at)
        return
    entry = book.entries[release]
    if entry.state is not _BEFORE[kind]:
        raise ValueError
    if kind == "staging":
        book.entries[release] = replace(entry, temporaries=(*entry.temporaries, *event["temporaries"]))
        return
    if kind == "ready":
        entry = replace(entry, staged=tuple(StagedRecord(**staged) for staged in event["staged"]))
    if kind == "abandoned":
        used[entry.purpose.population] -= entry.purpose.epsilon
    book.entries[release] = replace(entry, state=State(kind), changed_at=at)
