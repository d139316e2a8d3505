"""Folders on Spark: rows of several files in their order, names of any kind, and nothing replaced that is no release."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from coterie import Attribute, Domain, Role, Schema, protect
from coterie.cli.app import app
from coterie.engines.spark.faults import told
from coterie.engines.spark.session import read_parquet
from coterie.errors import DataError, OutputError
from coterie.publication import spark_staging as folder_module

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # PySpark's own, about versions of pandas and sockets
    pytest.mark.timeout(900),
]
DOMAIN = Domain(lower=0, upper=1)


def written(folder: Path) -> pa.Table:
    """Three files: the smallest first, many equal values."""
    folder.mkdir()
    draw = np.random.Generator(np.random.PCG64(2))
    sizes = (40, 3000, 500)
    parts = []
    for number, size in enumerate(sizes):
        values = draw.integers(0, 5, size) / 4
        parts.append(pa.table({"x": values, "i": np.arange(size) + sum(sizes[:number])}))
        pq.write_table(parts[-1], folder / f"part-{number}.parquet", row_group_size=100)
    return pa.concat_tables(parts)


@pytest.mark.parametrize("largest", ["128m", "9000"])
def test_several_files_come_in_the_order_of_their_names(spark: Any, tmp_path: Path, largest: str) -> None:
    """Spark would take the largest first, and cut it by the number of cores."""
    table = written(tmp_path / "in")
    kept = Attribute(name="i", role=Role.KEEP)
    schema = Schema(attributes=(Attribute(name="x", role=Role.PROTECT, domain=DOMAIN), kept))
    spark.conf.set("spark.sql.files.maxPartitionBytes", largest)
    try:
        frame = read_parquet(spark, str(tmp_path / "in"))
        options = {"method": "dp-ir", "epsilon": 1, "k": 7, "seed": 3}
        released = protect(frame, schema, **options).data.toArrow()
    finally:
        spark.conf.unset("spark.sql.files.maxPartitionBytes")
    assert released.to_pydict() == protect(table, schema, **options).table.to_pydict()


def test_a_file_that_was_written_again_is_read_again(spark: Any, tmp_path: Path) -> None:
    """Spark's cache knows plans, and the plan of both readings is the same."""
    schema = Schema(attributes=(Attribute(name="x", role=Role.PROTECT, domain=DOMAIN),))
    for value in (0.25, 0.75):
        pq.write_table(pa.table({"x": [value] * 30}), tmp_path / "in.parquet")
        frame = read_parquet(spark, str(tmp_path / "in.parquet"))
        assert set(protect(frame, schema, method="ir", k=3).data.toArrow()["x"].to_pylist()) == {value}


@pytest.mark.parametrize(
    ("table", "problem", "advice"),
    [
        ({"x": [0.5] * 9, "t": pa.array(range(9), pa.timestamp("ns"))}, "does not read", "microseconds"),
        ({"x": [0.5] * 9, "X": [0.5] * 9}, "differ in capitals", "caseSensitive"),
    ],
)
def test_columns_that_spark_cannot_have_are_told(
    spark: Any, tmp_path: Path, table: dict[str, Any], problem: str, advice: str
) -> None:
    pq.write_table(pa.table(table), tmp_path / "in.parquet")
    with pytest.raises(DataError, match=problem) as told_of:
        read_parquet(spark, str(tmp_path / "in.parquet"))
    assert advice in told_of.value.advice


def test_columns_may_have_any_name(spark: Any) -> None:
    names = ["f0", "c0", "a.b", "a `quoted` name"]
    table = pa.table({name: [number / 10, 0.5, 1.0] for number, name in enumerate(names)})
    roles = [Role.PROTECT, Role.KEEP, Role.PROTECT, Role.KEEP]
    schema = Schema(
        attributes=tuple(
            Attribute(name=name, role=role, domain=DOMAIN if role is Role.PROTECT else None)
            for name, role in zip(names, roles, strict=True)
        )
    )
    for method, k in (("laplace", None), ("dp-ir", 2)):
        options = {"method": method, "epsilon": 1, "k": k, "seed": 3}
        released = protect(spark.createDataFrame(table), schema, **options).data.toArrow()
        assert released.to_pydict() == protect(table, schema, **options).table.to_pydict()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    pq.write_table(pa.table({"x": np.linspace(0, 1, 200)}), tmp_path / "in" / "one.parquet")
    schema = Schema(attributes=(Attribute(name="x", role=Role.PROTECT, domain=DOMAIN),))
    (tmp_path / "schema.yaml").write_text(schema.to_yaml())
    return tmp_path


