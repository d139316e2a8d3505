"""The one way out: in order, all or nothing, charged once, recognised when asked for again."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from coterie import Ledger
from coterie.errors import OutputError
from coterie.promise.loss import Loss
from coterie.publication.ledger import Purpose, ReleaseState
from coterie.publication.publishing import publish_files
from coterie.publication.staged_files import StagedFile


class Killed(BaseException):
    """As a process that dies: nothing is cleaned up by hand."""


def purpose(target: Path) -> Purpose:
    return Purpose("people", Loss.pure(Fraction(1)), "laplace", "proved", str(target), "one request")


def fail_at(patch: pytest.MonkeyPatch, name: str, fault: BaseException) -> None:
    publishing = StagedFile.publish

    def publish(staged: StagedFile) -> None:
        if staged.target.name == name:
            raise fault
        publishing(staged)

    patch.setattr(StagedFile, "publish", publish)


@pytest.mark.parametrize("earlier", [False, True])
@pytest.mark.parametrize("name", ["certificate", "data"])
def test_without_a_ledger_a_fault_leaves_what_was_there(
    tmp_path: Path, name: str, earlier: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("certificate", "data")
    if earlier:
        for file in names:
            (tmp_path / file).write_bytes(b"old")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with monkeypatch.context() as patch:
        fail_at(patch, name, OutputError("No room is left.", "Make some."))
        with pytest.raises(OutputError, match="No room"):
            publish_files(lambda: {tmp_path / file: b"new" for file in names}, force=True)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    publish_files(lambda: {tmp_path / file: b"new" for file in names}, force=True)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == dict.fromkeys(names, b"new")


@pytest.mark.parametrize("name", ["certificate", "data"])
def test_killed_after_its_charge_it_is_finished_by_whoever_comes_next(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = tmp_path / "ledger.sqlite"
    Ledger.add_population(book, "people", 1)
    files = {tmp_path / "certificate": b"promise", tmp_path / "data": b"rows"}
    with monkeypatch.context() as patch, Ledger.open(book) as ledger:
        fail_at(patch, name, Killed())
        with pytest.raises(Killed):
            publish_files(lambda: files, ledger=ledger, purpose=purpose(tmp_path / "data"))
    with Ledger.open(book) as ledger:
        [entry] = ledger.book().releases(fingerprint="one request")
        assert entry.state is ReleaseState.RELEASED
        assert ledger.balance("people").spent == 1
    assert {path: path.read_bytes() for path in files} == files
    assert not list(tmp_path.glob(".*.tmp"))


def test_killed_before_its_charge_nothing_is_spent_and_nothing_is_left(tmp_path: Path) -> None:
    book = tmp_path / "ledger.sqlite"
    Ledger.add_population(book, "people", 1)

    def make() -> dict[Path, bytes]:
        raise Killed

    with Ledger.open(book) as ledger, pytest.raises(Killed):
        publish_files(make, ledger=ledger, purpose=purpose(tmp_path / "data"))
    with Ledger.open(book) as ledger:
        assert ledger.balance("people").spent == 0
    assert [path.name for path in tmp_path.iterdir()] == ["ledger.sqlite"]
