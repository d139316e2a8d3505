"""A folder that Hadoop can reach takes its name: in one step where there is one, else part by part, to be resumed.

An object store such as S3 has no rename: Hadoop copies and deletes, object by object, and a kill leaves some of them
moved. So the parts move one by one, `_SUCCESS` last, while a mark `_UNFINISHED-…` lies in the folder and says whose
they are. What stood there before is set aside first, and goes only when the new parts are in place.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from coterie.errors import OutputError
from coterie.ledger.staging import without_credentials
from coterie.spark_storage import file_system, written_digest
from coterie.spark_worker import told

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
                        raise exists_already(self.spark, self.target)
                    storage.set_aside()
                if storage.one_step:
                    storage.rename(storage.temporary, storage.target)
                else:
                    storage.touch(storage.mark)
                    storage.put_parts()
                    if interrupted:
                        self._require_whole(storage, "is not whole")
                    storage.say_done()
            storage.remove(storage.earlier)

    def discard(self) -> None:
        """As if nothing had been written: what was set aside comes back."""
        with told():
            storage = _Storage.of(self)
            if storage.has(storage.mark):
                storage.remove(storage.target)
            storage.remove(storage.temporary)
            if storage.has(storage.earlier):
                storage.bring_back()

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
            self._move(self.target, self.earlier, [DONE], self._others(self.target))

    def put_parts(self) -> None:
        self._move(self.temporary, self.target, self._others(self.temporary))

    def say_done(self) -> None:
        """The mark goes last: while it is there, a run that is repeated takes nothing here for a stranger's."""
        self._move(self.temporary, self.target, [DONE])
        self.remove(self.temporary)
        self.remove(self.mark)

    def bring_back(self) -> None:
        if not self.one_step:
            self._move(self.earlier, self.target, self._others(self.earlier), [DONE])
            self.remove(self.earlier)
        elif not self.has(self.target):
            self.rename(self.earlier, self.target)

    def rename(self, source: Any, to: Any) -> None:
        if not self.system.rename(source, to):
            raise OutputError(
                f"{self.shown} cannot be given its name.", "Check the permission to write there."
            )

    def _move(self, source: Any, to: Any, *turns: list[str]) -> None:
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

    def _others(self, folder: Any) -> list[str]:
        return [name for name in self._names(folder) if name != DONE]

    def _names(self, folder: Any) -> list[str]:
        if not self.has(folder):
            return []
        return sorted(status.getPath().getName() for status in self.system.listStatus(folder))


def exists_already(spark: Any, address: str) -> OutputError:
    system, path = file_system(spark, address)
    shown = without_credentials(address)
    if any(status.getPath().getName().startswith(UNFINISHED) for status in system.listStatus(path)):
        return OutputError(
            f"{shown} is half-written: the run that wrote it was interrupted.",
            "If it was charged to a ledger, run its command again, which finishes it; else replace it with --force.",
        )
    return OutputError(f"{shown} exists already.", "Choose another name, or replace it with --force.")
