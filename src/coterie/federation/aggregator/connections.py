"""Connections of strangers: whoever is slow, idle or many is let go before anybody who has something to say must wait."""

from __future__ import annotations

import asyncio
import resource
from collections import OrderedDict
from contextlib import suppress
from typing import Any, ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

HANDSHAKE_SECONDS = 10.0
HEADER_SECONDS = (
    10.0  # from the connection, or the last answer's end, to the end of a request's header, once it began
)
KEEP_ALIVE_SECONDS = 75
MOST_WITHOUT_A_REQUEST = 500  # the longest waiting goes first when there are more
_FILES = 65_536


class PatientProtocol(H11Protocol):
    """HTTP/1.1 with an end to patience. uvicorn itself waits for a first request without end."""

    # Connections that have not sent a whole request header yet, oldest first: of this process, which has one server.
    _silent: ClassVar[OrderedDict[PatientProtocol, None]] = OrderedDict()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._timer: asyncio.TimerHandle | None = self.loop.call_later(HEADER_SECONDS, self._let_go)
        self._silent[self] = None
        if len(self._silent) > MOST_WITHOUT_A_REQUEST:
            oldest = next(iter(self._silent))
            oldest._let_go()

    def data_received(self, data: bytes) -> None:
        between = not self._speaking
        super().data_received(data)
        if self._speaking:
            self._stop_waiting()
        elif between and self._timer is None and not self.transport.is_closing():
            # The first bytes of another request on the same connection.
            self._timer = self.loop.call_later(HEADER_SECONDS, self._let_go)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    @property
    def _speaking(self) -> bool:
        """A request's header is here and its answer is not finished."""
        return self.cycle is not None and not self.cycle.response_complete

    def _stop_waiting(self) -> None:
        self._silent.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _let_go(self) -> None:
        self._stop_waiting()
        if not self._speaking and not self.transport.is_closing():
            self.transport.abort()  # no farewell: a peer that does not read would keep us waiting for it


def shorten_handshakes(loop: asyncio.AbstractEventLoop) -> None:
    """uvicorn has no setting for it, and asyncio waits a minute for each TLS handshake."""
    create: Any = loop.create_server

    async def create_server(*arguments: Any, **options: Any) -> Any:
        if options.get("ssl") is not None:
            options.setdefault("ssl_handshake_timeout", HANDSHAKE_SECONDS)
        return await create(*arguments, **options)

    loop.create_server = create_server  # type: ignore[method-assign]


def allow_many_files() -> None:
    """The usual soft limit of 1,024 open files would be a limit on owners, and strangers could use it up."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if hard == resource.RLIM_INFINITY else min(hard, _FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
