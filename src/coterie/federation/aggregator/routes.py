"""The protocol's routes (docs/reference/protocol.md). Each is: who speaks, what do they want, a signed answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
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
from coterie.federation.documents.messages import Enrolment, ExchangeStep
from coterie.federation.documents.signed import Signed, parsed, validated
from coterie.federation.secrets.keys import require_sound
from coterie.federation.storage.parties import enrol, invited

# What OpenAPI says of the routes. Bodies are read as bytes, because these are signed, so they are described here.

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
_OF_OWNER = (401, 403, 409, 413, 422, 426)
_RELEASED = (401, 404, 409, 422, 426)
_CHUNK = {"type": "string", "format": "binary", "maxLength": wire.LARGEST_CHUNK}

router = APIRouter(prefix="/v1")
Serving = Annotated[Service, Depends(service_of)]
StudyPath = Annotated[str, Path(pattern="^[0-9a-f]{64}$")]
ParcelNumber = Annotated[int, Path(ge=0, lt=wire.MOST_PARCELS)]
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
    key, content = await service.enrolling(request, wire.LARGEST_ENROLMENT)
    form = validated(Enrolment, parsed(content))
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
            woken = asyncio.create_task(service.wakeups.wait(owner.id, max(end - time.monotonic(), 0.0)))
            seen = request.headers.get(wire.SEEN, "")
            content = await run_in_threadpool(desired, service.aggregator, owner, seen)
            if content["version"] != after or time.monotonic() >= end or gone.done():
                woken.cancel()
                return service.answer(request, content)
            await asyncio.wait({woken, gone}, return_when=asyncio.FIRST_COMPLETED)
            woken.cancel()
    finally:
        gone.cancel()
        presence[mark] -= 1


async def _hung_up(request: Request) -> None:
    """Returns when the owner has gone: its successor must not be kept waiting for the rest of the poll."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


# What an owner does or asks for: a function of `receiving`, whose first sentence is the route's summary.
#
# What a path names is taken from it by functions that are no threads' work: strangers must not keep the threads busy.


async def _whole() -> tuple[()]:
    return ()


async def _study(study: StudyPath) -> tuple[str]:
    return (study,)


async def _chunk(
    study: StudyPath, number: Annotated[int, Path(ge=0, lt=wire.MOST_CHUNKS)]
) -> tuple[str, int]:
    return study, number


async def _parcel(
    study: StudyPath, step: ExchangeStep, number: ParcelNumber
) -> tuple[str, ExchangeStep, int]:
    return study, step, number


Named = Callable[..., Awaitable[tuple[Any, ...]]]  # what the path names, as `receiving` takes it


def _said_of(do: Callable[..., Any]) -> str:
    return " ".join((do.__doc__ or "").partition("\n\n")[0].split()).removesuffix(".")


def _acts(
    place: str,
    do: Callable[..., Any],
    of: Named,
    codes: tuple[int, ...] = _USUAL,
    *,
    body: type[BaseModel] | dict[str, Any] | None = None,
    limit: int = 0,
    **how: bool,
) -> None:
    """`limit`: of the body, in bytes; `how`: as `Service.act` has it."""
    named: Any = Depends(of)

    async def act(request: Request, service: Serving, parts: Any = named) -> Response:
        return await service.act(request, limit, getattr(receiving, name), *parts, **how)

    name = act.__name__ = do.__name__
    _route(place, _said_of(do), *codes, body=body)(act)


def _asks(place: str, do: Callable[..., Any], of: Named, codes: tuple[int, ...]) -> None:
    named: Any = Depends(of)

    async def ask(request: Request, service: Serving, parts: Any = named) -> Response:
        return service.answer(request, await service.look(request, getattr(receiving, name), *parts))

    name = ask.__name__ = do.__name__
    _route(place, _said_of(do), *codes)(ask)


_PART, _PARCEL = "/studies/{study}", "/studies/{study}/parcels/{step}/{number}"
_DOCUMENT: dict[str, Any] = {"body": Signed, "limit": wire.LARGEST_DOCUMENT}
_REPORT: dict[str, Any] = {"body": ProgressReport, "limit": wire.LARGEST_ENROLMENT}
_BYTES_OF_CHUNK: dict[str, Any] = {"body": _CHUNK, "limit": wire.LARGEST_CHUNK}
_RARE: dict[str, Any] = {"limit": wire.LARGEST_ENROLMENT, "rare": True}
_acts(f"POST {_PART}/answer", receiving.answer, _study, **_DOCUMENT, advances=True)
_acts(f"PUT {_PART}/group-key", receiving.group_key, _study, **_DOCUMENT, advances=True)
_acts(f"PUT {_PARCEL}", receiving.give_parcel, _parcel, **_DOCUMENT)
_asks(f"GET {_PARCEL}", receiving.take_parcel, _parcel, _USUAL)
_acts(f"POST {_PART}/progress", receiving.progress, _study, **_REPORT, advances=True)
_acts(f"PUT {_PART}/manifest", receiving.manifest, _study, **_DOCUMENT, advances=True)
_acts(f"PUT {_PART}/chunks/{{number}}", receiving.chunk, _chunk, (*_USUAL, 507), **_BYTES_OF_CHUNK)
_acts(f"POST {_PART}/seal", receiving.seal, _study, **_DOCUMENT, advances=True)
_acts(f"PUT {_PART}/part-key", receiving.part_key, _study, **_DOCUMENT, advances=True)
_asks(f"GET {_PART}/certificate", receiving.certificate, _study, _RELEASED)
_acts(f"PUT {_PART}/released", receiving.released_before, _study, body=Signed, limit=wire.LARGEST_CHUNK)
_acts("POST /keys", receiving.new_keys, _whole, _OF_OWNER, body=Signed, **_RARE)
_acts(f"POST {_PART}/closed", receiving.closed, _study, advances=True)
_asks("GET /spent", receiving.spent, _whole, (401, 403, 426))
_acts("POST /recovered", receiving.recovered, _whole, _OF_OWNER, body=RecoveryReport, **_RARE)
_acts("POST /leave", receiving.leave_all, _whole, (401, 409, 413, 426))


@_route(
    f"GET {_PART}/release",
    "The joined table (Parquet); its hash is on the certificate",
    *_RELEASED,
    gives=_PARQUET,
)
async def release(request: Request, service: Serving, study: StudyPath) -> Response:
    await service.look(request, receiving.released, study)
    path = service.aggregator.release(study)
    return FileResponse(path, media_type=_PARQUET, headers={"Cache-Control": "no-store"})
