"""On Spark: the same values as in memory for the same seed, whatever the number of partitions."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from mixed_table import LABELS, mixed_schema, mixed_table
from typer.testing import CliRunner

from coterie import Schema, protect
from coterie.cli.app import app
from coterie.engines.spark.session import session
from coterie.errors import CoterieError, DataError, ParameterError
from coterie.promise.certificate import Digest
from coterie.schema.attributes import Attribute, AttributeType, Categories, Domain, Role

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # PySpark's own, about versions of pandas and sockets
    pytest.mark.timeout(900),
]


def frame_of(spark: Any, table: pa.Table, partitions: int) -> Any:
    """Rows in their order, cut into so many partitions."""
    spark.conf.set("spark.sql.leafNodeDefaultParallelism", str(partitions))
    frame = spark.createDataFrame(table)
    assert frame.rdd.getNumPartitions() == partitions
    return frame


def without_frequency() -> Schema:
    """Frequency is an order that needs the whole column."""
    return Schema(
        attributes=tuple(
            a.model_copy(update={"categories": Categories(labels=LABELS)}) if a.name == "shade" else a
            for a in mixed_schema().attributes
        )
    )


def only(schema: Schema, table: pa.Table, *names: str) -> tuple[Schema, pa.Table]:
    return Schema(attributes=tuple(a for a in schema.attributes if a.name in names)), table.select(
        [name for name in table.column_names if name in names]
    )


def same(one: pa.Table, other: pa.Table) -> bool:
    return plain(one) == plain(other)


def plain(table: pa.Table) -> dict[str, list[Any]]:
    """Spark gives every timestamp the session's zone, here UTC."""
    zoneless = [
        column.cast(pa.timestamp("us")) if pa.types.is_timestamp(column.type) else column
        for column in table.columns
    ]
    return pa.table(zoneless, names=table.column_names).to_pydict()


@pytest.mark.parametrize(
    ("method", "k", "names"),
    [
        ("idp-cbls", 7, ("amount", "colour", "shade", "note")),
        ("dp-mdav", 7, ("amount", "age", "member", "note")),
        ("laplace", None, ("amount", "age", "born", "seen", "colour", "shade", "grade", "member", "note")),
    ],
)
def test_every_kind_of_column_and_grouping(
    spark: Any, method: str, k: int | None, names: tuple[str, ...]
) -> None:
    schema, table = only(without_frequency(), mixed_table(), *names)
    options = {"method": method, "epsilon": 1, "k": k, "seed": 5}
    inside = protect(table, schema, **options)
    outside = protect(frame_of(spark, table, 2), schema, **options)
    assert same(outside.data.toArrow(), inside.table)
    assert outside.guarantee == inside.guarantee
    assert outside.loss == inside.loss
    digest = Digest(over="part files", value="0" * 64)
    one, other = (json.loads(release.certify(digest).to_json()) for release in (inside, outside))
    assert {**one, "issued": ""} == {**other, "issued": ""}


def test_the_released_types_follow_from_the_schema_alone(spark: Any) -> None:
    """However Spark stores the columns: as text, as decimals or narrow, with a zone or without."""
    names = ("amount", "age", "born", "seen", "colour", "grade", "member", "note")
    schema, table = only(without_frequency(), mixed_table(40), *names)
    frame = frame_of(spark, table, 2)
    texts = frame.selectExpr(*(f"CAST({name} AS string) AS {name}" for name in names))
    others = frame.selectExpr(
        "CAST(amount AS decimal(9, 4)) AS amount",
        "CAST(age AS double) AS age",
        "CAST(born AS timestamp) AS born",
        "CAST(seen AS timestamp_ntz) AS seen",
        *names[4:],
    )
    expected = (
        "struct<amount:double,age:bigint,born:date,seen:timestamp_ntz,colour:string,grade:string,member:boolean,"
        "note:string>"
    )
    for stored in (frame, texts, others):
        layout = protect(stored, schema, method="laplace", epsilon=1).data.schema
        assert layout.simpleString() == expected
        assert [field.name for field in layout if field.nullable] == ["colour", "note"]


