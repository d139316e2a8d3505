"""Chunks, manifests and seals: wrong ones are refused, right ones may be sent again and again."""

from __future__ import annotations

from itertools import count
from typing import Any

import pyarrow as pa
import pytest
from federation_world import Look, people, signed_as, until

from coterie.federation.documents.chunks import Chunk, packed, unpacked
from coterie.federation.documents.messages import Manifest
from coterie.federation.documents.signed import Signed, sha256
from coterie.federation.documents.wire import LARGEST_CHUNK
from coterie.federation.errors import FederationError
from coterie.federation.owner import contribution
from coterie.federation.owner.client import AnswerFault
from coterie.federation.secrets.blinding import COLUMN

_numbers = count()


class Ready:
    """Two approved owners; the first has computed, and nothing is sent yet."""

    def __init__(self, world: Any, rows: int = 30, **study: Any) -> None:
        number = next(_numbers)
        self.world = world
        self.homes = [world.join(f"transfer-{letter}-{number}") for letter in "ab"]
        for home in self.homes:
            world.give(home, people(rows, 1), unsealed=True)
        owners = [home.owner for home in self.homes]
        self.study = world.study(owners, protocol=2, **study)
        for home in self.homes:
            Look(world, home).once()
        world.await_state(self.study, "COLLECTING")
        self.home = self.homes[0]
        self.id = self.study.id

    def computed(self) -> Signed:
        from coterie.federation.owner.answering import prepare_table
        from coterie.federation.owner.policy import OwnerSource

        said = self.home.journal.decision(self.id)
        source = OwnerSource(**said["source"])
        prepared = prepare_table(self.study, self.home.owner, source)
        contribution.contribute(self.home, self.study, source, prepared, None, lambda: None)
        signed = contribution.finished(self.home, self.id)
        assert signed is not None
        with self.client() as client:
            for state in ("RESERVED", "COMPUTED"):
                client.post(f"/v1/studies/{self.id}/progress", {"state": state})
        return signed

    def client(self) -> Any:
        return self.world.client(self.home, session=f"session-of-{self.home.owner}-here")

    def send(self, method: str, what: str, body: bytes = b"") -> Any:
        with self.client() as client:
            return client.send(method, f"/v1/studies/{self.id}/{what}", body)

    def fault(self, method: str, what: str, body: bytes = b"") -> AnswerFault:
        with pytest.raises(AnswerFault) as fault:
            self.send(method, what, body)
        return fault.value


def test_every_step_of_a_transfer_can_be_repeated_and_none_skipped(shared: Any) -> None:
    ready = Ready(shared)
    signed = ready.computed()
    chunk = ready.home.chunk(ready.id, 0).read_bytes()
    assert ready.fault("POST", "seal").status == 409  # no manifest yet
    assert ready.fault("PUT", "chunks/0", chunk).status == 409
    assert ready.send("PUT", "manifest", signed.canonical()) == {"missing": [0]}
    assert ready.fault("POST", "seal").content["missing"] == [0]
    wrong = ready.fault("PUT", "chunks/0", chunk[:-1] + b"?")
    assert (wrong.status, wrong.content["error"], wrong.content["number"]) == (422, "chunk", 0)
    assert ready.fault("PUT", "chunks/1", chunk).status == 404
    assert ready.send("PUT", "manifest", signed.canonical()) == {"missing": [0]}
    assert ready.send("PUT", "chunks/0", chunk) == {"number": 0}
    assert ready.send("PUT", "chunks/0", chunk) == {"number": 0}
    assert ready.send("PUT", "manifest", signed.canonical()) == {"missing": []}
    receipt = ready.send("POST", "seal")
    assert ready.send("POST", "seal") == receipt
    assert ready.send("PUT", "chunks/0", chunk) == {"number": 0}
    assert receipt["document"]["manifest"] == sha256(signed.canonical())
    other = Manifest.model_validate(signed.document)
    changed = other.model_copy(update={"certificate": other.certificate + " "})
    answer = ready.fault("PUT", "manifest", Signed.of(changed, ready.home.keys).canonical())
    assert (answer.status, answer.content["error"]) == (409, "manifest changed")


