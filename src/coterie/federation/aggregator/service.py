"""What the routes share: authentication, limited bodies, signed answers, and the long poll of owners."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from fastapi import Request, Response
from sqlalchemy import Connection
from starlette.concurrency import run_in_threadpool

from coterie.federation.aggregator.connections import CLAIMS, introduce
from coterie.federation.aggregator.home import Aggregator, Fault
from coterie.federation.documents import wire
from coterie.federation.documents.signed import canonical, sha256, signed_from
from coterie.federation.documents.states import StudyState
from coterie.federation.secrets.keys import fingerprint, verify
from coterie.federation.storage import parties, studies

# Authentication: every request is signed. What is wrong with one is written in the diary, and not told to the sender.

_NONCE = re.compile(r"[A-Za-z0-9_-]{16,64}")
_SESSION = re.compile(r"[A-Za-z0-9_-]{16,64}|")
# Lines of one kind that others can cause: so many in so many seconds.
_AUDITED = ((60, 60), (1_000, 24 * 3600))
_BODIES_AT_ONCE = 4  # of one owner, or of all that only claim to be one; an honest one sends them one by one
_BODY_SECONDS = 120.0  # for 8 MiB at most
NO_DETAIL = "The request is not accepted."  # a guess must not reveal which part was wrong


@dataclass(frozen=True)
class SignedRequest:
    """The parts of a request that count."""

    method: str
    target: str
    headers: Mapping[str, str]
    digest: str  # SHA-256 of the body


def require_version(headers: Mapping[str, str]) -> None:
    offered = headers.get(wire.PROTOCOL, "")
    if wire.common_version(offered) is None:
        both = {"ours": f"{wire.PROTOCOL_MINIMUM}-{wire.PROTOCOL_MAXIMUM}", "yours": offered[:20]}
        advice = "Install a Coterie that speaks one of ours."
        raise Fault(426, "protocol", "There is no common protocol version.", advice, **both)


def signed_by(asked: SignedRequest, aggregator: Aggregator) -> str:
    """The key that signed this request, at about this time, to this aggregator. Says nothing about who has it."""
    headers = asked.headers
    sent = headers.get(wire.TIME, "")
    try:
        skew = abs((wire.moment(sent) - wire.now()).total_seconds())
    except ValueError:
        raise Fault(401, "unauthorised", NO_DETAIL) from None
    if skew > wire.CLOCK_TOLERANCE_SECONDS:
        both = {"yours": wire.stamp(wire.moment(sent)), "ours": wire.stamp(wire.now())}
        problem = "Your clock and ours differ by more than two minutes."
        raise Fault(401, "clock", problem, "Set the clock (NTP), then try again.", **both)
    key, nonce, session = (headers.get(name, "") for name in (wire.KEY, wire.NONCE, wire.SESSION))
    text = wire.request_text(
        asked.method, asked.target, asked.digest, nonce, sent, session, aggregator.keys.public
    )
    if (
        not _NONCE.fullmatch(nonce)
        or not _SESSION.fullmatch(session)
        or not verify(key, "request", text, headers.get(wire.SIGNATURE, ""))
    ):
        raise Fault(401, "unauthorised", NO_DETAIL)
    return key


def require_length(headers: Mapping[str, str], limit: int) -> None:
    """Before a byte of it is read. What has no length is counted while it is read."""
    length = headers.get("content-length", "0")
    if not length.isdecimal() or int(length[:20]) > limit:
        raise Fault(413, "too large", f"The body is longer than {limit} bytes.")


class Authentication:
    """Checks signatures, nonces and which process of an owner is active."""

    def __init__(self, aggregator: Aggregator) -> None:
        self.aggregator = aggregator
        # Requests open at this moment, by owner and process: someone who is on the line has not ended.
        self.presence: Counter[tuple[int, str]] = Counter()
        # Bodies that are being read at this moment, by owner.
        self.reading: Counter[int | None] = Counter()
        self._audited: dict[tuple[str, int], tuple[int, int]] = {}

    def require_known(self, asked: SignedRequest) -> None:
        """Refuse a body from anybody who has not joined: owners of older versions do not send the hash of theirs."""
        try:
            self._known(asked.headers.get(wire.KEY, ""))
        except Fault:
            self.turned_away(key="unknown", method=asked.method, error="unauthorised")
            raise

    def _known(self, key: str) -> parties.Owner:
        with self.aggregator.database.reading() as connection:
            owner = parties.owner_by_key(connection, key)
        if owner is None or owner.left is not None:
            raise Fault(401, "unauthorised", NO_DETAIL)
        return owner

    def owner(self, asked: SignedRequest) -> parties.Owner:
        try:
            key = signed_by(asked, self.aggregator)
            owner = self._known(key)
            with self.aggregator.database.noting() as connection:
                if not parties.fresh(connection, key, asked.headers[wire.NONCE]):
                    raise Fault(401, "unauthorised", NO_DETAIL)
        except Fault as fault:
            try:
                shown = fingerprint(asked.headers.get(wire.KEY, ""))
            except ValueError:
                shown = "none"
            self.turned_away(key=shown, method=asked.method, error=str(fault.content["error"]))
            raise
        if owner.suspended is not None:
            raise Fault(
                403, "suspended", "The administrator has suspended this owner.", "Ask; it is tried again."
            )
        return owner

    def act(self, owner: parties.Owner, headers: Mapping[str, str]) -> None:
        """Only one process at a time may change anything for an owner."""
        session, replaces = headers.get(wire.SESSION, ""), headers.get(wire.REPLACES, "")
        database = self.aggregator.database
        allowed = False
        if session:
            with database.noting() as connection:
                current = parties.current_session(connection, owner)
                busy = current is not None and self.presence[owner.id, current] > 0
                allowed = parties.hold_session(connection, owner, session, replaces, busy=busy)
        if not allowed:
            if self.may_note(f"second process of {owner.name}"):
                told = {"active": (current or "")[:8] if session else "", "turned_away": session[:8]}
                with database.writing() as connection:
                    parties.note(connection, "second process", owner=owner.name, **told)
            raise Fault(
                409,
                "active elsewhere",
                "Another process acts with this owner's key.",
                "If the other was killed, this one goes on by itself within two minutes. If you know of none, tell the "
                "administrator: the folder may have been copied.",
            )

    def turned_away(self, **content: str) -> None:
        """Into the diary; strangers must not be able to fill the disk."""
        if self.may_note("turned away"):
            with self.aggregator.database.writing() as connection:
                parties.note(connection, "turned away", **content)

    def may_note(self, kind: str) -> bool:
        """At most so many lines of one kind in a minute and in a day: neither strangers nor owners can fill the disk."""
        allowed = True
        for most, seconds in _AUDITED:
            this = int(time.monotonic() // seconds)
            when, count = self._audited.get((kind, seconds), (this, 0))
            self._audited[kind, seconds] = (this, count + 1 if when == this else 1)
            allowed = allowed and self._audited[kind, seconds][1] <= most
        return allowed


# The long poll of owners: what is wanted of each, and who is woken when a contribution or a study has changed.


class Wakeups:
    """With hundreds of owners, waking all of them at every chunk of one would be most of the work."""

    def __init__(self) -> None:
        self._events: defaultdict[int, asyncio.Event] = defaultdict(asyncio.Event)

    def wake(self, owner: int) -> None:
        self._events.pop(owner, asyncio.Event()).set()

    def wake_all(self) -> None:
        for owner in list(self._events):
            self.wake(owner)

    async def wait(self, owner: int, seconds: float) -> None:
        """Wait until this owner is woken, or for so many seconds."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._events[owner].wait(), seconds)