def adult() -> tuple[pa.Table, Schema]:
    folder = Path(os.environ.get("COTERIE_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")
    found = folder / "adult_train.csv.gz"
    if not found.is_file():
        pytest.skip("Adult is not here: set COTERIE_DATA to the folder that holds it")
    table = pyarrow.csv.read_csv(found)
    names = {name.lower().replace("_", "-"): name for name in table.column_names}
    age, workclass = names["age"], names["workclass"]
    table = table.select([age, workclass])
    labels = sorted({str(label).strip() for label in table[workclass].to_pylist() if label})
    return table, Schema(
        attributes=(
            Attribute(
                name=age, type=AttributeType.INTEGER, role=Role.PROTECT, domain=Domain(lower=0, upper=125)
            ),
            Attribute(
                name=workclass,
                type=AttributeType.CATEGORICAL,
                role=Role.PROTECT,
                categories=Categories(labels=tuple(labels)),
            ),
        )
    )


@pytest.mark.parametrize("partitions", [1, 2, 7])
def test_adult_is_the_same_for_any_number_of_partitions(spark: Any, partitions: int) -> None:
    table, schema = adult()
    options = {"method": "dp-ir", "epsilon": 1, "k": 10, "seed": 3}
    released = protect(frame_of(spark, table, partitions), schema, **options).data.toArrow()
    assert same(released, protect(table, schema, **options).table)


@pytest.mark.slow
@pytest.mark.timeout(3600)  # a fault of time would end the session that all tests share
@pytest.mark.parametrize("partitions", [1, 2, 7])
def test_a_million_rows_are_the_same_for_any_number_of_partitions(spark: Any, partitions: int) -> None:
    draw = np.random.Generator(np.random.PCG64(4))
    values = draw.random(1_000_000)
    values[draw.random(len(values)) < 0.9] = 0.0
    table = pa.table({"x": values})
    schema = Schema(attributes=(Attribute(name="x", role=Role.PROTECT, domain=Domain(lower=0, upper=1)),))
    options = {"method": "idp-cbls", "epsilon": 1, "k": 10, "seed": 3}
    released = protect(frame_of(spark, table, partitions), schema, **options).data.toArrow()
    assert (
        released["x"].to_numpy().tolist() == protect(table, schema, **options).table["x"].to_numpy().tolist()
    )


def test_secure_noise_is_drawn_once_a_cluster_and_the_same_in_every_evaluation(spark: Any) -> None:
    table = pa.table({"x": np.linspace(0, 1, 600)})
    schema = Schema(
        attributes=(Attribute(name="x", role=Role.PROTECT, domain=Domain(lower=-1e6, upper=1e6)),)
    )
    release = protect(frame_of(spark, table, 2), schema, method="dp-ir", epsilon=10, k=5)
    first = release.data.toArrow()["x"].to_numpy()
    spark.catalog.clearCache()  # every task runs again, as after a lost executor
    again = release.data.toArrow()["x"].to_numpy()
    assert first.tolist() == again.tolist()
    groups = first.reshape(-1, 5)
    assert (groups == groups[:, :1]).all()
    assert len(set(first)) == 120


def test_faults_of_the_data_come_back_as_themselves(spark: Any) -> None:
    schema = Schema(attributes=(Attribute(name="x", role=Role.PROTECT, domain=Domain(lower=0, upper=1)),))
    with pytest.raises(DataError, match="outside its declared domain"):
        protect(frame_of(spark, pa.table({"x": [0.1, 0.2, 77.0]}), 1), schema, method="laplace", epsilon=1)
    with pytest.raises(DataError, match="The first is in row 2 of a partition"):
        protect(frame_of(spark, pa.table({"x": [0.1, None, 0.2]}), 1), schema, method="laplace", epsilon=1)
    nested = frame_of(spark, pa.table({"x": [[0.1], [0.2]]}), 1)
    with pytest.raises(DataError, match="not numbers"):
        protect(nested, schema, method="laplace", epsilon=1)


@pytest.mark.parametrize(
    ("column", "role", "message"),
    [
        ("struct(1 AS a)", Role.PROTECT, "not numbers"),
        ("map('a', 1)", Role.PROTECT, "not numbers"),
        ("array(1.5)", Role.PROTECT, "not numbers"),
        ("X'00'", Role.PROTECT, "not numbers"),
        ("make_interval(1)", Role.PROTECT, "cannot leave Spark"),
        ("make_interval(1)", Role.KEEP, "cannot leave Spark"),
    ],
)
def test_nested_and_unsupported_types_are_told_by_name(
    spark: Any, column: str, role: Role, message: str
) -> None:
    domain = Domain(lower=0, upper=1)
    other = Attribute(name="y", role=role, domain=domain if role is Role.PROTECT else None)
    schema = Schema(attributes=(Attribute(name="x", role=Role.PROTECT, domain=domain), other))
    with pytest.raises(DataError, match=message) as told:
        protect(spark.sql(f"SELECT 0.5D AS x, {column} AS y"), schema, method="laplace", epsilon=1)
    assert "'y'" in told.value.problem


def test_what_is_dropped_may_be_of_any_type(spark: Any) -> None:
    schema = Schema(
        attributes=(
            Attribute(name="x", role=Role.PROTECT, domain=Domain(lower=0, upper=1)),
            Attribute(name="nested", role=Role.KEEP),
            Attribute(name="who", role=Role.IDENTIFIER),
        )
    )
    frame = spark.sql("SELECT 0.5D AS x, struct(id) AS nested, make_interval(id) AS who FROM range(4)")
    released = protect(frame, schema, method="laplace", epsilon=1).data
    assert released.columns == ["x", "nested"]
    assert [row["id"] for row in released.toArrow()["nested"].to_pylist()] == [0, 1, 2, 3]


def test_choices_that_spark_does_not_have_are_refused(spark: Any) -> None:
    frame = frame_of(spark, mixed_table(), 1)
    for change in ({"shuffle": True}, {"method": "mdav"}, {}):  # the last: an order by frequency
        with pytest.raises(ParameterError):
            protect(frame, mixed_schema(), **{"method": "dp-ir", "epsilon": 1, "k": 5, **change})


def test_the_command_writes_part_files_that_verify(spark: Any, tmp_path: Path) -> None:
    schema, table = only(without_frequency(), mixed_table(), "age", "note")
    pq.write_table(table, tmp_path / "in.parquet")
    (tmp_path / "schema.yaml").write_text(schema.to_yaml())
    out = tmp_path / "out"
    line = ["protect", tmp_path / "in.parquet", "--schema", tmp_path / "schema.yaml", "--output", out]
    line += ["--method", "dp-ir", "--epsilon", "1", "--k", "7", "--seed", "5", "--engine", "spark"]
    result = CliRunner().invoke(app, [*map(str, line), "--master", "local[2]"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    expected = protect(table, schema, method="dp-ir", epsilon=1, k=7, seed=5).table
    parts = [pq.read_table(path) for path in sorted(out.glob("*.parquet"))]
    assert same(pa.concat_tables(parts), expected)
    assert not list(tmp_path.glob(".*coterie*"))
    verify = ["certificate", "verify", str(out), f"{out}.certificate.json"]
    assert CliRunner().invoke(app, verify, catch_exceptions=False).exit_code == 0
    next(out.glob("*.parquet")).unlink()
    assert CliRunner().invoke(app, verify).exit_code != 0


@pytest.mark.parametrize(
    ("says", "code", "problem"),
    [
        (None, 5, "there is none"),
        ('openjdk version "11.0.2"', 5, "Java 11"),
        ('java version "1.8.0_402"', 5, "Java 8"),
    ],
)
def test_a_java_that_is_missing_or_too_old_is_told_with_what_to_install(
    says: str | None, code: int, problem: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    if says:
        java = tmp_path / "bin" / "java"
        java.parent.mkdir()
        java.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
        java.chmod(0o755)
    assert_told(tmp_path, code, problem, "openjdk-17-jre-headless")


@pytest.mark.parametrize(
    ("master", "setting", "memory"),
    [("local[2]", None, r"[1-9]\d*g"), ("local[2]", "1536m", "1536m"), ("yarn", None, "None")],
)
def test_a_local_master_gets_a_quarter_of_the_memory_unless_told_how_much(
    master: str, setting: str | None, memory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table of 4 million × 15 ended Spark's default, 1 GB, with "could not finish"."""
    sql = pytest.importorskip("pyspark.sql")
    monkeypatch.setenv("SPARK_DRIVER_MEMORY", setting or "")
    if setting is None:
        monkeypatch.delenv("SPARK_DRIVER_MEMORY")
    monkeypatch.setattr("coterie.engines.spark.session.check_java", lambda: None)
    monkeypatch.setattr(
        sql.SparkSession.Builder, "getOrCreate", lambda self: os.environ.get("SPARK_DRIVER_MEMORY")
    )
    assert re.fullmatch(memory, str(session(master)))


def test_a_missing_extra_is_told_with_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    assert_told(tmp_path, 10, "Spark engine", "pip install 'coterie[spark]'")


def assert_told(folder: Path, code: int, problem: str, advice: str) -> None:
    """By the whole command; nothing is written."""
    (folder / "schema.yaml").write_text("attributes:\n  x: {role: protect, domain: {lower: 0, upper: 1}}\n")
    line = ["protect", folder / "in.parquet", "--schema", folder / "schema.yaml", "--output", folder / "out"]
    line += ["--method", "laplace", "--epsilon", "1", "--engine", "spark"]
    result = CliRunner().invoke(app, [*map(str, line)])
    assert isinstance(result.exception, CoterieError)
    assert result.exception.exit_code == code
    assert problem in result.exception.problem
    assert advice in result.exception.advice
    assert not (folder / "out").exists()


@pytest.mark.slow
def test_a_value_in_nine_of_ten_rows_costs_at_most_twice(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """CPU seconds of Java and of the Python workers, in turns: other processes do not count."""
    monkeypatch.syspath_prepend(Path(__file__).resolve().parents[2])
    from benchmarks.processor import tree_seconds

    draw = np.random.Generator(np.random.PCG64(4))
    even = draw.random(300_000)
    skewed = np.where(draw.random(len(even)) < 0.9, 0.0, even)
    schema = Schema(attributes=(Attribute(name="x", role=Role.PROTECT, domain=Domain(lower=0, upper=1)),))
    taken: tuple[list[float], list[float]] = ([], [])
    for turn in range(4):
        for values, times in zip((even, skewed), taken, strict=True):
            frame = frame_of(spark, pa.table({"x": values}), 4)
            start = tree_seconds()
            released = protect(frame, schema, method="dp-ir", epsilon=1, k=10).data
            released.write.format("noop").mode("overwrite").save()
            if turn:  # the first starts the workers
                times.append(tree_seconds() - start)
            spark.catalog.clearCache()
    assert min(taken[1]) < 2 * min(taken[0])


def in_pieces() -> list[str]:
    from coterie.engines.out_of_core.chain import check_grouping
    from coterie.methods import all_methods

    def works(name: str) -> bool:
        try:
            check_grouping(all_methods()[name])
        except ParameterError:
            return False
        return True

    return [name for name in all_methods() if works(name)]


@pytest.mark.slow
@pytest.mark.parametrize("method", in_pieces())
def test_every_method_of_pieces_on_every_kind_of_column(spark: Any, method: str) -> None:
    """Numbers of all kinds, categories by marginality, ordinals; for dp-mdav all of them in one clustering."""
    from coterie.methods import get_method

    schema, table = without_frequency(), mixed_table()
    options = {"method": method, "epsilon": 1, "k": None if get_method(method).fixed_k else 7, "seed": 5}
    released = protect(frame_of(spark, table, 3), schema, **options).data.toArrow()
    assert same(released, protect(table, schema, **options).table)
