"""Who may speak to the studio: the browser of the person who started it, and nobody else.

* Only requests that name the studio as their host (a foreign name that resolves to 127.0.0.1 is turned away).
* Only with the session cookie, which the one-time token of the address is exchanged for. A token names the running server
  (its boot) and a nonce, sealed with the session secret of the studio's folder, so that a second `coterie studio` of
  the same user can make one for the server that runs already.
* Whatever changes something must also come from the studio's own pages (Origin), whatever cookies a browser sends.
* Nothing is loaded from anywhere else (Content-Security-Policy), so the pages work offline and leak nothing.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import parse_qs, urlencode

from fastapi import Depends, Request
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from coterie.errors import OutputError
from coterie.studio.pages import refusal
from coterie.studio.project import store
from coterie.table.hidden_files import FileLock


def default_folder() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "coterie" / "studio"


class StudioHome:
    """The studio's folder: what must survive a restart, readable by its owner only."""

    def __init__(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            (folder / "projects").mkdir(exist_ok=True, mode=0o700)
        except OSError as error:
            raise OutputError(
                f"The studio's folder {folder} cannot be made ({error.strerror}).",
                "Choose another place with --home.",
            ) from None
        self.folder = folder.resolve()
        self._lock: FileLock | None = None

    @property
    def projects(self) -> Path:
        return self.folder / "projects"

    def take(self) -> bool:
        """Take the lock of the folder; False if another server has it."""
        self._lock = FileLock.take(self.folder / "lock", make=0o600)
        return self._lock is not None

    @property
    def session(self) -> str:
        """What the browser's cookie holds. It outlives the server, so that an open page goes on after a restart."""
        path = self.folder / "session"
        if not path.exists():
            store(path, secrets.token_urlsafe(32))
        return path.read_text(encoding="utf-8")

    @property
    def running(self) -> dict[str, Any] | None:
        """Port and boot of the server that runs, or of the last one."""
        try:
            found = json.loads((self.folder / "running.json").read_text(encoding="utf-8"))
            return {"port": int(found["port"]), "boot": str(found["boot"])}
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def announce(self, port: int) -> str:
        boot = secrets.token_urlsafe(8)
        store(self.folder / "running.json", json.dumps({"port": port, "boot": boot}))
        return boot

    def token(self, boot: str) -> str:
        nonce = secrets.token_urlsafe(16)
        return f"{nonce}.{self._seal(boot, nonce)}"

    def nonce_of(self, token: str, boot: str) -> str | None:
        """The nonce of a genuine token of this boot."""
        nonce, _, seal = token.partition(".")
        genuine = hmac.compare_digest(seal.encode(), self._seal(boot, nonce).encode())
        return nonce if genuine else None

    def seal_of(self, path: str) -> str:
        """Shows that a path to open came with a genuine token. SameSite cookies do not: a page of another server on this
        machine is of the same site."""
        return self._seal("open", path)

    def _seal(self, what: str, text: str) -> str:
        return hmac.new(self.session.encode(), f"{what} {text}".encode(), hashlib.sha256).hexdigest()


def _home(request: Request) -> StudioHome:
    home: StudioHome = request.app.state.home
    return home


AtHome = Annotated[StudioHome, Depends(_home)]
COOKIE = "coterie_studio"
# same-origin, not no-referrer: with the latter a browser sends `Origin: null` with our own forms.
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class AccessControl:
    def __init__(self, app: ASGIApp, home: StudioHome, port: int, boot: str) -> None:
        self.app, self.home, self.boot = app, home, boot
        self.hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self.spent: set[str] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        answering = False

        async def guarded(message: Message) -> None:
            nonlocal answering
            if message["type"] == "http.response.start":
                answering = True
                headers = MutableHeaders(scope=message)
                for name, words in _HEADERS.items():
                    headers.setdefault(name, words)
            await send(message)

        try:
            await (self._answer(scope) or self.app)(scope, receive, guarded)
        except Exception as error:
            # Caught here, not by the framework, which would print the traceback: its text may hold data values.
            if answering:
                return
            wrong = refusal(
                500,
                f"Something went wrong inside Coterie ({type(error).__name__}).",
                "This is a bug: please report what you did. Your work is kept.",
            )
            await wrong(scope, receive, guarded)

    def _answer(self, scope: Scope) -> Response | None:
        """A refusal or a redirection; None lets the request in."""
        headers = Headers(scope=scope)
        if headers.get("host") not in self.hosts:
            return refusal(421, "This address is not the studio's.", "Open the address that it printed.")
        if scope["path"].startswith("/static/"):
            return None
        known = self._has_session(headers)
        asked = parse_qs(scope["query_string"].decode("latin-1"))
        if scope["method"] == "GET" and "token" in asked:
            return self._enter(asked, known)
        if not known:
            return refusal(
                403,
                "The studio does not know this browser.",
                "Open the address that `coterie studio` printed; running it again prints a new one.",
            )
        if scope["method"] not in ("GET", "HEAD") and not self._own_origin(headers):
            return refusal(403, "This request comes from another page.", "Use the studio's own pages.")
        return None

    def _enter(self, asked: dict[str, list[str]], known: bool) -> Response:
        nonce = self.home.nonce_of(asked["token"][0], self.boot)
        if nonce is None or nonce in self.spent:
            if known:
                return RedirectResponse("/", 303)
            return refusal(
                403,
                "The token in this address is wrong or was used before.",
                "Run `coterie studio` again: it prints a new address, and your work is as you left it.",
            )
        self.spent.add(nonce)
        place = "/"
        if "open" in asked:
            path = asked["open"][0]
            place = f"/open?{urlencode({'path': path, 'seal': self.home.seal_of(path)})}"
        # The token leaves the address bar, and with it the history, at once.
        response = RedirectResponse(place, 303)
        response.set_cookie(COOKIE, self.home.session, httponly=True, samesite="strict", path="/")
        return response

    def _has_session(self, headers: Headers) -> bool:
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
        except CookieError:
            return False
        return cookie is not None and hmac.compare_digest(cookie.value.encode(), self.home.session.encode())

    def _own_origin(self, headers: Headers) -> bool:
        origin = headers.get("origin")
        if origin is not None:
            return origin in {f"http://{host}" for host in self.hosts}
        return headers.get("sec-fetch-site") in ("same-origin", "none")
