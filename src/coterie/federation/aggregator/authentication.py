"""Who speaks? Every request is signed; what is wrong with it is told to nobody but the diary."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from coterie.federation.aggregator.faults import Fault, unauthorised
from coterie.federation.aggregator.home import Aggregator
from coterie.federation.documents import wire
from coterie.federation.secrets.keys import fingerprint, verify
from coterie.federation.storage.parties import Owner, current_session, fresh, hold_session, note, owner_by_key

_NONCE = re.compile(r"[A-Za-z0-9_-]{16,64}")
_SESSION = re.compile(r"[A-Za-z0-9_-]{16,64}|")
_AUDITED_A_MINUTE = 60


@dataclass
class Presence:
    """Requests open at this moment, by owner and process: someone who is on the line has not ended."""

    open: Counter[tuple[int, str]] = field(default_factory=Counter)

    def busy(self, owner: int, session: str) -> bool:
        return self.open[owner, session] > 0


@dataclass(frozen=True)
class Asked:
    """The parts of a request that count."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes


def require_version(headers: Mapping[str, str]) -> None:
    offered = headers.get(wire.PROTOCOL, "")
    if wire.common_version(offered) is None:
        ours = f"{wire.PROTOCOL_MINIMUM}-{wire.PROTOCOL_MAXIMUM}"
        raise Fault(
            426,
            "protocol",
            "There is no common protocol version.",
            "Install a Coterie that speaks one of ours.",
            ours=ours,
            yours=offered[:20],
        )


def signed_by(asked: Asked, aggregator: Aggregator) -> str:
    """The key that signed this request, at about this time, to this aggregator. Says nothing about who has it."""
    headers = asked.headers
    sent = headers.get(wire.TIME, "")
    try:
        skew = abs((wire.moment(sent) - wire.now()).total_seconds())
    except ValueError:
        raise unauthorised() from None
    if skew > wire.CLOCK_TOLERANCE_SECONDS:
        raise Fault(
            401,
            "clock",
            "Your clock and ours differ by more than two minutes.",
            "Set the clock (NTP), then try again.",
            yours=wire.stamp(wire.moment(sent)),
            ours=wire.stamp(wire.now()),
        )
    key, nonce, session = (
        headers.get(wire.KEY, ""),
        headers.get(wire.NONCE, ""),
        headers.get(wire.SESSION, ""),
    )
    text = wire.request_text(
        asked.method, asked.target, asked.body, nonce, sent, session, aggregator.keys.public
    )
    if (
        not _NONCE.fullmatch(nonce)
        or not _SESSION.fullmatch(session)
        or not verify(key, "request", text, headers.get(wire.SIGNATURE, ""))
    ):
        raise unauthorised()
    return key


class Authentication:
    """Knows the owners, their nonces and their processes."""

    def __init__(self, aggregator: Aggregator) -> None:
        self.aggregator = aggregator
        self.presence = Presence()
        self._minute = (0, 0)

    def owner(self, asked: Asked) -> Owner:
        try:
            key = signed_by(asked, self.aggregator)
            with self.aggregator.database.noting() as connection:
                owner = owner_by_key(connection, key)
                known = owner is not None and owner.left is None
                if not known or not fresh(connection, key, asked.headers[wire.NONCE]):
                    raise unauthorised()
        except Fault as fault:
            self._audit(asked, str(fault.content["error"]))
            raise
        assert owner is not None
        return owner

    def act(self, owner: Owner, headers: Mapping[str, str]) -> None:
        """Only one process at a time may change anything for an owner."""
        session, replaces = headers.get(wire.SESSION, ""), headers.get(wire.REPLACES, "")
        database = self.aggregator.database
        allowed = False
        if session:
            with database.noting() as connection:
                current = current_session(connection, owner)
                busy = current is not None and self.presence.busy(owner.id, current)
                allowed = hold_session(connection, owner, session, replaces, busy=busy)
        if not allowed:
            with database.writing() as connection:
                note(
                    connection,
                    "second process",
                    owner=owner.name,
                    active=(current or "")[:8] if session else "",
                    turned_away=session[:8],
                )
            raise Fault(
                409,
                "active elsewhere",
                "Another process acts with this owner's key.",
                "Stop one of them. If you know of none, the key was copied: leave, and join anew.",
            )

    def _audit(self, asked: Asked, error: str) -> None:
        try:
            key = fingerprint(asked.headers.get(wire.KEY, ""))
        except ValueError:
            key = "none"
        self.turned_away(key=key, method=asked.method, error=error)

    def turned_away(self, **content: str) -> None:
        """Into the diary; at most so many lines a minute, for strangers must not be able to fill the disk."""
        minute, count = self._minute
        this = int(time.monotonic() // 60)
        self._minute = (this, count + 1 if minute == this else 1)
        if self._minute[1] <= _AUDITED_A_MINUTE:
            with self.aggregator.database.writing() as connection:
                note(connection, "turned away", **content)
