"""protect() on Spark: a Spark frame in, a Spark frame out, the same values as in memory for the same seed.

The executors run the same chain as coterie.engines.in_memory, on whole clusters. The driver sees sizes of partitions and
buckets, and for each attribute a sample of (key, record number) from which the boundaries are drawn.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from coterie.chain.synthesis.whole_table import Drawn
from coterie.engines.out_of_core.chain import SamplerAt, alone, check_grouping, filled_like, sampler_from
from coterie.engines.spark.sorting import KEY, ROW, SparkRanking, attached, numbered, wider
from coterie.engines.spark.whole_table import SparkRecords, drawn_rows
from coterie.engines.spark.worker import check_rows, faults_in_words, kept_names, protect_piece, told
from coterie.engines.whole_table import (
    Synthesised,
    check_options,
    drawn_from,
    measurements_of,
    refuse_together,
)
from coterie.errors import DataError, MissingExtra, ParameterError, SchemaError
from coterie.methods import get_method
from coterie.methods.recipe import Method
from coterie.promise.terms import Budget, Promise, promise, whole_seed
from coterie.registry import outside_packages
from coterie.schema.attributes import Role, Schema, Source, check_names
from coterie.schema.exact import Number
from coterie.table.address import without_credentials
from coterie.table.checked import column_of, same_columns
from coterie.table.columns.column import CategoryColumn, Column

# A Spark session for the command, or a sentence about what is missing.

LEAST_JAVA = 17
_INSTALL = "Install it (Debian: apt install openjdk-17-jre-headless) and let JAVA_HOME name its folder."


def session(master: str | None) -> Any:
    """The running session, or a new one; its workers run this very Python unless PYSPARK_PYTHON says otherwise."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtra.named("spark", "The Spark engine") from None
    check_java()
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")  # about versions of pandas
    builder = SparkSession.builder.appName("coterie").config("spark.sql.session.timeZone", "UTC")
    try:
        return (builder.master(master) if master else builder).getOrCreate()
    except (PySparkException, Py4JError):
        raise ParameterError(
            f"Spark could not be started{f' with the master {without_credentials(master)}' if master else ''}.",
            "Write --master local[2], spark://host:7077, yarn or k8s://https://host:port, and see that the cluster "
            "answers. What Spark itself says stands above.",
        ) from None


def read_parquet(spark: Any, address: str) -> Any:
    """The rows of several files one file after the other, by name.

    Spark itself takes the largest first and cuts them by the number of cores, so the order of the release, and the
    groups of equal values, would depend on the cluster.
    """
    with told():
        frame = spark.read.parquet(address)
        if len(frame.inputFiles()) < 2:
            return frame
        where = frame.metadataColumn("_metadata")
        return frame.orderBy(where["file_path"], where["row_index"])


def check_java() -> None:
    found = java_version()
    if found is None:
        home = os.environ.get("JAVA_HOME")
        where = f"in {home}, which JAVA_HOME names" if home else "on this machine"
        raise ParameterError(f"Spark needs Java {LEAST_JAVA}, and there is none {where}.", _INSTALL)
    if found < LEAST_JAVA:
        raise ParameterError(
            f"Spark 4 needs Java {LEAST_JAVA} or newer; this machine has Java {found}.", _INSTALL
        )


