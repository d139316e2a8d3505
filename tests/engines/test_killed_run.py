"""A run out of core that is killed (SIGKILL) and started again: one release, the same bytes, one charge, no half output."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from mixed_table import mixed_schema, mixed_table

from coterie import Ledger, protect
from coterie.engines.out_of_core.scratch import forget_scratch

# Little memory, so that every attribute goes through buckets on disk; and a stop once so many are noted in `finished.json`.
SCRIPT = """
import os, signal
from coterie.engines.out_of_core import release as large
from coterie.cli import main
large.room_for_work = lambda limit: 100_000
write = large._Finished._write
def stopping(self, names):
    write(self, names)
    if len(names) >= int(os.environ["STOP_AT"]):
        signal.pause()
large._Finished._write = stopping
main()
"""
EARLIER = b"an earlier release"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pq.write_table(mixed_table(), tmp_path / "in.parquet", row_group_size=301)
    (tmp_path / "schema.yaml").write_text(mixed_schema().to_yaml())
    (tmp_path / "out.parquet").write_bytes(EARLIER)
    return tmp_path


def start(folder: Path, *more: str, stop_at: int = 99) -> subprocess.Popen[str]:
    line = ["protect", "in.parquet", "--schema", "schema.yaml", "--output", "out.parquet", "--force"]
    line += ["--method", "dp-ir", "--epsilon", "1", "--k", "7", "--memory", "6GB", *more]
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, *line],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "STOP_AT": str(stop_at)},
    )


def finished(folder: Path) -> int:
    """How many attributes the notes of a running process name."""
    try:
        noted = (folder / ".out.parquet.coterie-work" / "finished.json").read_text()
    except OSError:
        return -1
    names = re.search(r'"attributes": \[(.*?)\]', noted)
    return names[1].count('"') // 2 if names else -1


def kill_at(folder: Path, attributes: int, *more: str) -> None:
    process = start(folder, *more, stop_at=attributes)
    deadline = time.monotonic() + 240
    while finished(folder) < attributes and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL, "the run was over before it could be killed"


def test_killed_at_several_points_and_run_again_it_gives_the_same_bytes(folder: Path) -> None:
    before = (folder / "in.parquet").read_bytes()
    for attributes in (0, 3, 7):  # the notes are made, in the middle, before the last attribute
        kill_at(folder, attributes, "--seed", "5")
        assert (folder / "in.parquet").read_bytes() == before
        assert (folder / "out.parquet").read_bytes() == EARLIER
        assert not (folder / "out.parquet.certificate.json").exists()
        assert finished(folder) == attributes  # what was done is not done again
    last = start(folder, "--seed", "5")
    _, said = last.communicate(timeout=240)
    assert last.returncode == 0, said
    expected = protect(mixed_table(), mixed_schema(), method="dp-ir", epsilon=1, k=7, seed=5).table
    assert pq.read_table(folder / "out.parquet").equals(expected)
    assert (folder / "in.parquet").read_bytes() == before
    assert not list(folder.glob(".*coterie*"))


def charged_releases(folder: Path) -> int:
    """Of a method without a proof, which is noted and counts for nothing."""
    return sum(entry.state.charged for entry in Ledger.inspect(folder / "ledger.sqlite").entries.values())


def test_a_killed_run_is_charged_once_and_its_noise_is_drawn_once(folder: Path) -> None:
    Ledger.add_population(folder / "ledger.sqlite", "people", "5")
    charged = ("--ledger", "ledger.sqlite", "--population", "people")
    kill_at(folder, 4, *charged)
    assert charged_releases(folder) == 0
    work = folder / ".out.parquet.coterie-work"
    drawn = {path.name: path.read_bytes() for path in work.glob("attribute-[0-2]-rows-*")}
    assert drawn
    kill_at(folder, 7, *charged)
    assert {name: (work / name).read_bytes() for name in drawn} == drawn
    last = start(folder, *charged)
    _, said = last.communicate(timeout=240)
    assert last.returncode == 0, said
    assert charged_releases(folder) == 1
    verify = ["certificate", "verify", "out.parquet", "out.parquet.certificate.json"]
    code = "from coterie.cli import main; main()"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run(
        [sys.executable, "-c", code, *verify], cwd=folder, check=True, capture_output=True, env=environment
    )
    assert not [path.name for path in folder.iterdir() if "coterie-" in path.name or ".lock" in path.name]


def test_two_runs_do_not_share_a_folder_and_a_later_release_clears_it(folder: Path) -> None:
    """The first run is under way while a second comes, and is killed; a release within memory needs no such folder."""
    work = folder / ".out.parquet.coterie-work"
    first = start(folder, "--seed", "5")
    try:
        deadline = time.monotonic() + 240
        while finished(folder) < 0 and first.poll() is None and time.monotonic() < deadline:
            time.sleep(0.005)
        os.kill(first.pid, signal.SIGSTOP)
        second = start(folder, "--seed", "5")
        _, said = second.communicate(timeout=240)
        assert second.returncode == 6, said
        assert "Another run keeps its intermediate files" in said
        assert (work / "finished.json").exists(), "the first one's files are left alone"
    finally:
        first.send_signal(signal.SIGKILL)
        first.communicate(timeout=60)
    assert work.is_dir()
    forget_scratch(str(folder / "other.parquet"))
    assert work.is_dir()
    forget_scratch(str(folder / "out.parquet"))
    assert not work.exists()
