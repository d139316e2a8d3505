"""Strangers who send much, send slowly, or only hold the line: nobody else waits for them, and nothing of theirs is kept."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from federation_world import PATIENCE
from uvicorn.server import ServerState

from coterie.federation.aggregator import connections, service
from coterie.federation.aggregator.connections import PatientProtocol
from coterie.federation.aggregator.home import Fault
from coterie.federation.aggregator.service import Authentication, SignedRequest
from coterie.federation.documents import wire
from coterie.federation.documents.signed import sha256
from coterie.federation.secrets import tls
from coterie.federation.secrets.keys import Keys

STUDY = "0" * 64


def announced(world: Any, target: str, length: int, headers: dict[str, str]) -> int:
    """The status that is answered to a header, before a byte of the body is sent."""
    context = ssl.create_default_context(cadata=world.aggregator.tls_certificate)
    context.check_hostname = False
    with (
        socket.create_connection(("127.0.0.1", world.port), timeout=PATIENCE) as plain,
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


def test_who_only_names_a_known_key_shares_four_places(shared: Any) -> None:
    """Owners' keys are public. A request of an older version can be verified only when its body is read."""
    home = shared.join("named-by-strangers")
    target = f"/v1/studies/{STUDY}/chunks/0"
    with shared.client(home) as client:
        headers = client.signed_headers("PUT", target, b"")
    headers = {**headers, wire.SIGNATURE: "A" * 86 + "=="}
    del headers[wire.BODY]
    head = [f"PUT {target} HTTP/1.1", "Host: x", "Content-Length: 8000000"]
    request = "\r\n".join([*head, *(f"{name}: {value}" for name, value in headers.items()), "", "x"]).encode()
    context = tls.pinned_context(shared.aggregator.tls_certificate)

    async def answered() -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", shared.port, ssl=context)
        writer.write(request)
        try:
            return (await reader.readline()).split(b" ")[1]
        finally:
            writer.transport.abort()

    async def attack() -> set[bytes]:
        tasks = [asyncio.ensure_future(answered()) for _ in range(12)]
        first = asyncio.as_completed(tasks)
        found = {await next(first) for _ in range(8)}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return found

    assert asyncio.run(attack()) == {b"429"}


def test_strangers_requests_wait_for_no_write_lock(shared: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Well signed, by nobody who has joined: refused while another holds the lock, and what is told of it is limited.

    An owner's own request asks for it, because its nonce is kept.
    """
    home = shared.join("beside-signed-strangers")
    authentication, database = Authentication(shared.aggregator), shared.aggregator.database
    monkeypatch.setattr(
        authentication, "may_note", lambda kind: False
    )  # the diary's lines of this minute are used up

    def asked(by: Any) -> SignedRequest:
        with shared.client(by) as client:
            return SignedRequest("GET", "/", client.signed_headers("GET", "/", b""), sha256(b""))

    with database.writing():
        for _ in range(20):
            with pytest.raises(Fault) as fault:
                authentication.owner(asked(replace(home, keys=Keys.generate())))
            assert fault.value.status == 401
        with monkeypatch.context() as closed:
            closed.setattr(database, "noting", lambda: pytest.fail("the lock was asked for"))
            with pytest.raises(pytest.fail.Exception, match="the lock"):
                authentication.owner(asked(home))


async def _application(scope: Any, receive: Any, send: Any) -> None:
    if scope["path"] != "/":
        scope["state"]["introduce"](scope["path"])
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@asynccontextmanager
async def listening(**options: Any) -> AsyncIterator[int]:
    config = uvicorn.Config(_application, log_config=None, access_log=False, lifespan="off")
    config.load()
    state = ServerState()
    loop = asyncio.get_running_loop()
    connections.guard_handshakes(loop)
    server = await loop.create_server(
        lambda: PatientProtocol(config, state, {}), "127.0.0.1", 0, backlog=1, **options
    )
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


async def _asked(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str = "/") -> bytes:
    writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
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
    assert not connections.strangers


def test_many_strangers_do_not_keep_owners_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Silent ones, and those that asked once and hold the line: together they have five places."""
    monkeypatch.setattr(connections, "MOST_STRANGERS", 5)

    async def attack() -> None:
        async with listening() as port:
            owner = await asyncio.open_connection("127.0.0.1", port)
            assert (await _asked(*owner, "/an-owner")).startswith(b"HTTP/1.1 200")
            silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(20)]
            spoken = []
            for _ in range(20):
                spoken.append(await asyncio.open_connection("127.0.0.1", port))
                assert (await _asked(*spoken[-1])).startswith(b"HTTP/1.1 200")
            assert all([await _closed(reader) for reader, _ in [*silent, *spoken[:15]]])
            assert len(connections.strangers) == 5
            assert (await _asked(*owner, "/an-owner")).startswith(b"HTTP/1.1 200"), "older, but no stranger"
            for _, held in [owner, *silent, *spoken]:
                held.close()

    asyncio.run(attack())
    assert not connections.strangers
    assert not connections._circles


def test_who_does_not_even_begin_tls_has_a_strangers_place(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Each would cost a quarter of a megabyte for ten seconds."""
    monkeypatch.setattr(connections, "MOST_STRANGERS", 5)
    tls.make_certificate(tmp_path, ["127.0.0.1"])
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(tmp_path / tls.CERTIFICATE, tmp_path / tls.KEY)
    pinned = tls.pinned_context((tmp_path / tls.CERTIFICATE).read_text())

    async def attack() -> None:
        async with listening(ssl=context) as port:
            silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(20)]
            owner = await asyncio.open_connection("127.0.0.1", port, ssl=pinned)
            assert (await _asked(*owner)).startswith(b"HTTP/1.1 200")
            assert all([await _closed(reader) for reader, _ in silent[:15]])
            assert len(connections.strangers) <= 5
            for _, held in [*silent, owner]:
                held.close()

    asyncio.run(attack())


def test_one_owner_has_some_places_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MOST_OF_ONE", 3)

    async def attack() -> None:
        async with listening() as port:
            greedy, other = [], await asyncio.open_connection("127.0.0.1", port)
            assert (await _asked(*other, "/other")).startswith(b"HTTP/1.1 200")
            for _ in range(10):
                greedy.append(await asyncio.open_connection("127.0.0.1", port))
                assert (await _asked(*greedy[-1], "/greedy")).startswith(b"HTTP/1.1 200")
            assert all([await _closed(reader) for reader, _ in greedy[:7]])
            assert (await _asked(*other, "/other")).startswith(b"HTTP/1.1 200")
            for _, held in [*greedy, other]:
                held.close()

    asyncio.run(attack())


def test_nobody_fills_the_diary(shared: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Strangers who guess, a second process that insists, an owner who says again and again that it was restored."""
    authentication = Authentication(shared.aggregator)
    kinds = ("turned away", "second process of a", "second process of b")
    for moment, allowed in ((0.0, 60), (59.0, 0), (61.0, 60)):
        monkeypatch.setattr(service.time, "monotonic", lambda now=moment: 86_400.0 * 9 + now)
        for kind in kinds:
            assert sum(authentication.may_note(kind) for _ in range(200)) == allowed
    for minute in range(2, 60):
        monkeypatch.setattr(service.time, "monotonic", lambda now=minute: 86_400.0 * 9 + 60.0 * now)
        for _ in range(200):
            authentication.may_note(kinds[0])
    assert not authentication.may_note(kinds[0]), "a thousand a day"
