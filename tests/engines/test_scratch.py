"""The folder of intermediate files: it removes nothing that is not its own, and two runs never share it."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from coterie import Attribute, Domain, Role, Schema, protect
from coterie.cli.app import app
from coterie.engines.out_of_core.release import protect_file
from coterie.engines.out_of_core.scratch import RowFiles, Scratch, scratch_beside
from coterie.errors import DataError, OutputError, ParameterError
from coterie.table.memory_limit import parse_memory, room_for_work

SCHEMA = Schema(attributes=(Attribute(name="x", role=Role.PROTECT, domain=Domain(lower=0, upper=1)),))
HOLDER = """
import sys
from pathlib import Path
from coterie.engines.out_of_core.scratch import Scratch
held = Scratch.make(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    pq.write_table(pa.table({"x": np.linspace(0, 1, 200)}), tmp_path / "in.parquet")
    (tmp_path / "schema.yaml").write_text(SCHEMA.to_yaml())
    return tmp_path / "in.parquet"


def command(source: Path, out: str, *more: str) -> list[str]:
    where = ["--schema", str(source.parent / "schema.yaml"), "--output", str(source.parent / out)]
    return ["protect", str(source), *where, "--method", "laplace", "--epsilon", "1", "--memory", "6GB", *more]


def test_a_folder_with_other_files_is_refused_and_left_alone(source: Path) -> None:
    before = {path.name: path.read_bytes() for path in source.parent.iterdir()}
    mode = source.parent.stat().st_mode
    with pytest.raises(ParameterError, match="holds other files"):
        protect_file(source, SCHEMA, method="laplace", epsilon=1, memory="6GB", scratch=source.parent)
    assert {path.name: path.read_bytes() for path in source.parent.iterdir()} == before
    assert source.parent.stat().st_mode == mode


def test_a_second_run_is_told_to_wait_and_harms_nothing(source: Path) -> None:
    work = source.parent / ".out.parquet.coterie-work"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(work)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    (work / "column").write_bytes(b"of the first run")
    for more in ((), ("--k", "7")):  # the second would be refused anyway: it must not clean up
        with pytest.raises(OutputError, match="Another run"):
            CliRunner().invoke(app, command(source, "out.parquet", *more), catch_exceptions=False)
        assert (work / "column").read_bytes() == b"of the first run"
    holder.communicate("")
    assert CliRunner().invoke(app, command(source, "out.parquet"), catch_exceptions=False).exit_code == 0
    assert not work.exists()


def test_files_that_a_stopped_machine_lost_are_noticed(tmp_path: Path) -> None:
    files = RowFiles(Scratch.make(tmp_path / "scratch"), "attribute-0", 10, 4, "<f8")
    files.attach(np.arange(9), np.zeros(9))
    assert len(files.read(1)) == 4
    with pytest.raises(OutputError, match="incomplete"):
        files.read(2)


@pytest.mark.parametrize(("out", "problem"), [("out.csv", "not written as CSV"), ("in.parquet", "overwrite")])
def test_an_output_that_cannot_be_is_refused_before_the_work(
    out: str, problem: str, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "coterie.publication.engine_runs.protect_file", lambda *_, **__: pytest.fail("worked in vain")
    )
    with pytest.raises(OutputError, match=problem):
        CliRunner().invoke(app, command(source, out, "--force"), catch_exceptions=False)


def test_who_stops_a_run_is_told_what_stays(source: Path) -> None:
    work = source.parent / ".out.parquet.coterie-work"

    def stopped() -> None:
        with scratch_beside(str(source.parent / "out.parquet"), None) as scratch:
            scratch.append("column", np.zeros(3))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as interrupt:
        stopped()
    [said] = interrupt.value.__notes__
    assert str(work) in said
    assert "may hold original values" in said
    assert (work / "column").exists()


def test_a_folder_of_files_is_told_as_such(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    with pytest.raises(DataError, match="is a folder"):
        protect_file(
            tmp_path / "in", SCHEMA, method="laplace", epsilon=1, memory="6GB", scratch=tmp_path / "w"
        )


def test_the_memory_that_is_advised_is_enough() -> None:
    with pytest.raises(ParameterError, match="limit of 100 MB is too small") as told:
        room_for_work(parse_memory("100MB"))
    advised = told.value.advice.removeprefix("Allow at least ").removesuffix(" MB.")
    assert room_for_work(parse_memory(f"{advised}MB")) > 0


def test_an_interrupted_run_is_taken_up_while_its_interrupt_is_still_held(tmp_path: Path) -> None:
    """As in a notebook, which keeps the last traceback and with it every frame of the run."""

    def interrupted() -> None:
        with scratch_beside(str(tmp_path / "out.parquet"), None) as first:
            (first.folder / "column").write_bytes(b"kept")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as held:
        interrupted()
    with scratch_beside(str(tmp_path / "out.parquet"), None) as again:
        assert (again.folder / "column").read_bytes() == b"kept"
        with pytest.raises(OutputError, match="Another run"):
            Scratch.make(again.folder)
    assert "is kept in" in str(held.value.__notes__)
    assert not again.folder.exists()


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    return place


@pytest.mark.parametrize("fault", [MemoryError, KeyboardInterrupt])
def test_a_release_that_fails_leaves_no_original_values(
    fault: type[BaseException], source: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody can go on with it: it was to be held in Python, and has no name yet."""

    def failing(*_: object, scratch: Scratch, **__: object) -> None:
        scratch.append("column", np.zeros(3))
        assert scratch.folder.stat().st_mode & 0o777 == 0o700
        raise fault

    monkeypatch.setattr("coterie.publication.engine_runs.protect_file", failing)
    with pytest.raises(fault):
        protect(source, SCHEMA, method="laplace", epsilon=1, memory="6GB")
    assert not list(temporary.iterdir())


def test_what_a_killed_process_left_goes_with_the_next_release(source: Path, temporary: Path) -> None:
    abandoned, living = Scratch.fresh(temporary), Scratch.fresh(temporary)
    for each in (abandoned, living):
        each.append("column", np.zeros(3))
    abandoned.let_go()  # as the kernel does for a process that ends
    release = protect(source, SCHEMA, method="laplace", epsilon=1, memory="6GB")
    assert not abandoned.folder.exists()
    assert (living.folder / "column").exists()
    del release
    gc.collect()
    assert list(temporary.iterdir()) == [living.folder]
    living.discard()
