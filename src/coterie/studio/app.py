"""The web application: what every page shares. The pages themselves are in steps/."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, RedirectResponse
from starlette.staticfiles import StaticFiles

from coterie.errors import CoterieError
from coterie.report.charts import STATIC as CHARTS
from coterie.studio.asking import Opened
from coterie.studio.auth import Gate
from coterie.studio.home import Home
from coterie.studio.jobs import Jobs
from coterie.studio.pages import STATIC, refusal
from coterie.studio.releases import Releases
from coterie.studio.steps import STEPS


def make_app(home: Home, port: int, boot: str, *, largest_upload: int) -> FastAPI:
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
    app.include_router(import_module("coterie.studio.front").router)
    for step in STEPS:
        app.include_router(import_module(f"coterie.studio.steps.{step.name}").router)

    @app.get("/p/{project}/jobs/{kind}")
    def job_state(project: Opened, kind: str) -> JSONResponse:
        job = jobs.find(project, kind)
        return JSONResponse(job.shown() if job else {"kind": kind, "state": "none"})

    @app.post("/p/{project}/jobs/{kind}/cancel")
    def cancel_job(project: Opened, kind: str) -> Response:
        jobs.cancel(project, kind)
        return RedirectResponse(f"/p/{project.id}/{kind}", 303)

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

    app.add_middleware(Gate, home=home, port=port, boot=boot)
    return app


def _page_of(address: str) -> str:
    """The page that a form belongs to, for a browser that asks for the form's own address: back, or loaded again."""
    parts = address.split("/")
    if len(parts) < 4 or parts[1] != "p":
        return "/"
    return "/".join(parts[:4]) if parts[3] in {entry.name for entry in STEPS} else "/"
