"""A year of operation: owners come and go, secrets are changed, programs watch, and nothing of a study is lost."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import httpx
import pytest
from federation_world import Look, people

from coterie.federation.aggregator.administration import Webhook
from coterie.federation.errors import FederationError, InvitationSpent, NotAccepted
from coterie.federation.owner.client import Suspended


def test_suspend_resume_remove(shared: Any, coterie: Any) -> None:
    folder, home = shared.aggregator.folder, shared.join("on-leave")

    def owners(word: str) -> None:
        assert coterie("aggregator", "owners", word, folder, "on-leave", "--json")[0] == 0

    def state() -> str:
        _, found, _ = coterie("aggregator", "owners", "list", folder, "--json")
        return str({entry["owner"]: entry["state"] for entry in found["owners"]}["on-leave"])

    owners("suspend")
    assert state() == "suspended"
    with pytest.raises(Suspended):
        Look(shared, home).once()
    owners("resume")
    Look(shared, home).once()
    other = shared.join("stays-here")
    study = shared.study([home.owner, other.owner])
    owners("remove")
    assert state() == "left"
    assert shared.part(study, "on-leave")["state"] == "WITHDRAWN"
    with pytest.raises(NotAccepted):
        Look(shared, home).once()


def test_invitations_are_cancelled(shared: Any, coterie: Any) -> None:
    folder, invitation = shared.aggregator.folder, shared.invitation("never-comes")
    shared.invitation("too-late", hours=-1)
    _, found, _ = coterie("aggregator", "invitations", "list", folder, "--json")
    known = {entry["owner"]: entry["expired"] for entry in found["invitations"]}
    assert (known["never-comes"], known["too-late"]) == (False, True)
    _, swept, _ = coterie("aggregator", "invitations", "cancel", folder, "--json")
    assert swept["cancelled"] >= 1
    assert coterie("aggregator", "invitations", "cancel", folder, "never-comes", "--json")[1] == {
        "cancelled": 1
    }
    with pytest.raises(InvitationSpent):
        shared.join("never-comes", invitation=invitation)


def test_metrics_health_and_a_new_token(federation: Any, coterie: Any) -> None:
    with federation.http() as client:

        def metrics(token: str) -> httpx.Response:
            return client.get("/metrics", headers={"Authorization": f"Bearer {token}"})

        assert client.get("/health").text == "ok\n"
        assert client.get("/metrics").status_code == 401
        text = metrics(federation.token).text
        assert 'coterie_studies{state="RELEASED"} 0' in text
        assert "coterie_disk_free_bytes " in text
        _, new, _ = coterie("aggregator", "rotate", "token", federation.aggregator.folder, "--json")
        assert metrics(federation.token).status_code == 401, "the old token is worthless"
        assert metrics(new["status_token"]).status_code == 200


def test_a_new_tls_certificate_without_losing_an_owner(federation: Any, coterie: Any) -> None:
    folder, home = federation.aggregator.folder, federation.join("pinned")
    code, _, wrong = coterie("aggregator", "rotate", "tls", folder, "--use", "--json")
    assert (code, wrong["problem"]) == (11, "No new TLS certificate was announced.")
    coterie("aggregator", "rotate", "tls", folder, "--json")
    look = Look(federation, home)
    look.agent.run(once=True)
    assert home.trusted_tls() != home.tls
    coterie("aggregator", "rotate", "tls", folder, "--use", "--json")
    federation.kill_server()
    federation.serve()
    with look.client:
        look.agent.run(once=True)  # the same process, over the new certificate
    assert coterie("owner", "inspect", "--home", home.folder, "--json")[0] == 0


def test_what_needs_a_person_is_posted(shared: Any) -> None:
    posted: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            posted.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *words: Any) -> None:
            pass

    homes = [shared.join(name) for name in ("hook-a", "hook-b")]
    shared.give(homes[0], people(9, 1))  # fewer than 2k: it refuses, and the study fails
    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        hook = Webhook(f"http://127.0.0.1:{server.server_port}/hook")
        assert hook.tell(shared.aggregator) == 0
        study = shared.study(["hook-a", "hook-b"])
        Look(shared, homes[0]).once()
        shared.await_state_any(study)
        hook.tell(shared.aggregator)
        server.shutdown()
        thread.join()
    [line] = [line for line in posted if line.get("study") == study.id]
    assert (line["event"], line["state"]) == ("study", "FAILED")
    assert line.keys() <= {"event", "at", "study", "owner", "state"}, "reasons are read on the status page"
    with pytest.raises(FederationError, match="address"):
        Webhook("file:///etc/passwd")


def test_the_webhook_follows_no_redirect() -> None:
    """Else whoever answers there could reach addresses that only this machine can."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.path)
            self.send_response(302)
            self.send_header("Location", "/inside")
            self.end_headers()

        do_GET = do_POST  # noqa: N815

        def log_message(self, *words: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        Webhook(f"http://127.0.0.1:{server.server_port}/hook")._post({"event": "fault"})
        server.shutdown()
        thread.join()
    assert asked == ["/hook"]
