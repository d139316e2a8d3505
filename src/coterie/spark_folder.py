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
from coterie.io.part_files import digest_of_parts
from coterie.io.publication import Staged, temporary_for
from coterie.io.staged_folder import StagedFolder
from coterie.ledger.staging import without_credentials
from coterie.spark_worker import told

_RECORDS_A_PART = 1 << 18  # a part is hashed as one value, of which Spark allows two gigabytes


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
            # Aside, not away: an earlier release goes only when the new one has its name. (In an object store, a copy.)
            earlier = temporary.suffix(".earlier")
            if system.exists(target):
                if not self.force:
                    raise _exists(self.target)
                system.rename(target, earlier)
            if system.rename(temporary, target):
                system.delete(earlier, True)
            else:
                system.rename(earlier, target)
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
    remote = "://" in target
    if remote:
        parent, _, name = target.rstrip("/").rpartition("/")
        place = f"{parent}/.{name}.coterie-{secrets.token_hex(8)}.tmp"
    else:
        temporary = temporary or temporary_for(target)
        place = f"file://{temporary}"
    system, path = file_system(spark, place)
    try:
        with told():
            frame.write.option("maxRecordsPerFile", _RECORDS_A_PART).parquet(place)
            sha256 = written_digest(spark, place)
            size = int(system.getContentSummary(path).getLength())
    except BaseException:
        with told():
            system.delete(path, True)
        raise
    if remote:
        return RemoteFolder(target, place, sha256, size, force, spark)
    assert temporary is not None
    return StagedFolder(Path(target).resolve(), temporary, sha256, size, force)


def refuse_early(spark: Any, target: str, *, force: bool) -> None:
    """What stands at the target is kept, or is an earlier release: nobody means to replace a folder of other things."""
    system, path = file_system(spark, target if "://" in target else f"file://{Path(target).resolve()}")
    with told():
        if not system.exists(path):
            return
        if not force:
            raise _exists(target)
        if system.getFileStatus(path).isFile():
            return
        found = [(status.getPath().getName(), status.isFile()) for status in system.listStatus(path)]
    if not all(
        plain and (name.startswith("_") or name.endswith((".parquet", ".crc"))) for name, plain in found
    ):
        raise OutputError(
            f"{without_credentials(target)} holds more than the part files of an earlier release.",
            "--force would remove all of it: choose another name.",
        )


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
