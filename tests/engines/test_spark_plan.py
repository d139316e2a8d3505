"""What the executors do, without Spark: partitions are lists, and a shuffle brings rows in any order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from coterie import Schema, protect
from coterie.chain.partition.clustering import Piece
from coterie.engines.out_of_core.chain import piece_values, sampler_from
from coterie.engines.spark import ranking as plan
from coterie.engines.spark.chunks import RowChunk, _checked, kept_columns
from coterie.engines.spark.ranking import SparkRanking
from coterie.methods import get_method
from coterie.promise.terms import Budget
from coterie.schema.attributes import Attribute, AttributeType, Categories, Domain, Role
from coterie.table.checked import column_of

DRAW = np.random.Generator(np.random.PCG64(5))
LABELS = tuple("abcde")
EPSILON = 1000  # few values are clipped


class Frame:
    """As much of a Spark frame as the plan asks for."""

    def __init__(self, partitions: list[list[pa.RecordBatch]]) -> None:
        self.partitions = partitions

    def mapInArrow(self, work: Callable[..., Any], layout: object) -> Frame:  # noqa: N802
        return Frame([list(work(iter(batches))) for batches in self.partitions])

    def union(self, other: Frame) -> Frame:
        return Frame(self.partitions + other.partitions)

    def repartitionById(self, count: int, name: str) -> Frame:  # noqa: N802
        rows = [batch.slice(n, 1) for some in self.partitions for batch in some for n in range(len(batch))]
        cut: list[list[pa.RecordBatch]] = [[] for _ in range(count)]
        for place in DRAW.permutation(len(rows)):
            cut[rows[place][name][0].as_py()].append(rows[place])
        return Frame(cut)

    def toArrow(self) -> pa.Table:  # noqa: N802
        return pa.Table.from_batches([batch for some in self.partitions for batch in some])


class Pieces:
    """Chunks of a table: the places where partitions end, and how many rows a chunk has."""

    def __init__(self, table: pa.Table, schema: Schema, ends: Sequence[int], size: int) -> None:
        names = [a.name for a in schema.attributes]
        self.likes = tuple(column_of(table[a.name].slice(0, 0), a, schema) for a in schema.protected)
        self.records, self.partitions, self.kept_bytes = len(table), len(ends) + 1, 0
        self.rows: list[list[RowChunk]] = []
        for start, end in zip([0, *ends], [*ends, len(table)], strict=True):
            batches = table.slice(start, end - start).combine_chunks().to_batches(size)
            found = [b for one in batches for b in _checked(schema, self.likes, names, 1, iter([one]))]
            self.rows.append([])
            for batch in found:
                fields = tuple(
                    np.frombuffer(batch[f"f{n}"][0].as_py(), plan.stored_kind(like))
                    for n, like in enumerate(self.likes)
                )
                self.rows[-1].append(
                    RowChunk(start, batch["count"][0].as_py(), batch["kept"][0].as_py(), fields)
                )
                start += self.rows[-1][-1].count

    def mapped(self, work: Callable[[Iterator[RowChunk]], Any], *_: object, **__: object) -> Frame:
        return Frame([list(work(iter(chunks))) for chunks in self.rows])


class Rows:
    """Instead of rows of the release: values as they are."""

    layout = None

    def batch(self, values: Sequence[np.ndarray], kept: pa.RecordBatch | None) -> pa.RecordBatch:
        columns = {f"v{number}": column for number, column in enumerate(values)}
        beside = {} if kept is None else dict(zip(kept.schema.names, kept.columns, strict=True))
        return pa.RecordBatch.from_pydict({**columns, **beside})


def table_of(records: int) -> tuple[pa.Table, Schema]:
    draw = np.random.Generator(np.random.PCG64(3))
    x, y = draw.normal(size=records), draw.random(records)
    x[draw.random(records) < 0.9] = 0.0  # one value in nine of ten rows
    x[draw.random(records) < 0.1] = -0.0
    labels = np.array(LABELS)[draw.integers(0, 5, records)]
    notes = [f"row {number}" for number in range(records)]
    bounds = Domain(lower=-9, upper=9)
    schema = Schema(
        attributes=(
            Attribute(name="x", role=Role.PROTECT, domain=bounds),
            Attribute(name="note", role=Role.KEEP),
            Attribute(
                name="label",
                role=Role.PROTECT,
                type=AttributeType.CATEGORICAL,
                categories=Categories(labels=LABELS),
            ),
            Attribute(name="y", role=Role.PROTECT, domain=bounds),
        )
    )
    return pa.table({"x": x, "note": notes, "label": labels, "y": y}), schema


def released(pieces: Pieces, schema: Schema, method: str, k: int) -> pa.Table:
    recipe, sampler = get_method(method), sampler_from(5)
    shares = Budget.of(EPSILON, schema, recipe).shares

    def release(columns: Sequence[Any], piece: Piece) -> list[np.ndarray]:
        return [
            piece_values(piece, column, recipe, k, shares[column.attribute.name], sampler)
            for column in columns
        ]

    groups = [[0, 1, 2]] if recipe.grouping.multivariate else [[0], [1], [2]]
    ranked = SparkRanking.of(pieces, k, groups, recipe.grouping)  # type: ignore[arg-type]
    return ranked.released(pieces, Rows(), release).toArrow()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("method", "records", "k", "ends", "chunk", "a_bucket", "a_range"),
    [
        ("dp-mdav", 4203, 2, (1000, 1000, 4199), 1700, 45, 8000),  # some 260 buckets, an empty partition
        ("idp-cbls", 2000, 7, (1999,), 300, 100, 1000),
        ("idp-cbls", 297, 5, (), 10_000, 1, 1),  # as many buckets as k allows, one row per range
        ("dp-ir", 1500, 5, (400, 800), 90, 200, 900),
        ("dp-ir", 700, 350, (10, 20), 50, 1, 300),  # a single bucket
    ],
)
def test_the_release_is_that_of_memory(
    method: str,
    records: int,
    k: int,
    ends: tuple[int, ...],
    chunk: int,
    a_bucket: int,
    a_range: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(plan, "VALUES_PER_BUCKET", a_bucket)
    monkeypatch.setattr(plan, "VALUES_PER_RANGE", a_range)
    table, schema = table_of(records)
    found = released(Pieces(table, schema, ends, chunk), schema, method, k)
    expected = protect(table, schema, method=method, epsilon=EPSILON, k=k, seed=5).table
    assert found["note"].to_pylist() == expected["note"].to_pylist()
    for number, name in ((0, "x"), (2, "y")):
        assert found[f"v{number}"].to_pylist() == expected[name].to_pylist()
    codes = [sorted(LABELS).index(label) for label in expected["label"].to_pylist()]
    assert len(set(zip(codes, found["v1"].to_pylist(), strict=True))) == len(set(codes))


def test_a_column_that_is_not_cut_evenly_enough_is_told_and_not_released(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One chance in 10^70 with the samples that are drawn: here there are hardly any."""
    table, schema = table_of(500)
    monkeypatch.setattr(plan, "VALUES_PER_BUCKET", 1)
    monkeypatch.setattr(plan, "_LEAST_CLUSTERS", 0)
    with pytest.raises(RuntimeError, match="Run it again"):
        released(Pieces(table, schema, (), 100), schema, "dp-ir", 100)


