"""The protocol's routes (docs/reference/protocol.md). Each is: who speaks, what do they want, a signed answer."""

from __future__ import annotations

import asyncio
import time
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.responses import FileResponse
from starlette.concurrency import run_in_threadpool

from coterie._version import __version__
from coterie.federation.aggregator import receiving
from coterie.federation.aggregator import receiving as relaying
from coterie.federation.aggregator.authentication import signed_by
from coterie.federation.aggregator.faults import Fault
from coterie.federation.aggregator.home import Aggregator
from coterie.federation.aggregator.long_poll import desired
from coterie.federation.aggregator.openapi import SIGNED, chunk_body, document_body, responses
from coterie.federation.aggregator.service import Service, service_of
from coterie.federation.documents import wire
from coterie.federation.documents.answers import Step
from coterie.federation.documents.canonical import Document, Signed, parsed, validated
from coterie.federation.documents.invitation import Enrolment
from coterie.federation.documents.wire import (
    LARGEST_CHUNK,
    LARGEST_DOCUMENT,
    LARGEST_ENROLMENT,
    MOST_CHUNKS,
    MOST_PARCELS,
    ContributionState,
)
from coterie.federation.storage.parties import Owner, enrol, leave

router = APIRouter(prefix="/v1")
Serving = Annotated[Service, Depends(service_of)]
StudyPath = Annotated[str, Path(pattern="^[0-9a-f]{64}$")]
ParcelNumber = Annotated[int, Path(ge=0, lt=MOST_PARCELS)]


class Progress(Document):
    state: ContributionState


def _taking(model: type[Document], summary: str) -> dict[str, Any]:
    """A route of one study that takes one document."""
    codes = responses(401, 404, 409, 413, 422, 426)
    return {"openapi_extra": document_body(model), "responses": codes, "summary": summary}


@router.get(
    "/protocol", responses=responses(), summary="Versions that are spoken here, and the aggregator's key"
)
async def protocol(request: Request, service: Serving) -> Response:
    content = {
        "minimum": wire.PROTOCOL_MINIMUM,
        "maximum": wire.PROTOCOL_MAXIMUM,
        "aggregator": service.aggregator.keys.public,
        "tool": f"coterie {__version__}",
    }
    return service.answer(request, content)


@router.post(
    "/enrol",
    openapi_extra=document_body(Enrolment),
    responses=responses(401, 409, 410, 413, 422, 426),
    summary="Use an invitation: once, with the key that signs this request",
)
async def enrol_route(request: Request, service: Serving) -> Response:
    asked = await service.asked(request, LARGEST_ENROLMENT)
    key = await run_in_threadpool(signed_by, asked, service.aggregator)
    form = validated(Enrolment, parsed(asked.body), "enrolment")
    if form.key != key:
        raise Fault(401, "unauthorised", "The request is not accepted.")

    def enter() -> str | None:
        with service.aggregator.database.writing() as connection:
            return enrol(connection, form.token, form.key, form.sealing_key)

    name = await run_in_threadpool(enter)
    if name is None:
        raise Fault(410, "invitation", "The invitation was used or has expired.", "Ask for a new one.")
    return service.answer(request, {"owner": name, "aggregator": service.aggregator.keys.public})