def run(folder: Path, source: str, out: str, *more: str) -> Any:
    line = ["protect", source, "--schema", str(folder / "schema.yaml"), "--output", out, "--force"]
    line += ["--method", "laplace", "--epsilon", "1", "--engine", "spark", "--master", "local[2]"]
    return CliRunner().invoke(app, [*line, *more], catch_exceptions=False)


@pytest.mark.parametrize("start", ["", "file://"])
def test_what_is_no_earlier_release_is_never_replaced(spark: Any, folder: Path, start: str) -> None:
    source, certificate = str(folder / "in"), ("--certificate", str(folder / "c.json"))
    home = folder / "home"
    (home / "letters").mkdir(parents=True)
    (home / "letters" / "one.txt").write_text("dear")
    with pytest.raises(OutputError, match="holds more than the part files"):
        run(folder, source, f"{start}{home}", *certificate)
    assert (home / "letters" / "one.txt").read_text() == "dear"
    with pytest.raises(OutputError, match="overwrite the input"):
        run(folder, f"{source}/one.parquet", f"{start}{source}", *certificate)
    with pytest.raises(OutputError, match="inside the input"):
        run(folder, source, f"{start}{source}/released", *certificate)
    assert [path.name for path in (folder / "in").iterdir()] == ["one.parquet"]
    with pytest.raises(OutputError, match="overwrite an input"):
        run(folder, f"{source}/one.parquet", f"{start}{folder}/out", "--certificate", f"{source}/one.parquet")
    for _ in range(2):  # the second time over the first
        assert run(folder, source, f"{start}{folder}/out", *certificate).exit_code == 0
    assert not list(folder.glob(".*coterie*"))


def test_parts_stay_small_enough_to_be_hashed(
    spark: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_module, "_RECORDS_PER_PART", 60)
    assert run(folder, str(folder / "in"), str(folder / "out")).exit_code == 0
    parts = [pq.read_metadata(path).num_rows for path in sorted((folder / "out").glob("*.parquet"))]
    assert sum(parts) == 200
    assert max(parts) <= 60
    verify = ["certificate", "verify", str(folder / "out"), str(folder / "out.certificate.json")]
    assert CliRunner().invoke(app, verify, catch_exceptions=False).exit_code == 0


def test_a_full_disk_on_spark_is_called_so() -> None:
    errors = pytest.importorskip("pyspark.errors", reason="PySpark is not installed")
    with pytest.raises(OutputError, match="disk is full"), told():
        raise errors.PySparkException(message="java.io.IOException: No space left on device, value 77")


def test_an_input_that_is_not_there_is_told(spark: Any, folder: Path) -> None:
    with pytest.raises(DataError, match="nothing at an address"):
        run(folder, str(folder / "nowhere"), str(folder / "out"))


def test_what_spark_calls_the_fault_is_named(spark: Any) -> None:
    with pytest.raises(DataError, match=r"UNRESOLVED_COLUMN[.A-Z_]*\)") as found, told():
        spark.range(3).select("secret_name")
    assert "secret_name" not in str(found.value)


def test_a_master_that_is_none_is_no_bug_of_ours(folder: Path) -> None:
    """By a process of its own: a session that runs already has its master."""
    code = "from coterie.cli import main; main()"
    line = [
        "protect",
        "in",
        "--schema",
        "schema.yaml",
        "--output",
        "out",
        "--method",
        "laplace",
        "--epsilon",
        "1",
    ]
    child = subprocess.run(
        [sys.executable, "-c", code, *line, "--engine", "spark", "--master", "nonsense"],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert child.returncode == 5
    assert "could not be started with the master nonsense" in " ".join(child.stderr.split())
    assert not (folder / "out").exists()
