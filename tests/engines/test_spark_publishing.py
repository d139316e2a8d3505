"""What Spark writes: whole or not at all, charged once, through Hadoop wherever it lies."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from coterie import Attribute, Domain, Ledger, Role, Schema, protect
from coterie.cli.app import app
from coterie.errors import DataError, MissingExtra, OutputError, ParameterError
from coterie.promise.loss import Loss
from coterie.publication.engine_runs import OnSpark, ProtectRequest
from coterie.publication.ledger import Purpose, ReleaseState
from coterie.publication.publishing import Destination, publish_charged

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # PySpark's own, about versions of pandas and sockets
    pytest.mark.timeout(900),
]
SCHEMA = Schema(attributes=(Attribute(name="x", role=Role.PROTECT, domain=Domain(lower=0, upper=1)),))
OPTIONS = {"method": "laplace", "epsilon": "1", "k": None, "seed": None}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pq.write_table(pa.table({"x": np.linspace(0, 1, 200)}), tmp_path / "in.parquet")
    (tmp_path / "schema.yaml").write_text(SCHEMA.to_yaml())
    Ledger.add_population(tmp_path / "ledger.sqlite", "people", "2")
    return tmp_path


def command(folder: Path, source: str, out: str, *more: str) -> list[str]:
    line = ["protect", source, "--schema", str(folder / "schema.yaml"), "--output", out]
    line += ["--method", "laplace", "--epsilon", "1", "--engine", "spark", "--master", "local[2]"]
    return [*line, *more]


def run(*line: str) -> Any:
    return CliRunner().invoke(app, list(line), catch_exceptions=False)


def spent(folder: Path) -> Fraction:
    return Ledger.inspect(folder / "ledger.sqlite").balance("people").spent


def test_a_release_on_spark_is_charged_once_and_refused_beyond_the_lifetime(spark: Any, folder: Path) -> None:
    charged = ["--ledger", str(folder / "ledger.sqlite"), "--population", "people", "--force"]
    source, out = str(folder / "in.parquet"), str(folder / "out")
    for round_ in (1, 2):
        result = run(*command(folder, source, out, *charged))
        assert result.exit_code == 0, result.output
        assert spent(folder) == round_
    certificate = json.loads((folder / "out.certificate.json").read_text())
    local = protect(pq.read_table(source), SCHEMA, method="laplace", epsilon=1, shuffle=False).certificate
    same = {"issued": "", "release": ""}
    assert {**certificate, **same} == {**json.loads(local.to_json()), **same}
    before = sorted(path.name for path in (folder / "out").iterdir())
    from coterie.errors import BudgetExceeded

    with pytest.raises(BudgetExceeded):
        run(*command(folder, source, out, *charged))
    assert sorted(path.name for path in (folder / "out").iterdir()) == before
    assert not list(folder.glob(".*coterie*"))
    assert run("certificate", "verify", out, f"{out}.certificate.json").exit_code == 0


def charge_and_die(
    spark: Any, folder: Path, target: str, monkeypatch: pytest.MonkeyPatch
) -> tuple[OnSpark, Destination, Purpose]:
    """As a driver that is killed between its charge and the rename: nothing is cleaned up."""
    destination = Destination(target, certificate=folder / "c.json", parts=True)
    made = OnSpark(ProtectRequest(str(folder / "in.parquet"), SCHEMA, **OPTIONS), "local[2]")
    purpose = Purpose("people", Loss.pure(Fraction(1)), "laplace", "", destination.shown, "one request")

    class Killed(BaseException):
        pass

    def die(self: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr("coterie.publication.staged_files.StagedFolder.publish", die)
        patch.setattr("coterie.publication.spark_staging.RemoteFolder.publish", die)
        with Ledger.open(folder / "ledger.sqlite") as ledger, pytest.raises(Killed):
            publish_charged(
                lambda: made.make(forget=True), destination, ledger, purpose, made.stage, made.again
            )
    assert spent(folder) == 1
    return made, destination, purpose


def test_a_folder_that_was_charged_is_put_in_place_by_the_ledger(
    spark: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    charge_and_die(spark, folder, str(folder / "out"), monkeypatch)
    assert not (folder / "out").exists()
    with Ledger.open(folder / "ledger.sqlite") as ledger:
        assert [recovered.entry.state for recovered in ledger.recovered] == [ReleaseState.RELEASED]
    assert spent(folder) == 1
    assert run("certificate", "verify", str(folder / "out"), str(folder / "c.json")).exit_code == 0
    assert not list(folder.glob(".*coterie*"))


def test_elsewhere_the_same_command_finishes_it_without_a_new_charge(
    spark: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """file:// goes through Hadoop, as s3a:// and hdfs:// do."""
    made, destination, purpose = charge_and_die(spark, folder, f"file://{folder}/out", monkeypatch)
    with Ledger.open(folder / "ledger.sqlite") as ledger:
        assert "Run the same command again" in ledger.recovered[0].message
        publish_charged(
            lambda: pytest.fail("drawn again"), destination, ledger, purpose, made.stage, made.again
        )
    assert spent(folder) == 1
    assert run("certificate", "verify", str(folder / "out"), str(folder / "c.json")).exit_code == 0


