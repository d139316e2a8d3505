"""Run the aggregator: uvicorn over TLS, with the certificate that `init` made."""

from __future__ import annotations

import logging
import ssl
from pathlib import Path

import uvicorn

from coterie.federation import tls
from coterie.federation.aggregator.app import make_app
from coterie.federation.aggregator.home import Aggregator


def serve(aggregator: Aggregator, host: str, port: int, client_ca: Path | None = None) -> None:
    """Until stopped. `client_ca`: also demand a TLS certificate of every caller (mutual TLS)."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    # No access log: addresses and queries of owners are nobody's business; the diary has what counts.
    logging.getLogger("alembic").setLevel(logging.WARNING)
    config = uvicorn.Config(
        make_app(aggregator),
        host=host,
        port=port,
        ssl_keyfile=str(aggregator.folder / tls.KEY),
        ssl_certfile=str(aggregator.folder / tls.CERTIFICATE),
        ssl_ca_certs=str(client_ca) if client_ca else None,
        ssl_cert_reqs=ssl.CERT_REQUIRED if client_ca else ssl.CERT_NONE,
        access_log=False,
        log_config=None,
        server_header=False,
        h11_max_incomplete_event_size=32 * 1024,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=5,
        limit_concurrency=2000,
    )
    uvicorn.Server(config).run()
