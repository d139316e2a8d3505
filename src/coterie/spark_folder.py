"""A release that Spark writes: part files under a hidden name, hashed where they are, then renamed.

On this machine the rename is the operating system's. Elsewhere it is Hadoop's: one step in HDFS; in an object store such
as S3 a copy of each part, so a reader may see some parts before others. The certificate comes first and names them all.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from coterie.errors import MissingExtra, OutputError, ParameterError
from coterie.io.hidden import new_folder, sweep
from coterie.io.part_files import digest_of_parts
from coterie.io.publication import Staged
from coterie.io.staged_folder import PARTS, StagedFolder
from coterie.ledger.staging import without_credentials
from coterie.spark_worker import told


@dataclass(frozen=True)
class RemoteFolder:
    """A finished folder that Hadoop can reach."""

    target: str
    temporary: str
    sha256: str
    size: int
    force: bool
    spark: Any = field(repr=False)

    over = "part files"

    def publish(self) -> None:
        system, target = file_system(self.spark, self.target)
        _, temporary = file_system(self.spark, self.temporary)
        with told():
            if not system.exists(temporary):
                if not system.exists(target) or written_digest(self.spark, self.target) != self.sha256:
                    raise OutputError(
                        f"The staged folder for {without_credentials(self.target)} is gone.",
                        "Something removed it; write the output again.",
                    )
                return
            if system.exists(target):
                if not self.force:
                    raise _exists(self.target)
                system.delete(target, True)
            if not system.rename(temporary, target):
                raise OutputError(
                    f"{without_credentials(self.target)} cannot be given its name.",
                    "Check the permission to write there.",
                )

    def discard(self) -> None:
        system, temporary = file_system(self.spark, self.temporary)
        with told():
            system.delete(temporary, True)


def stage_parts(spark: Any, frame: Any, target: str, *, force: bool, temporary: Path | None) -> Staged:
    """Write a frame beside its target, invisible to those who list it, and hash the parts."""
    if "://" in target:
        parent, _, name = target.rstrip("/").rpartition("/")
        place = f"{parent}/.{name}.coterie-{secrets.token_hex(8)}.tmp"
        return RemoteFolder(target, place, *_written(spark, frame, place), force, spark)
    path = Path(target).resolve()
    sweep(path)
    hold = None
    if temporary is None:
        around, hold = new_folder(path)
        temporary = around / PARTS
    try:
        sha256, size = _written(spark, frame, f"file://{temporary}")
    except BaseException:
        StagedFolder(path, temporary, "", 0, force, hold).discard()
        raise
    return StagedFolder(path, temporary, sha256, size, force, hold)


def _written(spark: Any, frame: Any, place: str) -> tuple[str, int]:
    """The digest and size of what Spark wrote, or nothing at that place."""
    system, path = file_system(spark, place)
    try:
        with told():
            frame.write.parquet(place)
            return written_digest(spark, place), int(system.getContentSummary(path).getLength())
    except BaseException:
        with told():
            system.delete(path, True)
        raise


def refuse_early(spark: Any, target: str, *, force: bool) -> None:
    system, path = file_system(spark, target)
    with told():
        if system.exists(path) and not force:
            raise _exists(target)


def file_system(spark: Any, address: str) -> tuple[Any, Any]:
    """Hadoop's file system for an address, and the path in it; or which package is missing."""
    from py4j.protocol import Py4JJavaError

    java = spark.sparkContext._jvm
    scheme = address.partition("://")[0]
    try:
        path = java.org.apache.hadoop.fs.Path(address)
        return path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration()), path
    except Py4JJavaError as error:
        said = str(error.java_exception)
    version = java.org.apache.hadoop.util.VersionInfo.getVersion()
    if "ClassNotFound" in said or "not found" in said:
        raise MissingExtra(
            f"This Spark has no program for {scheme}:// addresses.",
            f"Add its package: for s3a, `spark.jars.packages org.apache.hadoop:hadoop-aws:{version}` in "
            "conf/spark-defaults.conf, the version of Hadoop that this Spark was built with.",
        )
    if "No FileSystem for scheme" in said or "UnsupportedFileSystem" in said:
        raise ParameterError(
            f"Hadoop {version} knows no addresses that begin with {scheme}://.",
            "Write for example s3a://bucket/folder, hdfs://host/folder or a path.",
        )
    raise ParameterError(
        f"The address {without_credentials(address)} cannot be used.",
        "Check its spelling, and Spark's own settings for that storage (keys, endpoint).",
    )


def written_digest(spark: Any, folder: str) -> str:
    """The digest of the part files, hashed where they are."""

    def hashed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            names = [path.rsplit("/", 1)[1] for path in batch.column("path").to_pylist()]
            marks = [hashlib.sha256(content.as_buffer()).hexdigest() for content in batch.column("content")]
            yield pa.RecordBatch.from_pydict({"name": names, "mark": marks})

    files = spark.read.format("binaryFile").option("pathGlobFilter", "*.parquet").load(folder)
    marks = files.select("path", "content").mapInArrow(hashed, "name string, mark string").collect()
    return digest_of_parts({row[0]: row[1] for row in marks})


def _exists(target: str) -> OutputError:
    return OutputError(
        f"{without_credentials(target)} exists already.",
        "Choose another name, or replace it with --force.",
    )
