"""Requests that are not accepted: each over a real connection, answered as the design's table says, and audited."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import httpx
import pytest

from coterie.federation.aggregator.home import Fault
from coterie.federation.aggregator.service import Authentication
from coterie.federation.documents import wire
from coterie.federation.documents.messages import Enrolment
from coterie.federation.errors import Conflict, InvitationSpent, NotAccepted, ProtocolMismatch
from coterie.federation.owner.client import AnswerFault, Client
from coterie.federation.secrets.keys import Keys
from coterie.federation.storage.parties import owner_by_name

LOOK = "/v1/desired?after=&wait=0"


@pytest.fixture(scope="session")
def home(shared: Any) -> Any:
    return shared.join("owner-of-this-file")


def raw(
    world: Any, headers: dict[str, str], target: str = LOOK, method: str = "GET", body: bytes = b""
) -> httpx.Response:
    with world.http() as http:
        return http.request(method, target, headers=headers, content=body)


def headers(world: Any, home: Any, keys: Keys | None = None) -> dict[str, str]:
    with Client(home.url, home.aggregator, home.tls, keys or home.keys) as client:
        return client.signed_headers("GET", LOOK, b"")


def test_a_signed_request_is_answered(shared: Any, home: Any) -> None:
    response = raw(shared, headers(shared, home))
    assert response.status_code == 200
    assert response.json()["owner"] == "owner-of-this-file"


@pytest.mark.parametrize(
    "spoil",
    [
        lambda h: {**h, wire.SIGNATURE: h[wire.SIGNATURE][:-4] + "AAA="},
        lambda h: {**h, wire.NONCE: "x" * 24},
        lambda h: {**h, wire.SIGNATURE: "not base64"},
        lambda h: {**h, wire.KEY: "short"},
        lambda h: {name: value for name, value in h.items() if name != wire.KEY},
        lambda h: {name: value for name, value in h.items() if name != wire.TIME},
        lambda h: {**h, wire.SESSION: "another-session-than-signed"},
    ],
)
def test_bad_signatures(shared: Any, home: Any, spoil: Any) -> None:
    before = len(shared.diary("turned away"))
    response = raw(shared, spoil(headers(shared, home)))
    assert response.status_code == 401
    assert response.json() == {
        "error": "unauthorised",
        "problem": "The request is not accepted.",
        "advice": "",
    }
    assert len(shared.diary("turned away")) == before + 1


def test_a_nonce_works_once(shared: Any, home: Any) -> None:
    kept = headers(shared, home)
    assert raw(shared, kept).status_code == 200
    replayed = raw(shared, kept)
    assert (replayed.status_code, replayed.json()["error"]) == (401, "unauthorised")


def test_a_signature_is_for_one_path_and_body(shared: Any, home: Any) -> None:
    assert raw(shared, headers(shared, home), "/v1/desired?after=&wait=1").status_code == 401
    assert raw(shared, headers(shared, home), "/v1/leave", "POST").status_code == 401


def test_an_unknown_key(shared: Any, home: Any) -> None:
    with Client(home.url, home.aggregator, home.tls, Keys.generate()) as client, pytest.raises(NotAccepted):
        client.get(LOOK)


@pytest.mark.parametrize("minutes", [-3, 3])
def test_a_clock_that_is_off(shared: Any, home: Any, monkeypatch: pytest.MonkeyPatch, minutes: int) -> None:
    real = wire.now
    monkeypatch.setattr(wire, "now", lambda: real() + timedelta(minutes=minutes))
    sent = headers(shared, home)
    content = raw(shared, sent).json()
    assert content["error"] == "clock"
    assert content["yours"] == sent[wire.TIME]
    assert abs((wire.moment(content["ours"]) - real()).total_seconds()) < 60
    with (
        Client(home.url, home.aggregator, home.tls, home.keys) as client,
        pytest.raises(NotAccepted, match="clock"),
    ):
        client.get(LOOK)


def test_a_clock_that_is_off_by_less(shared: Any, home: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    real = wire.now
    monkeypatch.setattr(wire, "now", lambda: real() - timedelta(seconds=60))
    assert raw(shared, headers(shared, home)).status_code == 200


def enrolment(world: Any, invitation: Any, keys: Keys) -> Any:
    form = Enrolment(token=invitation.token, key=keys.public, sealing_key=keys.sealing_public)
    with Client(world.url, invitation.aggregator, invitation.tls, keys) as client:
        return client.post("/v1/enrol", form.content())


def test_an_invitation_works_once(shared: Any) -> None:
    invitation, keys = shared.invitation("once"), Keys.generate()
    assert enrolment(shared, invitation, keys)["owner"] == "once"
    assert enrolment(shared, invitation, keys)["owner"] == "once"  # the first answer was lost on the way
    with pytest.raises(InvitationSpent, match="used or has expired"):
        enrolment(shared, invitation, Keys.generate())


def test_an_invitation_expires(shared: Any) -> None:
    with pytest.raises(InvitationSpent):
        enrolment(shared, shared.invitation("late", hours=-1), Keys.generate())


def test_an_invitation_that_nobody_made(shared: Any) -> None:
    made = shared.invitation("never")
    with pytest.raises(InvitationSpent):
        enrolment(shared, made.model_copy(update={"token": "x" * 43}), Keys.generate())


def test_an_enrolment_is_signed_by_the_key_it_names(shared: Any) -> None:
    invitation, keys, other = shared.invitation("stolen"), Keys.generate(), Keys.generate()
    form = Enrolment(token=invitation.token, key=keys.public, sealing_key=keys.sealing_public)
    with (
        Client(shared.url, invitation.aggregator, invitation.tls, other) as client,
        pytest.raises(NotAccepted),
    ):
        client.post("/v1/enrol", form.content())


@pytest.mark.parametrize("offered", ["7", "4-9", "0", "", "nonsense", "1-"])
def test_no_common_version(shared: Any, home: Any, offered: str) -> None:
    response = raw(shared, {**headers(shared, home), wire.PROTOCOL: offered})
    if offered == "1-":
        assert response.status_code == 200
        return
    assert response.status_code == 426
    assert (response.json()["ours"], response.json()["yours"]) == ("1-3", offered)


def test_the_owner_stops_without_a_common_version(
    shared: Any, home: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from federation_world import Look

    monkeypatch.setattr(wire, "PROTOCOL_MINIMUM", 7)
    monkeypatch.setattr(wire, "PROTOCOL_MAXIMUM", 9)
    with pytest.raises(ProtocolMismatch, match="1-3"):
        Look(shared, home).forever()  # a retry would never end


def test_two_processes_with_one_key(shared: Any) -> None:
    home = shared.join("copied-key")
    first, second = "first-process-of-two", "second-process-of-two"
    with shared.client(home, first) as one, shared.client(home, second) as two:
        one.get(LOOK)
        with pytest.raises(Conflict):
            two.get(LOOK)
        one.get(LOOK)  # the first goes on
    lines = [line for line in shared.diary("second process") if line["owner"] == "copied-key"]
    assert [(line["active"], line["turned_away"]) for line in lines] == [(first[:8], second[:8])]


def test_a_process_that_follows_another_may_act_at_once(shared: Any) -> None:
    home = shared.join("restarted")
    with shared.client(home, "first-process-of-two") as one:
        one.get(LOOK)
    with shared.client(home, "second-process-of-two", replaces="first-process-of-two") as two:
        two.get(LOOK)
    with shared.client(home, "first-process-of-two") as one, pytest.raises(Conflict):
        one.get(LOOK)


def test_a_copy_cannot_follow_a_process_that_is_on_the_line(shared: Any) -> None:
    home = shared.join("on-the-line")
    authentication = Authentication(shared.aggregator)
    with shared.aggregator.database.reading() as connection:
        owner = owner_by_name(connection, home.owner)
    assert owner is not None
    first, second = "first-process-of-two", "second-process-of-two"
    authentication.act(owner, {wire.SESSION: first})
    authentication.presence[owner.id, first] += 1  # its long poll is open
    with pytest.raises(Fault) as fault:
        authentication.act(owner, {wire.SESSION: second, wire.REPLACES: first})
    assert fault.value.status == 409
    authentication.presence[owner.id, first] -= 1  # it was killed, so its connection is closed
    authentication.act(owner, {wire.SESSION: second, wire.REPLACES: first})


def test_bodies_have_a_limit(shared: Any, home: Any) -> None:
    body = b"x" * (wire.LARGEST_ENROLMENT + 1)
    with (
        Client(home.url, home.aggregator, home.tls, home.keys) as client,
        pytest.raises(AnswerFault) as fault,
    ):
        client.send("POST", "/v1/enrol", body)
    assert fault.value.status == 413


@pytest.mark.parametrize(
    "target", ["/v1/studies/../../etc/passwd/seal", "/v1/studies/%2e%2e/seal", "/v1/studies/abc/seal"]
)
def test_names_of_studies_are_hashes(shared: Any, home: Any, target: str) -> None:
    with shared.client(home) as client, pytest.raises((AnswerFault, NotAccepted)):
        client.send("POST", target, b"")


def test_a_study_of_others_does_not_exist(shared: Any) -> None:
    one, two, three = (shared.join(f"private-{n}") for n in range(3))
    study = shared.study(["private-0", "private-1"])
    with shared.client(three, "third-process-here") as client:
        for method, target in (("POST", "seal"), ("GET", "certificate"), ("GET", "release")):
            with pytest.raises(AnswerFault) as fault:
                client.send(method, f"/v1/studies/{study.id}/{target}", b"")
            assert fault.value.status == 404
    assert one.owner != two.owner


def test_nothing_secret_is_logged(shared: Any, home: Any) -> None:
    """What the aggregator keeps and says: no token, no private key, no TLS key."""
    log = (shared.root / "server.log").read_text()
    content = json.dumps([str(line) for line in shared.diary("turned away")]) + log
    assert shared.token not in content
    assert "PRIVATE KEY" not in content
    database = b"".join(path.read_bytes() for path in shared.aggregator.folder.glob("aggregator.sqlite*"))
    assert shared.token.encode() not in database
    for name in ("signing.pem", "sealing.pem", "tls.key", "aggregator.json"):
        assert (shared.aggregator.folder / name).stat().st_mode & 0o777 == 0o600
    for name in ("signing.pem", "sealing.pem", "owner.json", "journal.sqlite"):
        assert (home.folder / name).stat().st_mode & 0o777 == 0o600
