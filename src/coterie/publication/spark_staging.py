"""Releases that Spark writes: part files under a hidden name, hashed where they are, then renamed, all or part by part."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from coterie.engines.spark.faults import told
from coterie.errors import MissingExtra, OutputError, ParameterError
from coterie.publication.staged_files import StagedFolder, exists_already
from coterie.publication.staging import Staged
from coterie.table.address import without_credentials
from coterie.table.digest import digest_of_parts
from coterie.table.hidden_files import PARTS, new_folder, sweep, temporary_address

# What Java says of a package of another version, or of one without the packages that it needs itself. Settings such as
# "60s" came with Hadoop 3.4; older programs expect a bare number.
_MISFITS = ("NoClassDefFoundError", "NoSuchMethodError", "AbstractMethodError", "NumberFormatException")

# Since Hadoop 3.4.2 its package for S3 no longer brings Amazon's own; this is the version that Hadoop 3.4.3 names.
_SDK = "software.amazon.awssdk:bundle:2.35.4"


def check_address(address: str) -> None:
    """No keys in an address: Hadoop writes addresses into its logs. Said without the address, which holds them."""
    scheme, _, rest = address.partition("://")
    user, _, host = rest.partition("/")[0].rpartition("@")
    # A key may hold a slash, and then what stands before it looks like a port that is no number.
    if ":" in user or (":" in host and not host.partition(":")[2].isdigit()):
        raise ParameterError(
            f"The {scheme}:// address holds a password or a secret key.",
            "Leave it out of the address. For S3, set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the "
            "environment, or let the machine's role give access.",
        )


def file_system(spark: Any, address: str) -> tuple[Any, Any]:
    """Hadoop's file system for an address, and the path in it; or which package is missing."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    java = spark.sparkContext._jvm
    scheme = address.partition("://")[0]
    try:
        path = java.org.apache.hadoop.fs.Path(address)
        return path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration()), path
    except Py4JJavaError as error:
        said = str(error.java_exception)
    except PySparkException as error:  # some of Java's, among them wrong numbers and wrong addresses
        said = f"{type(error).__name__}: {error}"
    version = java.org.apache.hadoop.util.VersionInfo.getVersion()
    package = (
        f"for s3a, `spark.jars.packages org.apache.hadoop:hadoop-aws:{version},{_SDK}` in spark-defaults.conf. "
        f"{version} is the version of Hadoop that this Spark was built with."
    )
    if "ClassNotFoundException" in said:
        raise MissingExtra(
            f"This Spark has no connector for {scheme}:// addresses.", f"Add its package: {package}"
        )
    if any(word in said for word in _MISFITS):
        raise MissingExtra(
            f"This Spark's program for {scheme}:// addresses does not fit Hadoop {version}, or is not whole.",
            f"Take the package that fits: {package}",
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


# A folder that Hadoop can reach takes its name: in one step where there is one, else part by part, to be resumed.
#
# An object store such as S3 has no rename: Hadoop copies and deletes, object by object, and a kill leaves some of them
# moved. So the parts move one by one, `_SUCCESS` last, while a mark `_UNFINISHED-…` lies in the folder and says whose
# they are. What stood there before is set aside first, and goes only when the new parts are in place.

ONE_STEP = {"file", "hdfs"}  # a folder is renamed whole or not at all
DONE = "_SUCCESS"  # Hadoop's own mark of a folder that is whole
UNFINISHED = "_UNFINISHED-"  # readers of Parquet pass over names that begin with _
_AT_ONCE = 16  # copies in an object store wait for the network, not for this machine


@dataclass(frozen=True)
class RemoteFolder:
    """A finished folder under a hidden name."""

    target: str
    temporary: str
    sha256: str
    size: int
    force: bool
    spark: Any = field(repr=False)

    over = "part files"

    def publish(self) -> None:
        """Can be repeated after a kill at any point."""
        with told():
            storage = _Storage.of(self)
            interrupted = storage.has(storage.mark)
            if not interrupted and not storage.has(storage.temporary):
                self._require_whole(storage, "is gone")
            else:
                if not interrupted and storage.has(storage.target):
                    if not self.force:
                        raise _in_the_way(self.spark, self.target)
                    storage.set_aside()
                if storage.one_step:
                    storage.rename(storage.temporary, storage.target)
                else:
                    storage.touch(storage.mark)
                    storage.move(storage.temporary, storage.target, storage.others(storage.temporary))
                    if interrupted:
                        self._require_whole(storage, "is not whole")
                    # The mark goes last: while it is there, a run that is repeated takes nothing here for a stranger's.
                    storage.move(storage.temporary, storage.target, [DONE])
                    storage.remove(storage.temporary)
                    storage.remove(storage.mark)
            storage.remove(storage.earlier)

    def discard(self) -> None:
        """Undo what was written, and put back what was set aside."""
        with told():
            storage = _Storage.of(self)
            if storage.has(storage.mark):
                storage.remove(storage.target)
            storage.remove(storage.temporary)
            if storage.has(storage.earlier):
                if not storage.one_step:
                    storage.move(storage.earlier, storage.target, storage.others(storage.earlier), [DONE])
                    storage.remove(storage.earlier)
                elif not storage.has(storage.target):
                    storage.rename(storage.earlier, storage.target)

    def _require_whole(self, storage: _Storage, what: str) -> None:
        if not storage.has(storage.target) or written_digest(self.spark, self.target) != self.sha256:
            raise OutputError(
                f"The staged folder for {without_credentials(self.target)} {what}.",
                "Something removed or changed its parts; write the output again.",
            )


@dataclass(frozen=True)
class _Storage:
    """Hadoop's file system, and the places that one release has in it."""

    system: Any
    shown: str
    one_step: bool
    target: Any
    temporary: Any
    earlier: Any
    mark: Any

    @classmethod
    def of(cls, folder: RemoteFolder) -> _Storage:
        stem = folder.temporary.removesuffix(".tmp")
        names = (
            folder.temporary,
            f"{stem}.earlier",
            f"{folder.target}/{UNFINISHED}{stem.rpartition('-')[2]}",
        )
        system, target = file_system(folder.spark, folder.target)
        paths = (file_system(folder.spark, name)[1] for name in names)
        one_step = folder.target.partition("://")[0] in ONE_STEP
        return cls(system, without_credentials(folder.target), one_step, target, *paths)

    def has(self, path: Any) -> bool:
        return bool(self.system.exists(path))

    def touch(self, path: Any) -> None:
        self.system.create(path, True).close()

    def remove(self, path: Any) -> None:
        self.system.delete(path, True)

    def set_aside(self) -> None:
        if self.one_step:
            self.remove(self.earlier)
            self.rename(self.target, self.earlier)
        else:
            # First its mark of being whole: from here on it is not.
            self.move(self.target, self.earlier, [DONE], self.others(self.target))

    def rename(self, source: Any, to: Any) -> None:
        if not self.system.rename(source, to):
            raise OutputError(
                f"{self.shown} cannot be given its name.", "Check the permission to write there."
            )

    def move(self, source: Any, to: Any, *turns: list[str]) -> None:
        """Some files of a folder, turn by turn; those that a killed run has copied already are copied again."""
        if self.has(source) and not self.system.getFileStatus(source).isDirectory():
            self.rename(source, to)
            return
        here, there = set(self._names(source)), set(self._names(to))
        self.system.mkdirs(to)

        def one(name: str) -> None:
            path, new = source.suffix(f"/{name}"), to.suffix(f"/{name}")
            if name in there:
                self.remove(new)
            self.rename(path, new)

        for turn in turns:
            with ThreadPoolExecutor(_AT_ONCE) as pool:
                list(pool.map(one, [name for name in turn if name in here]))

    def others(self, folder: Any) -> list[str]:
        return [name for name in self._names(folder) if name != DONE]

    def _names(self, folder: Any) -> list[str]:
        if not self.has(folder):
            return []
        return sorted(status.getPath().getName() for status in self.system.listStatus(folder))


def _in_the_way(spark: Any, address: str) -> OutputError:
    system, path = file_system(spark, address)
    shown = without_credentials(address)
    if any(status.getPath().getName().startswith(UNFINISHED) for status in system.listStatus(path)):
        return OutputError(
            f"{shown} is half-written: the run that wrote it was interrupted.",
            "If it was charged to a ledger, run its command again, which finishes it; else replace it with --force.",
        )
    return exists_already(shown)


# A release that Spark writes: part files under a hidden name, hashed where they are, then given their own.
#
# On this machine the operating system renames the folder; elsewhere Hadoop does (`RemoteFolder`).

_RECORDS_PER_PART = 1 << 18  # a part is hashed as one value, of which Spark allows two gigabytes


def stage_parts(spark: Any, frame: Any, target: str, *, force: bool, temporary: Path | str | None) -> Staged:
    """Write a frame beside its target, invisible to those who list it, and hash the parts."""
    if "://" in target:
        place = str(temporary or temporary_address(target))
        return RemoteFolder(target.rstrip("/"), place, *_written(spark, frame, place), force, spark)
    path = Path(target).resolve()
    sweep(path)
    hold = None
    if temporary is None:
        around, hold = new_folder(path)
        temporary = around / PARTS
    hidden = Path(temporary)
    try:
        sha256, size = _written(spark, frame, f"file://{hidden}")
    except BaseException:
        StagedFolder(path, hidden, "", 0, force, hold).discard()
        raise
    return StagedFolder(path, hidden, sha256, size, force, hold)


def _written(spark: Any, frame: Any, place: str) -> tuple[str, int]:
    """The digest and size of what Spark wrote, or nothing at that place."""
    system, path = file_system(spark, place)
    try:
        with told():
            frame.write.option("maxRecordsPerFile", _RECORDS_PER_PART).parquet(place)
            return written_digest(spark, place), int(system.getContentSummary(path).getLength())
    except BaseException:
        with told():
            system.delete(path, True)
        raise


def refuse_early(spark: Any, target: str, *, force: bool) -> None:
    """What stands at the target is kept, or is an earlier release: nobody means to replace a folder of other things."""
    system, path = file_system(spark, target if "://" in target else f"file://{Path(target).resolve()}")
    with told():
        if not system.exists(path):
            return
        if not force:
            raise _in_the_way(spark, target)
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
