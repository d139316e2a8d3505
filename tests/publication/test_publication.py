"""Files out: all or nothing, and never over something that should stay."""

from __future__ import annotations

import errno
import hashlib
import itertools
import os
import resource
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coterie.errors import OutputError, ParameterError
from coterie.publication.staged_files import stage_file
from coterie.publication.staging import stage, stage_bytes
from coterie.table.hidden_files import temporary_for
from coterie.table.reading import read_table

TABLE = pa.table({"x": [1.5, None, 2.0], "i": [1, 2, 3], "s": ["a", 'b"c', None]})
ENDINGS = [".csv", ".parquet", ".arrow", ".feather"]


def left_behind(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("ending", ENDINGS)
def test_stage_then_publish(tmp_path: Path, ending: str) -> None:
    target = tmp_path / f"out{ending}"
    staged = stage(TABLE, target, force=False)
    assert not target.exists()
    assert Path(staged.temporary).parent == tmp_path
    assert Path(staged.temporary).name.startswith(f".out{ending}.coterie-")
    assert stat.S_IMODE(os.stat(staged.temporary).st_mode) == 0o600
    staged.publish()
    assert left_behind(tmp_path) == [target.name]
    content = target.read_bytes()
    assert staged.sha256 == hashlib.sha256(content).hexdigest()
    assert staged.size == len(content)
    assert read_table(target).equals(TABLE)


def test_discard_leaves_nothing(tmp_path: Path) -> None:
    staged = stage(TABLE, tmp_path / "out.csv", force=False)
    staged.discard()
    staged.discard()
    assert left_behind(tmp_path) == []


def test_mode_follows_the_umask_and_private_stays_private(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        stage_bytes(b"{}", tmp_path / "open.json", force=False).publish()
        stage_bytes(b"{}", tmp_path / "private.json", force=False, private=True).publish()
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "open.json").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "private.json").stat().st_mode) == 0o600


def test_bytes(tmp_path: Path) -> None:
    staged = stage_bytes(b"hello", tmp_path / "certificate.json", force=False)
    staged.publish()
    assert (tmp_path / "certificate.json").read_bytes() == b"hello"
    assert (staged.size, staged.sha256) == (5, hashlib.sha256(b"hello").hexdigest())
    with pytest.raises(OutputError, match="only be written to a file"):
        stage_bytes(b"", "postgresql://u:secret@h/d", force=True)


def test_a_hidden_name_known_beforehand(tmp_path: Path) -> None:
    name = temporary_for(tmp_path / "out.csv")
    staged = stage(TABLE, tmp_path / "out.csv", force=False, temporary=name)
    assert staged.temporary == name
    assert name.exists()
    staged.discard()


def test_existing_output_needs_force(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    target.write_text("old")
    with pytest.raises(OutputError, match="--force"):
        stage(TABLE, target, force=False)
    assert left_behind(tmp_path) == ["out.csv"]
    staged = stage(TABLE, target, force=True)
    assert target.read_text() == "old"
    staged.publish()
    assert read_table(target).num_rows == 3


def test_a_file_that_appears_meanwhile_is_kept(tmp_path: Path) -> None:
    staged = stage(TABLE, tmp_path / "out.csv", force=False)
    (tmp_path / "out.csv").write_text("someone else's")
    with pytest.raises(OutputError, match="exists already"):
        staged.publish()
    assert (tmp_path / "out.csv").read_text() == "someone else's"
    staged.discard()
    assert left_behind(tmp_path) == ["out.csv"]


@pytest.mark.parametrize("force", [False, True])
def test_publishing_again_after_a_crash(tmp_path: Path, force: bool) -> None:
    target = tmp_path / "out.csv"
    staged = stage(TABLE, target, force=force)
    os.link(staged.temporary, target)  # a crash between the two names
    staged.publish()
    staged.publish()
    assert left_behind(tmp_path) == ["out.csv"]
    target.write_text("changed")
    with pytest.raises(OutputError, match="is gone"):
        staged.publish()
    target.unlink()
    with pytest.raises(OutputError, match="is gone"):
        staged.publish()


def test_a_file_system_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "no links")

    monkeypatch.setattr(os, "link", refuse)
    stage(TABLE, tmp_path / "out.csv", force=False).publish()
    assert left_behind(tmp_path) == ["out.csv"]
    (tmp_path / "out.csv").unlink()
    staged = stage(TABLE, tmp_path / "out.csv", force=False)
    (tmp_path / "out.csv").write_text("old")
    with pytest.raises(OutputError, match="exists already"):
        staged.publish()
    assert (tmp_path / "out.csv").read_text() == "old"


def test_through_a_symbolic_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link.csv"
    link.symlink_to(tmp_path / "real" / "data.csv")
    stage(TABLE, link, force=False).publish()
    assert link.is_symlink()
    assert left_behind(tmp_path / "real") == ["data.csv"]


