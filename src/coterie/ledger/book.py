"""From events to balances: exact arithmetic, no file in sight."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from coterie.budget import as_text, parse_epsilon
from coterie.errors import BudgetExceeded, LedgerError, ParameterError, nearest
from coterie.ledger.account import Account, Balance
from coterie.ledger.chain import GENESIS, Event, broken
from coterie.ledger.staging import StagedRecord

# The same few texts come again and again. Typed: `true` must not pass for the 1 that was read before it.
_epsilon = lru_cache(maxsize=1024, typed=True)(parse_epsilon)


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


# What each event leads from and to. `staging` only names temporary files; the state stays.
_STEPS = {
    "staging": (State.RESERVED, State.RESERVED),
    "ready": (State.RESERVED, State.READY),
    "abandoned": (State.RESERVED, State.ABANDONED),
    "released": (State.READY, State.RELEASED),
    "lost": (State.READY, State.LOST),
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


class Entry(NamedTuple):
    """One release in the ledger. A tuple, because every opening makes one for each event."""

    release: str
    purpose: Purpose
    state: State
    reserved_at: str
    changed_at: str
    temporaries: tuple[str, ...] = ()
    staged: tuple[StagedRecord, ...] = ()


class Book:
    """Everything the ledger says, entered event by event.

    `seals[i]` is the seal after event i; the last one stands for all of it.
    """

    def __init__(self) -> None:
        self.seals = [GENESIS]
        self.lifetimes: dict[str, Fraction] = {}
        self.entries: dict[str, Entry] = {}
        self._accounts: dict[str, Account] = {}
        self._unfinished: dict[str, None] = {}  # a set that keeps its order

    @property
    def seal(self) -> str:
        return self.seals[-1]

    @property
    def events(self) -> int:
        return len(self.seals) - 1

    def copy(self) -> Book:
        """As it stands now, whatever is entered later."""
        other = Book()
        other.seals = self.seals.copy()
        other.lifetimes = self.lifetimes.copy()
        other.entries = self.entries.copy()
        other._accounts = {name: copy(account) for name, account in self._accounts.items()}
        other._unfinished = self._unfinished.copy()
        return other

    def enter(self, events: Iterable[tuple[Event, str]]) -> None:
        """Add events with their seals, or refuse one that cannot have happened: then throw the book away."""
        try:
            for event, seal in events:
                kind, at = event["event"], event["at"]
                if kind in _STEPS:
                    self._advance(event["release"], kind, event, at)
                elif kind == "reserved":
                    self._reserve(event["release"], event, at)
                elif kind == "population":
                    self._promise(event["population"], parse_epsilon(event["lifetime"]))
                elif kind != "ledger":
                    raise ValueError
                self.seals.append(seal)
        except (KeyError, TypeError, ValueError, AttributeError, ParameterError):
            raise broken(len(self.seals)) from None

    def balance(self, population: str) -> Balance:
        if population not in self.lifetimes:
            raise LedgerError(
                f"The ledger has no population '{population}'.",
                f"{nearest(population, self.lifetimes)} A new one is made by "
                "`coterie ledger init LEDGER --population NAME --lifetime EPSILON`.",
            )
        return self._accounts[population].balance(population)

    def releases(self, population: str) -> list[Entry]:
        return [entry for entry in self.entries.values() if entry.purpose.population == population]

    def unfinished(self) -> list[Entry]:
        return [self.entries[release] for release in self._unfinished]

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

    def _promise(self, population: str, lifetime: Fraction) -> None:
        if population in self.lifetimes:
            raise ValueError
        self.lifetimes[population] = lifetime
        self._accounts[population] = Account(lifetime)

    def _reserve(self, release: str, event: Event, at: str) -> None:
        if release in self.entries:
            raise ValueError
        population, epsilon = event["population"], _epsilon(event["epsilon"])
        purpose = Purpose(
            population, epsilon, event["method"], event["status"], event["target"], event["fingerprint"]
        )
        self._accounts[population].hold(epsilon)
        self.entries[release] = Entry(release, purpose, State.RESERVED, at, at)
        self._unfinished[release] = None

    def _advance(self, release: str, kind: str, event: Event, at: str) -> None:
        _, purpose, state, since, changed, temporaries, staged = self.entries[release]
        before, after = _STEPS[kind]
        if state is not before:
            raise ValueError
        if kind == "staging":
            temporaries = (*temporaries, *event["temporaries"])
        else:
            changed = at
            if kind == "ready":
                staged = tuple([StagedRecord(**part) for part in event["staged"]])
                self._accounts[purpose.population].spend(purpose.epsilon)
            else:
                del self._unfinished[release]
                if kind == "abandoned":
                    self._accounts[purpose.population].give_back(purpose.epsilon)
        self.entries[release] = Entry(release, purpose, after, since, changed, temporaries, staged)
