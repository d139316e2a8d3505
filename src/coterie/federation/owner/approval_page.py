"""The approval page: on this machine only, for a person who would rather read and click than type.

It listens on 127.0.0.1, answers only requests that name it as their host (a foreign web page cannot reach it through
a changed DNS entry), and wants the secret of its address, first in the link and then in a cookie and in every form.
"""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from jinja2 import Environment, FileSystemLoader, select_autoescape

from coterie.errors import CoterieError
from coterie.federation.documents.signed import validated
from coterie.federation.documents.wire import PAGE_HEADERS
from coterie.federation.errors import FederationError
from coterie.federation.owner.approval import note_approval, note_refusal, shown_study
from coterie.federation.owner.home import OwnerHome
from coterie.federation.owner.policy import OwnerSource

Said = Callable[[str, str], None]  # study, decision
_LARGEST_FORM = 20_000
_pages = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"), autoescape=select_autoescape(default=True)
)


@contextmanager
def approval_page(
    home: OwnerHome, port: int = 0, said: Said = lambda study, decision: None
) -> Iterator[tuple[ThreadingHTTPServer, str]]:
    """The server (not yet serving) and the address to open; `said` is called with each decision."""
    secret = secrets.token_urlsafe(32)

    class Handler(_Handler):
        pass

    Handler.home, Handler.secret, Handler.said = home, secret, staticmethod(said)
    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    except OSError as error:
        raise FederationError(
            f"Port {port} on this machine cannot be used ({error.strerror or error}).",
            "Leave out --port: a free one is taken.",
        ) from None
    Handler.host = f"127.0.0.1:{server.server_address[1]}"
    try:
        yield server, f"http://{Handler.host}/?secret={secret}"
    finally:
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    home: OwnerHome
    secret: str
    host: str
    said: Said
    server_version = "Coterie"
    sys_version = ""

    def do_GET(self) -> None:
        asked = urlsplit(self.path)
        given = parse_qs(asked.query).get("secret", [""])[0]
        if self.headers.get("Host") != self.host or asked.path != "/":
            self._send(404, "")
        elif self._is_secret(given):
            # The secret leaves the address bar (and the history) at once.
            self._redirect({"Set-Cookie": f"coterie={self.secret}; HttpOnly; SameSite=Strict; Path=/"})
        elif not self._is_secret(self._cookie()):
            self._send(403, "Open the address that `coterie owner page` printed.")
        else:
            self._show()

    def do_POST(self) -> None:
        given = self.headers.get("Content-Length") or "0"
        length = int(given) if given.isdecimal() and len(given) < 10 else 0
        if self.headers.get("Host") != self.host or not 0 < length <= _LARGEST_FORM:
            self._send(400, "")
            return
        form = {
            name: values[0]
            for name, values in parse_qs(self.rfile.read(length).decode("utf-8", "replace")).items()
        }
        if not (self._is_secret(self._cookie()) and self._is_secret(form.get("secret", ""))):
            self._send(403, "")
            return
        try:
            self._decide(form)
        except CoterieError as error:
            self._show(f"{error.located} {error.advice}")
            return
        self._redirect({})

    def _decide(self, form: dict[str, str]) -> None:
        study = form.get("study", "")
        wanted = self.home.journal.seen().get(study)
        if wanted is None:
            return
        if form.get("decision") == "refuse":
            reason = form.get("reason", "").strip() or "the owner does not take part"
            note_refusal(self.home, wanted, reason)
            self.said(study, "refuse")
        elif form.get("decision") == "approve":
            data = form.get("data", "").strip()
            content = {
                "data": data if "://" in data else os.path.abspath(data),
                "population": form.get("population", "").strip(),
                "identifier": form.get("identifier", "").strip() or None,
                "disjoint": form.get("disjoint") == "yes",
                "rows_public": form.get("rows_public") == "yes",
            }
            source = validated(OwnerSource, content)
            note_approval(self.home, wanted, source)
            self.said(study, "approve")

    def _show(self, problem: str = "") -> None:
        studies = [shown_study(self.home, wanted) for wanted in self.home.journal.seen().values()]
        page = _pages.get_template("approval.html").render(
            owner=self.home.owner, studies=studies[::-1], secret=self.secret, problem=problem
        )
        self._send(200, page)

    def _cookie(self) -> str:
        for part in self.headers.get("Cookie", "").split(";"):
            name, _, value = part.strip().partition("=")
            if name == "coterie":
                return value
        return ""

    def _is_secret(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self.secret.encode())

    def _redirect(self, headers: dict[str, str]) -> None:
        self._send(303, "", {"Location": "/", **headers})

    def _send(self, status: int, text: str, headers: dict[str, str] | None = None) -> None:
        body = text.encode()
        self.send_response(status)
        for name, value in {**PAGE_HEADERS, **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the first request's address holds the secret."""