def test_a_manifest_of_somebody_else(shared: Any) -> None:
    ready = Ready(shared)
    signed = ready.computed()
    stolen = Signed.of(Manifest.model_validate(signed.document), ready.homes[1].keys)
    assert ready.fault("PUT", "manifest", stolen.canonical()).status == 422
    as_answer = signed_as("answer", Manifest.model_validate(signed.document), ready.home.keys)
    assert ready.fault("PUT", "manifest", as_answer.canonical()).status == 422


def test_a_chunk_lost_on_the_aggregators_disk_is_asked_for_again(shared: Any) -> None:
    ready = Ready(shared)
    signed = ready.computed()
    chunk = ready.home.chunk(ready.id, 0).read_bytes()
    ready.send("PUT", "manifest", signed.canonical())
    ready.send("PUT", "chunks/0", chunk)
    [path] = shared.aggregator.folder.glob(f"chunks/{ready.id}/*/00000.parquet")
    path.write_bytes(b"rotten")
    assert ready.fault("POST", "seal").content["missing"] == [0]
    assert ready.send("PUT", "manifest", signed.canonical()) == {"missing": [0]}, "so that an owner sends it"
    ready.send("PUT", "chunks/0", chunk)
    ready.send("POST", "seal")


def delivered(ready: Ready, table: pa.Table) -> dict[str, Any]:
    """An owner who sends something else than the protocol says, under its own good signature."""
    manifest = Manifest.model_validate(ready.computed().document)
    pieces = list(packed(table))
    forged = manifest.model_copy(update={"chunks": tuple(chunk for chunk, _ in pieces)})
    ready.send("PUT", "manifest", Signed.of(forged, ready.home.keys).canonical())
    for number, (_, data) in enumerate(pieces):
        ready.send("PUT", f"chunks/{number}", data)
    ready.send("POST", "seal")
    ends = ("ACCEPTED", "REJECTED")
    return dict(
        until(lambda: (p := shared_part(ready))["state"] in ends and p, "the content to be looked at")
    )


def shared_part(ready: Ready) -> dict[str, Any]:
    return dict(ready.world.part(ready.study, ready.home.owner))


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda t: t.slice(1), "number of rows"),
        (lambda t: t.rename_columns(["age", "stay", "other"]), "columns"),
        (lambda t: t.set_column(0, "age", pa.array([200] * 30)), "has values outside"),
        (lambda t: t.set_column(2, "ward", pa.array(["west"] * 30)), "has values outside"),
        (lambda t: t.set_column(0, "age", pa.array([None] + [5] * 29)), "misses"),
        (lambda t: t.set_column(0, "age", pa.array([1.5] * 30)), "another type"),
    ],
)
def test_content_that_no_honest_owner_sends(shared: Any, change: Any, word: str) -> None:
    ready = Ready(shared)
    table = people(30, 1).drop_columns(["patient"])
    part = delivered(ready, change(table))
    assert part["state"] == "REJECTED"
    assert word in part["reason"]
    assert "west" not in part["reason"]
    assert shared.await_state_any(ready.study)["state"] == "FAILED"


def test_pieces_come_back_as_they_were(tmp_path: Any) -> None:
    table = people(5_000, 3).drop_columns(["patient"])
    from federation_world import ATTRIBUTES

    from coterie.federation.documents.chunks import arrow_schema, as_sent
    from coterie.federation.documents.study_file import _attribute
    from coterie.schema.attributes import Schema

    attributes = [_attribute(a) for a in Schema.load({"attributes": ATTRIBUTES}).attributes]
    schema = arrow_schema(attributes, pseudonymous=False)
    sent = as_sent(table, schema)
    pieces = list(packed(sent, target=2_000))
    assert len(pieces) > 5
    assert [piece for piece, _ in pieces] == [piece for piece, _ in packed(sent, target=2_000)]
    back = []
    for piece, data in pieces:
        path = tmp_path / piece.sha256
        path.write_bytes(data)
        assert len(data) == piece.size <= LARGEST_CHUNK
        back.append(unpacked(path, piece, schema))
    assert pa.concat_tables(back).equals(sent)
    assert COLUMN not in schema.names


def test_what_is_not_parquet(tmp_path: Any) -> None:
    path = tmp_path / "chunk"
    path.write_bytes(b"PAR1 not really PAR1")
    with pytest.raises(FederationError, match="not a Parquet file"):
        unpacked(path, Chunk(sha256="0" * 64, size=20, rows=1), pa.schema([("a", pa.int64())]))
