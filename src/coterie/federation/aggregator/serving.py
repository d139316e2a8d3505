"""Run the aggregator: uvicorn over TLS, with the certificate that `init` made."""

from __future__ import annotations

import hashlib
import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvicorn

from coterie.federation.aggregator.app import make_app
from coterie.federation.aggregator.home import Aggregator
from coterie.federation.errors import FederationError
from coterie.federation.secrets import tls


def serve(
    aggregator: Aggregator, host: str, port: int, client_ca: Path | None, listening: Callable[[], None]
) -> None:
    """Until stopped; `listening` is called once owners can connect.

    `client_ca`: also demand a TLS certificate of every caller (mutual TLS).
    """
    if client_ca is not None:
        tls.authority_context(client_ca)  # says what is wrong with the file, before uvicorn meets it
    config = uvicorn.Config(
        make_app(aggregator),
        ssl_keyfile=str(aggregator.folder / tls.KEY),
        ssl_certfile=str(aggregator.folder / tls.CERTIFICATE),
        ssl_ca_certs=str(client_ca) if client_ca else None,
        ssl_cert_reqs=ssl.CERT_REQUIRED if client_ca else ssl.CERT_NONE,
        # Addresses and queries of owners are nobody's business; the diary has what counts.
        access_log=False,
        log_config=None,
        server_header=False,
        ws="none",  # nobody speaks anything but HTTP here
        h11_max_incomplete_event_size=32 * 1024,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=5,
        limit_concurrency=2000,
    )
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
        await super().startup(sockets=sockets)
        if self.started:
            self._listening()


def _bound(host: str, port: int) -> socket.socket:
    options: dict[str, Any] = {"family": socket.AF_INET6 if ":" in host else socket.AF_INET}
    try:
        return socket.create_server((host, port), backlog=2048, **options)
    except OSError as error:
        raise FederationError(
            f"{host} port {port} cannot be listened on ({error.strerror or error}).",
            "Stop what uses it, or give another --host or --port; ports below 1024 need a privilege.",
        ) from None
