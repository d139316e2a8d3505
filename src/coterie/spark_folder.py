"""A release that Spark writes: part files under a hidden name, hashed where they are, then given their own.

On this machine the operating system renames the folder; elsewhere Hadoop does (coterie.spark_remote).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from coterie.errors import OutputError
from coterie.io.hidden import new_folder, sweep, temporary_address
from coterie.io.publication import Staged
from coterie.io.staged_folder import PARTS, StagedFolder
from coterie.ledger.staging import without_credentials
from coterie.spark_remote import RemoteFolder, exists_already
from coterie.spark_storage import file_system, written_digest
from coterie.spark_worker import told

_RECORDS_A_PART = 1 << 18  # a part is hashed as one value, of which Spark allows two gigabytes


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
            frame.write.option("maxRecordsPerFile", _RECORDS_A_PART).parquet(place)
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
            raise exists_already(spark, target)
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
