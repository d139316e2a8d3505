"""A Spark frame as chunks: some thousand checked rows are one row of Spark's, with one binary value per column.

The frame is evaluated once, and its chunks are kept. Crossing from Java to Python and back costs Spark more per value than
everything else that is done with it; of a chunk only the bytes cross. A chunk is numbered by its partition and its place
there, or by the file it came from, and knows the number of its first record once all chunks have been counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from coterie.engines.out_of_core.chain import content
from coterie.engines.spark.faults import faults_in_words
from coterie.engines.spark.session import FILE, INDEX
from coterie.errors import DataError
from coterie.schema.arrays import Floats
from coterie.schema.attributes import Attribute, Role, Schema
from coterie.table.checked import column_of, located, with_policies
from coterie.table.columns.column import CategoryColumn, Column, released_field

Batches = Iterator[pa.RecordBatch]
BYTES = 8 << 20  # of the rows that make one chunk
_PARTITION, _PLACE, _COUNT, _SIZE, _PATH, _START, _KEPT = (
    "partition",
    "place",
    "count",
    "size",
    "path",
    "start",
    "kept",
)


def stored_kind(like: Column) -> np.dtype[Any]:
    """Numbers as they are, codes as narrow as their labels allow."""
    if isinstance(like, CategoryColumn):
        return np.min_scalar_type(-like.label_count - 1)
    return np.dtype("<f8")


@dataclass(frozen=True, slots=True)
class RowChunk:
    first: int  # number of its first record
    count: int
    kept: Any  # the bytes of the kept columns
    fields: tuple[NDArray[Any], ...]  # those asked for: numbers, or codes


@dataclass(frozen=True, slots=True)
class Chunks:
    frame: Any
    likes: tuple[Column, ...]
    firsts: dict[tuple[int, int], tuple[int, int]]  # partition, place → number of the first record, how many
    records: int
    partitions: int
    kept_bytes: int

    @classmethod
    def of(cls, frame: Any, schema: Schema, likes: tuple[Column, ...]) -> Chunks:
        """All rows of the frame, checked. This evaluates it."""
        from pyspark.sql import functions

        used = [a.name for a in columns_used(schema)]
        # Names of our own: PySpark cannot hand on a column whose name holds a dot.
        columns = [functions.col(_quoted(name)).alias(f"c{place}") for place, name in enumerate(used)]
        columns += [functions.col(name) for name in (FILE, INDEX) if name in frame.columns]
        layout = (
            f"{_PLACE} int, {_COUNT} int, {_SIZE} bigint, {_PATH} string, {_START} bigint, {_KEPT} binary"
        )
        layout += "".join(f", f{place} binary" for place in range(len(likes)))
        checked = faults_in_words(partial(_checked, schema, likes, used, BYTES))
        chunks = frame.select(*columns).mapInArrow(checked, layout).persist()
        marked = chunks.withColumn(_PARTITION, functions.spark_partition_id())
        found = marked.select(_PATH, _START, _PARTITION, _PLACE, _COUNT, _SIZE).collect()
        firsts, records = {}, 0
        for row in sorted(
            found, key=lambda row: (row[_PATH] or "", row[_START] or 0, row[_PARTITION], row[_PLACE])
        ):
            firsts[row[_PARTITION], row[_PLACE]] = records, row[_COUNT]
            records += row[_COUNT]
        partitions = max((row[_PARTITION] for row in found), default=0) + 1
        return cls(marked, likes, firsts, records, partitions, sum(row[_SIZE] for row in found))

    def mapped(
        self, work: Callable[[Iterator[RowChunk]], Batches], layout: Any, places: Sequence[int], *, kept: bool
    ) -> Any:
        """Apply `work` to the chunks of each partition, reading the fields at these places. Returns a frame."""
        names = [f"f{place}" for place in places]
        chosen = self.frame.select(_PARTITION, _PLACE, *([_KEPT] if kept else []), *names)
        likes, firsts = [self.likes[place] for place in places], self.firsts

        def read(batches: Batches) -> Iterator[RowChunk]:
            for batch in batches:
                for row in range(len(batch)):
                    first, count = firsts.get(
                        (batch[_PARTITION][row].as_py(), batch[_PLACE][row].as_py()), (0, -1)
                    )
                    fields = tuple(
                        _read(batch[name][row], like) for name, like in zip(names, likes, strict=True)
                    )
                    if count < 0 or any(len(field) != count for field in fields):
                        raise DataError(
                            "The frame had other rows when Spark computed it a second time.",
                            "Write it to Parquet, and protect that.",
                        )
                    yield RowChunk(first, count, batch[_KEPT][row].as_py() if kept else b"", fields)

        return chosen.mapInArrow(faults_in_words(lambda batches: work(read(batches))), layout)


def columns_used(schema: Schema) -> list[Attribute]:
    """The columns that are read. A weight that is made from public totals is not."""
    return [a for a in schema.attributes if a.role is not Role.IDENTIFIER and a is not schema.raked]


def kept_columns(kept: Any) -> pa.RecordBatch | None:
    """The kept columns, named as in the schema."""
    return pa.ipc.open_stream(kept).read_next_batch() if len(kept) else None


def sliced(kept: Any, start: int, count: int) -> bytes:
    columns = kept_columns(kept)
    return _written(columns.slice(start, count)) if columns is not None else b""


def _written(columns: pa.RecordBatch) -> bytes:
    if not columns.num_columns:
        return b""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, columns.schema) as writer:
        writer.write_batch(columns)
    return bytes(sink.getvalue())


def _read(value: Any, like: Column) -> NDArray[Any]:
    found = np.frombuffer(value.as_buffer(), dtype=stored_kind(like))
    return found.astype(np.int32) if isinstance(like, CategoryColumn) else found


def _checked(
    schema: Schema, likes: Sequence[Column], names: Sequence[str], most: int, batches: Batches
) -> Batches:
    before = 0
    for place, (path, start, run) in enumerate(_runs(batches, most)):
        table = pa.Table.from_batches(run).select(range(len(names))).rename_columns(names)
        try:
            columns = {
                like.attribute.name: column_of(table[like.attribute.name], like.attribute, schema, like)
                for like in likes
            }
            checked = with_policies(table, columns, schema)
        except DataError as error:
            # An executor does not know how many rows other partitions have: it says what it counts.
            raise located(error, "row {} of a partition", before) from None
        before += len(table)
        kept = _written(pa.RecordBatch.from_pydict({n: c.combine_chunks() for n, c in checked.kept.items()}))
        row = {
            _PLACE: place,
            _COUNT: checked.records,
            _SIZE: len(kept),
            _PATH: path,
            _START: start,
            _KEPT: kept,
        }
        for number, like in enumerate(likes):
            values = content(checked.columns[like.attribute.name])
            row[f"f{number}"] = np.ascontiguousarray(values, dtype=stored_kind(like)).tobytes()
        yield _one_row(row)


def _runs(batches: Batches, most: int) -> Iterator[tuple[str | None, int | None, list[pa.RecordBatch]]]:
    """Consecutive rows of one file, or of a partition, some megabytes at a time, and where they begin."""
    waiting: list[pa.RecordBatch] = []
    path: str | None = None
    start = after = size = 0
    for batch in batches:
        for piece, here, number in _by_file(batch):
            if waiting and (size >= most or here != path or (here is not None and number != after)):
                yield path, start, waiting
                waiting, size = [], 0
            if not waiting:
                path, start = here, number
            waiting.append(piece)
            after = number + len(piece)
            size += piece.nbytes
    if waiting:
        yield path, start, waiting


def _by_file(batch: pa.RecordBatch) -> Iterator[tuple[pa.RecordBatch, str | None, int]]:
    """The rows of each file, its name and the number of the first of them there."""
    if FILE not in batch.schema.names:
        if len(batch):
            yield batch, None, 0
        return
    index = batch[INDEX].to_numpy()
    names = pc.run_end_encode(batch[FILE])
    ends = {0, len(batch), *names.run_ends.to_pylist(), *(np.flatnonzero(np.diff(index) != 1) + 1).tolist()}
    for first, end in pairwise(sorted(ends)):
        yield batch.slice(first, end - first), batch[FILE][first].as_py(), int(index[first])


def _one_row(row: dict[str, Any]) -> pa.RecordBatch:
    kinds = {_PLACE: pa.int32(), _COUNT: pa.int32(), _PATH: pa.string()}
    kinds |= {_SIZE: pa.int64(), _START: pa.int64()}
    return pa.RecordBatch.from_pydict({n: pa.array([v], kinds.get(n, pa.binary())) for n, v in row.items()})


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


@dataclass(frozen=True, slots=True)
class ReleasedRows:
    """Released values and kept columns as rows: order, names and types are those of the schema."""

    layout: Any  # Spark's
    order: tuple[str, ...]
    restore: dict[str, Callable[[NDArray[Any]], pa.Array]]
    raked: str | None = None  # the weight that is made from public totals

    @classmethod
    def of(cls, frame: Any, schema: Schema, likes: Sequence[Column]) -> ReleasedRows:
        from pyspark.sql.pandas.types import from_arrow_schema
        from pyspark.sql.types import StructField, StructType

        restore = {like.attribute.name: like.restore for like in likes}
        kept = {attribute.name for attribute in schema.with_role(Role.KEEP)}
        made = [] if schema.raked is None else [schema.raked]
        released = {*restore, *(a.name for a in made)}
        order = tuple(a.name for a in schema.attributes if a.name in released or a.name in kept)
        typed = [*(like.field for like in likes), *map(released_field, made)]
        given = from_arrow_schema(pa.schema(typed), prefer_timestamp_ntz=True)
        fields = [given[name] if name in released else frame.schema[name] for name in order]
        layout = StructType([StructField(f.name, f.dataType, f.nullable) for f in fields])
        return cls(layout, order, restore, made[0].name if made else None)

    def batch(
        self, values: Sequence[NDArray[Any]], kept: pa.RecordBatch | None, weights: Floats | None = None
    ) -> pa.RecordBatch:
        """`values` attribute by attribute, in the order of the schema's protected ones."""
        found = {} if kept is None else dict(zip(kept.schema.names, kept.columns, strict=True))
        for (name, restore), value in zip(self.restore.items(), values, strict=True):
            found[name] = restore(value)
        if self.raked is not None:
            found[self.raked] = pa.array(weights)
        arrays = [found[name] for name in self.order]
        return pa.RecordBatch.from_arrays(arrays, names=list(self.order))