def test_the_input_is_never_overwritten(tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_text("a\n1\n")
    os.link(source, tmp_path / "same.csv")
    (tmp_path / "alias.csv").symlink_to(source)
    for name in ("in.csv", "same.csv", "alias.csv", "../" + tmp_path.name + "/in.csv"):
        with pytest.raises(OutputError, match="overwrite an input"):
            stage(TABLE, tmp_path / name, force=True, inputs=[tmp_path / "other.yaml", source])
        with pytest.raises(OutputError, match="overwrite an input"):
            stage_bytes(b"", tmp_path / name, force=True, inputs=[source])
    with pytest.raises(OutputError, match="overwrite an input"):
        stage(TABLE, source, force=True, inputs=[f"sqlite:///{source}"])
    stage(TABLE, tmp_path / "out.csv", force=False, inputs=["postgresql://h/d", source]).discard()
    assert source.read_text() == "a\n1\n"


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="no folder"):
        stage(TABLE, tmp_path / "nowhere" / "out.csv", force=False)
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(OutputError, match="is a folder"):
        stage(TABLE, tmp_path / "folder.csv", force=True)
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(OutputError, match="no ordinary file"):
        stage(TABLE, tmp_path / "pipe.csv", force=True)
    with pytest.raises(OutputError, match=r"Did you mean '\.parquet'"):
        stage(TABLE, tmp_path / "out.parquett", force=False)
    with pytest.raises(ParameterError, match="output is a file"):
        stage(TABLE, tmp_path / "out.csv", force=False, table_name="t")


def test_a_folder_without_permission(tmp_path: Path) -> None:
    # As root every folder can be written, except where the kernel itself says no.
    folder = Path("/proc/self") if os.geteuid() == 0 else tmp_path / "closed"
    if os.geteuid() != 0:
        folder.mkdir(mode=0o500)
    with pytest.raises(OutputError, match="cannot be written"):
        stage(TABLE, folder / "out.csv", force=False)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("fault", [errno.ENOSPC, errno.EDQUOT])
def test_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, fault: int) -> None:
    def full(_: int) -> None:
        raise OSError(fault, "full")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match="the disk is full"):
        stage(TABLE, tmp_path / f"out{ending}", force=False)
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_write_that_the_system_stops(tmp_path: Path, ending: str) -> None:
    """Real: a limit on the size of files makes write(2) fail in the middle of the table."""
    table = pa.table({"x": [number / 7 for number in range(300_000)]})
    (tmp_path / f"out{ending}").write_text("old")
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, limit[1]))
    try:
        with pytest.raises(OutputError, match="File too large"):
            stage(table, tmp_path / f"out{ending}", force=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert left_behind(tmp_path) == [f"out{ending}"]
    assert (tmp_path / f"out{ending}").read_text() == "old"


def test_an_interrupted_write_leaves_nothing(tmp_path: Path) -> None:
    def write(sink: Any) -> None:
        sink.write(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stage_file(tmp_path / "out.csv", write, force=False)
    assert left_behind(tmp_path) == []


CRASH = """
import os, signal, sys
import pyarrow as pa
from coterie.publication.staging import stage
import coterie.publication.staged_files as module
kill = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
def publish(moment, target):
    if moment == "while writing":
        os.fsync = kill
    zeros = pa.Array.from_buffers(pa.float64(), 100_000, [None, pa.py_buffer(bytes(800_000))])  # loads no pandas
    staged = stage(pa.Table.from_arrays([zeros], ["x"]), target, force=True)
    if moment == "after staging":
        kill()
    if moment == "before the folder is synced":
        module.make_durable = kill
    staged.publish()
for moment, target in zip(sys.argv[1::2], sys.argv[2::2]):
    if os.fork() == 0:
        publish(moment, target)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.wait()[1]))
"""
MOMENTS = ("while writing", "after staging", "before the folder is synced")


def test_kill_leaves_no_half_file(tmp_path: Path) -> None:
    """One process loads what each of its children needs."""
    cases, words = list(itertools.product((".csv", ".parquet"), MOMENTS, (True, False))), []
    targets = [tmp_path / str(number) / f"out{ending}" for number, (ending, _, _) in enumerate(cases)]
    for (_, moment, old), target in zip(cases, targets, strict=True):
        target.parent.mkdir()
        if old:
            target.write_text("old")
        words += [moment, str(target)]
    done = subprocess.run([sys.executable, "-c", CRASH, *words], check=True, capture_output=True, text=True)
    assert done.stdout.split() == [str(int(-signal.SIGKILL))] * len(cases)
    for (_, moment, old), target in zip(cases, targets, strict=True):
        if moment == "before the folder is synced":
            assert read_table(target).num_rows == 100_000
        elif old:
            assert target.read_text() == "old"
        else:
            assert not target.exists()
        rest = [name for name in left_behind(target.parent) if name != target.name]
        assert all(name.startswith(".") and name.endswith(".tmp") for name in rest)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(content=st.binary(max_size=300))
def test_digest_is_of_the_published_bytes(tmp_path: Path, content: bytes) -> None:
    staged = stage_bytes(content, tmp_path / "any.bin", force=True)
    staged.publish()
    published = (tmp_path / "any.bin").read_bytes()
    assert (published, hashlib.sha256(published).hexdigest()) == (content, staged.sha256)


def test_a_table_that_a_format_cannot_hold(tmp_path: Path) -> None:
    nested = pa.table({"x": pa.array([[1], [2]])})
    with pytest.raises(OutputError, match="'x' cannot be written as CSV"):
        stage(nested, tmp_path / "out.csv", force=False)
    month = pa.table({"x": pa.array([(1, 2, 3)], pa.month_day_nano_interval())})
    with pytest.raises(OutputError, match="no place for a type"):
        stage(month, tmp_path / "out.parquet", force=False)
    assert left_behind(tmp_path) == []
