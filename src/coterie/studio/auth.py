"""Who may speak to the studio: the browser of the person who started it, and nobody else.

* Only requests that name the studio as their host (a foreign name that resolves to 127.0.0.1 is turned away).
* Only with the session cookie, which the one-time token of the address is exchanged for.
* Whatever changes something must also come from the studio's own pages (Origin), whatever cookies a browser sends.
* Nothing is loaded from anywhere else (Content-Security-Policy), so the pages work offline and leak nothing."""

from __future__ import annotations

import hmac
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from coterie.studio.home import Home
from coterie.studio.pages import refusal

COOKIE = "coterie_studio"
# same-origin, not no-referrer: with the latter a browser sends `Origin: null` with our own forms.
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Gate:
    def __init__(self, app: ASGIApp, home: Home, port: int, boot: str) -> None:
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
                headers.update(_HEADERS)
                headers.setdefault("Cache-Control", "no-store")
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
