"""An aggregator that lies: it has the right keys and certificate, and says whatever a test tells it to say."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from coterie.federation.documents import wire
from coterie.federation.documents.signed import canonical, parsed
from coterie.federation.secrets import tls
from coterie.federation.secrets.keys import Keys


class Lies:
    def __init__(self, keys: Keys) -> None:
        self.keys = keys
        self.desired: dict[str, Any] = {"version": "0" * 32, "owner": "x", "studies": []}
        self.posted: list[tuple[str, Any]] = []
        self.status = 200
        self.url = ""


@contextmanager
def lying(folder: Path, keys: Keys) -> Iterator[Lies]:
    lies = Lies(keys)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _reply(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if self.command != "GET":
                lies.posted.append((self.path, parsed(body)))
            content = lies.desired if self.command == "GET" else {"state": "REFUSED"}
            answer = canonical(content)
            text = wire.response_text(lies.status, answer, self.headers[wire.NONCE])
            self.send_response(lies.status)
            self.send_header(wire.SIGNATURE, lies.keys.sign("response", text))
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        do_GET = do_POST = do_PUT = _reply  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / tls.CERTIFICATE, folder / tls.KEY)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    lies.url = f"https://127.0.0.1:{server.server_address[1]}"
    try:
        yield lies
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
