"""The web application: routes are in routes.py and status_page.py; here is what every request goes through."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import OperationalError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from coterie._version import __version__
from coterie.federation.aggregator import routes, status_page
from coterie.federation.aggregator.faults import Fault, fault_of
from coterie.federation.aggregator.home import Aggregator
from coterie.federation.aggregator.scheduler import tend
from coterie.federation.aggregator.service import Service
from coterie.federation.errors import FederationError
from coterie.federation.secrets.keys import NO_ROOM
from coterie.federation.storage.studies import stages

_SECONDS_BETWEEN_LOOKS = 0.5
log = logging.getLogger("coterie.aggregator")


def make_app(aggregator: Aggregator) -> FastAPI:
    service = Service(aggregator)

    @asynccontextmanager
    async def living(_: FastAPI) -> AsyncIterator[None]:
        task = asyncio.create_task(_tending(service))
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    app = FastAPI(
        title="Coterie aggregator",
        version=__version__,
        summary="Owners send protected tables; one table comes out. See docs/reference/protocol.md.",
        lifespan=living,
        docs_url=None,
        redoc_url=None,
    )
    app.state.service = service
    app.include_router(routes.router)
    app.include_router(status_page.router)

    @app.exception_handler(Fault)
    async def _fault(request: Request, fault: Fault) -> Response:
        return service.answer(request, fault.content, fault.status)

    @app.exception_handler(FederationError)
    async def _federation(request: Request, error: FederationError) -> Response:
        fault = fault_of(error)
        return service.answer(request, fault.content, fault.status)

    @app.exception_handler(RequestValidationError)
    async def _parameters(request: Request, error: RequestValidationError) -> Response:
        content = {"error": "unacceptable", "problem": "A part of the address is wrong.", "advice": ""}
        return service.answer(request, content, 422)

    @app.exception_handler(HTTPException)
    async def _http(request: Request, error: HTTPException) -> Response:
        content = {"error": "refused", "problem": str(error.detail), "advice": ""}
        response = service.answer(request, content, error.status_code)
        response.headers.update(error.headers or {})
        return response

    @app.exception_handler(OSError)
    async def _disk(request: Request, error: OSError) -> Response:
        full = error.errno in NO_ROOM
        aggregator.complaints.say(
            "an owner was sent away: " + ("the disk is full" if full else "input/output error")
        )
        return service.answer(request, _storage_trouble(full=full), 507)

    @app.exception_handler(OperationalError)
    async def _database(request: Request, error: OperationalError) -> Response:
        aggregator.complaints.say(f"the database does not answer ({type(error.orig).__name__})")
        return service.answer(request, _storage_trouble(full=False), 503)

    return app


def _storage_trouble(*, full: bool) -> dict[str, str]:
    problem = "The aggregator's disk is full." if full else "The aggregator cannot store anything now."
    return {"error": "storage", "problem": problem, "advice": "Nothing is lost; try again later."}


async def _tending(service: Service) -> None:
    """One task moves all studies; it also notices what the command line has changed in the database."""
    seen: object = None
    while True:
        try:
            moved = await run_in_threadpool(tend, service.aggregator)
            current = await run_in_threadpool(_studies, service)
            if current != seen:
                seen = current
                service.bell.ring_all()
            if moved:
                continue
        except asyncio.CancelledError:
            raise
        except Exception as error:
            # One bad study must not stop the others, nor the service; its name is in the log of tend().
            log.error("tending failed (%s)", type(error).__name__)
            await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)
        await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)


def _studies(service: Service) -> object:
    """What all owners of a study see of it: when this changes, they are told."""
    with service.aggregator.database.reading() as connection:
        return stages(connection)
