"""Vertical studies of two owners who find their common people by blinded ids (Diffie–Hellman on P-256)."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from federation_world import PATIENCE, Look, people, signed_as, until
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie import protect
from coterie.chain.noise.seeded import owner_seed
from coterie.federation.documents.messages import ExchangeStep, Manifest, Parcel
from coterie.federation.documents.signed import Signed, signed_from
from coterie.federation.errors import FederationError
from coterie.federation.owner import exchange as exchanging
from coterie.federation.owner.answering import prepare_table
from coterie.federation.owner.client import AnswerFault
from coterie.federation.owner.exchange import Exchange
from coterie.federation.owner.policy import UNFIT, OwnerSource
from coterie.federation.secrets.blinding import (
    blinded,
    blinded_again,
    new_blinding_key,
    normalised,
    pseudonym,
    pseudonyms,
    split,
)
from coterie.publication.ledger import Ledger, ReleaseState
from coterie.table.digest import table_digest

STUDY = "5" * 64
HOLDS = ("age", "stay", "ward")
Ids = st.sets(st.text(min_size=1, max_size=8), max_size=12)


@given(mine=Ids, theirs=Ids)
@settings(max_examples=25, deadline=None)
def test_equal_ids_meet_and_no_others(mine: set[str], theirs: set[str]) -> None:
    a, b = new_blinding_key(), new_blinding_key()
    left = dict(zip(blinded_again(blinded(mine, a, STUDY), b), mine, strict=True))
    right = dict(zip(blinded_again(blinded(theirs, b, STUDY), a), theirs, strict=True))
    assert {left[point] for point in left.keys() & right.keys()} == mine & theirs


def test_nobody_alone_can_compute_a_pseudonym() -> None:
    a, b = new_blinding_key(), new_blinding_key()
    [both] = blinded_again(blinded(["anna"], a, STUDY), b)
    alone = [*blinded(["anna"], a, STUDY), *blinded(["anna"], b, STUDY)]
    alone += blinded_again(alone, a)[:1] + blinded_again(alone, b)[1:]
    assert both not in alone
    assert pseudonym(both, STUDY) not in {pseudonym(point, STUDY) for point in alone}
    # Another study gives other points and other pseudonyms, even with the same keys.
    assert blinded(["anna"], a, STUDY) != blinded(["anna"], a, "6" * 64)
    assert pseudonym(both, STUDY) != pseudonym(both, "6" * 64)


@pytest.mark.parametrize("wrong", [b"\xff" * 32, b"", b"short", bytes(33)])
def test_what_is_no_point(wrong: bytes) -> None:
    with pytest.raises(FederationError, match="no blinded id"):
        blinded_again([wrong], new_blinding_key())
    with pytest.raises(FederationError, match="half a point"):
        split(bytes(33))


def begun(world: Any, names: tuple[str, str], tables: tuple[pa.Table, pa.Table], **changes: Any) -> Any:
    homes = [world.join(name) for name in names]
    for home, table in zip(homes, tables, strict=True):
        world.give(home, table, **{"blinded": True, **changes})
    holds = {names[0]: ["age"], names[1]: ["stay", "ward"]}
    study = world.study(holds, fragmentation="vertical", identifier="patient", join="blinded ids")
    return study, homes


def looked(world: Any, study: Any, homes: list[Any]) -> dict[str, Any]:
    ends = ("RELEASED", "FAILED")

    def ended() -> Any:
        for home in homes:
            Look(world, home).once()
        shown = world.shown(study)
        return shown if shown["state"] in ends else None

    return dict(until(ended, "the study to end"))


def parts(overlap: int) -> tuple[pa.Table, pa.Table]:
    """Fifty people each, `overlap` of them at both, spelled differently."""
    one = people(50, 7).select(["patient", "age"])
    other = people(50, 7, first=50 - overlap)
    spelled = pa.array([f" {name.lower()}" for name in other.column("patient").to_pylist()])
    return one, other.select(["stay", "ward"]).append_column("patient", spelled)


def test_two_processes_find_their_common_people(shared: Any) -> None:
    study, homes = begun(shared, ("blind-a", "blind-b"), parts(30))
    running = [shared.run_owner(home, "--until-done") for home in homes]
    shared.await_state(study, "RELEASED")
    assert [process.wait(PATIENCE) for process in running] == [0, 0], shared.logs()
    table, certificate = pq.read_table(shared.aggregator.release(study.id)), shared.certificate(study)
    assert (table.num_rows, table.column_names) == (30, ["age", "stay", "ward"])
    for home in homes:
        manifest = Manifest.model_validate(
            signed_from((home.study(study.id) / "manifest.json").read_bytes()).document
        )
        assert manifest.rows == 30, "only the people in common were sent"
    assert any("cannot test an id" in text for text in certificate.aggregator_learned)
    assert any("which of its own people" in text for text in certificate.notes)
    for home in homes:
        [entry] = Ledger.inspect(home.default_ledger).entries.values()
        assert entry.state is ReleaseState.RELEASED
        notes = [line for line in home.journal.diary() if line["event"] == "exchanged"]
        assert [(line["step"], line["ids"]) for line in notes] == [
            ("committed", 50),
            ("blinded", 50),
            ("returned", 50),
        ]
        for name in ("blinding.key", "blinded.points", "returned.points"):
            assert (home.study(study.id) / name).stat().st_mode & 0o777 == 0o600

    def forgotten() -> bool:
        with sqlite3.connect(shared.aggregator.folder / "aggregator.sqlite") as connection:
            counted = connection.execute("SELECT count(*) FROM parcels WHERE study = ?", (study.id,))
            return counted.fetchone() == (0,)

    until(forgotten, "the parcels to be forgotten")


def test_rows_of_one_person_stay_together(shared: Any) -> None:
    """A seeded study is the same as protecting the common rows in one process, and joining on the real ids."""
    raw = people(60, 11)
    tables = (
        raw.select(["patient", "age"]).slice(0, 50),
        raw.select(["patient", "stay", "ward"]).slice(10, 50),
    )
    homes = [shared.join(name) for name in ("same-a", "same-b")]
    for home, table in zip(homes, tables, strict=True):
        shared.give(home, table, blinded=True, seeded=True)
    study = shared.study(
        {"same-a": ["age"], "same-b": ["stay", "ward"]},
        fragmentation="vertical", identifier="patient", join="blinded ids",
        seed=3,
    )  # fmt: skip
    shown = looked(shared, study, homes)
    assert shown["state"] == "RELEASED", shown["owners"]
    columns: dict[str, Any] = {}
    for name in ("same-a", "same-b"):
        schema, common = study.schema_for(name), raw.slice(10, 40)
        seed = owner_seed(3, name)
        made = protect(
            common.select([a.name for a in schema.attributes]),
            schema,
            method="idp-ls",
            epsilon="1/2",
            k=5,
            seed=seed,
        )
        columns |= {column: made.table.column(column) for column in made.table.column_names}
    expected = pa.table(columns).select(["age", "stay", "ward"])
    assert table_digest(pq.read_table(shared.aggregator.release(study.id))) == table_digest(expected)


def test_too_few_people_in_common_cost_nothing(shared: Any) -> None:
    study, homes = begun(shared, ("few-a", "few-b"), parts(9))
    shown = looked(shared, study, homes)
    assert shown["state"] == "FAILED"
    reasons = [part["reason"] for part in shown["owners"] if part["reason"]]
    assert reasons
    assert set(reasons) == {UNFIT}
    assert any("held by both owners" in str(home.journal.diary()) for home in homes)
    for home in homes:
        assert not Ledger.inspect(home.default_ledger).entries, "found out before anything was reserved"


def test_a_policy_that_does_not_allow_it(shared: Any) -> None:
    study, homes = begun(shared, ("shy-a", "shy-b"), parts(30), blinded=False)
    Look(shared, homes[0]).once()
    part = shared.part(study, "shy-a")
    assert (part["state"], "which people are in common" in part["reason"]) == ("REFUSED", True)


def test_only_two_owners(shared: Any) -> None:
    for name in ("three-a", "three-b", "three-c"):
        shared.join(name)
    holds = {"three-a": ["age"], "three-b": ["stay"], "three-c": ["ward"]}
    with pytest.raises(FederationError, match="exactly two owners"):
        shared.study(holds, fragmentation="vertical", identifier="patient", join="blinded ids")
    two = {"three-a": ["age"], "three-b": ["stay", "ward"]}
    with pytest.raises(FederationError, match="names a lead"):
        shared.study(two, fragmentation="vertical", identifier="patient", join="blinded ids", lead="three-a")
    with pytest.raises(FederationError, match="how it is joined"):
        shared.study(["three-a", "three-b"], join="blinded ids")


class Exchanging:
    """Two owners who have approved and committed; the first has sent its blinded ids."""

    def __init__(self, world: Any, names: tuple[str, str]) -> None:
        self.world = world
        self.study, self.homes = begun(world, names, parts(30))
        for home in self.homes:
            Look(world, home).once()
        world.await_state(self.study, "COLLECTING")
        for number in (0, 1, 0):
            Look(world, self.homes[number]).once()

    def client(self, number: int) -> Any:
        home = self.homes[number]
        return self.world.client(home, session=f"session-of-{home.owner}-here")

    def put(self, number: int, signed: Signed, place: str = "blinded/0") -> int:
        with self.client(number) as client:
            try:
                client.put(f"/v1/studies/{self.study.id}/parcels/{place}", signed.canonical())
            except AnswerFault as fault:
                return fault.status
        return 200

    def sent(self) -> tuple[Signed, Parcel]:
        path = self.homes[0].study(self.study.id) / "blinded-00000.json"
        signed = Signed.model_validate(json.loads(path.read_bytes()))
        return signed, Parcel.model_validate(signed.document)


def test_parcels_that_are_not_accepted(shared: Any) -> None:
    it = Exchanging(shared, ("parcel-a", "parcel-b"))
    signed, parcel = it.sent()
    keys, others = it.homes[0].keys, it.homes[1].keys
    assert it.put(0, signed) == 200, "the same one again"
    for changes, place, status in (
        ({"sealed": parcel.sealed[:-8]}, "blinded/0", 409),
        ({"number": 1, "count": 3}, "blinded/1", 409),
        ({"number": 1}, "blinded/1", 422),
        ({"number": 1, "count": 2}, "blinded/0", 422),
        ({"to": "parcel-a"}, "blinded/0", 422),
        ({"owner": "parcel-b"}, "blinded/0", 422),
        ({"study": "0" * 64}, "blinded/0", 422),
        ({"step": ExchangeStep.RETURNED}, "blinded/0", 422),
    ):
        changed = parcel.model_copy(update=changes)
        assert it.put(0, Signed.of(changed, keys), place) == status, changes
    assert it.put(0, signed_as("answer", parcel, keys)) == 422, "signed as something else"
    assert it.put(0, Signed.of(parcel, others)) == 422, "signed by somebody else"
    assert it.put(0, signed, "elsewhere/0") == 422
    with it.client(1) as client:
        for place, status in (("returned/0", 409), ("blinded/1", 404)):
            with pytest.raises(AnswerFault) as fault:
                client.get(f"/v1/studies/{it.study.id}/parcels/{place}")
            assert fault.value.status == status
    other = shared.join("parcel-c")
    with shared.client(other, "a-third-process-here") as client, pytest.raises(AnswerFault) as fault:
        client.get(f"/v1/studies/{it.study.id}/parcels/blinded/0")
    assert fault.value.status == 404


def test_a_forged_parcel_is_not_opened(shared: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """An aggregator that puts its own list of ids in an owner's name gets no answer from the other."""
    it = Exchanging(shared, ("forge-a", "forge-b"))
    _, parcel = it.sent()
    forged = Signed.of(parcel, shared.aggregator.keys).content()
    source = OwnerSource(data="unused", population="people")
    there = {"forge-a": {"blinded": {"there": 1, "count": 1}}}
    exchange = Exchange(it.homes[1], it.client(1), it.study, source, there)
    monkeypatch.setattr(exchange.client, "get", lambda target: forged)
    with pytest.raises(FederationError, match="signature"):
        exchange._theirs()
    replayed = Signed.of(parcel.model_copy(update={"number": 1, "count": 2}), it.homes[0].keys)
    monkeypatch.setattr(exchange.client, "get", lambda target: replayed.content())
    with pytest.raises(FederationError, match="another place"):
        exchange._theirs()
    exchange.client.close()
    assert not (it.homes[1].study(it.study.id) / "returned.points").exists()


