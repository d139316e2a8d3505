"""On Spark: the same values as in memory for the same seed, whatever the number of partitions."""

from __future__ import annotations

import json
import os
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
from coterie.certificate import Digest
from coterie.cli.app import app
from coterie.errors import DataError, MissingExtra, ParameterError
from coterie.schema import Attribute, AttributeType, Categories, Domain, Role

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
    assert outside.cost == inside.cost
    digest = Digest(over="part files", value="0" * 64)
    one, other = (json.loads(release.certify(digest).to_json()) for release in (inside, outside))
    assert {**one, "issued": ""} == {**other, "issued": ""}


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
    nested = frame_of(spark, pa.table({"x": [[0.1], [0.2]]}), 1)
    with pytest.raises(DataError, match="not numbers"):
        protect(nested, schema, method="laplace", epsilon=1)


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


def test_missing_parts_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import sys

    from coterie import spark_session

    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(ParameterError, match="there is none"):
        spark_session.check_java()
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    java.chmod(0o755)
    with pytest.raises(ParameterError, match="Java 11"):
        spark_session.check_java()
    java.write_text("#!/bin/sh\necho 'java version \"1.8.0_402\"' >&2\n")
    assert spark_session.java_version() == 8
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(MissingExtra, match=r"coterie\[spark\]"):
        spark_session.session(None)