def test_addresses_go_through_hadoop_and_what_stands_there_is_kept(spark: Any, folder: Path) -> None:
    source, out, place = f"file://{folder}/in.parquet", f"file://{folder}/out", str(folder / "c.json")
    with pytest.raises(ParameterError, match="place for its certificate"):
        run(*command(folder, source, out))
    assert run(*command(folder, source, out, "--certificate", place)).exit_code == 0
    assert run("certificate", "verify", str(folder / "out"), place).exit_code == 0
    before = sorted(path.name for path in (folder / "out").iterdir())
    with pytest.raises(OutputError, match="exists already"):
        run(*command(folder, source, out, "--certificate", str(folder / "other.json")))
    assert sorted(path.name for path in (folder / "out").iterdir()) == before
    assert run(*command(folder, source, out, "--certificate", place, "--force")).exit_code == 0
    assert sorted(path.name for path in (folder / "out").iterdir()) != before
    with pytest.raises(OutputError, match="overwrite the input"):
        run(*command(folder, str(folder / "in.parquet"), source, "--certificate", place, "--force"))
    assert pq.read_table(folder / "in.parquet").num_rows == 200


def test_storage_that_spark_cannot_reach_is_told_with_the_package_to_add(spark: Any, folder: Path) -> None:
    certificate = ("--certificate", str(folder / "c.json"))
    with pytest.raises(MissingExtra, match="s3a://") as told:
        run(*command(folder, "s3a://bucket/in.parquet", str(folder / "out"), *certificate))
    version = spark.sparkContext._jvm.org.apache.hadoop.util.VersionInfo.getVersion()
    assert f"org.apache.hadoop:hadoop-aws:{version}" in told.value.advice
    with pytest.raises(ParameterError, match="no addresses that begin with nowhere"):
        run(*command(folder, "nowhere://bucket/in.parquet", str(folder / "out"), *certificate))
    with pytest.raises(ParameterError, match="cannot be used"):
        run(*command(folder, "s3 a://bucket/in.parquet", str(folder / "out"), *certificate))
    with pytest.raises(ParameterError, match="database table"):
        run(*command(folder, "postgresql://host/db", str(folder / "out"), *certificate))
    with pytest.raises(DataError):
        run(*command(folder, str(folder / "missing.parquet"), str(folder / "out"), *certificate))
    assert not (folder / "out").exists()


def test_a_fault_while_writing_leaves_what_was_there(spark: Any, folder: Path) -> None:
    (folder / "out").mkdir()
    (folder / "out" / "part-0.parquet").write_text("an earlier release")
    pq.write_table(pa.table({"x": [0.5, 7.0]}), folder / "in.parquet")
    with pytest.raises(DataError, match="outside its declared domain"):
        run(*command(folder, str(folder / "in.parquet"), str(folder / "out"), "--force"))
    assert [path.name for path in (folder / "out").iterdir()] == ["part-0.parquet"]
    assert not list(folder.glob(".*coterie*"))
    assert not (folder / "out.certificate.json").exists()