@router.get(
    "/desired",
    openapi_extra=SIGNED,
    responses=responses(401, 409, 422, 426),
    summary="All that the aggregator wants of this owner; waits until it differs from version `after`",
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
    presence, mark = service.authentication.presence, (owner.id, request.headers.get(wire.SESSION, ""))
    presence.open[mark] += 1
    gone = asyncio.create_task(_hung_up(request))
    try:
        end = time.monotonic() + wait
        while True:
            heard = asyncio.create_task(service.bell.heard(owner.id, max(end - time.monotonic(), 0.0)))
            content = await run_in_threadpool(desired, service.aggregator, owner)
            if content["version"] != after or time.monotonic() >= end or gone.done():
                heard.cancel()
                return service.answer(request, content)
            await asyncio.wait({heard, gone}, return_when=asyncio.FIRST_COMPLETED)
            heard.cancel()
    finally:
        gone.cancel()
        presence.open[mark] -= 1


async def _hung_up(request: Request) -> None:
    """Returns when the owner has gone: its successor must not be kept waiting for the rest of the poll."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


@router.post(
    "/studies/{study}/answer",
    **_taking(Signed, "Approve (which attributes, whether the people are nowhere else) or refuse (why)"),
)
async def answer(request: Request, service: Serving, study: StudyPath) -> Response:
    return await service.act(request, LARGEST_DOCUMENT, receiving.answer, study)


@router.put(
    "/studies/{study}/group-key",
    **_taking(Signed, "The lead owner's key for the pseudonyms, sealed to each other owner"),
)
async def group_key(request: Request, service: Serving, study: StudyPath) -> Response:
    return await service.act(request, LARGEST_DOCUMENT, receiving.group_key, study)


@router.put(
    "/studies/{study}/parcels/{step}/{number}",
    **_taking(
        Signed, "Blinded ids for the other owner of a blinded study, sealed; sending it again changes nothing"
    ),
)
async def give_parcel(
    request: Request, service: Serving, study: StudyPath, step: Step, number: ParcelNumber
) -> Response:
    return await service.act(request, LARGEST_DOCUMENT, relaying.give, study, step, number)


@router.get(
    "/studies/{study}/parcels/{step}/{number}",
    openapi_extra=SIGNED,
    responses=responses(401, 404, 409, 413, 422, 426),
    summary="A parcel that the other owner of a blinded study sent",
)
async def take_parcel(
    request: Request, service: Serving, study: StudyPath, step: Step, number: ParcelNumber
) -> Response:
    owner, _ = await service.speaker(request, 0, acting=False)
    found = await run_in_threadpool(relaying.take, service.aggregator, owner, study, step, number)
    return service.answer(request, found)


@router.post("/studies/{study}/progress", **_taking(Progress, "RESERVED, COMPUTED or WITHDRAWN"))
async def progress(request: Request, service: Serving, study: StudyPath) -> Response:
    def report(aggregator: Aggregator, owner: Owner, body: bytes, study: str) -> dict[str, str]:
        state = validated(Progress, parsed(body), "report").state
        allowed = (ContributionState.RESERVED, ContributionState.COMPUTED, ContributionState.WITHDRAWN)
        if state not in allowed:
            raise Fault(422, "unacceptable", "Only RESERVED, COMPUTED and WITHDRAWN are reported.")
        return receiving.progress(aggregator, owner, state, study)

    return await service.act(request, LARGEST_ENROLMENT, report, study)


@router.put(
    "/studies/{study}/manifest", **_taking(Signed, "Which chunks will come; answers which are missing")
)
async def manifest(request: Request, service: Serving, study: StudyPath) -> Response:
    return await service.act(request, LARGEST_DOCUMENT, receiving.manifest, study)


@router.put(
    "/studies/{study}/chunks/{number}",
    openapi_extra=chunk_body(),
    responses=responses(401, 404, 409, 413, 422, 426, 507),
    summary="One chunk; sending it again changes nothing",
)
async def chunk(
    request: Request, service: Serving, study: StudyPath, number: Annotated[int, Path(ge=0, lt=MOST_CHUNKS)]
) -> Response:
    return await service.act(request, LARGEST_CHUNK, receiving.chunk, study, number)


@router.post(
    "/studies/{study}/seal",
    openapi_extra=SIGNED,
    responses=responses(401, 404, 409, 413, 422, 426),
    summary="Verify all chunks; answers with a signed receipt",
)
async def seal(request: Request, service: Serving, study: StudyPath) -> Response:
    return await service.act(request, 0, receiving.seal, study)


@router.get(
    "/studies/{study}/certificate",
    openapi_extra=SIGNED,
    responses=responses(401, 404, 409, 422, 426),
    summary="The certificate of the joined release, signed by the aggregator",
)
async def certificate(request: Request, service: Serving, study: StudyPath) -> Response:
    owner, _ = await service.speaker(request, 0, acting=False)
    row = await run_in_threadpool(receiving.released, service.aggregator, owner, study)
    assert row.certificate is not None
    return service.answer(request, parsed(row.certificate.encode()))


@router.get(
    "/studies/{study}/release",
    openapi_extra=SIGNED,
    responses=responses(401, 404, 409, 422, 426, content="application/vnd.apache.parquet"),
    summary="The joined table (Parquet); its hash is on the certificate",
)
async def release(request: Request, service: Serving, study: StudyPath) -> Response:
    owner, _ = await service.speaker(request, 0, acting=False)
    await run_in_threadpool(receiving.released, service.aggregator, owner, study)
    path = service.aggregator.release(study)
    return FileResponse(
        path, media_type="application/vnd.apache.parquet", headers={"Cache-Control": "no-store"}
    )


@router.post(
    "/studies/{study}/closed",
    openapi_extra=SIGNED,
    responses=responses(401, 404, 409, 413, 422, 426),
    summary="The owner knows how the study ended and holds its copy: `desired` leaves it out from now on",
)
async def closed(request: Request, service: Serving, study: StudyPath) -> Response:
    return await service.act(request, 0, receiving.close, study)


@router.post(
    "/leave",
    openapi_extra=SIGNED,
    responses=responses(401, 409, 413, 426),
    summary="Withdraw from everything that is not delivered; this key is not accepted again",
)
async def leave_route(request: Request, service: Serving) -> Response:
    def go(aggregator: Aggregator, owner: Owner, _: bytes) -> dict[str, str]:
        receiving.withdraw_all(aggregator, owner)
        with aggregator.database.writing() as connection:
            leave(connection, owner)
        return {"owner": owner.name, "state": "left"}

    return await service.act(request, 0, go)
