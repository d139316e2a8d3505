"""coterie protect for tables beyond memory: which engine runs, and what becomes of its intermediate files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from rich.markup import escape

from coterie.cli.output import errors
from coterie.engines.out_of_core.scratch import Scratch
from coterie.engines.spark.release import SparkRelease, protect_frame
from coterie.engines.spark.session import session
from coterie.engines.spark.worker import told
from coterie.errors import CoterieError, OutputError, ParameterError, nearest
from coterie.publication.ledger import StagedRecord
from coterie.publication.publishing import Destination
from coterie.publication.spark_staging import (
    RemoteFolder,
    check_address,
    file_system,
    refuse_early,
    stage_parts,
)
from coterie.publication.staging import Staged
from coterie.schema.attributes import Schema
from coterie.table.address import is_database
from coterie.table.memory_limit import parse_memory

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
    folder = _scratch(output, None)
    if "://" not in output and folder.is_dir():
        with suppress(CoterieError):  # another run works there, or somebody else's files lie there
            Scratch.make(folder).discard()


def _scratch(output: str, chosen: Path | None) -> Path:
    target = Path(output).resolve()
    return (chosen or target.parent) / f".{target.name}.coterie-work"


# coterie protect --engine spark: a Parquet folder or file in, a folder of part files and a certificate out.


@dataclass(frozen=True)
class SparkRun:
    """The three things that publishing asks of an engine."""

    data: str
    schema: Schema
    destination: Destination
    master: str | None
    options: dict[str, Any]

    def __post_init__(self) -> None:
        for address in (self.data, self.destination.data):
            check_address(address)

    @cached_property
    def spark(self) -> Any:
        return session(self.master)

    def make(self) -> SparkRelease:
        target = self.destination.data
        refuse_within(target, self.data)
        refuse_early(self.spark, target, force=self.destination.force)
        if "://" in self.data:
            file_system(self.spark, self.data)
        with told():
            frame = in_order(self.spark.read.parquet(self.data))
        return protect_frame(frame, self.schema, **self.options)

    def stage(self, release: Any, where: Destination, temporary: Path | str | None) -> Staged:
        return stage_parts(self.spark, release.data, where.data, force=where.force, temporary=temporary)

    def again(self, where: Destination, record: StagedRecord) -> Staged:
        """A folder in a remote storage that was charged before its driver died."""
        return RemoteFolder(
            where.data.rstrip("/"), record.temporary, record.sha256, 0, where.force, self.spark
        )


def in_order(frame: Any) -> Any:
    """The rows of several files one file after the other, by name.

    Spark itself takes the largest first and cuts them by the number of cores, so the order of the release, and the
    groups of equal values, would depend on the cluster.
    """
    if len(frame.inputFiles()) < 2:
        return frame
    where = frame.metadataColumn("_metadata")
    return frame.orderBy(where["file_path"], where["row_index"])


def refuse_within(target: str, source: str) -> None:
    """Neither in the other: replacing a folder removes what lies in it, and what is read must not change."""
    there, here = (_plain(address) + "/" for address in (target, source))
    if there == here or here.startswith(there):
        raise OutputError("The output would overwrite the input.", "Choose another name for it.")
    if there.startswith(here):
        raise OutputError("The output would lie inside the input.", "Choose a folder beside it.")


def _plain(address: str) -> str:
    """One name for one place, whether written as a path or as an address."""
    if "://" in address and not address.startswith("file://"):
        return address.rstrip("/")
    return str(Path(address.removeprefix("file://")).resolve())
