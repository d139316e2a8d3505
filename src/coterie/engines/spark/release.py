"""protect() on Spark: a Spark frame in, a Spark frame out, the same values as in memory for the same seed.

The executors run the same chain as coterie.engines.in_memory, on whole clusters. The driver sees sizes of partitions and
buckets, and for each attribute a sample of (key, record number) from which the boundaries are drawn.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from coterie.chain.partition.clustering import Piece
from coterie.chain.synthesis.enforcement import RowRules
from coterie.chain.synthesis.raking import margins_of
from coterie.chain.synthesis.whole_table import Drawn
from coterie.engines.out_of_core.chain import (
    SamplerAt,
    alone,
    check_grouping,
    filled_like,
    piece_values,
    sampler_from,
)
from coterie.engines.spark.chunks import Batches, Chunks, ReleasedRows, RowChunk, columns_used, kept_columns
from coterie.engines.spark.faults import told
from coterie.engines.spark.ranking import Release, SparkRanking
from coterie.engines.spark.session import FILE, INDEX
from coterie.engines.spark.whole_table import SparkRecords, SparkRows
from coterie.engines.whole_table import (
    Synthesised,
    drawn_from,
    measurements_of,
    refuse_private_bounds,
)
from coterie.errors import DataError, ParameterError
from coterie.methods import get_method
from coterie.methods.recipe import Method
from coterie.promise.terms import Budget, Promise, promise, whole_seed
from coterie.registry import outside_packages
from coterie.schema.attributes import Schema
from coterie.schema.exact import Number
from coterie.table.checked import check_columns, check_count, column_of
from coterie.table.columns.column import Column


@dataclass(frozen=True)
class SparkRelease(Promise):
    """`data` is lazy: Spark computes it when it is written, and a task that runs again gives the same bytes."""

    data: Any
    records: int
    _drawn: Drawn | None = field(repr=False, default=None)
    _likes: tuple[Column, ...] = field(repr=False, default=())

    @property
    def measurements(self) -> pa.Table:
        """The noisy counts that synthetic rows were drawn from."""
        found = None if self._drawn is None else Synthesised({}, self._drawn, self._likes)
        return measurements_of(found, self.method)


def protect_frame(
    frame: Any,
    schema: Schema,
    *,
    method: str | Method,
    epsilon: Number | None = None,
    k: int | None = None,
    seed: int | None = None,
    delta: Number | None = None,
    rows: int | None = None,
    target: str | None = None,
) -> SparkRelease:
    """Protect a Spark frame. Rows keep their order; synthetic ones have none."""
    if not hasattr(frame, "repartitionById"):
        raise ParameterError(
            "The Spark engine needs PySpark 4.1 or newer.", "Install it: pip install 'coterie[spark]'."
        )
    recipe = get_method(method)
    check_grouping(recipe)
    budget = Budget.of(epsilon, schema, recipe, delta)
    recipe.check_rows(schema, rows, target)
    refuse_private_bounds(schema)
    if schema.unit is not None:
        raise ParameterError(
            "Spark does not protect a schema with a unit: the rows of one unit must be seen together.",
            "Leave out --engine; with --memory the table may be larger than memory.",
        )
    seed = None if seed is None else whole_seed(seed)
    likes = _likes(frame, schema)
    _send_along(outside_packages())
    with told():
        chunks = Chunks.of(frame, schema, likes)
    records = chunks.records
    check_count(records)
    k = recipe.check_k(k, records, budget.mean)
    sampler = sampler_from(seed)
    out = ReleasedRows.of(frame, schema, likes)
    work = partial(_release, recipe, k, budget.shares, sampler)
    named = {like.attribute.name: like for like in likes}
    margins = margins_of(schema, named) if schema.totals is not None else []
    drawn: Drawn | None = None
    said: tuple[str, ...] = ()
    with told():
        if recipe.whole_table is not None:
            measured = {name: named[name] for name in budget.shares}
            counted = SparkRecords(chunks, tuple(n for n, name in enumerate(named) if name in measured))
            drawn, budget = drawn_from(
                recipe.whole_table,
                counted,
                measured,
                records,
                budget,
                sampler(0),
                rows,
                target,
                rules=RowRules.of(schema, named),
            )
            synthetic = SparkRows(drawn, chunks, sampler, rows)
            raked = None if schema.totals is None else synthetic.raked(schema, margins)
            released, said = synthetic.released(out, raked), () if raked is None else raked.said
        elif recipe.grouping.alone:
            release = partial(_alone, work, out, likes, records)
            released = chunks.mapped(release, out.layout, range(len(likes)), kept=True)
        else:
            groups = (
                [list(range(len(likes)))]
                if recipe.grouping.multivariate
                else [[n] for n in range(len(likes))]
            )
            ranking = SparkRanking.of(chunks, k, groups, recipe.grouping)
            released = ranking.released(chunks, out, work)
    promised = promise(schema, recipe, budget, records, k, sampler(0), likes, rows=rows, raking=said)
    return SparkRelease(**vars(promised), data=released, records=rows or records, _drawn=drawn, _likes=likes)


def _likes(frame: Any, schema: Schema) -> tuple[Column, ...]:
    """What is public about each protected column. No values."""
    names = [name for name in frame.columns if name not in (FILE, INDEX)]
    check_columns(names, schema)
    kinds = {a.name: _arrow_type(frame.schema[a.name]) for a in columns_used(schema)}
    likes = []
    for attribute in schema.protected:
        if attribute.ranked_by_frequency:
            raise ParameterError(
                f"'{attribute.name}' is ordered by frequency, which needs the whole column.",
                "Choose `order: marginality` or list the order in the schema.",
            )
        likes.append(column_of(pa.chunked_array([], kinds[attribute.name]), attribute, schema))
    return tuple(likes)


# On executors: whole clusters of some attributes through the chain.


def _release(
    method: Method,
    k: int,
    shares: dict[str, Fraction],
    sampler: SamplerAt,
    columns: Sequence[Column],
    piece: Piece,
) -> list[NDArray[Any]]:
    return [piece_values(piece, c, method, k, shares[c.attribute.name], sampler) for c in columns]


def _alone(
    release: Release, out: ReleasedRows, likes: Sequence[Column], records: int, mine: Iterator[RowChunk]
) -> Batches:
    """k = 1: every record is its own cluster, so nothing moves."""
    for chunk in mine:
        columns = [filled_like(like, field) for like, field in zip(likes, chunk.fields, strict=True)]
        piece = alone(chunk.first, np.arange(chunk.first, chunk.first + chunk.count), {}, records)
        yield out.batch(release(columns, piece), kept_columns(chunk.kept))


def _send_along(packages: frozenset[str]) -> None:
    """Methods of other people's packages travel to the executors with the work: these need Coterie and nothing else."""
    from pyspark import cloudpickle

    for name in sys.modules.keys() & packages:
        cloudpickle.register_pickle_by_value(sys.modules[name])  # type: ignore[no-untyped-call]


def _arrow_type(field: Any) -> Any:
    from pyspark.errors import PySparkException
    from pyspark.sql.pandas.types import to_arrow_type

    try:
        return to_arrow_type(field.dataType, timezone="UTC")
    except PySparkException:
        raise DataError(
            f"Column '{field.name}' holds {field.dataType.simpleString()}, which cannot leave Spark.",
            "Cast it to numbers, text, dates or truth values, or drop it (`role: identifier`).",
        ) from None
