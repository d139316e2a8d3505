"""Tables as Arrow files that are mapped into memory, not loaded: a page looks at a few rows of a million at once.

CSV and spreadsheets know no types. The copy that is kept when a table is loaded has guessed ones; once the table is
described, labels must be read as text (01234 keeps its zero), as the command does. `typed` does so, once per description."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from coterie.errors import DataError
from coterie.publication.staged_files import stage_file
from coterie.schema.attributes import Schema
from coterie.schema.dialect import Dialect
from coterie.table.reading import ending, read_table

_UNTYPED = (".csv", ".csv.gz", ".tsv", ".xlsx", ".xlsm", ".xls", ".ods")
_KEY = b"coterie made from"


def keep(table: pa.Table, path: Path, made_from: str = "") -> str:
    """Write a table whole or not at all, readable by its owner only. Returns the SHA-256 of the file."""
    noted = table.replace_schema_metadata({_KEY: made_from.encode()})

    def write(sink: BinaryIO) -> None:
        with pa.ipc.new_file(sink, noted.schema) as writer:
            writer.write_table(noted, max_chunksize=1 << 16)

    staged = stage_file(path, write, force=True, private=True)
    staged.publish()
    return staged.sha256


def kept(path: Path, made_from: str = "") -> pa.Table | None:
    """The table, if it is there and was made from this."""
    try:
        with pa.memory_map(str(path)) as source:
            table = pa.ipc.open_file(source).read_all()
    except (OSError, pa.ArrowException):
        return None
    if (table.schema.metadata or {}).get(_KEY, b"") != made_from.encode():
        return None
    return table.replace_schema_metadata(None)


def stamp(source: Path) -> str | None:
    """Changes when the file is written; None where there is none."""
    try:
        found = source.stat()
    except OSError:
        return None
    return f"{found.st_size} {found.st_mtime_ns}"


def is_untyped(source: Path) -> bool:
    """Whether the types of its columns were guessed."""
    return ending(source) in _UNTYPED


def typed(
    guessed: pa.Table, schema: Schema, source: Path, sheet: str | None, seen: str | None, cache: Path
) -> pa.Table:
    """The table as the command reads it with this schema. `seen`: the stamp of the source when it was loaded."""
    schema = schema.in_file
    numbers = {a.name: a.missing_marks for a in schema.protected if a.type.has_zero}
    dialect = schema.dialect.model_dump(exclude={"source"})
    if not is_untyped(source) or (schema.dialect == Dialect() and _as_described(guessed, numbers)):
        return guessed
    ranged = [a for a in schema.attributes if a.type.ranged] if dialect["date_format"] else []
    moments = {a.name: (a.type, a.missing_marks) for a in ranged}
    content = [numbers, moments, dialect, seen, str(source), sheet]
    made_from = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    found = kept(cache, made_from)
    if found is not None:
        return found
    if stamp(source) != seen:
        raise DataError(
            f"{source} was changed or removed since it was loaded.", "Read it again on the page 'Load'."
        )
    keep(read_table(source, table=sheet, schema=schema), cache, made_from)
    found = kept(cache, made_from)
    assert found is not None
    return found


def _as_described(table: pa.Table, numbers: Collection[str]) -> bool:
    """Whether the guess says the same: everything is text, which is read as what is declared, or a protected number."""
    return all(
        field.type == pa.string()
        or (field.name in numbers and (pa.types.is_integer(field.type) or pa.types.is_floating(field.type)))
        for field in table.schema
    )
