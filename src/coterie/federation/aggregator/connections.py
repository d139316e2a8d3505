"""Limits on connections of strangers, so that slow, idle or many ones never keep an owner waiting.

A connection is a stranger's, from its first byte of TLS, until a request on it was signed by a known owner or carried
a reader's token. Strangers have little time and few places, all of them together; each owner has some places of its own.
"""

from __future__ import annotations

import asyncio
import resource
import ssl
from asyncio import sslproto
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from fastapi import Request
from uvicorn.protocols.http.h11_impl import H11Protocol

HANDSHAKE_SECONDS = 10
HEADER_SECONDS = 10.0  # from the connection, or the last answer's end, to the end of a request's header
STRANGER_SECONDS = 30.0  # from a stranger's header to its answer
KEEP_ALIVE_SECONDS = 75
ACCEPTED_AT_ONCE = 128  # before the oldest are let go; each costs memory from its first moment
MOST_STRANGERS = 500  # the longest waiting goes first when there are more
MOST_OF_ONE = 32  # connections of one owner; an honest one has two or three
CLAIMS = "claims to be an owner"  # of an older version: it is known only when its body has been read
READER = "reader of the status page"
_FILES = 65_536


class ConnectionLimit:
    """Connections and how to end them, oldest first. When there are more than `most`, the oldest ends."""

    def __init__(self, most: Callable[[], int]) -> None:
        self._most = most
        self._ends: OrderedDict[object, Callable[[], None]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._ends)

    def __contains__(self, connection: object) -> bool:
        return connection in self._ends

    def take(self, connection: object, end: Callable[[], None]) -> None:
        self._ends[connection] = end
        if len(self._ends) > self._most():
            _, end_oldest = self._ends.popitem(last=False)
            end_oldest()

    def leave(self, connection: object) -> None:
        self._ends.pop(connection, None)


# Of this process, which has one server.
strangers = ConnectionLimit(lambda: MOST_STRANGERS)
_circles: defaultdict[object, ConnectionLimit] = defaultdict(lambda: ConnectionLimit(lambda: MOST_OF_ONE))


class PatientProtocol(H11Protocol):
    """HTTP/1.1 with time limits. uvicorn itself waits for a first request without end."""

    _timer: asyncio.TimerHandle | None = None
    _circle: object = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        strangers.take(self, transport.abort)
        self._wait(HEADER_SECONDS)

    def data_received(self, data: bytes) -> None:
        between = not self._speaking
        super().data_received(data)
        if between and self._speaking:
            self._wait(None if self._circle else STRANGER_SECONDS)
        elif between and self._timer is None and not self.transport.is_closing():
            self._wait(HEADER_SECONDS)  # the first bytes of another request on the same connection

    def handle_events(self) -> None:
        super().handle_events()
        if self.scope is not None:
            self.scope["state"]["introduce"] = self._introduce

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self._speaking and not self.transport.is_closing():
            self._wait(None if self._circle else HEADER_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait(None)
        strangers.leave(self)
        if self._circle is not None:
            _circles[self._circle].leave(self)
            if not _circles[self._circle]:
                del _circles[self._circle]
        super().connection_lost(exc)

    @property
    def _speaking(self) -> bool:
        """A request's header is here and its answer is not finished."""
        return self.cycle is not None and not self.cycle.response_complete

    def _introduce(self, who: object) -> None:
        """The application knows now who it is."""
        if self._circle == who or self.transport.is_closing():
            return
        if self._circle is not None:
            _circles[self._circle].leave(self)
        strangers.leave(self)
        self._circle = who
        self._wait(None)
        _circles[who].take(self, self.transport.abort)

    def _wait(self, seconds: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        # Aborted, not closed: a peer that does not read would keep a closing connection open.
        self._timer = None if seconds is None else self.loop.call_later(seconds, self.transport.abort)


def introduce(request: Request, who: object) -> None:
    """Tell the connection whose it is: no stranger's any more."""
    told = request.scope.get("state", {}).get("introduce")
    if told is not None:
        told(who)


class _Handshake(sslproto.SSLProtocol):
    """TLS of one connection, which takes a stranger's place before it has said anything."""

    def __init__(self, loop: Any, protocol: Any, context: ssl.SSLContext) -> None:
        super().__init__(
            loop,
            protocol,
            context,
            None,  # type: ignore[arg-type]
            server_side=True,
            ssl_handshake_timeout=HANDSHAKE_SECONDS,
        )
        self._inner = protocol

    def connection_made(self, transport: Any) -> None:
        strangers.take(self._inner, transport.abort)
        super().connection_made(transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        strangers.leave(self._inner)
        super().connection_lost(exc)


def guard_handshakes(loop: asyncio.AbstractEventLoop) -> None:
    """asyncio waits a minute for each TLS handshake, and has no limit to their number; uvicorn has no setting for it."""
    create: Any = loop.create_server

    async def create_server(factory: Callable[[], Any], *arguments: Any, **options: Any) -> Any:
        context = options.pop("ssl", None)
        if context is None:
            return await create(factory, *arguments, **options)
        return await create(lambda: _Handshake(loop, factory(), context), *arguments, **options)

    loop.create_server = create_server  # type: ignore[method-assign, assignment]


def allow_many_files() -> None:
    """The usual soft limit of 1,024 open files would be a limit on owners, and strangers could use it up."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if hard == resource.RLIM_INFINITY else min(hard, _FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
