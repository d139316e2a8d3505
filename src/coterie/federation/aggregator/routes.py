"""The protocol's routes (docs/reference/protocol.md). Each is: who speaks, what do they want, a signed answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.responses import FileResponse
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool

from coterie._version import __version__
from coterie.federation.aggregator import receiving
from coterie.federation.aggregator.home import Fault
from coterie.federation.aggregator.receiving import ProgressReport, RecoveryReport
from coterie.federation.aggregator.service import NO_DETAIL, Service, desired, service_of
from coterie.federation.documents import wire
from coterie.federation.documents.answers import Enrolment, ExchangeStep
from coterie.federation.documents.signed import Signed, parsed, validated
from coterie.federation.documents.wire import (
    LARGEST_CHUNK,
    LARGEST_DOCUMENT,
    LARGEST_ENROLMENT,
    MOST_CHUNKS,
    MOST_PARCELS,
)
from coterie.federation.secrets.keys import require_sound
from coterie.federation.storage.parties import enrol, invited

# What the routes tell OpenAPI: bodies are read by hand (their bytes are signed), so they are described by hand.

_HEADERS = {
    wire.PROTOCOL: "protocol versions of the owner, such as 1 or 1-3",
    wire.KEY: "the owner's Ed25519 public key, base64",
    wire.TIME: "now, ISO 8601 with zone; at most two minutes off",
    wire.NONCE: "16 to 64 characters, never used before",
    wire.SIGNATURE: "Ed25519 over the request, base64 (docs/reference/protocol.md)",
}
_WORDS = {
    401: "bad signature, reused nonce, unknown key (no detail); or clock off, with both times",
    403: "the administrator has suspended this owner",
    404: "no such study for this owner",
    409: "the state does not allow it, or another process uses this key",
    410: "the invitation was used or has expired",
    408: "the body did not come in time",
    413: "the body is too long",
    422: "the document or chunk is not acceptable; the reason is given",
    426: "no common protocol version; both ranges are given",
    429: "this owner sends too much at once",
    507: "the disk of the aggregator is full: try again later",
}
_FAULT = {
    "type": "object",
    "required": ["error", "problem", "advice"],
    "properties": {name: {"type": "string"} for name in ("error", "problem", "advice")},
}
_SIGNED: dict[str, Any] = {
    "parameters": [
        {"name": name, "in": "header", "required": True, "description": text, "schema": {"type": "string"}}
        for name, text in _HEADERS.items()
    ]
}
_JSON, _BYTES, _PARQUET = "application/json", "application/octet-stream", "application/vnd.apache.parquet"
_USUAL = (401, 403, 404, 408, 409, 413, 422, 426, 429)
_CHUNK = {"type": "string", "format": "binary", "maxLength": LARGEST_CHUNK}

router = APIRouter(prefix="/v1")
Serving = Annotated[Service, Depends(service_of)]
StudyPath = Annotated[str, Path(pattern="^[0-9a-f]{64}$")]
ParcelNumber = Annotated[int, Path(ge=0, lt=MOST_PARCELS)]
Route = Callable[[Callable[..., Any]], Callable[..., Any]]


def _route(
    place: str,
    summary: str,
    *codes: int,
    body: type[BaseModel] | dict[str, Any] | None = None,
    gives: str = _JSON,
) -> Route:
    """A route with the faults that it may answer; all are signed but the one that can have no fault."""
    described: dict[str, Any] = dict(_SIGNED) if codes else {}
    if isinstance(body, dict):
        described["requestBody"] = {"required": True, "content": {_BYTES: {"schema": body}}}
    elif body is not None:
        schema = body.model_json_schema(ref_template="#/components/schemas/{model}")
        schema.pop("$defs", None)
        described["requestBody"] = {"required": True, "content": {_JSON: {"schema": schema}}}
    answer: Any = {"schema": {} if gives == _JSON else {"type": "string"}}
    responses: dict[int | str, dict[str, Any]] = {200: {"description": "done", "content": {gives: answer}}}
    for code in codes:
        responses[code] = {"description": _WORDS[code], "content": {_JSON: {"schema": _FAULT}}}
    verb, path = place.split()
    extra = described or None
    return router.api_route(path, methods=[verb], openapi_extra=extra, responses=responses, summary=summary)


@_route("GET /protocol", "Versions that are spoken here, and the aggregator's key")
async def protocol(request: Request, service: Serving) -> Response:
    content = {
        "minimum": wire.PROTOCOL_MINIMUM,
        "maximum": wire.PROTOCOL_MAXIMUM,
        "aggregator": service.aggregator.keys.public,
        "successions": service.aggregator.successions,
        "tool": f"coterie {__version__}",
    }
    return service.answer(request, content)


@_route(
    "POST /enrol",
    "Use an invitation: once, with the key that signs this request",
    *(401, 409, 410, 413, 422, 426),
    body=Enrolment,
)
async def enrol_route(request: Request, service: Serving) -> Response:
    key, content = await service.enrolling(request, LARGEST_ENROLMENT)
    form = validated(Enrolment, parsed(content), "enrolment")
    if form.key != key:
        raise Fault(401, "unauthorised", NO_DETAIL)

    def enter() -> str | None:
        with service.aggregator.database.reading() as connection:
            if not invited(connection, form.token):
                return None
        require_sound(form.key, form.sealing_key)
        with service.aggregator.database.writing() as connection:
            return enrol(connection, form.token, form.key, form.sealing_key)

    name = await run_in_threadpool(enter)
    if name is None:
        raise Fault(410, "invitation", "The invitation was used or has expired.", "Ask for a new one.")
    return service.answer(request, {"owner": name, "aggregator": service.aggregator.keys.public})


@_route(
    "GET /desired",
    "All that the aggregator wants of this owner; waits until it differs from version `after`",
    *(401, 409, 422, 426),
)
async def desired_route(
    request: Request,
    service: Serving,
    after: Annotated[str, Query(pattern="^([0-9a-f]{32})?$")] = "",
    wait: Annotated[int, Query(ge=0, le=wire.LONGEST_POLL_SECONDS)] = 0,
) -> Response:
    # A process that polls acts; a person who only looks (no session) does not.
    acting = bool(request.headers.get(wire.SESSION))
    owner, _ = await service.speaker(request, 0, acting=acting)
    if acting:
        await service.remember(request, owner)
    presence, mark = service.authentication.presence, (owner.id, request.headers.get(wire.SESSION, ""))
    presence[mark] += 1
    gone = asyncio.create_task(_hung_up(request))
    try:
        end = time.monotonic() + wait
        while True:
            heard = asyncio.create_task(service.bell.heard(owner.id, max(end - time.monotonic(), 0.0)))
            seen = request.headers.get(wire.SEEN, "")
            content = await run_in_threadpool(desired, service.aggregator, owner, seen)
            if content["version"] != after or time.monotonic() >= end or gone.done():
                heard.cancel()
                return service.answer(request, content)
            await asyncio.wait({heard, gone}, return_when=asyncio.FIRST_COMPLETED)
            heard.cancel()
    finally:
        gone.cancel()
        presence[mark] -= 1


async def _hung_up(request: Request) -> None:
    """Returns when the owner has gone: its successor must not be kept waiting for the rest of the poll."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _acting(place: str, summary: str, body: type[BaseModel] | None = None) -> None:
    """A route by which an owner does what `receiving` has under its name, with a document or nothing in its body."""
    verb, name = place.split()
    limit = 0 if body is None else LARGEST_DOCUMENT if body is Signed else LARGEST_ENROLMENT

    async def act(request: Request, service: Serving, study: StudyPath) -> Response:
        return await service.act(request, limit, getattr(receiving, act.__name__), study, stirs=True)

    act.__name__ = name.replace("-", "_")
    _route(f"{verb} /studies/{{study}}/{name}", summary, *_USUAL, body=body)(act)


