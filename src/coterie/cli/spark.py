"""coterie protect --engine spark: a Parquet folder or file in, a folder of part files and a certificate out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from coterie.errors import OutputError
from coterie.io.publication import Staged
from coterie.ledger import StagedRecord
from coterie.publishing import Destination
from coterie.schema import Schema
from coterie.spark_folder import refuse_early, stage_parts
from coterie.spark_release import SparkRelease, protect_frame
from coterie.spark_remote import RemoteFolder
from coterie.spark_session import session
from coterie.spark_storage import check_address, file_system
from coterie.spark_worker import told


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
