"""Owners who have joined, and answer with what no honest owner would send."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from federation_world import Look, charged, people

from coterie.errors import ParameterError
from coterie.federation.aggregator.home import row_bytes
from coterie.federation.documents.chunks import Chunk
from coterie.federation.documents.messages import Enrolment, Manifest
from coterie.federation.documents.signed import Signed
from coterie.federation.documents.study import StudyAttribute
from coterie.federation.errors import FederationError, InvitationSpent
from coterie.federation.owner.client import AnswerFault, Client
from coterie.federation.secrets.keys import Keys, require_sound, seal, verify
from coterie.schema.exact import parse_epsilon

IDENTITY = base64.b64encode(b"\x01" + bytes(31)).decode()
ZERO = base64.b64encode(bytes(32)).decode()


def test_keys_under_which_everything_is_signed() -> None:
    """R is the neutral point and S is 0: that fits every document, if the key has small order."""
    nothing = base64.b64encode(b"\x01" + bytes(63)).decode()
    for last in (0x00, 0x80):
        key = base64.b64encode(b"\x01" + bytes(30) + bytes([last])).decode()
        assert not verify(key, "request", b"anything", nothing)
    good = Keys.generate()
    require_sound(good.public, good.sealing_public)
    for pair in ((IDENTITY, good.sealing_public), (good.public, ZERO), (good.public, IDENTITY)):
        with pytest.raises(FederationError, match=r"cannot be used|Nothing can be sealed"):
            require_sound(*pair)
    with pytest.raises(FederationError, match="Nothing can be sealed"):
        seal(b"the group key", ZERO, "a study")


def test_weak_keys_do_not_join(shared: Any) -> None:
    """The lead owner of a study would have ended at sealing the group key to them."""
    invitation, keys = shared.invitation("weak"), Keys.generate()
    with Client(shared.url, invitation.aggregator, invitation.tls, keys) as client:
        form = Enrolment(token=invitation.token, key=keys.public, sealing_key=ZERO)
        with pytest.raises(AnswerFault, match="Nothing can be sealed"):
            client.post("/v1/enrol", form.content())
        guess = form.model_copy(update={"token": "0" * 43, "sealing_key": keys.sealing_public})
        with pytest.raises(InvitationSpent):
            client.post("/v1/enrol", guess.content())
        good = form.model_copy(update={"sealing_key": keys.sealing_public})
        assert client.post("/v1/enrol", good.content())["owner"] == "weak", "the invitation is still good"


def test_a_number_that_takes_hours_to_read() -> None:
    with pytest.raises(ParameterError, match="not a finite number"):
        parse_epsilon("1." + "0" * 100_000 + "1")
    assert parse_epsilon("0." + "3" * 900)


def test_a_study_that_no_code_expects_does_not_stop_the_others(
    shared: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    homes = [shared.join(name) for name in ("robust-a", "robust-b")]
    shared.give(homes[0], people(40, 1))
    study = shared.study([home.owner for home in homes])
    look = Look(shared, homes[0])
    asked = look.client.get

    def with_one_more(target: str, **options: Any) -> Any:
        content = asked(target, **options)
        return {**content, "studies": [{"id": "0" * 64, "state": "NO STATE"}, *content["studies"]]}

    monkeypatch.setattr(look.client, "get", with_one_more)
    said = {(event, name) for event, name, _ in look.once()}
    assert {("problem", "0" * 64), ("approved", study.id)} <= said


def test_more_rows_than_the_disk_could_hold(shared: Any) -> None:
    """A few bytes can stand for millions of rows. Said before anybody is charged, not when all are joined."""
    attributes = [StudyAttribute(name="a", type="continuous", lower="0", upper="1")] * 3
    assert row_bytes(attributes) == 24
    homes = [shared.join(name) for name in ("modest", "boasts")]
    for home in homes:
        shared.give(home, people(40, 1))
    study = shared.study([home.owner for home in homes])
    for home in homes:
        Look(shared, home).once()
    shared.await_state(study, "COLLECTING")
    chunk = Chunk(sha256="0" * 64, size=500, rows=5_000_000)
    boast = Manifest(study=study.id, owner="boasts", chunks=(chunk,) * 15_000, certificate="")
    with shared.client(homes[1], "session-of-boasts-here") as client:
        for state in ("RESERVED", "COMPUTED"):
            client.post(f"/v1/studies/{study.id}/progress", {"state": state})
        signed = Signed.of(boast, homes[1].keys)
        with pytest.raises(FederationError, match="disk is full"):
            client.put(f"/v1/studies/{study.id}/manifest", signed.canonical())
    assert not charged(homes[0])
    shared.cancel_all()
