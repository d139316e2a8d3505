"""The book of a ledger: balances and releases, computed from sealed events (`seals`).

A long ledger holds snapshots of its accounts. The digest of a snapshot is an event of the chain, so it cannot be changed
unnoticed either. Events before it are checked for their seals; they are read only if somebody asks for the releases, and
then the snapshot is compared with them.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, fields
from enum import StrEnum
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from coterie.errors import LedgerError, ParameterError, counted, nearest
from coterie.methods.guarantee import Status
from coterie.promise.loss import Loss, LossModel, NeighbourRelation
from coterie.publication.ledger.account import (
    Balance,
    Counted,
    LedgerAccount,
    Terms,
    accounts_of,
    digest_of,
    snapshot_of,
    terms_of,
    whole_count,
)
from coterie.publication.ledger.seals import GENESIS, Event, broken, decoded
from coterie.publication.staging import StagedRecord
from coterie.schema.exact import as_text, parse_epsilon

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
    held: bool = False  # for as long as it takes, whichever processes come and go

    def __repr__(self) -> str:
        what = f"{self.purpose.method} for {self.purpose.population}"
        return f"<Entry {self.release[:8]}: {what}, {self.state.value} at {self.changed_at}>"


@dataclass
class _Earlier:
    """Sealed events up to a snapshot, read once by all copies of a book."""

    events: list[tuple[str, str]]

    @cached_property
    def entries(self) -> dict[str, Entry]:
        whole = Book()
        whole.enter(decoded(self.events))
        return whole.entries


class Book:
    """Everything the ledger says, entered event by event.

    `seals[i]` is the seal after event i; the last one stands for all of it.
    """

    def __init__(self) -> None:
        self.seals = [GENESIS]
        self.snapshot_at = 0  # the number of the last event that is a snapshot
        self._entries: dict[str, Entry] = {}
        self._earlier: _Earlier | None = None
        self._accounts: dict[str, list[LedgerAccount]] = {}
        self._refusing: set[str] = set()  # populations that take no release without a proof
        # What each release under way counts in each account of its population.
        self._unfinished: dict[str, list[Counted]] = {}

    @classmethod
    def at_snapshot(cls, earlier: list[tuple[str, str]], content: str) -> Book:
        """The book after these sealed events, the last of which is the snapshot with this content."""
        book, number = cls(), len(earlier)
        for event, _ in decoded(earlier[-1:], number - 1):
            if (event.get("event"), event.get("digest")) != ("snapshot", digest_of(content)):
                raise broken(number)
        try:
            book._accounts, book._refusing = accounts_of(content)
        except (KeyError, TypeError, ValueError, AttributeError, ParameterError):
            raise broken(number) from None
        book.seals += [seal for _, seal in earlier]
        book.snapshot_at, book._earlier = number, _Earlier(earlier)
        return book

    @property
    def entries(self) -> dict[str, Entry]:
        """Every release. If there was a snapshot, the events before it are read now."""
        if self._earlier is not None:
            earlier = self._earlier.entries
            if earlier.keys() & self._entries.keys():
                raise broken(self.events)
            self._entries, self._earlier = earlier | self._entries, None
        return self._entries

    def find(self, release: str) -> Entry | None:
        """One release. Most are looked for while they are under way, and no snapshot was taken since."""
        return self._entries.get(release) or self.entries.get(release)

    def entry(self, release: str) -> Entry:
        return self._entries.get(release) or self.entries[release]

    def snapshot(self) -> str | None:
        """The accounts as they stand, for `at_snapshot`; None while a release is under way."""
        return None if self._unfinished else snapshot_of(self._accounts, self._refusing)

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
        """The book as it stands now, whatever is entered later."""
        other = Book()
        other.seals = self.seals.copy()
        other.snapshot_at = self.snapshot_at
        other._entries, other._earlier = self._entries.copy(), self._earlier
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
                elif kind == "snapshot":
                    self._compare(event["digest"])
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
        """The releases of a population, or with this fingerprint or method: asked twice, a release is drawn once."""
        wanted = (asked if population is None else {**asked, "population": population}).items()
        return [e for e in self.entries.values() if all(getattr(e.purpose, k) == v for k, v in wanted)]

    def unfinished(self) -> list[Entry]:
        return [self._entries[release] for release in self._unfinished]

    def held(self, fingerprint: str) -> Entry | None:
        """What `Ledger.hold` reserved for this request, and nobody has charged or given back yet."""
        reserved = (e for e in self.unfinished() if e.held and e.state is ReleaseState.RESERVED)
        return next((entry for entry in reserved if entry.purpose.fingerprint == fingerprint), None)

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

    def _compare(self, digest: object) -> None:
        """A snapshot says what the events before it come to."""
        content = self.snapshot()
        if content is None or digest_of(content) != digest:
            raise ValueError
        self.snapshot_at = len(self.seals)

    def _reserve(self, release: str, event: Event, at: str) -> None:
        if release in self._entries:
            raise ValueError
        purpose = purpose_of_event(event)
        accounts = self._accounts[purpose.population]
        counted = [account.terms.counted(purpose.loss) for account in accounts]
        for account, parts in zip(accounts, counted, strict=True):
            account.hold(parts)
        held = event.get("held", False) is True
        self._entries[release] = Entry(release, purpose, ReleaseState.RESERVED, at, at, held=held)
        self._unfinished[release] = counted

    def _advance(self, release: str, kind: str, event: Event, at: str) -> None:
        entry = self._entries[release]
        _, purpose, _, reserved, changed, temporaries, staged, held = entry
        before, after = _STEPS[kind]
        if entry.state is not before:
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
        self._entries[release] = Entry(release, purpose, after, reserved, changed, temporaries, staged, held)

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


def purpose_of_event(event: Event) -> Purpose:
    loss = _recorded(event["epsilon"]) if "loss" not in event else _loss(*map(event["loss"].get, _FIELDS))
    stated = (event["method"], event["status"], event["target"], event["fingerprint"])
    return Purpose(event["population"], loss, *stated, event.get("despite", ""))


# The same few texts come again and again. Typed: `true` must not pass for the 1 that was read before it.
@lru_cache(maxsize=1024, typed=True)
def _loss(*content: Any) -> Loss:
    model, relation, status, *texts, unit, rows, policy, scope = content
    epsilon, delta, rho = (None if text is None else parse_epsilon(text) for text in texts)
    kind = LossModel(model), NeighbourRelation(relation)
    loss = Loss(*kind, status, epsilon, delta, rho, unit, whole_count(rows), policy or "", scope or "")
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
