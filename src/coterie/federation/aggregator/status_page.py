"""The status page: a board of studies and contributions, read-only, drawn on the server, opened by a token."""

from __future__ import annotations

from pathlib import Path as FilePath
from typing import Annotated, Any
from urllib.parse import parse_qs

from fastapi import APIRouter, Depends, Path, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, FileSystemLoader, select_autoescape
from starlette.concurrency import run_in_threadpool

from coterie.federation.aggregator.board import board, detail
from coterie.federation.aggregator.service import Service, body, service_of
from coterie.federation.storage.parties import known_token

router = APIRouter(include_in_schema=False)
Serving = Annotated[Service, Depends(service_of)]
_COOKIE = "coterie-status"
_pages = Environment(
    loader=FileSystemLoader(FilePath(__file__).parent / "templates"),
    autoescape=select_autoescape(default=True),
)
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


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


@router.post("/sign-in")
async def sign_in(request: Request, service: Serving) -> Response:
    form = parse_qs((await body(request, 2000)).decode("utf-8", "replace"))
    token = form.get("token", [""])[0].strip()
    if not await run_in_threadpool(_known, service, token):
        await run_in_threadpool(lambda: service.authentication.turned_away(page="status", error="token"))
        return _page("sign_in.html", status=403, failed=True)
    response = RedirectResponse("/", 303, headers=_HEADERS)
    response.set_cookie(_COOKIE, token, secure=True, httponly=True, samesite="strict", max_age=8 * 3600)
    return response


@router.post("/sign-out")
async def sign_out() -> Response:
    response = RedirectResponse("/", 303, headers=_HEADERS)
    response.delete_cookie(_COOKIE)
    return response


async def _signed_in(request: Request, service: Service) -> bool:
    token = request.cookies.get(_COOKIE, "")
    return bool(token) and await run_in_threadpool(_known, service, token)


def _known(service: Service, token: str) -> bool:
    if not 20 <= len(token) <= 200:
        return False
    with service.aggregator.database.reading() as connection:
        return known_token(connection, token)


def _page(name: str, status: int = 200, **content: Any) -> HTMLResponse:
    return HTMLResponse(_pages.get_template(name).render(**content), status, _HEADERS)
