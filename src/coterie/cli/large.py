"""coterie protect for tables beyond memory: which engine runs, and what becomes of its intermediate files."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.markup import escape

from coterie.cli.output import errors
from coterie.engines.scratch import Scratch
from coterie.errors import ParameterError, nearest
from coterie.io.address import is_database
from coterie.io.hold import take
from coterie.memory import parse_memory

ENGINES = ("local", "spark")


@dataclass(frozen=True, slots=True)
class Where:
    """Where the chain runs."""

    engine: str
    memory: str | None
    scratch: Path | None
    master: str | None

    def check(self, *, shuffle: bool, internal: Path | None, grouping: str, database: bool) -> None:
        """Refuse early what an engine cannot do."""
        if self.engine not in ENGINES:
            raise ParameterError(f"There is no engine '{self.engine}'.", nearest(self.engine, ENGINES))
        if self.master is not None and self.engine != "spark":
            raise ParameterError("--master belongs to Spark.", "Add --engine spark, or leave it out.")
        if self.memory is None and self.engine == "local":
            if self.scratch is not None:
                raise ParameterError("--scratch belongs to --memory.", "Give both, or leave it out.")
            return
        if self.memory is not None:
            if self.engine == "spark":
                raise ParameterError(
                    "--memory limits the local engine.", "Spark's own settings limit its executors."
                )
            parse_memory(self.memory)
        for given, name in (
            (shuffle, "--shuffle"),
            (internal, "--internal"),
            (grouping != "equal", "--grouping"),
        ):
            if given:
                raise ParameterError(
                    f"{name} needs the whole table in memory.", f"Leave out {name}, or --memory and --engine."
                )
        if database:
            raise ParameterError("A database table is read into memory.", "Leave out --memory and --engine.")

    @property
    def streamed(self) -> bool:
        return self.memory is not None


@contextmanager
def scratch_beside(output: str, chosen: Path | None) -> Iterator[Scratch]:
    """The folder for intermediate files: gone after success or an error, kept by an interrupted run for the next."""
    if is_database(output):
        raise ParameterError("A release larger than memory is written to a file.", "Name a .parquet file.")
    folder = _scratch(output, chosen)
    if not folder.parent.is_dir():
        raise ParameterError(f"There is no folder {folder.parent}.", "Make it, or choose another place.")
    # Locked before anything else: an error of this command must not remove what another one works on.
    scratch = Scratch.make(folder)
    try:
        yield scratch
    except KeyboardInterrupt:
        errors.print(
            f"[#E69F00]Note:[/] Stopped. What is done is kept in {escape(str(folder))}: the same command goes on from "
            "there. It may hold original values: remove it if you do not go on."
        )
        raise
    except Exception:
        scratch.discard()
        raise
    scratch.discard()


def forget_scratch(output: str) -> None:
    """The release is there: what a killed run with --memory kept to go on with, original values, is not needed."""
    if "://" not in output:
        folder = _scratch(output, None)
        hold = take(folder)
        if hold is not None:
            shutil.rmtree(folder, ignore_errors=True)
            hold.let_go()


def _scratch(output: str, chosen: Path | None) -> Path:
    target = Path(output).resolve()
    return (chosen or target.parent) / f".{target.name}.coterie-work"
