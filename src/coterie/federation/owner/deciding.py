"""A person's word on a study, by command or on the approval page: is there still something to decide, would it work out?

The running process refuses for good what does not fit, which may end the study for everybody. A person who mistyped a
file name should hear of it first, while nothing has been said to the aggregator.
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
from coterie.federation.documents.study import Join, StudyAttribute
from coterie.federation.documents.wire import PAGE_HEADERS, ContributionState, StudyState, validated
from coterie.federation.errors import Conflict, FederationError, Refused
from coterie.federation.owner.answering import approve, opened_study
from coterie.federation.owner.computing import finished
from coterie.federation.owner.home import OwnerHome
from coterie.federation.owner.policy import OwnerSource, Refusal
from coterie.publication.ledger import Ledger
from coterie.schema.attributes import Outside
from coterie.schema.exact import as_text

_C = ContributionState
_OPEN = (StudyState.PUBLISHED, StudyState.COLLECTING)
_MAY_APPROVE = (_C.INVITED, _C.APPROVED, _C.RESERVED)
_MAY_REFUSE = (*_MAY_APPROVE, _C.COMPUTED, _C.UPLOADING)


def note_approval(home: OwnerHome, wanted: dict[str, Any], source: OwnerSource) -> None:
    """Looks at table and budget as the running process will; a problem is told here, and to nobody else."""
    _require_open(wanted, _MAY_APPROVE)
    study = opened_study(home, wanted["id"], wanted["study"])
    if finished(home, study.id) is not None:
        raise Conflict("Your table is protected and charged already.", "The running process sends it.")
    try:
        approve(home, study, source)
    except Refusal as refused:
        raise Refused(
            refused.told_here or f"This would be {refused.problem[:1].lower()}{refused.problem[1:]}",
            "Nothing was said to the aggregator: mend it and approve again, or refuse.",
        ) from None
    home.journal.decide(study.id, {"decision": "approve", "source": source.content()})


def note_refusal(home: OwnerHome, wanted: dict[str, Any], reason: str) -> None:
    _require_open(wanted, _MAY_REFUSE)
    home.journal.decide(wanted["id"], {"decision": "refuse", "reason": reason[:2000]})


def _require_open(wanted: dict[str, Any], states: tuple[ContributionState, ...]) -> None:
    state, mine = StudyState(wanted["state"]), _C(wanted["contribution"])
    if state not in _OPEN or mine not in states:
        raise Conflict(
            f"It is too late to decide: the study is {state}, your part {mine}.",
            "`coterie owner inspect` shows what happened.",
        )


# What is asked of an owner, in words and figures, and the approval page that shows it.

_JOINS = {
    Join.GROUP_KEY: "by pseudonyms; whoever is an owner and has the aggregator's files could test ids",
    Join.BLINDED_IDS: "by blinded ids; you and the other owner learn which people both of you hold",
}


def shown_study(home: OwnerHome, wanted: dict[str, Any]) -> dict[str, Any]:
    said = home.journal.decision(wanted["id"])
    content: dict[str, Any] = {
        "id": wanted["id"],
        "state": wanted["state"],
        "reason": wanted["reason"],
        "attention": wanted.get("attention"),
        "contribution": wanted["contribution"],
        "contribution_reason": wanted["contribution_reason"],
        "decision": said["decision"] if said else None,
    }
    try:
        study = opened_study(home, wanted["id"], wanted["study"])
    except Refusal as refused:
        return {**content, "unacceptable": refused.reason}
    budget = {}
    if home.default_ledger.exists():
        book = Ledger.inspect(home.default_ledger)
        budget = {name: as_text(book.balance(name).remaining) for name in book.lifetimes}
    return {
        **content,
        "title": study.title,
        "fragmentation": study.fragmentation.value,
        "method": study.method,
        "k": study.k,
        "epsilon_of_the_study": study.epsilon,
        "epsilon_asked_of_you": as_text(study.charge(home.owner)),
        "remaining_budget": budget,
        "attributes": [attribute.name for attribute in study.asked_of(home.owner)],
        "values": {attribute.name: _values(attribute) for attribute in study.asked_of(home.owner)},
        "identifier": study.identifier,
        "join": _JOINS[study.join] if study.join else None,
        "owners": [entry.owner for entry in study.roster],
        "deadline": study.deadline,
        "seeded": study.seed is not None,
    }


def _values(attribute: StudyAttribute) -> str:
    """What the study takes for possible, in words."""
    kind = attribute.type.value
    if attribute.labels is not None:
        return f"{kind}: {', '.join(attribute.labels)}"
    if attribute.lower is None:
        return kind
    outside = "" if attribute.outside is Outside.ERROR else "; others are moved to the nearer bound"
    return f"{kind}, {attribute.lower} to {attribute.upper}{outside}"


# The approval page: on this machine only, for a person who would rather read and click than type.
#
# It listens on 127.0.0.1, answers only requests that name it as their host (a foreign web page cannot reach it through
# a changed DNS entry), and wants the secret of its address, first in the link and then in a cookie and in every form.

Said = Callable[[str, str], None]  # study, decision
_LARGEST_FORM = 20_000
_pages = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"), autoescape=select_autoescape(default=True)
)


@contextmanager
def approval_page(
    home: OwnerHome, port: int = 0, said: Said = lambda study, decision: None
) -> Iterator[tuple[ThreadingHTTPServer, str]]:
    """The server (not yet serving) and the address to open; `said` hears each decision."""
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
            source = validated(OwnerSource, content, "approval")
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
