"""The book of a ledger: sealed events, and the balances computed from them.

Each event is sealed with the hash of the one before it, so no earlier line can be changed unnoticed. Whoever kept a later
seal sees tampering (`coterie ledger check --seal`); someone who may write the file can still write a whole new chain.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, fields
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from coterie.errors import LedgerError, ParameterError, counted, nearest
from coterie.methods.guarantee import Status
from coterie.promise.loss import ROW, Loss, LossModel, NeighbourRelation
from coterie.publication.ledger.account import Balance, Counted, LedgerAccount, Terms
from coterie.publication.staging import StagedRecord
from coterie.schema.exact import as_text, parse_epsilon

Event: TypeAlias = Mapping[str, Any]

GENESIS = hashlib.sha256(b"coterie ledger, version 1").hexdigest()

# What we write begins and ends with the braces; json.loads takes twice as long, to look for space around them.
_decode = json.JSONDecoder().raw_decode


def canonical(event: Event) -> str:
    """One text for one meaning: sorted keys, no spaces, ASCII."""
    return json.dumps(event, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def seal(previous: str, content: str) -> str:
    return hashlib.sha256(f"{previous}\n{content}".encode()).hexdigest()


def verified(
    rows: Iterable[tuple[int, str, str]], after: int = 0, last: str = GENESIS
) -> Iterator[tuple[Event, str]]:
    """The events with their seals, or a refusal that names the first line that does not fit.

    `after` and `last` are the number and the seal of the event before the first row. Every opening of the ledger
    comes through here for each event, so nothing is done twice.
    """
    for expected, (number, content, claimed) in enumerate(rows, start=after + 1):
        if number != expected or not isinstance(content, str):
            raise broken(expected)
        last = seal(last, content)
        if last != claimed:
            raise broken(expected)
        try:
            event, end = _decode(content)
        except (ValueError, RecursionError):
            raise broken(expected) from None
        if end != len(content) or not isinstance(event, dict):
            raise broken(expected)
        yield event, last


def first_broken(rows: Iterable[tuple[int, str, str]], last: str) -> int | None:
    """The number of the first line of a sealed diary that does not fit the one before it, or None."""
    for expected, (number, content, claimed) in enumerate(rows, start=1):
        last = seal(last, content)
        if number != expected or last != claimed:
            return expected
    return None


def broken(number: int) -> LedgerError:
    return LedgerError(
        f"The ledger is damaged: its event {number} was changed, removed or cannot be read.",
        "Nothing was charged or released. Restore the ledger from a backup, and count the releases made "
        "since then before any of its populations is used again.",
    )


# From events to balances: exact arithmetic, no file in sight.

BEFORE_UNITS = "recorded before units were kept"


class ReleaseState(StrEnum):
    RESERVED = "reserved"
    READY = "ready"
    RELEASED = "released"
    LOST = "lost"
    ABANDONED = "abandoned"

    @property
    def final(self) -> bool:
        return self not in (ReleaseState.RESERVED, ReleaseState.READY)

    @property
    def charged(self) -> bool:
        return self in (ReleaseState.READY, ReleaseState.RELEASED, ReleaseState.LOST)


# What each event leads from and to. `staging` only names temporary files; the state stays.
_STEPS = {
    "staging": (ReleaseState.RESERVED, ReleaseState.RESERVED),
    "ready": (ReleaseState.RESERVED, ReleaseState.READY),
    "abandoned": (ReleaseState.RESERVED, ReleaseState.ABANDONED),
    "released": (ReleaseState.READY, ReleaseState.RELEASED),
    "lost": (ReleaseState.READY, ReleaseState.LOST),
}


@dataclass(frozen=True)
class Purpose:
    """What a charge is for: `status` is that of the released object, `loss` what it costs.

    Both follow from public facts, and are filled in again once the release is there. `fingerprint` tells one request from
    another (a digest of parameters and input chosen by the caller), so that a command run again after a kill recognises the
    release that was finished for it. `despite` is why it goes on although an audit found a severe risk.
    """

    population: str
    loss: Loss
    method: str
    status: str
    target: str
    fingerprint: str = ""
    despite: str = ""

    @property
    def proved(self) -> bool:
        return self.loss.model is not LossModel.NONE and self.status in _PROOFS


_PROOFS = frozenset(status.value for status in Status if status.proof)


class Entry(NamedTuple):
    """One release in the ledger. A tuple, because every opening makes one for each event."""

    release: str
    purpose: Purpose
    state: ReleaseState
    reserved_at: str
    changed_at: str
    temporaries: tuple[str, ...] = ()
    staged: tuple[StagedRecord, ...] = ()

    def __repr__(self) -> str:
        what = f"{self.purpose.method} for {self.purpose.population}"
        return f"<Entry {self.release[:8]}: {what}, {self.state.value} at {self.changed_at}>"


class Book:
    """Everything the ledger says, entered event by event.

    `seals[i]` is the seal after event i; the last one stands for all of it.
    """

    def __init__(self) -> None:
        self.seals = [GENESIS]
        self.entries: dict[str, Entry] = {}
        self._accounts: dict[str, list[LedgerAccount]] = {}
        self._refusing: set[str] = set()  # populations that take no release without a proof
        # What each release under way counts in each account of its population.
        self._unfinished: dict[str, list[Counted]] = {}

    def __repr__(self) -> str:
        held = (
            f"{counted(self.events, 'event')}, {counted(len(self.entries), 'release')}, "
            f"{counted(len(self._accounts), 'population')}"
        )
        return f"<Book: {held}>"

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
        other.entries = self.entries.copy()
        other._accounts = {name: deepcopy(accounts) for name, accounts in self._accounts.items()}
        other._refusing = self._refusing.copy()
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
                    self._promise(terms_of(event))
                elif kind == "policy":
                    self._decide(event["population"], event["refuse_unproved"])
                elif kind != "ledger":
                    raise ValueError
                self.seals.append(seal)
        except (KeyError, TypeError, ValueError, AttributeError, ParameterError, LedgerError):
            raise broken(len(self.seals)) from None

    @property
    def lifetimes(self) -> dict[str, Fraction]:
        """Every population, with the lifetime ε of its first account."""
        return {name: accounts[0].terms.lifetime for name, accounts in self._accounts.items()}

    def balance(self, population: str) -> Balance:
        """The account that was made first; most populations have no other."""
        return self.balances(population)[0]

    def balances(self, population: str) -> list[Balance]:
        refusing = population in self._refusing
        return [account.balance(refuses_unproved=refusing) for account in self._of(population)]

    def _of(self, population: str) -> list[LedgerAccount]:
        if population not in self._accounts:
            raise LedgerError(
                f"The ledger has no population '{population}'.",
                f"{nearest(population, self._accounts)} A new one is made by "
                "`coterie ledger init LEDGER --population NAME --lifetime EPSILON` (in Python `Ledger.add_population`).",
            )
        return self._accounts[population]

    def releases(self, population: str | None = None, **asked: str) -> list[Entry]:
        """Those of a population, or with this fingerprint or method: asked twice, a release is drawn once."""
        wanted = (asked if population is None else {**asked, "population": population}).items()
        return [e for e in self.entries.values() if all(getattr(e.purpose, k) == v for k, v in wanted)]

    def unfinished(self) -> list[Entry]:
        return [self.entries[release] for release in self._unfinished]

    def afford(self, purpose: Purpose) -> Balance:
        """Refuse what an account cannot count, or no longer; else the first account with this release in it."""
        accounts = self._of(purpose.population)
        if purpose.population in self._refusing and not purpose.proved:
            raise LedgerError(
                f"Population '{purpose.population}' takes no release without a proof, and {purpose.method} is "
                f"'{purpose.status or 'none'}' here.",
                "Choose a method that is proved (`coterie methods`). The policy is changed by "
                "`coterie ledger policy LEDGER --population NAME --accept-unproved`.",
            )
        first, *_ = [account.afford(purpose.loss) for account in accounts]
        return first

    def require_new(self, terms: Terms) -> None:
        """A population may have several accounts, for other units or neighbours; all made before its first release."""
        for account in self._accounts.get(terms.population, ()):
            if (account.terms.unit, account.terms.relation) == (terms.unit, terms.relation):
                raise LedgerError(
                    f"The ledger already has population '{terms.population}', with lifetime epsilon "
                    f"{as_text(account.terms.lifetime)} ({account.terms}).",
                    "A lifetime is never changed; choose another name for another population.",
                )
        if terms.population in self._accounts and self.releases(terms.population):
            raise LedgerError(
                f"Population '{terms.population}' has releases already, which a new account would not hold.",
                "All its accounts are made before its first release. Choose another name for another population.",
            )

    def _promise(self, terms: Terms) -> None:
        self.require_new(terms)
        self._accounts.setdefault(terms.population, []).append(LedgerAccount(terms))

    def _decide(self, population: str, refuse_unproved: object) -> None:
        if population not in self._accounts or not isinstance(refuse_unproved, bool):
            raise ValueError
        (self._refusing.add if refuse_unproved else self._refusing.discard)(population)

    def _reserve(self, release: str, event: Event, at: str) -> None:
        if release in self.entries:
            raise ValueError
        population = event["population"]
        loss = _recorded(event["epsilon"]) if "loss" not in event else _loss(*map(event["loss"].get, _FIELDS))
        stated = (event["method"], event["status"], event["target"], event["fingerprint"])
        purpose = Purpose(population, loss, *stated, event.get("despite", ""))
        accounts = self._accounts[population]
        counted = [account.terms.counted(loss) for account in accounts]
        for account, parts in zip(accounts, counted, strict=True):
            account.hold(parts)
        self.entries[release] = Entry(release, purpose, ReleaseState.RESERVED, at, at)
        self._unfinished[release] = counted

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
                for account, counted in self._counted(release, purpose):
                    account.spend(counted)
            else:
                if kind == "abandoned":
                    for account, counted in self._counted(release, purpose):
                        account.give_back(counted)
                del self._unfinished[release]
        self.entries[release] = Entry(release, purpose, after, since, changed, temporaries, staged)

    def _counted(self, release: str, purpose: Purpose) -> Iterable[tuple[LedgerAccount, Counted]]:
        return zip(self._accounts[purpose.population], self._unfinished[release], strict=True)


# How a loss and the terms of an account are written in events. Texts are exact; what is absent has its default.
_FIELDS = tuple(field.name for field in fields(Loss))


def loss_event(loss: Loss) -> dict[str, object]:
    content = {name: getattr(loss, name) for name in _FIELDS}
    return {
        name: as_text(value) if isinstance(value, Fraction) else value
        for name, value in content.items()
        if value not in (None, "")
    }


# The same few texts come again and again. Typed: `true` must not pass for the 1 that was read before it.
@lru_cache(maxsize=1024, typed=True)
def _loss(*content: Any) -> Loss:
    model, relation, status, *texts, unit, rows, policy, scope = content
    epsilon, delta, rho = (None if text is None else parse_epsilon(text) for text in texts)
    kind = LossModel(model), NeighbourRelation(relation)
    loss = Loss(*kind, status, epsilon, delta, rho, unit, _count(rows), policy or "", scope or "")
    require_whole(loss)
    return loss


@lru_cache(maxsize=1024, typed=True)
def _recorded(epsilon: str) -> Loss:
    """A charge of a ledger that counted ε and nothing else."""
    return Loss.pure(parse_epsilon(epsilon), BEFORE_UNITS)


def require_whole(loss: Loss) -> None:
    """ε, or ρ, or ε with δ; nothing needs to be known of a release without a proof."""
    given = loss.epsilon is not None, loss.delta is not None, loss.rho is not None
    if loss.model is not LossModel.NONE and given not in (
        (True, False, False),
        (True, True, False),
        (False, False, True),
    ):
        raise ParameterError(
            "A charge has an epsilon, an epsilon with delta, or a rho.", "State one of the three."
        )
    if loss.delta is not None and loss.delta >= 1:
        raise ParameterError("delta is 1 or more, which promises nothing.", "Give for example 1e-6.")
    for number, name in ((loss.epsilon, "epsilon"), (loss.delta, "delta"), (loss.rho, "rho")):
        if number is not None:
            parse_epsilon(number, name)


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
        _count(event.get("rows_per_unit", 1)),
        individual,
    )


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError
    return value
