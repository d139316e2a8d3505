"""The web application, run on this machine only: what every page shares. The pages themselves are in steps/."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from urllib.parse import urlencode

import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, RedirectResponse
from starlette.staticfiles import StaticFiles

from coterie.errors import CoterieError, OutputError
from coterie.report.charts import STATIC as CHARTS
from coterie.studio.auth import AccessControl, StudioHome
from coterie.studio.jobs import Jobs
from coterie.studio.pages import STATIC, Opened, go, refusal
from coterie.studio.releases import Releases
from coterie.studio.steps import STEPS


def make_app(home: StudioHome, port: int, boot: str, *, largest_upload: int) -> FastAPI:
    jobs, releases = Jobs(), Releases()

    @asynccontextmanager
    async def living(_: FastAPI) -> AsyncIterator[None]:
        yield
        jobs.close()
        releases.close()

    app = FastAPI(title="Coterie Studio", lifespan=living, docs_url=None, redoc_url=None, openapi_url=None)
    app.state.home, app.state.jobs, app.state.largest_upload = home, jobs, largest_upload
    app.state.releases = releases
    app.mount("/static/charts", StaticFiles(directory=CHARTS), name="charts")
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    for step in (*(step.name for step in STEPS), "choose", "dossier"):
        app.include_router(import_module(f"coterie.studio.steps.{step}").router)

    @app.get("/favicon.ico")
    def icon() -> RedirectResponse:
        """Browsers ask for this address by themselves, also where a figure or a file is opened."""
        return RedirectResponse("/static/icon.svg")

    @app.get("/p/{project}/jobs/{kind}")
    def job_state(project: Opened, kind: str) -> JSONResponse:
        job = jobs.job(project, kind)
        return JSONResponse(job.shown() if job else {"kind": kind, "state": "none"})

    @app.post("/p/{project}/jobs/{kind}/cancel")
    def cancel_job(project: Opened, kind: str) -> Response:
        jobs.cancel(project, kind)
        return go(project, kind)

    @app.exception_handler(CoterieError)
    async def _coterie(request: Request, error: CoterieError) -> Response:
        return refusal(400, error.located, error.advice)

    @app.exception_handler(HTTPException)
    async def _http(request: Request, error: HTTPException) -> Response:
        if error.status_code == 404:
            return refusal(404, "There is no such page.", "Go to the list of projects.")
        if error.status_code == 405 and request.method == "GET":
            return RedirectResponse(_page_of(request.url.path), 303)
        return refusal(error.status_code, str(error.detail), "Go back and try again.")

    @app.exception_handler(RequestValidationError)
    async def _unreadable(request: Request, error: RequestValidationError) -> Response:
        # Its own text repeats what was sent, which may be data.
        if request.method == "GET":
            return RedirectResponse(_page_of(request.url.path), 303)
        return refusal(422, "The studio does not understand this request.", "Go back and try again.")

    app.add_middleware(AccessControl, home=home, port=port, boot=boot)
    return app


def _page_of(address: str) -> str:
    """The page with the form, for a browser that loads the address to which the form was sent."""
    parts = address.split("/")
    if len(parts) < 4 or parts[1] != "p":
        return "/"
    return "/".join(parts[:4]) if parts[3] in {"choose", *(entry.name for entry in STEPS)} else "/"


def address(home: StudioHome, port: int, boot: str, file: Path | None) -> str:
    """The address to open. It works once."""
    asked = {"token": home.token(boot), **({"open": str(file.absolute())} if file else {})}
    return f"http://127.0.0.1:{port}/?{urlencode(asked)}"


def serve(
    home: StudioHome, port: int | None, file: Path | None, largest_upload: int, ready: Callable[[str], object]
) -> None:
    """`ready` is called with the address once the port is ours. Without `port`: the last one, if it is free."""
    listening = _listen(port, home.running["port"] if home.running else 0)
    port = listening.getsockname()[1]
    boot = home.announce(port)
    app = make_app(home, port, boot, largest_upload=largest_upload)
    config = uvicorn.Config(
        app,
        access_log=False,  # the first request's address holds the token
        log_level="warning",
        server_header=False,
        h11_max_incomplete_event_size=32 * 1024,
        timeout_graceful_shutdown=2,
    )
    ready(address(home, port, boot, file))
    uvicorn.Server(config).run(sockets=[listening])


def _listen(wanted: int | None, last: int) -> socket.socket:
    """A listening socket. The port of last time is tried first: pages that are open then go on working."""
    for port in [wanted] if wanted is not None else [last, 0]:
        listening = socket.socket()
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(("127.0.0.1", port))
            listening.listen(128)  # from now on a browser waits for us instead of being turned away
        except OSError:
            listening.close()
            continue
        return listening
    raise OutputError(f"Port {wanted} is taken.", "Choose another one, or leave --port out.")
