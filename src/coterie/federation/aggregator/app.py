"""The web application, and how it is served over TLS. Routes are in routes.py and status_page.py."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import signal
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import OperationalError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from coterie._version import __version__
from coterie.federation.aggregator import routes, status_page
from coterie.federation.aggregator.administration import Webhook
from coterie.federation.aggregator.connections import (
    ACCEPTED_AT_ONCE,
    KEEP_ALIVE_SECONDS,
    PatientProtocol,
    allow_many_files,
    guard_handshakes,
)
from coterie.federation.aggregator.home import Aggregator, Complaints, Fault
from coterie.federation.aggregator.scheduler import advance_studies
from coterie.federation.aggregator.service import Service
from coterie.federation.errors import Conflict, FederationError
from coterie.federation.secrets import tls
from coterie.federation.secrets.keys import NO_ROOM
from coterie.federation.storage.studies import stages

_SECONDS_BETWEEN_LOOKS = 0.5
_SECONDS_TOGETHER = 0.05  # what many owners do at once is looked at once
log = logging.getLogger("coterie.aggregator")


def make_app(aggregator: Aggregator, webhook: Webhook | None = None) -> FastAPI:
    service = Service(aggregator)

    @asynccontextmanager
    async def living(_: FastAPI) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(_run_scheduler(service))]
        if webhook is not None:
            tasks.append(asyncio.create_task(_run_webhook(aggregator, webhook)))
        try:
            yield
        finally:
            for task in tasks:
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

    async def answer(request: Request, error: Exception) -> Response:
        fault = _fault_of(error, aggregator.complaints)
        response = service.answer(request, fault.content, fault.status)
        response.headers.update(getattr(error, "headers", None) or {})
        return response

    for kind in (Fault, FederationError, RequestValidationError, HTTPException, OSError, OperationalError):
        app.add_exception_handler(kind, answer)
    return app


def _fault_of(error: Exception, complaints: Complaints) -> Fault:
    """The answer to an owner. Faults of this machine are described in its log only."""
    match error:
        case Fault():
            return error
        case FederationError():
            status, word = (409, "conflict") if isinstance(error, Conflict) else (422, "unacceptable")
            return Fault(status, word, error.problem, error.advice)
        case RequestValidationError():
            return Fault(422, "unacceptable", "A part of the address is wrong.")
        case HTTPException():
            return Fault(error.status_code, "refused", str(error.detail))
    full, later = False, "Nothing is lost; try again later."
    if isinstance(error, OperationalError):
        complaints.say(f"the database does not answer ({type(error.orig).__name__})")
    elif isinstance(error, OSError):
        full = error.errno in NO_ROOM
        complaints.say(f"an owner was sent away: {'the disk is full' if full else 'input/output error'}")
    problem = "The aggregator's disk is full." if full else "The aggregator cannot store anything now."
    return Fault(507 if isinstance(error, OSError) else 503, "storage", problem, later)


async def _run_webhook(aggregator: Aggregator, webhook: Webhook) -> None:
    """Call the webhook in a task of its own: an address that does not answer must not keep studies waiting."""
    while True:
        try:
            await run_in_threadpool(webhook.tell, aggregator)
        except Exception as error:
            log.error("the webhook failed (%s)", type(error).__name__)
        await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)


async def _run_scheduler(service: Service) -> None:
    """One task moves all studies; it also notices what the command line has changed in the database."""
    seen: object = None
    while True:
        service.due.clear()
        try:
            if not await run_in_threadpool(service.aggregator.database.still_alone):
                log.error("another process serves this database now: this one ends")
                signal.raise_signal(signal.SIGTERM)
                return
            moved = await run_in_threadpool(advance_studies, service.aggregator)
            current = await run_in_threadpool(stages, service.aggregator.database)
            if current != seen:  # what all owners of a study see of it
                seen = current
                service.wakeups.wake_all()
            if moved:
                continue
        except asyncio.CancelledError:
            raise
        except Exception as error:
            # One bad study must not stop the others, nor the service; its name is in the scheduler's log.
            log.error("the scheduler failed (%s)", type(error).__name__)
            await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)
        with suppress(TimeoutError):
            await asyncio.wait_for(service.due.wait(), _SECONDS_BETWEEN_LOOKS)
            await asyncio.sleep(_SECONDS_TOGETHER)


# Run the aggregator: uvicorn over TLS, with the certificate that `init` made.


def serve(
    aggregator: Aggregator,
    host: str,
    port: int,
    client_ca: Path | None,
    listening: Callable[[], None],
    webhook: Webhook | None = None,
) -> None:
    """Serve until stopped; `listening` is called once owners can connect.

    `client_ca`: also demand a TLS certificate of every caller (mutual TLS).
    """
    if client_ca is not None:
        tls.authority_context(client_ca)  # its error names the file; uvicorn's would not
    config = uvicorn.Config(
        make_app(aggregator, webhook),
        ssl_keyfile=str(aggregator.folder / tls.KEY),
        ssl_certfile=str(aggregator.folder / tls.CERTIFICATE),
        ssl_ca_certs=str(client_ca) if client_ca else None,
        ssl_cert_reqs=ssl.CERT_REQUIRED if client_ca else ssl.CERT_NONE,
        # Addresses and queries of owners are nobody's business; the diary has what counts.
        access_log=False,
        log_config=None,
        server_header=False,
        loop="asyncio",
        http=PatientProtocol,
        ws="none",  # nobody speaks anything but HTTP here
        h11_max_incomplete_event_size=32 * 1024,
        backlog=ACCEPTED_AT_ONCE,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=5,
    )
    allow_many_files()
    with _bound(host, port) as listener:
        _Server(config, listening).run(sockets=[listener])


def tls_fingerprint(aggregator: Aggregator) -> str:
    """SHA-256 of the TLS certificate, as browsers and openssl show it."""
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(aggregator.tls_certificate)).hexdigest()


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, listening: Callable[[], None]) -> None:
        super().__init__(config)
        self._listening = listening

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        guard_handshakes(asyncio.get_running_loop())
        await super().startup(sockets=sockets)
        if self.started:
            self._listening()


def _bound(host: str, port: int) -> socket.socket:
    options: dict[str, Any] = {"family": socket.AF_INET6 if ":" in host else socket.AF_INET}
    try:
        return socket.create_server((host, port), backlog=ACCEPTED_AT_ONCE, **options)
    except OSError as error:
        raise FederationError(
            f"{host} port {port} cannot be listened on ({error.strerror or error}).",
            "Stop what uses it, or give another --host or --port; ports below 1024 need a privilege.",
        ) from None