# What the aggregator wants of one owner: always the whole picture, never an event, so nothing can be missed.


def desired(aggregator: Aggregator, owner: parties.Owner, seen: str = "") -> dict[str, Any]:
    """Every study that this owner has not closed, with its state and what the aggregator holds of the contribution.

    `seen`: the number of a line of our diary that the owner remembers.
    """
    found = []
    with aggregator.database.reading() as connection:
        for contribution in studies.contributions_by(connection, owner.id):
            row = studies.known_study(connection, contribution.study)
            if row.state is StudyState.DRAFT:
                continue
            found.append(
                {
                    "id": row.id,
                    "study": row.signed.content(),
                    "state": row.state.value,
                    "reason": row.reason,
                    "attention": row.attention,
                    "contribution": contribution.state.value,
                    "contribution_reason": contribution.reason,
                    "parcels": studies.parcels_there(connection, row.id) if row.study.blinded else None,
                    "group_key": json.loads(row.group_key) if row.group_key else None,
                    "opening": _deliveries(connection, row) if row.opening else None,
                    "part_key": contribution.part_key is not None,
                    "receipt": json.loads(contribution.receipt) if contribution.receipt else None,
                    "release": row.release,
                }
            )
        head, line = parties.diary_head(connection), parties.diary_line(connection, seen)
    content = {"owner": owner.name, "studies": found}
    # What may change without anything to do is no part of the version.
    beside = {
        "witness": owner.witness,
        "diary": aggregator.keys.witness_mark(*head),
        "seen": aggregator.keys.witness_mark(*line) if line else None,
        "tls_next": aggregator.next_tls,
    }
    return {"version": sha256(canonical(content))[:32], **content, **beside}


def _deliveries(connection: Connection, row: studies.StudyRow) -> list[dict[str, Any]]:
    """The owners' own words, signed, that their parts are here."""
    parts = studies.contributions_of(connection, row.id)
    return [signed_from(part.delivery).content() for part in parts if part.delivery]


