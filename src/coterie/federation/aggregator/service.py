"""What the routes share: the aggregator, who speaks, limited bodies, and answers that are signed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec

from fastapi import Request, Response
from starlette.concurrency import run_in_threadpool

from coterie.federation.aggregator.authentication import Asked, Authentication, require_version
from coterie.federation.aggregator.faults import Fault
from coterie.federation.aggregator.home import Aggregator
from coterie.federation.aggregator.long_poll import Bell
from coterie.federation.documents import wire
from coterie.federation.documents.canonical import canonical
from coterie.federation.storage.parties import Owner

P = ParamSpec("P")


class Service:
    def __init__(self, aggregator: Aggregator) -> None:
        self.aggregator = aggregator
        self.authentication = Authentication(aggregator)
        self.bell = Bell()

    async def asked(self, request: Request, limit: int) -> Asked:
        """The request with its whole body, which may not be longer than `limit`."""
        require_version(request.headers)
        target = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        raw = request.scope.get("raw_path")
        if raw:
            query = request.scope.get("query_string", b"")
            target = raw.decode("ascii", "replace") + (
                f"?{query.decode('ascii', 'replace')}" if query else ""
            )
        return Asked(request.method, target, request.headers, await body(request, limit))

    async def speaker(self, request: Request, limit: int, *, acting: bool) -> tuple[Owner, bytes]:
        asked = await self.asked(request, limit)
        owner = await run_in_threadpool(self.authentication.owner, asked)
        if acting:
            await run_in_threadpool(self.authentication.act, owner, request.headers)
        return owner, asked.body

    async def act(
        self,
        request: Request,
        limit: int,
        do: Callable[Concatenate[Aggregator, Owner, bytes, P], Any],
        /,
        *parts: P.args,
        **named: P.kwargs,
    ) -> Response:
        """Something that an owner does: signed, by its one active process. Studies that it moves are seen by tending."""
        owner, content = await self.speaker(request, limit, acting=True)
        result = await run_in_threadpool(do, self.aggregator, owner, content, *parts, **named)
        self.bell.ring(owner.id)
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
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > limit:
            raise Fault(413, "too large", f"The body is longer than {limit} bytes.")
        parts.append(part)
    return b"".join(parts)


def service_of(request: Request) -> Service:
    service = request.app.state.service
    assert isinstance(service, Service)
    return service
