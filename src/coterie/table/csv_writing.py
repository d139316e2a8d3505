"""CSV out: header always, shortest text that reads back as the same number, `\\n`, quotes only where needed.

Arrow's own writer quotes every text cell and every name, so lines are joined here, a batch at a time.
"""

from __future__ import annotations

from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coterie.errors import OutputError

_ROWS_A_BATCH = 1 << 16
_NEEDS_QUOTES = r'[",\r\n]|^\s|\s$'


def write_csv(table: pa.Table, sink: BinaryIO) -> None:
    names = [_cells(_text(name)).as_py() for name in table.column_names]
    sink.write((",".join(names) + "\n").encode())
    for batch in table.to_batches(max_chunksize=_ROWS_A_BATCH):
        if not batch.num_rows or not batch.num_columns:
            continue
        columns = [
            _column(name, array) for name, array in zip(table.column_names, batch.columns, strict=True)
        ]
        lines = columns[0]
        if len(columns) > 1:
            lines = pc.binary_join_element_wise(*columns, _text(","))
        whole = pa.LargeListArray.from_arrays(_ends(len(lines), pa.int64()), lines)
        sink.write(pc.binary_join(whole, _text("\n"))[0].as_buffer())
        sink.write(b"\n")


def _column(name: str, array: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_nested(array.type) or pa.types.is_binary(array.type):
        raise OutputError(
            f"Column '{name}' cannot be written as CSV: it is no number, text, date or truth value.",
            "Write .parquet or .arrow, or drop the column.",
        )
    cells = pc.cast(array, pa.string())
    if (
        pa.types.is_string(array.type)
        or pa.types.is_large_string(array.type)
        or array.type == pa.string_view()
    ):
        cells = _cells(cells)
    return pc.fill_null(cells, _text(""))


def _cells(text: Any) -> Any:
    """Text, quoted where a reader would otherwise split or trim it."""
    doubled = pc.replace_substring(text, '"', '""')
    quoted = pc.binary_join_element_wise(_text('"'), doubled, _text('"'), _text(""))
    return pc.if_else(pc.match_substring_regex(text, _NEEDS_QUOTES), quoted, text)


def _text(words: str) -> pa.Scalar:
    """What pa.scalar makes of it; but that (and a bare str in its place) imports pandas, longer than most tables take."""
    data = words.encode()
    return pa.Array.from_buffers(
        pa.string(), 1, [None, _ends(len(data), pa.int32()).buffers()[1], pa.py_buffer(data)]
    )[0]


def _ends(length: int, kind: pa.DataType) -> pa.Array:
    """Where the only entry of an array begins and ends."""
    ends = np.array([0, length], dtype=kind.to_pandas_dtype())
    return pa.Array.from_buffers(kind, 2, [None, pa.py_buffer(ends)])