def test_a_table_that_changes_meanwhile_is_refused(shared: Any) -> None:
    it = Exchanging(shared, ("change-a", "change-b"))
    shared.give(it.homes[0], parts(29)[0].slice(1), blinded=True)
    shown = looked(shared, it.study, it.homes)
    assert shown["state"] == "FAILED"
    assert shared.part(it.study, "change-a")["reason"] == UNFIT
    assert "changed while" in str(it.homes[0].journal.diary())
    assert not Ledger.inspect(it.homes[0].default_ledger).entries


def test_what_the_aggregator_holds_meanwhile(shared: Any) -> None:
    """Neither ids, nor points, nor pseudonyms of any key it could guess: only what is sealed to the other owner."""
    it = Exchanging(shared, ("holds-a", "holds-b"))
    Look(shared, it.homes[1]).once()
    Look(shared, it.homes[0]).once()
    folder = shared.aggregator.folder
    held = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file()).lower()
    ids = [normalised(name) for name in parts(30)[0].column("patient").to_pylist()]
    points = (it.homes[0].study(it.study.id) / "blinded.points").read_bytes()
    assert not [name for name in ids if name.encode() in held]
    assert not [point for point in split(points) if point in held or point.hex().encode() in held]


def test_several_parcels(shared: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchanging, "POINTS_IN_PARCEL", 20)
    study, homes = begun(shared, ("many-a", "many-b"), parts(30))
    assert looked(shared, study, homes)["state"] == "RELEASED"
    assert len(list(homes[0].study(study.id).glob("blinded-*.json"))) == 3
    assert pq.read_table(shared.aggregator.release(study.id)).num_rows == 30


def test_order_says_nothing_about_the_table(shared: Any) -> None:
    """Points are sent in their own order, pseudonyms too: not in that of the rows."""
    it = Exchanging(shared, ("order-a", "order-b"))
    source = OwnerSource(data=str(it.homes[0].folder / "people.parquet"), population="people")
    prepared = prepare_table(it.study, "order-a", source)
    assert prepared.ids is not None
    key = (it.homes[0].study(it.study.id) / "blinding.key").read_bytes()
    in_rows = blinded(prepared.ids, key, it.study.id)
    sent = split((it.homes[0].study(it.study.id) / "blinded.points").read_bytes())
    assert sent == sorted(in_rows) != in_rows
    assert pseudonyms(prepared.ids, key, it.study.id).order.tolist() != [*range(50)]
