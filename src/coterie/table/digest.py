"""A digest of a table that lives in a database, where there are no bytes of a file to hash.

    table_digest(table) = SHA-256 over the columns, the rows sorted by all columns from first to last

A database keeps no order of rows and may widen types, so both are taken out: integers count as int64, floats
as float64 (−0.0 as 0.0, one NaN), text as UTF-8, timestamps as microseconds; a column without any value has
no type. Engine, chunks and row order do not change the digest; a name, a value, a repetition or the order of
columns does. Per column, after the count of rows and columns: name and kind with their lengths, one byte of
validity a row, then the values, little-endian, zero or nothing in the place of a null."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coterie.errors import CertificateError, DataError, reading

_TITLE = b"coterie table digest 1\n"


def table_digest(table: pa.Table) -> str:
    """Hex SHA-256, the same for the table in memory and read back from the database it was written to."""
    names = table.column_names
    normal = [_normal(name, column) for name, column in zip(names, table.columns, strict=True)]
    # Sorted under positions as names, because a table may hold two columns of one name.
    keyed = pa.table([column for _, column in normal], names=[str(place) for place in range(len(normal))])
    order = [(str(place), "ascending") for place, (kind, _) in enumerate(normal) if kind != "none"]
    if order:
        keyed = keyed.take(pc.sort_indices(keyed, sort_keys=order))
    digest = hashlib.sha256(_TITLE)
    digest.update(struct.pack("<qq", table.num_rows, len(names)))
    for name, (kind, _), column in zip(names, normal, keyed.columns, strict=True):
        for text in (name.encode(), kind.encode()):
            digest.update(struct.pack("<q", len(text)))
            digest.update(text)
        _update(digest, kind, column.combine_chunks())
    return digest.hexdigest()


def _normal(name: str, column: pa.ChunkedArray) -> tuple[str, pa.ChunkedArray]:
    kind = column.type
    if column.null_count == len(column):
        return "none", pa.chunked_array([pa.nulls(len(column))])
    if pa.types.is_dictionary(kind):
        return _normal(name, pc.cast(column, kind.value_type))
    if pa.types.is_boolean(kind):
        return "boolean", pc.cast(column, pa.int8())
    if pa.types.is_uint64(kind) or pa.types.is_decimal(kind):
        return "decimal", pc.cast(column, pa.large_string())
    if pa.types.is_integer(kind):
        return "integer", pc.cast(column, pa.int64())
    if pa.types.is_floating(kind):
        return "float", pc.cast(column, pa.float64())
    if pa.types.is_date(kind):
        return "date", pc.cast(pc.cast(column, pa.date32()), pa.int32())
    if pa.types.is_timestamp(kind):
        moment = "timestamp with zone" if kind.tz else "timestamp"
        return moment, pc.cast(pc.cast(column, pa.timestamp("us", kind.tz)), pa.int64())
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return "text", pc.cast(column, pa.large_string())
    raise DataError(
        f"Column '{name}' has a type that no database table of Coterie holds.",
        "Keep numbers, text, dates and truth values only.",
    )


def _update(digest: Any, kind: str, values: pa.Array) -> None:
    """Validity (one byte per row), then the values with a fixed one in the place of nulls."""
    if kind == "none":
        return
    valid = np.from_dlpack(pc.cast(values.is_valid(), pa.uint8()))  # to_numpy would import pandas
    digest.update(valid)
    if kind in ("text", "decimal"):
        filled = pc.fill_null(values, "") if values.null_count else values
        digest.update(np.from_dlpack(pc.binary_length(filled)).astype("<i8"))
        digest.update(_joined(filled))
        return
    stored = [None, values.buffers()[1]]
    bare = pa.Array.from_buffers(values.type, len(values), stored, offset=values.offset)
    numbers = np.where(valid, np.from_dlpack(bare), 0)
    if kind == "float":
        numbers = np.where(np.isnan(numbers), np.nan, numbers) + 0.0  # one bit pattern for NaN, one for zero
    digest.update(numbers.astype(numbers.dtype.newbyteorder("<"), copy=False))


def _joined(texts: pa.Array) -> bytes | pa.Buffer:
    """All texts one after the other, as they lie in memory."""
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    return b"" if data is None else data.slice(int(ends[0]), int(ends[-1] - ends[0]))


def file_sha256(path: Path) -> str:
    """SHA-256 of the bytes of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# A release that is a folder of part files, as Spark writes them: one digest over all of them.


def digest_of_parts(parts: Mapping[str, str]) -> str:
    """SHA-256 over `name NUL sha256 NEWLINE` of every part, sorted by name: no part can be changed, added or left out."""
    digest = hashlib.sha256(b"coterie part files 1\n")
    for name in sorted(parts):
        digest.update(f"{name}\0{parts[name]}\n".encode())
    return digest.hexdigest()


def folder_digest(folder: Path) -> str:
    parts = {}
    with reading("The released folder", CertificateError, "Check the path of the release."):
        for path in folder.glob("*.parquet"):
            parts[path.name] = file_sha256(path)
    if not parts:
        raise CertificateError(
            "There are no Parquet files in the released folder.", "Check the path of the release."
        )
    return digest_of_parts(parts)
