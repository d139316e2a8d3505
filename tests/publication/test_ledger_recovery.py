"""What opening the ledger does with a release whose process died after the charge."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pytest
from kill_driver import die, in_child
from ledger_staged_file import StagedFile

from coterie.errors import LedgerError
from coterie.promise.loss import Loss
from coterie.publication.ledger import Ledger, Purpose, Recovered, ReleaseState
from coterie.publication.staging import Staged

Make = Callable[..., Purpose]
ADDRESS = "postgresql://ann:secret@host/db"


@dataclass(frozen=True)
class StagedTable:
    temporary: str = ADDRESS + " table _coterie_7"
    target: str = ADDRESS + " table released"
    sha256: str = "0" * 64

    def publish(self) -> None:
        raise NotImplementedError

    def discard(self) -> None:
        raise NotImplementedError


def die_when_ready(path: Path, purpose: Purpose, staged: Sequence[Staged]) -> None:
    """A process that ends between its charge and its first rename."""
    with Ledger.open(path) as ledger, ledger.charge(purpose) as charge:
        charge.ready(staged)


def opened(path: Path) -> tuple[Recovered, ...]:
    with Ledger.open(path) as ledger:
        return ledger.recovered


def test_the_bytes_that_were_charged_are_published(path: Path, tmp_path: Path, purpose: Make) -> None:
    private = StagedFile.write(tmp_path / "internal.json", b"{}")
    object.__setattr__(private, "private", True)
    private.temporary.chmod(0o600)
    data = StagedFile.write(tmp_path / "out.csv", b"a")
    data.temporary.chmod(0o600)
    die_when_ready(path, purpose(), [private, data])
    (recovered,) = opened(path)
    assert recovered.entry.state is ReleaseState.RELEASED
    assert "charged once" in recovered.message
    assert data.target.read_bytes() == b"a"
    mask = os.umask(0o022)
    os.umask(mask)
    assert data.target.stat().st_mode & 0o777 == 0o666 & ~mask
    assert private.target.stat().st_mode & 0o777 == 0o600
    assert opened(path) == ()


def test_what_a_killed_process_left_out_of_reach_is_named(path: Path, purpose: Make) -> None:
    near = path.with_name(".out.coterie-1.tmp")

    def killed() -> None:
        with Ledger.open(path) as ledger, ledger.charge(purpose()) as charge:
            charge.staging(near, "s3a://bucket/.out.coterie-1.tmp")
            near.write_text("noise")
            die()

    assert in_child(killed)
    (recovered,) = opened(path)
    assert recovered.entry.state is ReleaseState.ABANDONED
    assert "Remove s3a://bucket/.out.coterie-1.tmp" in recovered.message
    assert not near.exists()


def test_paths_as_text_are_files_too(path: Path, tmp_path: Path, purpose: Make) -> None:
    staged = StagedFile.write(tmp_path / "out.csv", b"a")
    as_text = StagedFile(str(staged.temporary), str(staged.target), staged.sha256)  # type: ignore[arg-type]
    die_when_ready(path, purpose(), [as_text])
    assert [recovered.entry.state for recovered in opened(path)] == [ReleaseState.RELEASED]
    assert staged.target.read_bytes() == b"a"


def test_a_file_that_is_in_place_is_left_alone(path: Path, tmp_path: Path, purpose: Make) -> None:
    staged = StagedFile.write(tmp_path / "out.csv", b"a")
    die_when_ready(path, purpose(), [staged])
    os.link(staged.temporary, staged.target)  # a kill between link and unlink leaves both names
    assert [recovered.entry.state for recovered in opened(path)] == [ReleaseState.RELEASED]
    assert not staged.temporary.exists()


@pytest.mark.parametrize("damage", ["removed", "torn"])
def test_without_the_charged_bytes_the_release_is_lost_but_charged(
    path: Path, tmp_path: Path, purpose: Make, damage: str
) -> None:
    first, second = (
        StagedFile.write(tmp_path / "c.json", b"{}"),
        StagedFile.write(tmp_path / "out.csv", b"data"),
    )
    die_when_ready(path, purpose(), [first, second])
    if damage == "removed":
        second.temporary.unlink()
    else:
        second.temporary.write_bytes(b"da")
    (recovered,) = opened(path)
    assert recovered.entry.state is ReleaseState.LOST
    assert Ledger.inspect(path).balance("patients").spent == 1
    assert not second.target.exists()
    assert not second.temporary.exists()


def test_a_file_written_by_someone_else_since_is_not_overwritten(
    path: Path, tmp_path: Path, purpose: Make
) -> None:
    staged = StagedFile.write(tmp_path / "out.csv", b"a")
    die_when_ready(path, purpose(), [staged])
    staged.target.write_bytes(b"of someone else")
    (recovered,) = opened(path)
    assert recovered.entry.state is ReleaseState.READY
    assert "someone else" in recovered.message
    assert staged.target.read_bytes() == b"of someone else"
    staged.target.unlink()
    assert [recovered.entry.state for recovered in opened(path)] == [ReleaseState.RELEASED]


def test_the_file_that_was_to_be_replaced_is_replaced(path: Path, tmp_path: Path, purpose: Make) -> None:
    (tmp_path / "out.csv").write_bytes(b"old")
    die_when_ready(path, purpose(), [StagedFile.write(tmp_path / "out.csv", b"new")])
    opened(path)
    assert (tmp_path / "out.csv").read_bytes() == b"new"


def test_a_directory_that_is_away_is_waited_for(path: Path, tmp_path: Path, purpose: Make) -> None:
    mount = tmp_path / "mount"
    mount.mkdir()
    die_when_ready(path, purpose(), [StagedFile.write(mount / "out.csv", b"a")])
    mount.rename(tmp_path / "unmounted")
    (recovered,) = opened(path)
    assert recovered.entry.state is ReleaseState.READY
    assert "Mount it" in recovered.message
    (tmp_path / "unmounted").rename(mount)
    opened(path)
    assert (mount / "out.csv").read_bytes() == b"a"


def test_an_operating_system_error_is_told_and_tried_again(
    path: Path, tmp_path: Path, purpose: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    die_when_ready(path, purpose(), [StagedFile.write(tmp_path / "out.csv", b"a")])

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", refuse)
        (recovered,) = opened(path)
    assert recovered.entry.state is ReleaseState.READY
    assert "cannot be settled yet: Permission denied" in recovered.message
    assert [recovered.entry.state for recovered in opened(path)] == [ReleaseState.RELEASED]


def test_a_staged_table_awaits_the_same_command(path: Path, tmp_path: Path, purpose: Make) -> None:
    certificate = StagedFile.write(tmp_path / "c.json", b"{}")
    die_when_ready(path, purpose(target=ADDRESS), [certificate, StagedTable()])
    (recovered,) = opened(path)
    assert recovered.entry.state is ReleaseState.READY
    assert "Run the same command again" in recovered.message
    assert "_coterie_7" in recovered.message
    assert certificate.target.exists()  # the certificate comes first and shows nothing
    assert b"secret" not in path.read_bytes()
    with Ledger.open(path) as ledger:
        assert ledger.pending("patients", "postgresql://ann@host/other") is None
        pending = ledger.pending("patients", ADDRESS)
        assert pending is not None
        with ledger.resume(pending) as charge:
            with Ledger.open(path) as other:
                assert other.recovered == ()
                with pytest.raises(LedgerError, match="by another process"), other.resume(pending):
                    pytest.fail("two processes must not finish one release")
            charge.released()
            charge.released()  # saying it twice changes nothing
        assert ledger.pending("patients", ADDRESS) is None
        assert ledger.balance("patients").spent == 1
    assert opened(path) == ()


def test_a_staged_table_that_is_gone_stays_charged(path: Path, purpose: Make) -> None:
    die_when_ready(path, purpose(target=ADDRESS), [StagedTable()])
    with Ledger.open(path) as ledger:
        pending = ledger.pending("patients", ADDRESS)
        assert pending is not None
        with ledger.resume(pending) as charge:
            charge.lost()
        assert ledger.balance("patients").spent == 1
        with (
            pytest.raises(LedgerError, match="'lost' in the ledger, not 'ready'"),
            ledger.resume(pending) as charge,
        ):
            charge.released()


def test_lock_files_of_another_ledger_are_not_swept(tmp_path: Path) -> None:
    for name in ("a", "a.b"):
        Ledger.add_population(tmp_path / name, "p", "1")
    with (
        Ledger.open(tmp_path / "a.b") as ledger,
        ledger.charge(Purpose("p", Loss.pure(Fraction(1)), "m", "s", "t")) as charge,
    ):
        Ledger.open(tmp_path / "a").close()
        (lock,) = tmp_path.glob(".*.lock")
        assert charge.release in lock.name