def test_a_wide_table_and_long_texts_come_together_in_shorter_ranges() -> None:
    """A billion × 50 at a million rows a range would be 50 million values in one worker."""
    table, schema = table_of(10)
    pieces = Pieces(table, schema, (), 10)
    pieces.records = 10**9
    assert plan.range_length(pieces) * 3 <= 1 << 22  # type: ignore[arg-type]
    pieces.kept_bytes = 10**13
    assert plan.range_length(pieces) < 10_000  # type: ignore[arg-type]


def test_rows_of_several_files_are_told_apart() -> None:
    from coterie.engines.spark.chunks import FILE, INDEX, _runs

    paths = pa.array(["b", "b", "b", "a", "a", "a", "a"])
    index = pa.array([4, 5, 6, 7, 8, 2, 3])  # the second file goes on where the first ends, then begins anew
    batch = pa.RecordBatch.from_pydict({"x": pa.array(range(7)), FILE: paths, INDEX: index})
    found = [(path, start, sum(map(len, rows))) for path, start, rows in _runs(iter([batch]), 1 << 20)]
    assert found == [("b", 4, 3), ("a", 7, 2), ("a", 2, 2)]
    plain = [(path, sum(map(len, rows))) for path, _, rows in _runs(iter([batch.select(["x"])] * 3), 60)]
    assert plain == [(None, 14), (None, 7)]


def test_kept_columns_come_back_as_they_were() -> None:
    table, schema = table_of(20)
    (chunk,) = Pieces(table, schema, (), 20).rows[0]
    kept = kept_columns(chunk.kept)
    assert kept is not None
    assert kept["note"].to_pylist() == table["note"].to_pylist()
    assert kept_columns(b"") is None
