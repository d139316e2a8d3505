"""What a killed release leaves is removed by the next one to the same place; what a living one writes never is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from coterie.publication.staged_files import StagedFolder, stage_file
from coterie.publication.staging import stage_bytes
from coterie.table.hidden_files import PARTS, FileLock, new_folder, sweep, temporary_for

# Stages a file (and a folder, as Spark's driver does), says so, and waits to be killed.
WRITER = """
import sys
from pathlib import Path
from coterie.publication.staging import stage_bytes
from coterie.table.hidden_files import new_folder
staged = stage_bytes(b"noise drawn by a process that will die", sys.argv[1], force=True)
around, hold = new_folder(Path(sys.argv[1]))
(around / "parts").mkdir()
(around / "parts" / "part-0.parquet").write_bytes(b"rows")
print("staged", flush=True)
sys.stdin.read()
"""


def writer(target: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(target)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "staged\n"
    return process


def kill(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)


def hidden_names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))


def test_leftovers_of_a_killed_writer_go_and_those_of_a_living_one_stay(tmp_path: Path) -> None:
    target, other = tmp_path / "out.csv", tmp_path / "out.csv.gz.csv"
    dead, living, elsewhere = writer(target), writer(target), writer(other)
    try:
        kill(dead)
        kill(elsewhere)
        assert len(hidden_names(tmp_path)) == 6
        stage_bytes(b"the next release", target, force=True).publish()
        assert target.read_bytes() == b"the next release"
        left = hidden_names(tmp_path)
        assert len([name for name in left if name.startswith(".out.csv.coterie-")]) == 2, "the living one's"
        assert len([name for name in left if name.startswith(".out.csv.gz.csv.coterie-")]) == 2, (
            "another place's"
        )
    finally:
        kill(living)
    stage_bytes(b"the third", target, force=True).publish()
    stage_bytes(b"there", other, force=True).publish()
    assert hidden_names(tmp_path) == []


def test_a_name_that_a_ledger_noted_is_the_ledgers_business(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    charged = stage_bytes(b"charged bytes", target, force=True, temporary=temporary_for(target))
    stage_bytes(b"another", target, force=True).publish()
    assert charged.temporary.read_bytes() == b"charged bytes"
    charged.publish()
    assert target.read_bytes() == b"charged bytes"


def test_published_and_discarded_files_are_let_go(tmp_path: Path) -> None:
    open_files = len(os.listdir("/proc/self/fd"))
    caught = []
    for number in range(5):
        with pytest.raises(ZeroDivisionError) as fault:
            stage_file(tmp_path / "a", lambda sink: sink.write(bytes(1 // 0)), force=True)
        caught.append(fault)  # with its frames, which name the lock
        stage_bytes(b"x", tmp_path / "a", force=True).publish()
        stage_bytes(b"x", tmp_path / f"b{number}", force=False).discard()
    assert len(os.listdir("/proc/self/fd")) == open_files
    assert FileLock.take(tmp_path / "a") is not None


def test_a_folder_killed_between_its_two_renames_keeps_the_earlier_release(tmp_path: Path) -> None:
    target = tmp_path / "out"
    around, hold = new_folder(target)
    (around / "parts.earlier").mkdir()
    hold.let_go()  # the writer died
    sweep(target)
    assert (around / "parts.earlier").is_dir()
    target.mkdir()
    sweep(target)
    assert not around.exists()


@pytest.mark.parametrize("earlier", [False, True])
def test_a_folder_takes_its_name_and_leaves_nothing(tmp_path: Path, earlier: bool) -> None:
    target = tmp_path / "out"
    if earlier:
        target.mkdir()
        (target / "part-0.parquet").write_bytes(b"old")
    around, hold = new_folder(target)
    (around / PARTS).mkdir()
    (around / PARTS / "part-0.parquet").write_bytes(b"new")
    sweep(target)
    assert around.is_dir(), "its writer lives"
    StagedFolder(target, around / PARTS, "", 0, earlier, hold).publish()
    assert (target / "part-0.parquet").read_bytes() == b"new"
    assert hidden_names(tmp_path) == []
    assert FileLock.take(target) is not None


def test_swept_before_it_was_locked_it_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The moment between making a file and locking it: a sweeper may come, and the writer notices."""
    target = tmp_path / "out.csv"
    lock, swept = FileLock.on_new, []

    def late(path: Path, descriptor: int) -> FileLock | None:
        if not swept:
            swept.append(path)
            sweep(target)
            assert not path.exists()
        return lock(path, descriptor)

    monkeypatch.setattr(FileLock, "on_new", late)
    stage_bytes(b"whole", target, force=False).publish()
    around, hold = new_folder(target)
    assert around.is_dir()
    hold.let_go()
    assert target.read_bytes() == b"whole"


def test_many_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    faults: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for _ in range(25):
                stage_bytes(b"%d" % number, target, force=True).publish()
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert hidden_names(tmp_path) == []
    assert target.read_bytes() in {b"%d" % number for number in range(6)}


def test_a_link_or_a_pipe_of_such_a_name_is_no_leftover(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    precious = tmp_path / "precious"
    precious.write_bytes(b"keep")
    link = tmp_path / f".out.csv.coterie-alone-{'0' * 16}.tmp"
    link.symlink_to(precious)
    os.mkfifo(tmp_path / f".out.csv.coterie-alone-{'1' * 16}.tmp")
    stage_bytes(b"x", target, force=True).publish()
    assert precious.read_bytes() == b"keep"
    assert link.is_symlink()