def java_version() -> int | None:
    """The major version of the Java that Spark would start, or None."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    try:
        # `java -version` speaks on standard error: openjdk version "17.0.15" …, or "1.8.0_402" for Java 8.
        said = subprocess.run([java or "java", "-version"], capture_output=True, text=True, check=False)
    except OSError:
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', said.stderr)
    return int(match[1]) if match else None


Kind = tuple[str, str]


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
    recipe = get_method(method)
    check_grouping(recipe)
    budget = Budget.of(epsilon, schema, recipe, delta)
    check_options(recipe, schema, rows, target)
    refuse_together(schema)
    if schema.edit_rules and recipe.whole_table is not None:
        raise ParameterError(
            "Rules of the schema are enforced in memory and out of core only.", "Leave out --engine spark."
        )
    seed = None if seed is None else whole_seed(seed)
    plan = _Plan.of(frame, schema, recipe)
    _send_along(outside_packages())
    with told():
        base, records = numbered(plan.checked(frame).persist())
    if records < 2:
        raise DataError(
            "The table has fewer than two rows.", "A group to hide in needs at least two records."
        )
    k = recipe.check_k(k, records, budget.mean)
    sampler = sampler_from(seed)
    drawn: Drawn | None = None
    with told():
        if recipe.whole_table is not None:
            named = {like.attribute.name: like for like in plan.likes}
            here = SparkRecords(base, plan.likes)
            drawn, budget = drawn_from(
                recipe.whole_table, here, named, records, budget, sampler(0), rows, target
            )
            released = plan.drawn(base, drawn, sampler, rows)
        else:
            released = plan.released(base, records, k, budget.shares, sampler)
    promised = promise(schema, recipe, budget, records, k, sampler(0), plan.likes, rows=rows)
    return SparkRelease(
        **vars(promised), data=released, records=rows or records, _drawn=drawn, _likes=plan.likes
    )


@dataclass(frozen=True, slots=True)
class _Plan:
    schema: Schema
    method: Method
    likes: tuple[Column, ...]  # what is public about each protected column; no values

    @classmethod
    def of(cls, frame: Any, schema: Schema, method: Method) -> _Plan:
        check_names(frame.columns)
        same_columns(frame.columns, schema)
        if not schema.protected:
            raise SchemaError("No attribute is protected.", "Give at least one attribute `role: protect`.")
        kinds = {
            a.name: _arrow_type(frame.schema[a.name])
            for a in schema.attributes
            if a.role is not Role.IDENTIFIER
        }
        likes = []
        for attribute in schema.protected:
            if attribute.domain is not None and attribute.domain.source is Source.DP:
                raise ParameterError(
                    "Private bounds are found in memory only.", "Declare bounds, or run on a sample."
                )
            if attribute.ranked_by_frequency:
                raise ParameterError(
                    f"'{attribute.name}' is ordered by frequency, which needs the whole column.",
                    "Choose `order: marginality` or list the order in the schema.",
                )
            likes.append(column_of(pa.chunked_array([], kinds[attribute.name]), attribute, schema))
        return cls(schema, method, tuple(likes))

    def checked(self, frame: Any) -> Any:
        """Protected columns as numbers or codes f0, f1, …; kept columns as they are, as c0, c1, …; dropped rows gone.

        Names of our own from here to the end: PySpark cannot hand on a column whose name holds a dot, and a kept column
        may be named f0.
        """
        from pyspark.sql import functions
        from pyspark.sql.types import StructField, StructType

        used = [a.name for a in self.schema.attributes if a.role is not Role.IDENTIFIER]
        plain = frame.select(
            *(functions.col(_quoted(name)).alias(f"c{place}") for place, name in enumerate(used))
        )
        kept = [
            StructField(short, frame.schema[name].dataType, frame.schema[name].nullable)
            for name, short in self.kept.items()
        ]
        layout = wider(StructType(kept), self._fields("f"))
        return plain.mapInArrow(faults_in_words(partial(check_rows, self.schema, self.likes)), layout)

    @property
    def kept(self) -> dict[str, str]:
        """Kept columns and what they are called on the way."""
        return kept_names(self.schema)

    def released(
        self, base: Any, records: int, k: int, shares: dict[str, Fraction], sampler: SamplerAt
    ) -> Any:
        work = partial(protect_piece, self.method, k, shares, sampler)
        # Of the records as they are kept: asking a frame that is sorted or joined would do that work once more.
        partitions = max(base.rdd.getNumPartitions(), 2)
        values = self._fields("v")
        if self.method.grouping.alone:
            joined = self._alone(base, records, work, values)
        else:
            ranking = SparkRanking(records, k, partitions)
            groups: list[list[int]] = [[place] for place in range(len(self.likes))]
            if self.method.grouping.multivariate:
                groups = [list(range(len(self.likes)))]
            parts = []
            for places in groups:
                mine = partial(
                    work, [self.likes[place] for place in places], [f"v{place}" for place in places]
                )
                kinds = [values[place] for place in places]
                parts.append((ranking.released(self._keyed(base, places), mine, kinds), kinds))
            joined = attached(base.select(ROW, *self.kept.values()), parts, records, partitions)
        return self._restored(joined)

    def drawn(self, base: Any, drawn: Drawn, sampler: SamplerAt, rows: int | None) -> Any:
        """Synthetic rows: beside the kept columns, or as many as were asked for."""
        numbers = base.select(ROW, *self.kept.values())
        if rows is not None:
            numbers = base.sparkSession.range(rows).withColumnRenamed("id", ROW)
        layout = wider(numbers.schema, self._fields("v"))
        return self._restored(numbers.mapInArrow(drawn_rows(drawn, self.likes, sampler), layout))

    def _fields(self, letter: str) -> list[Kind]:
        kinds = ["int" if isinstance(like, CategoryColumn) else "double" for like in self.likes]
        return [(f"{letter}{place}", kind) for place, kind in enumerate(kinds)]

    def _keyed(self, base: Any, places: Sequence[int]) -> Any:
        """ROW, KEY and the fields of the attributes that are ranked together."""
        fields = [self._fields("f")[place] for place in places]
        likes = [self.likes[place] for place in places]
        key = self.method.grouping.key
        assert key is not None  # `check_grouping` has seen to it

        def keyed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                contents = [batch.column(name).to_numpy(zero_copy_only=False) for name, _ in fields]
                columns = [filled_like(like, content) for like, content in zip(likes, contents, strict=True)]
                yield batch.append_column(KEY, pa.array(key(columns)))

        chosen = base.select(ROW, *(name for name, _ in fields))
        layout = ", ".join([f"{ROW} bigint", *(f"{name} {kind}" for name, kind in fields), f"{KEY} double"])
        return chosen.mapInArrow(keyed, layout)

    def _alone(self, base: Any, records: int, work: Any, values: Sequence[Kind]) -> Any:
        """k = 1: every record is its own cluster, so nothing moves."""
        likes = list(self.likes)
        names = [name for name, _ in values]

        def released(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                if not len(batch):
                    continue
                rows = batch.column(ROW).to_numpy()
                fields = {
                    f"f{n}": batch.column(f"f{n}").to_numpy(zero_copy_only=False) for n in range(len(likes))
                }
                for name, column in work(likes, names, alone(int(rows[0]), rows, fields, records)).items():
                    batch = batch.append_column(name, pa.array(column))
                yield batch

        return base.mapInArrow(released, wider(base.schema, values))

    def _restored(self, joined: Any) -> Any:
        from pyspark.sql.pandas.types import from_arrow_schema
        from pyspark.sql.types import StructType

        restore = {like.attribute.name: (f"v{place}", like.restore) for place, like in enumerate(self.likes)}
        kept = self.kept
        order = [a.name for a in self.schema.attributes if a.name in restore or a.name in kept]
        given = from_arrow_schema(pa.schema([like.field for like in self.likes]), prefer_timestamp_ntz=True)
        layout = StructType(
            [given[name] if name in restore else _named(joined, kept, name) for name in order]
        )

        def restored(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                columns = {}
                for name in order:
                    if name in restore:
                        at, back = restore[name]
                        columns[name] = back(batch.column(at).to_numpy(zero_copy_only=False))
                    else:
                        columns[name] = batch.column(kept[name])
                yield pa.RecordBatch.from_pydict(columns)

        return joined.mapInArrow(restored, layout)


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


def _named(frame: Any, kept: dict[str, str], name: str) -> Any:
    from pyspark.sql.types import StructField

    field = frame.schema[kept[name]]
    return StructField(name, field.dataType, field.nullable)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
