"""The engine on Spark: the same verbs, no row on the driver, nothing that a retried task could draw differently.

* `numbered`: every record gets its number, from partition sizes; no window, no single partition.
* `SparkRanking`: boundaries are drawn once, on (key, record number), and kept as plain numbers. (Range partitioning by
  Spark samples its boundaries anew in every evaluation and would give each evaluation other clusters.) A value that
  most records share is split by record number, so no bucket grows beyond the others. A bucket works on the clusters
  that lie inside it; the few records of clusters across two buckets are brought together in a second, small step.
* `attached`: one shuffle brings all released attributes and the kept columns back to their record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from coterie.chain.partition.clustering import Clustering, ClusterShape, Piece
from coterie.chain.partition.univariate import ranks
from coterie.schema.arrays import Codes, Floats, Whole

ROW = "__coterie_row"
KEY = "__coterie_key"
_BUCKET, _CLUSTER, _RANGE, _VALUE = (f"__coterie_{part}" for part in ("bucket", "cluster", "range", "value"))
_RECORDS_A_BUCKET = 1 << 20
_VALUES_A_RANGE = 1 << 22
_SAMPLES_A_BUCKET = 256
_INDEX_BITS = 33  # of monotonically_increasing_id: the place inside a partition

Work = Callable[[Piece], dict[str, NDArray[Any]]]


def numbered(frame: Any) -> tuple[Any, int]:
    """The frame with the number of each record in ROW, counted in the order of its partitions; and how many there are."""
    from pyspark.sql import functions

    marked = frame.withColumn(ROW, functions.monotonically_increasing_id())
    partition = functions.shiftright(functions.col(ROW), _INDEX_BITS)
    sizes = {row[0]: row[1] for row in marked.groupBy(partition).count().collect()}
    offsets, total = [0] * (max(sizes, default=0) + 1), 0
    for number in sorted(sizes):
        offsets[number] = total
        total += sizes[number]
    start = functions.element_at(functions.lit(offsets), (partition + 1).cast("int"))
    index = functions.col(ROW).bitwiseAND(functions.lit((1 << _INDEX_BITS) - 1))
    return marked.withColumn(ROW, start + index), total


@dataclass(frozen=True, slots=True)
class SparkRanking:
    """Clusters of k consecutive records by (KEY, ROW), and what `work` makes of them."""

    records: int
    k: int
    partitions: int

    def released(self, frame: Any, work: Work, kinds: Sequence[tuple[str, str]]) -> Any:
        """ROW and one column for each of `kinds` (name and Spark type): what `work` gives each record."""
        keys, rows = self._boundaries(frame)
        buckets = self._with_bucket(frame, keys, rows).persist()
        counts = {row[0]: row[1] for row in buckets.groupBy(_BUCKET).count().collect()}
        offsets = np.cumsum([0, *(counts.get(number, 0) for number in range(len(keys) + 1))])
        shape, k = ClusterShape.ranked(self.records, self.k), self.k
        columns = [name for name in frame.columns if name != ROW]

        def inside(table: pa.Table) -> pa.Table:
            piece, edge = cut(table, int(offsets[table.column(_BUCKET)[0].as_py()]), k, shape, columns)
            return _outcome(piece, edge, work, kinds)

        def across(table: pa.Table) -> pa.Table:
            return _outcome(together(table, shape, columns), None, work, kinds)

        beside = [(f.name, f.dataType.simpleString()) for f in frame.schema if f.name != ROW]
        layout = ", ".join(f"`{n}` {t}" for n, t in [(ROW, "bigint"), (_CLUSTER, "bigint"), *kinds, *beside])
        done = buckets.groupBy(_BUCKET).applyInArrow(_as(inside, layout), layout).persist()
        wanted = [ROW, *(name for name, _ in kinds)]
        whole = done.where(f"`{_CLUSTER}` IS NULL").select(*wanted)
        edges = done.where(f"`{_CLUSTER}` IS NOT NULL")
        return whole.unionByName(
            edges.groupBy(_CLUSTER).applyInArrow(_as(across, layout), layout).select(*wanted)
        )

    def _boundaries(self, frame: Any) -> tuple[Floats, Whole]:
        buckets = max(self.partitions, -(-self.records // _RECORDS_A_BUCKET))
        if buckets == 1:
            return np.empty(0), np.empty(0, dtype=np.int64)
        share = min(1.0, buckets * _SAMPLES_A_BUCKET / self.records)
        # The seed only decides where the work is cut; the boundaries are kept, so it is drawn from once.
        sample = frame.select(KEY, ROW).sample(fraction=share, seed=1).toArrow()
        keys = np.asarray(sample.column(KEY).to_numpy(), dtype=np.float64)
        rows = np.asarray(sample.column(ROW).to_numpy(), dtype=np.int64)
        order = np.lexsort((rows, keys))
        cuts = order[np.arange(1, buckets) * len(order) // buckets] if len(order) else order
        return keys[cuts], rows[cuts]

    def _with_bucket(self, frame: Any, keys: Floats, rows: Whole) -> Any:
        def choose(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                number = bucket_of(batch.column(KEY).to_numpy(), batch.column(ROW).to_numpy(), keys, rows)
                yield batch.append_column(_BUCKET, pa.array(number))

        return frame.mapInArrow(choose, wider(frame.schema, [(_BUCKET, "int")]))


def attached(
    base: Any, released: Sequence[tuple[Any, Sequence[tuple[str, str]]]], records: int, partitions: int
) -> Any:
    """`base` (ROW and kept columns) with the released columns of each frame, brought together by ROW in one shuffle."""
    from pyspark.sql import functions

    names = [kind for _, kinds in released for kind in kinds]
    length = range_length(records, len(names), partitions)
    place = functions.floor(functions.col(ROW) / length).cast("bigint").alias(_RANGE)
    tall = None
    for frame, kinds in released:
        for name, kind in kinds:
            # One narrow row per value: numbers as they are, codes as doubles, which hold them exactly.
            value = functions.col(name).cast("double").alias(_VALUE)
            source = functions.lit(names.index((name, kind))).alias(_BUCKET)
            part = frame.select(ROW, source, value, place)
            tall = part if tall is None else tall.union(part)

    def pair(kept: pa.Table, values: pa.Table) -> pa.Table:
        kept = kept.sort_by(ROW).drop_columns([_RANGE]).combine_chunks()
        first = kept.column(ROW)[0].as_py()
        source, row = values.column(_BUCKET).to_numpy(), values.column(ROW).to_numpy() - first
        value = values.column(_VALUE).to_numpy()
        for number, (name, kind) in enumerate(names):
            mine = source == number
            column = np.empty(len(kept), dtype=np.int32 if kind == "int" else np.float64)
            column[row[mine]] = value[mine]
            kept = kept.append_column(name, pa.array(column))
        return kept

    assert tall is not None
    groups = base.select("*", place).groupBy(_RANGE), tall.groupBy(_RANGE)
    return groups[0].cogroup(groups[1]).applyInArrow(pair, wider(base.schema, names)).orderBy(ROW)


def range_length(records: int, attributes: int, partitions: int) -> int:
    """Rows that one worker brings together: all their values are in its memory at once, so fewer of a wide table."""
    ranges = max(partitions, -(-records * attributes // _VALUES_A_RANGE))
    return max(-(-records // ranges), 1)


def wider(schema: Any, more: Sequence[tuple[str, str]]) -> Any:
    """A Spark schema with further columns: names and types, `double` or `int`."""
    from pyspark.sql.types import DoubleType, IntegerType, StructField, StructType

    types = {"double": DoubleType(), "int": IntegerType()}
    return StructType([*schema.fields, *(StructField(name, types[kind]) for name, kind in more)])


def bucket_of(keys: Floats, rows: Whole, split_keys: Floats, split_rows: Whole) -> Codes:
    """How many boundaries are not above (key, record number)."""
    bucket = np.searchsorted(split_keys, keys)
    tied = np.flatnonzero(np.append(split_keys, np.nan)[bucket] == keys)
    if len(tied):
        # The first boundary of the same key, then the record number: one whole number that is in the same order.
        first, beyond = np.searchsorted(split_keys, split_keys), int(max(rows.max(), split_rows.max())) + 1
        places = first * beyond + split_rows
        bucket[tied] = np.searchsorted(places, bucket[tied] * beyond + rows[tied], side="right")
    return bucket.astype(np.int32)


def cut(
    table: pa.Table, offset: int, k: int, shape: ClusterShape, columns: Sequence[str]
) -> tuple[Piece | None, pa.Table | None]:
    """A bucket whose first record has rank `offset`: the clusters inside it, and the records of those it shares."""
    table = table.sort_by(ROW)  # record order, which a shuffle does not keep
    keys = table.column(KEY).to_numpy()
    cluster = np.minimum((ranks(keys) + np.int64(offset)) // k, shape.clusters - 1)
    first, end = -(-offset // k), (offset + len(keys)) // k
    # The last cluster, which takes the remainder, is whole only at the end of the table.
    end = shape.clusters if offset + len(keys) == shape.records else min(end, shape.clusters - 1)
    inside = (cluster >= first) & (cluster < end)
    edge = table.filter(pa.array(~inside)).append_column(_CLUSTER, pa.array(cluster[~inside]))
    if not inside.any():
        return None, edge
    mine = table.filter(pa.array(inside))
    labels = (cluster[inside] - first).astype(np.int32)
    return _piece(mine, first, labels, end - first, shape, columns), edge if len(edge) else None


def together(table: pa.Table, shape: ClusterShape, columns: Sequence[str]) -> Piece:
    """One cluster, from the buckets that shared it."""
    table = table.sort_by(ROW)
    first = table.column(_CLUSTER)[0].as_py()
    return _piece(table, first, np.zeros(len(table), dtype=np.int32), 1, shape, columns)


def _piece(
    table: pa.Table, first: int, labels: Codes, count: int, shape: ClusterShape, columns: Sequence[str]
) -> Piece:
    sizes = np.bincount(labels, minlength=count).astype(np.int64)
    fields = {name: table.column(name).to_numpy() for name in columns}
    return Piece(first, Clustering(labels, sizes, shape), table.column(ROW).to_numpy(), fields)


def _outcome(
    piece: Piece | None, edge: pa.Table | None, work: Work, kinds: Sequence[tuple[str, str]]
) -> pa.Table:
    """What is done, and what waits for the second step (its cluster is named, its fields are kept)."""
    parts = []
    if piece is not None:
        nothing = pa.nulls(len(piece.rows), pa.int64())
        parts.append(pa.table({ROW: piece.rows, _CLUSTER: nothing, **work(piece)}))
    if edge is not None:
        parts.append(edge.drop_columns([_BUCKET]))
    return pa.concat_tables(parts, promote_options="default")


def _as(make: Callable[[pa.Table], pa.Table], layout: str) -> Callable[[pa.Table], pa.Table]:
    """All columns of the layout, in its order and types; missing ones empty."""
    fields = [entry.rsplit(" ", 1) for entry in layout.split(", ")]
    types = {"bigint": pa.int64(), "double": pa.float64(), "int": pa.int32()}

    def shaped(table: pa.Table) -> pa.Table:
        made = make(table)
        columns = {}
        for quoted, kind in fields:
            name = quoted.strip("`")
            have = name in made.column_names
            columns[name] = made.column(name).cast(types[kind]) if have else pa.nulls(len(made), types[kind])
        return pa.table(columns)

    return shaped