class Service:
    def __init__(self, aggregator: Aggregator) -> None:
        self.aggregator = aggregator
        self.authentication = Authentication(aggregator)
        self.wakeups = Wakeups()
        self.due = asyncio.Event()  # an owner did something by which a study may advance

    def asked(self, request: Request, limit: int) -> SignedRequest:
        """The request without its body, which may not be longer than `limit`. `digest` is empty if the header is missing."""
        require_version(request.headers)
        require_length(request.headers, limit)
        query = request.scope.get("query_string", b"")
        raw = (request.scope.get("raw_path") or request.url.path.encode()) + (b"?" + query if query else b"")
        digest = request.headers.get(wire.BODY, "") if limit else sha256(b"")
        return SignedRequest(request.method, raw.decode("ascii", "replace"), request.headers, digest)

    async def enrolling(self, request: Request, limit: int) -> tuple[str, bytes]:
        """The key that signs a request of somebody who is not an owner yet, and its short body."""
        asked = self.asked(request, limit)
        content = await body(request, limit)
        asked = replace(asked, digest=sha256(content))
        return await run_in_threadpool(signed_by, asked, self.aggregator), content

    async def speaker(self, request: Request, limit: int, *, acting: bool) -> tuple[parties.Owner, bytes]:
        """Who speaks, and the body. It is read when we know who speaks."""
        asked = self.asked(request, limit)
        if asked.digest:
            owner = await self._known(request, asked, acting=acting)
            content = await self._read(request, owner.id, limit)
            if sha256(content) != asked.digest:
                raise Fault(401, "unauthorised", NO_DETAIL)
            return owner, content
        await run_in_threadpool(self.authentication.require_known, asked)
        introduce(request, CLAIMS)
        content = await self._read(request, None, limit)
        return await self._known(request, replace(asked, digest=sha256(content)), acting=acting), content

    async def _known(self, request: Request, asked: SignedRequest, *, acting: bool) -> parties.Owner:
        owner = await run_in_threadpool(self.authentication.owner, asked)
        introduce(request, owner.id)
        if acting:
            await run_in_threadpool(self.authentication.act, owner, request.headers)
        return owner

    async def _read(self, request: Request, owner: int | None, limit: int) -> bytes:
        """One owner must not fill the memory that all share; nor must those who only claim to be one (None)."""
        reading = self.authentication.reading
        if limit and reading[owner] >= _BODIES_AT_ONCE:
            raise Fault(429, "busy", "This owner sends too much at once.", "Send one after the other.")
        reading[owner] += 1
        try:
            return await body(request, limit)
        finally:
            reading[owner] -= 1

    async def look(self, request: Request, do: Callable[..., Any], *parts: Any) -> Any:
        """A question of an owner, from any of its processes."""
        owner, _ = await self.speaker(request, 0, acting=False)
        return await run_in_threadpool(do, self.aggregator, owner, *parts)

    async def remember(self, request: Request, owner: parties.Owner) -> None:
        """How far the owner's own diary has come, so that a restored one is noticed."""
        told = request.headers.get(wire.DIARY, "")
        if told and told != owner.witness:

            def keep() -> None:
                with self.aggregator.database.noting() as connection:
                    parties.keep_witness(connection, owner, told)

            await run_in_threadpool(keep)

    async def act(
        self,
        request: Request,
        limit: int,
        do: Callable[..., Any],
        *parts: Any,
        rare: bool = False,
        advances: bool = False,
    ) -> Response:
        """Something that an owner does: signed, by its one active process. The scheduler advances the study.

        `rare`: it writes into the diary whenever it is asked for. `advances`: a study may advance by it.
        """
        owner, content = await self.speaker(request, limit, acting=True)
        if rare and not self.authentication.may_note(f"{do.__name__} of {owner.name}"):
            raise Fault(429, "busy", "This owner does that too often.", "Try again tomorrow.")
        await self.remember(request, owner)
        result = await run_in_threadpool(do, self.aggregator, owner, content, *parts)
        self.wakeups.wake(owner.id)
        if advances:
            self.due.set()
        return self.answer(request, result)

    def answer(self, request: Request, content: Any, status: int = 200) -> Response:
        body = canonical(content)
        headers = {"Cache-Control": "no-store"}
        nonce = request.headers.get(wire.NONCE, "")
        if nonce and len(nonce) <= 64:
            text = wire.response_text(status, body, nonce)
            headers[wire.SIGNATURE] = self.aggregator.keys.sign("response", text)
        return Response(body, status, headers, "application/json")


async def body(request: Request, limit: int) -> bytes:
    require_length(request.headers, limit)
    parts, size = [], 0
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            async for part in request.stream():
                size += len(part)
                if size > limit:
                    raise Fault(413, "too large", f"The body is longer than {limit} bytes.")
                parts.append(part)
    except TimeoutError:
        raise Fault(408, "slow", "The body did not come in time.", "Send it again.") from None
    return b"".join(parts)


def service_of(request: Request) -> Service:
    service = request.app.state.service
    assert isinstance(service, Service)
    return service