_acting(
    "POST answer", "Approve (which attributes, whether the people are nowhere else) or refuse (why)", Signed
)
_acting("PUT group-key", "The lead owner's key for the pseudonyms, sealed to each other owner", Signed)


@_route(
    "PUT /studies/{study}/parcels/{step}/{number}",
    "Blinded ids for the other owner of a blinded study, sealed; sending it again changes nothing",
    *_USUAL,
    body=Signed,
)
async def give_parcel(
    request: Request, service: Serving, study: StudyPath, step: ExchangeStep, number: ParcelNumber
) -> Response:
    return await service.act(request, LARGEST_DOCUMENT, receiving.give, study, step, number)


@_route(
    "GET /studies/{study}/parcels/{step}/{number}",
    "A parcel that the other owner of a blinded study sent",
    *_USUAL,
)
async def take_parcel(
    request: Request, service: Serving, study: StudyPath, step: ExchangeStep, number: ParcelNumber
) -> Response:
    return service.answer(request, await service.look(request, receiving.take, study, step, number))


_acting("POST progress", "RESERVED, COMPUTED or WITHDRAWN", ProgressReport)
_acting("PUT manifest", "Which chunks will come; answers which are missing", Signed)


@_route(
    "PUT /studies/{study}/chunks/{number}",
    "One chunk; sending it again changes nothing",
    *(*_USUAL, 507),
    body=_CHUNK,
)
async def chunk(
    request: Request, service: Serving, study: StudyPath, number: Annotated[int, Path(ge=0, lt=MOST_CHUNKS)]
) -> Response:
    return await service.act(request, LARGEST_CHUNK, receiving.chunk, study, number)


