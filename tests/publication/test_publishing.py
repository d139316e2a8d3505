"""A release and its certificate: both or nothing, in the right order, charged once."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest

from coterie import Certificate, Ledger, Release, Schema, protect
from coterie.errors import BudgetExceeded, OutputError, ParameterError
from coterie.promise.loss import Loss
from coterie.promise.signing import make_key, released_digest
from coterie.publication.ledger import Purpose
from coterie.publication.publishing import Destination, publish_charged, publish_uncharged
from coterie.publication.staged_files import StagedFile


@pytest.fixture
def make(people: pa.Table, people_schema: Schema) -> Callable[[], Release]:
    return lambda: protect(people, people_schema, method="laplace", epsilon=1)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_both_are_written_and_belong_together(make: Callable[[], Release], tmp_path: Path) -> None:
    out = str(tmp_path / "out.parquet")
    certificate = publish_uncharged(make, Destination(out))
    assert names(tmp_path) == ["out.parquet", "out.parquet.certificate.json"]
    stored = Certificate.from_json((tmp_path / "out.parquet.certificate.json").read_bytes())
    assert stored == certificate
    assert released_digest(out, None, stored.release.digest) == stored.release.digest.value


def test_a_canonical_digest_survives_another_format(make: Callable[[], Release], tmp_path: Path) -> None:
    """A certificate over a table, not a file: Parquet and Arrow of it both match."""
    release = make()
    for ending in ("parquet", "arrow"):
        publish_uncharged(lambda: release, Destination(str(tmp_path / f"out.{ending}")))
        digest = released_digest(str(tmp_path / f"out.{ending}"), None, release.certificate.release.digest)
        assert digest == release.certificate.release.digest.value


def test_nothing_is_computed_when_an_output_is_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "out.csv").write_text("mine")

    def never() -> Release:
        raise AssertionError("the noise was drawn although nothing could be written")

    with pytest.raises(OutputError, match="exists already"):
        publish_uncharged(never, Destination(str(tmp_path / "out.csv")))
    with pytest.raises(OutputError, match="no folder"):
        publish_uncharged(never, Destination(str(tmp_path / "nowhere" / "out.csv")))
    with pytest.raises(ParameterError, match="place for its certificate"):
        publish_uncharged(never, Destination("sqlite:///out.db", table="t"))
    assert names(tmp_path) == ["out.csv"]


def test_a_fault_on_the_way_leaves_nothing(make: Callable[[], Release], tmp_path: Path) -> None:
    with pytest.raises(ParameterError):
        publish_uncharged(make, Destination(str(tmp_path / "out.csv"), key=tmp_path / "no key"))
    assert names(tmp_path) == []


def test_the_data_come_last(
    make: Callable[[], Release], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crash between the two renames must not leave a release without its certificate."""
    order: list[str] = []
    original = StagedFile.publish

    def noted(staged: StagedFile) -> None:
        order.append(Path(staged.target).name)
        original(staged)

    monkeypatch.setattr(StagedFile, "publish", noted)
    publish_uncharged(make, Destination(str(tmp_path / "out.csv"), internal=tmp_path / "internal.json"))
    assert order[-1] == "out.csv"
    assert order[:-1] == ["internal.json", "out.csv.certificate.json"]


def test_a_replacement_that_fails_leaves_the_earlier_certificate(
    make: Callable[[], Release], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # names as people type them
    where = Destination("out.parquet", internal=Path("i.json"), force=True)
    publish_uncharged(make, where)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    publishing = StagedFile.publish

    def full(staged: StagedFile) -> None:
        if staged.target.name == "out.parquet":
            raise OutputError("No room is left.", "Make some.")
        publishing(staged)

    with monkeypatch.context() as patch:
        patch.setattr(StagedFile, "publish", full)
        with pytest.raises(OutputError, match="No room"):
            publish_uncharged(make, where)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert (tmp_path / "i.json").stat().st_mode & 0o077 == 0


def test_a_signed_certificate(make: Callable[[], Release], tmp_path: Path) -> None:
    make_key(tmp_path / "key")
    certificate = publish_uncharged(make, Destination(str(tmp_path / "out.csv"), key=tmp_path / "key"))
    assert certificate.signature is not None
    content = json.loads((tmp_path / "out.csv.certificate.json").read_text())
    assert content["signature"]["algorithm"] == "Ed25519"


def test_a_charge_for_every_release_and_none_for_a_failed_one(
    make: Callable[[], Release], tmp_path: Path
) -> None:
    book = tmp_path / "ledger.db"
    Ledger.add_population(book, "people", "2.5")

    def release(name: str, key: Path | None = None) -> None:
        with Ledger.open(book) as ledger:
            destination = Destination(str(tmp_path / name), key=key)
            purpose = Purpose(
                "people", Loss.pure(Fraction(1)), "laplace", "", destination.shown, fingerprint=name
            )
            publish_charged(make, destination, ledger, purpose)

    def spent() -> Fraction:
        with Ledger.open(book) as ledger:
            return ledger.balance("people").spent

    release("one.csv")
    assert spent() == 1
    with pytest.raises(ParameterError):
        release("failed.csv", key=tmp_path / "no key")
    assert spent() == 1
    assert not (tmp_path / "failed.csv").exists()
    release("two.csv")
    with pytest.raises(BudgetExceeded):
        release("three.csv")
    assert spent() == 2
    assert not (tmp_path / "three.csv").exists()


def test_passwords_are_not_shown() -> None:
    shown = Destination("postgresql://me:secret@host/db", table="t", certificate=Path("c.json")).shown
    assert "secret" not in shown
    assert "'t'" in shown
