"""Writing, all or nothing: a result is staged beside its target, then published in one step.

    staged = stage(table, "release.parquet", force=False)   # complete and on disk, under a hidden name
    staged.publish()                                        # one rename; or staged.discard()

A crash before `publish` leaves at most `.release.parquet.coterie-….tmp`; the target keeps its old bytes, and the next
release to the same place removes what was left (see coterie.table.hidden_files).
`publish` may be called again after a crash: what is already published stays so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import pyarrow as pa

from coterie.errors import OutputError, ParameterError
from coterie.publication.staged_files import StagedFile, stage_file
from coterie.table.address import Address, TableName, is_database
from coterie.table.hidden_files import temporary_for
from coterie.table.reading import STREAM_WRITERS, WRITERS, ending, ending_advice, ending_problem

__all__ = [
    "Source",
    "Staged",
    "StagedFile",
    "refuse_overwriting",
    "require_writer",
    "resume_table",
    "stage",
    "stage_bytes",
    "temporary_for",
]

# A file or URL; or (URL, table) for a table of a database; or (file, sheet).
Source = str | Path | tuple[str, str]


class Staged(Protocol):
    """A finished result that waits for its name. `sha256` is over what `over` says, in the words of a certificate.

    A file has absolute paths. A database table has descriptive text, for its address holds a password that must not
    enter the ledger; only the caller can publish it.
    """

    @property
    def target(self) -> Path | str: ...
    @property
    def temporary(self) -> Path | str: ...
    @property
    def sha256(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def over(self) -> str: ...
    def publish(self) -> None: ...
    def discard(self) -> None: ...


def stage(
    table: pa.Table | pa.RecordBatchReader,
    target: str | Path,
    *,
    force: bool,
    table_name: str | None = None,
    inputs: Iterable[Source] = (),
    temporary: Path | None = None,
) -> Staged:
    """Write `table` beside `target`: a file by its ending, or the table `table_name` of a database by URL.

    A stream of record batches is written as it comes; it fits Parquet and Arrow files only.

    Nothing of `inputs` is ever overwritten, with `force` or without. A ledger that must
    know the hidden name before the file exists gives it: `temporary=temporary_for(target)`.
    """
    streamed = isinstance(table, pa.RecordBatchReader)
    if is_database(target):
        if streamed:
            raise OutputError("A release larger than memory is written to a file.", "Name a .parquet file.")
        return _stage_in_database(table, str(target), table_name, force, inputs)
    if table_name is not None:
        raise ParameterError(
            "A name of a table was given, but the output is a file.", "Leave it out, or give a database URL."
        )
    path = Path(target)
    writer = require_writer(path, streamed=streamed)
    refuse_overwriting(path, inputs)
    try:
        return stage_file(path, lambda sink: writer(table, sink), force=force, temporary=temporary)
    except pa.ArrowException:
        raise OutputError(
            f"{path} cannot be written: the format has no place for a type of this table.",
            "Write .parquet or .arrow, or drop columns that are no numbers, text, dates or truth values.",
        ) from None


def require_writer(path: Path, *, streamed: bool = False) -> Callable[[Any, BinaryIO], None]:
    """The writer for a file's ending, or a sentence about endings."""
    if ending(path) not in WRITERS:
        raise OutputError(ending_problem(path), ending_advice(path, WRITERS))
    writers: Mapping[str, Callable[[Any, BinaryIO], None]] = STREAM_WRITERS if streamed else WRITERS
    writer = writers.get(ending(path))
    if writer is None:
        raise OutputError("A release larger than memory is not written as CSV.", "Name a .parquet file.")
    return writer


def stage_bytes(
    data: bytes,
    target: str | Path,
    *,
    force: bool,
    private: bool = False,
    inputs: Iterable[Source] = (),
    temporary: Path | None = None,
) -> StagedFile:
    """The same for any other file; a `private` one stays readable by its owner only."""
    if is_database(target):
        raise OutputError("This result can only be written to a file.", "Give a path.")
    path = Path(target)
    refuse_overwriting(path, inputs)
    return stage_file(path, lambda sink: sink.write(data), force=force, private=private, temporary=temporary)


def table_bytes(table: pa.Table, path: Path) -> bytes:
    """A small table as the file of that name will hold it."""
    sink = BytesIO()
    require_writer(path)(table, sink)
    return sink.getvalue()


def resume_table(url: str, table_name: str, *, temporary: str, sha256: str, force: bool) -> Staged:
    """A staged table again, from what a ledger noted of it (`Staged.temporary`) before its writer died."""
    from coterie.publication.staged_table import staged_again

    address = Address.parse(url)
    return staged_again(address, TableName.parse(table_name, address.kind), temporary, sha256, force=force)


def _stage_in_database(
    table: pa.Table, url: str, table_name: str | None, force: bool, inputs: Iterable[Source]
) -> Staged:
    from coterie.publication.staged_table import stage_table

    address = Address.parse(url)
    if not table_name:
        raise ParameterError("The output is a database, but no table was named.", "Name the table to write.")
    name = TableName.parse(table_name, address.kind)
    for source in inputs:
        if isinstance(source, tuple) and is_database(source[0]):
            other = Address.parse(source[0])
            if other.same_database(address) and TableName.parse(source[1], other.kind).may_be(name):
                raise OutputError("The output would overwrite the input table.", "Choose another table.")
    return stage_table(table, address, name, force=force)


def refuse_overwriting(path: Path, inputs: Iterable[Source]) -> None:
    for source in inputs:
        if isinstance(source, tuple):
            source = source[0]
        if is_database(source):
            if not Address.knows(str(source)):
                continue  # an object store: no file of this machine
            address = Address.parse(str(source))
            if address.path is None:
                continue
            source = address.path
        if Path(source).resolve() == path.resolve() or (
            path.exists() and Path(source).exists() and path.samefile(source)
        ):
            raise OutputError(f"The output {path} would overwrite an input.", "Choose another name for it.")