_acting(
    "POST seal",
    "Verify all chunks; answers with a signed receipt. From protocol 3 on with a signed delivery, before without a body",
    Signed,
)
_acting("PUT part-key", "What opens a sealed part, when all owners have delivered", Signed)


@_route(
    "GET /studies/{study}/certificate",
    "The certificate of the joined release, signed by the aggregator",
    *(401, 404, 409, 422, 426),
)
async def certificate(request: Request, service: Serving, study: StudyPath) -> Response:
    row = await service.look(request, receiving.released, study)
    return service.answer(request, parsed(row.certificate.encode()))


@_route(
    "GET /studies/{study}/release",
    "The joined table (Parquet); its hash is on the certificate",
    *(401, 404, 409, 422, 426),
    gives=_PARQUET,
)
async def release(request: Request, service: Serving, study: StudyPath) -> Response:
    await service.look(request, receiving.released, study)
    path = service.aggregator.release(study)
    return FileResponse(path, media_type=_PARQUET, headers={"Cache-Control": "no-store"})


@_route(
    "PUT /studies/{study}/released",
    "The certificate of a release that the aggregator has forgotten, by a restore: the study ends",
    *_USUAL,
    body=Signed,
)
async def released_before(request: Request, service: Serving, study: StudyPath) -> Response:
    return await service.act(request, LARGEST_CHUNK, receiving.released_before, study)


@_route(
    "POST /keys",
    "New keys of this owner, signed with them; the request is signed with the old ones",
    *(401, 403, 409, 413, 422, 426),
    body=Signed,
)
async def new_keys(request: Request, service: Serving) -> Response:
    return await service.act(request, LARGEST_ENROLMENT, receiving.new_keys, rare=True)


_acting(
    "POST closed",
    "The owner knows how the study ended and holds its copy: `desired` leaves it out from now on",
)


@_route("GET /spent", "Studies for which this owner's part could be read: they are spent", *(401, 403, 426))
async def spent(request: Request, service: Serving) -> Response:
    return service.answer(request, await service.look(request, receiving.spent))


@_route(
    "POST /recovered",
    "After a restore: the owner has charged again what was spent, and its diary goes on from here",
    *(401, 403, 409, 413, 422, 426),
    body=RecoveryReport,
)
async def recovered(request: Request, service: Serving) -> Response:
    return await service.act(request, LARGEST_ENROLMENT, receiving.recovered, rare=True)


@_route(
    "POST /leave",
    "Withdraw from everything that is not delivered; this key is not accepted again",
    *(401, 409, 413, 426),
)
async def leave_route(request: Request, service: Serving) -> Response:
    return await service.act(request, 0, receiving.leave_all)
