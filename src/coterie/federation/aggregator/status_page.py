"""What the status page and `study show` tell: states, deadlines, the diary. No owner's rows or their number, no secrets."""

from __future__ import annotations

import shutil
from pathlib import Path as FilePath
from typing import Annotated, Any
from urllib.parse import parse_qs

from fastapi import APIRouter, Depends, Path, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, FileSystemLoader, select_autoescape
from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool

from coterie.federation.aggregator.administration import metrics
from coterie.federation.aggregator.connections import READER, introduce
from coterie.federation.aggregator.home import Aggregator
from coterie.federation.aggregator.service import Service, body, service_of
from coterie.federation.documents.certificate import FederatedCertificate
from coterie.federation.documents.messages import Manifest
from coterie.federation.documents.signed import signed_from
from coterie.federation.documents.wire import PAGE_HEADERS, now, stamp
from coterie.federation.storage import parties, studies
from coterie.schema.exact import as_text


def board(aggregator: Aggregator) -> dict[str, Any]:
    with aggregator.database.reading() as connection:
        rows = studies.all_studies(connection)
        found = [_study(aggregator, connection, row) for row in reversed(rows)]
        return {"studies": found, **_told(aggregator, parties.entries(connection, last=50))}


def detail(aggregator: Aggregator, study: str) -> dict[str, Any] | None:
    with aggregator.database.reading() as connection:
        row = studies.study_row(connection, study)
        if row is None:
            return None
        return {
            "study": _study(aggregator, connection, row),
            **_told(aggregator, parties.entries(connection, study=study)),
        }


def _told(aggregator: Aggregator, diary: list[dict[str, Any]]) -> dict[str, Any]:
    return {"diary": diary[::-1], "aggregator": aggregator.fingerprint, "at": stamp(now())}


def _study(aggregator: Aggregator, connection: Connection, row: studies.StudyRow) -> dict[str, Any]:
    study = row.study
    guarantee = None
    if row.certificate:
        signed = signed_from(row.certificate)
        opened = signed.opened(FederatedCertificate, key=study.aggregator)
        guarantee = {"status": opened.guarantee.status, "label": opened.guarantee.label, "rows": opened.rows}
    asked = ("title", "method", "epsilon", "k", "deadline", "minimum")
    return {
        **{name: getattr(row, name) for name in ("id", "reason", "attention", "release")},
        **{name: getattr(study, name) for name in asked},
        "state": row.state.value,
        "fragmentation": study.fragmentation.value,
        "attributes": [attribute.name for attribute in study.attributes],
        "guarantee": guarantee,
        "owners": [_part(aggregator, row, part) for part in studies.contributions_of(connection, row.id)],
    }


def _part(aggregator: Aggregator, row: studies.StudyRow, part: studies.Contribution) -> dict[str, Any]:
    return {
        "owner": part.name,
        "state": part.state.value,
        "reason": part.reason,
        "changed": part.changed,
        "epsilon": as_text(row.study.charge(part.name)),
        # In hundredths: how many chunks or bytes there are would tell how many rows.
        "received_percent": 100 if part.receipt else _received_percent(aggregator, part),
    }


def _received_percent(aggregator: Aggregator, part: studies.Contribution) -> int:
    if part.manifest is None:
        return 0
    expected = len(Manifest.model_validate(signed_from(part.manifest).document).chunks)
    there = sum(1 for _ in aggregator.chunk(part.study, part.owner, 0).parent.glob("*.parquet"))
    return 100 * there // expected


# The status page: a board of studies and contributions, read-only, drawn on the server, opened by a token.

router = APIRouter(include_in_schema=False)
Serving = Annotated[Service, Depends(service_of)]
_COOKIE = "coterie-status"
_LEAST_ROOM = 16 * 1024 * 1024  # below that, chunks are turned away
_pages = Environment(
    loader=FileSystemLoader(FilePath(__file__).parent / "templates"),
    autoescape=select_autoescape(default=True),
)
_pages.filters["when"] = lambda at: at[:19].replace("T", " ")


@router.get("/")
async def front(request: Request, service: Serving) -> Response:
    if not await _signed_in(request, service):
        return _page("sign_in.html", failed=False)
    return _page("board.html", **await run_in_threadpool(board, service.aggregator))


@router.get("/studies/{study}")
async def study_page(
    request: Request, service: Serving, study: Annotated[str, Path(pattern="^[0-9a-f]{64}$")]
) -> Response:
    if not await _signed_in(request, service):
        return RedirectResponse("/", 303)
    content = await run_in_threadpool(detail, service.aggregator, study)
    if content is None:
        return _page("sign_in.html", status=404, failed=False)
    return _page("study.html", **content)


@router.get("/health")
async def health(service: Serving) -> Response:
    """For a supervisor: 200 while the database answers and there is room to write."""
    ok = await run_in_threadpool(_healthy, service)
    return Response("ok\n" if ok else "storage\n", 200 if ok else 503, media_type="text/plain")


@router.get("/metrics")
async def metrics_page(request: Request, service: Serving) -> Response:
    """For Prometheus, with the status token as bearer token."""
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    if kind.lower() != "bearer" or not await run_in_threadpool(_known, service, token.strip()):
        return Response("the status token as bearer token, please\n", 401, {"WWW-Authenticate": "Bearer"})
    introduce(request, READER)
    text = await run_in_threadpool(metrics, service.aggregator)
    return Response(text, media_type="text/plain; version=0.0.4")


@router.post("/sign-in")
async def sign_in(request: Request, service: Serving) -> Response:
    form = parse_qs((await body(request, 2000)).decode("utf-8", "replace"))
    token = form.get("token", [""])[0].strip()
    if not await run_in_threadpool(_known, service, token):
        await run_in_threadpool(lambda: service.authentication.turned_away(page="status", error="token"))
        return _page("sign_in.html", status=403, failed=True)
    response = RedirectResponse("/", 303, headers=PAGE_HEADERS)
    response.set_cookie(_COOKIE, token, secure=True, httponly=True, samesite="strict", max_age=8 * 3600)
    return response


@router.post("/sign-out")
async def sign_out() -> Response:
    response = RedirectResponse("/", 303, headers=PAGE_HEADERS)
    response.delete_cookie(_COOKIE)
    return response


async def _signed_in(request: Request, service: Service) -> bool:
    token = request.cookies.get(_COOKIE, "")
    known = bool(token) and await run_in_threadpool(_known, service, token)
    if known:
        introduce(request, READER)
    return known


def _healthy(service: Service) -> bool:
    try:
        with service.aggregator.database.reading() as connection:
            parties.diary_head(connection)
        return shutil.disk_usage(service.aggregator.folder).free > _LEAST_ROOM
    except (OSError, SQLAlchemyError):
        return False


def _known(service: Service, token: str) -> bool:
    if not 20 <= len(token) <= 200:
        return False
    with service.aggregator.database.reading() as connection:
        return parties.known_token(connection, token)


def _page(name: str, status: int = 200, **content: Any) -> HTMLResponse:
    return HTMLResponse(_pages.get_template(name).render(**content), status, PAGE_HEADERS)
