"""Strangers who send much, send slowly, or only hold the line: nobody else waits for them, and nothing of theirs is kept."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from coterie.federation.aggregator import connections
from coterie.federation.aggregator.connections import PatientProtocol
from coterie.federation.documents import wire
from coterie.federation.secrets.keys import Keys

STUDY = "0" * 64


def announced(world: Any, target: str, length: int, headers: dict[str, str]) -> int:
    """The status that is answered to a header, before a byte of the body is sent."""
    context = ssl.create_default_context(cadata=world.aggregator.tls_certificate)
    context.check_hostname = False
    with (
        socket.create_connection(("127.0.0.1", world.port), timeout=20) as plain,
        context.wrap_socket(plain) as line,
    ):
        head = [f"PUT {target} HTTP/1.1", "Host: x", f"Content-Length: {length}"]
        head += [f"{name}: {value}" for name, value in headers.items()]
        line.sendall("\r\n".join([*head, "", ""]).encode())
        return int(line.recv(4096).split(b" ")[1])


def test_bodies_are_read_after_authentication(shared: Any) -> None:
    home = shared.join("body-first")
    target, size = f"/v1/studies/{STUDY}/chunks/0", 8 * 1024 * 1024
    with shared.client(home) as client:
        headers = client.signed_headers("PUT", target, b"")
    stranger = {**headers, wire.KEY: Keys.generate().public}
    assert announced(shared, target, size, stranger) == 401
    older = {name: value for name, value in stranger.items() if name != wire.BODY}
    assert announced(shared, target, size, older) == 401, "owners of older versions do not tell the hash"
    forged = {**headers, wire.BODY: "0" * 64}
    assert announced(shared, target, size, forged) == 401, "a known key with another's signature"
    assert announced(shared, target, size + 1, headers) == 413, "too long by its own word"


async def _application(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@asynccontextmanager
async def listening() -> AsyncIterator[int]:
    config = uvicorn.Config(_application, log_config=None, access_log=False, lifespan="off")
    config.load()
    state = ServerState()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: PatientProtocol(config, state, {}), "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for connection in list(state.connections):
            connection.transport.abort()
        await server.wait_closed()


async def _closed(reader: asyncio.StreamReader) -> bool:
    with contextlib.suppress(ConnectionError):
        return await asyncio.wait_for(reader.read(1), 20) == b""
    return True


async def _asked(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    return (await reader.readuntil(b"ok"))[:15]


def test_whoever_only_holds_the_line_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEADER_SECONDS", 0.2)

    async def attack() -> None:
        async with listening() as port:
            idle, held = await asyncio.open_connection("127.0.0.1", port)
            slow, drip = await asyncio.open_connection("127.0.0.1", port)
            drip.write(b"GET / HT")
            again, second = await asyncio.open_connection("127.0.0.1", port)
            assert (await _asked(again, second)).startswith(b"HTTP/1.1 200")
            second.write(b"GET / HT")  # half of another request on a connection that was good
            assert all(await asyncio.gather(_closed(idle), _closed(slow), _closed(again)))
            for writer in (held, drip, second):
                writer.close()

    asyncio.run(attack())
    assert not PatientProtocol._silent


def test_many_idle_connections_do_not_keep_owners_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MOST_WITHOUT_A_REQUEST", 5)

    async def attack() -> None:
        async with listening() as port:
            idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(20)]
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            assert (await _asked(reader, writer)).startswith(b"HTTP/1.1 200")
            assert await _closed(idle[0][0]), "the longest waiting goes first"
            assert len(PatientProtocol._silent) <= 5
            for _, held in [*idle, (reader, writer)]:
                held.close()

    asyncio.run(attack())
