"""The road through S3, with Hadoop's own program for s3a:// and a service that speaks S3: `make test-object-store`."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from s3_service import BUCKET, S3Service, is_copy

from coterie import Attribute, Domain, Ledger, Role, Schema
from coterie.engines.spark.session import java_version
from coterie.errors import OutputError

KIT = Path(os.environ.get("COTERIE_S3A", "no folder"))
KEY, SECRET = "AKIAOFNOBODY", "the/secret+of/nobody"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.filterwarnings("ignore"),  # of the service's own packages
    pytest.mark.skipif(
        not KIT.is_dir(), reason="S3 is tested by `make test-object-store`, which fetches what it needs"
    ),
    pytest.mark.skipif((java_version() or 0) < 17, reason="Spark needs Java 17 or newer"),
]
# As large-tables.md says, but for the program's version: 3.3.1 does not read the times that Hadoop writes since 3.4.
SETTINGS = """
spark.jars {jars}
spark.hadoop.fs.s3a.endpoint {endpoint}
spark.hadoop.fs.s3a.path.style.access true
spark.hadoop.fs.s3a.connection.ssl.enabled false
spark.hadoop.fs.s3a.connection.establish.timeout 5000
spark.hadoop.fs.s3a.connection.timeout 60000
spark.hadoop.fs.s3a.threads.keepalivetime 60
spark.hadoop.fs.s3a.multipart.purge.age 86400
spark.hadoop.fs.s3a.attempts.maximum 2
spark.hadoop.fs.s3a.aws.credentials.provider com.amazonaws.auth.EnvironmentVariableCredentialsProvider
spark.ui.enabled false
spark.sql.shuffle.partitions 3
"""


@pytest.fixture(scope="module")
def service() -> Iterator[S3Service]:
    sys.path.append(str(KIT / "python"))  # last: what Coterie itself uses stays as it is
    service = S3Service()
    yield service
    service.stop()
    sys.path.remove(str(KIT / "python"))


@pytest.fixture
def world(service: S3Service, tmp_path: Path) -> Iterator[World]:
    yield World(service, tmp_path)
    service.on_request = lambda environ: None
    for key in service.objects():
        service.client.delete_object(Bucket=BUCKET, Key=key)


class World:
    """A bucket with a table in four parts, and the command as a user calls it: in a process of its own."""

    def __init__(self, service: S3Service, folder: Path) -> None:
        self.service, self.folder = service, folder
        self.said = ""
        jars = ",".join(sorted(str(path.resolve()) for path in KIT.glob("*.jar")))
        (folder / "conf").mkdir()
        settings = SETTINGS.format(jars=jars, endpoint=service.endpoint)
        (folder / "conf" / "spark-defaults.conf").write_text(settings)
        schema = Schema(attributes=(Attribute(name="x", role=Role.PROTECT, domain=Domain(lower=0, upper=1)),))
        (folder / "schema.yaml").write_text(schema.to_yaml())
        for part in range(4):
            content = io.BytesIO()
            pq.write_table(pa.table({"x": np.linspace(0, 1, 100)}), content)
            service.client.put_object(Bucket=BUCKET, Key=f"in/{part}.parquet", Body=content.getvalue())
        Ledger.add_population(folder / "ledger.sqlite", "people", "2")

    def start(self, *more: str, source: str = "in", output: str = "out", master: str = "local[2]") -> Any:
        line = [
            "protect",
            source if "://" in source else f"s3a://{BUCKET}/{source}",
            "--output",
            f"s3a://{BUCKET}/{output}",
        ]
        line += ["--schema", "schema.yaml", "--certificate", f"{output}.json", "--method", "laplace"]
        line += ["--epsilon", "1", "--engine", "spark", "--master", master, *more]
        source_tree = str(Path(__file__).resolve().parents[2] / "src")
        environment = {
            **os.environ,
            "PYTHONPATH": source_tree,
            "SPARK_CONF_DIR": str(self.folder / "conf"),
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
        }
        return subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", "from coterie.cli import main; main()", *line],
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, *more: str, **where: str) -> int:
        process = self.start(*more, **where)
        self.said, _ = process.communicate(timeout=600)
        assert SECRET not in self.said
        assert KEY not in self.said
        return int(process.returncode)

    def verified(self, output: str = "out") -> bool:
        """The released objects, brought to this disk by other means than Spark's."""
        copy = self.folder / f"copy of {output} {len(list(self.folder.iterdir()))}"
        copy.mkdir()
        for key in self.service.objects(f"{output}/"):
            content = self.service.client.get_object(Bucket=BUCKET, Key=key)["Body"].read()
            (copy / key.rpartition("/")[2]).write_bytes(content)
        from typer.testing import CliRunner

        from coterie.cli.app import app

        line = ["certificate", "verify", str(copy), str(self.folder / f"{output}.json")]
        return CliRunner().invoke(app, line).exit_code == 0 and pq.read_table(copy).num_rows == 400

    def names(self, output: str = "out") -> list[str]:
        return [key.removeprefix(f"{output}/") for key in self.service.objects(f"{output}/")]

    def hidden(self) -> list[str]:
        return [key for key in self.service.objects() if key.startswith(".")]


def test_a_table_in_s3_is_released_into_s3_by_a_cluster(world: World) -> None:
    assert world.run(master="local-cluster[2,1,1024]") == 0, world.said
    assert "_SUCCESS" in world.names()
    assert not [name for name in world.names() if name.startswith("_UNFINISHED")]
    assert len([name for name in world.names() if name.endswith(".parquet")]) > 1
    assert world.verified()
    assert world.hidden() == []
    for path in world.folder.rglob("*"):  # the certificate, the ledger, the settings: no key in any of them
        assert not path.is_file() or SECRET.encode() not in path.read_bytes()


def test_a_release_is_not_overwritten_unasked_nor_lost_where_replacing_it_fails(world: World) -> None:
    assert world.run() == 0, world.said
    before, certificate = world.service.objects(), (world.folder / "out.json").read_bytes()
    (world.folder / "out.json").unlink()
    assert world.run() == OutputError.exit_code, world.said
    assert "exists already" in world.said
    assert world.service.objects() == before
    (world.folder / "out.json").write_bytes(certificate)
    copies: list[str] = []

    def full(environ: dict[str, Any]) -> int | None:
        if is_copy(environ, "out/part"):
            copies.append(environ["PATH_INFO"])
            return 403 if len(copies) == 2 else None
        return None

    world.service.on_request = full
    assert world.run("--force") != 0
    assert "refuses Spark the access" in world.said, world.said
    assert len(copies) >= 2
    world.service.on_request = lambda environ: None
    assert {key.rstrip("/"): mark for key, mark in world.service.objects().items()} == before
    assert (world.folder / "out.json").read_bytes() == certificate
    assert world.run("--force") == 0, world.said
    assert set(world.service.objects()) != set(before)
    assert world.verified()
    assert world.hidden() == []


def test_killed_between_two_copies_it_is_finished_by_the_same_command(world: World) -> None:
    charged = ("--ledger", "ledger.sqlite", "--population", "people")
    copies: list[str] = []
    halted = threading.Event()

    def kill(environ: dict[str, Any]) -> int | None:
        if is_copy(environ, "out/part"):
            copies.append(environ["PATH_INFO"])
            if len(copies) == 2:
                os.killpg(process.pid, signal.SIGKILL)
                halted.set()
        return 500 if halted.is_set() else None

    world.service.on_request = kill
    process = world.start(*charged)
    said, _ = process.communicate(timeout=600)
    assert halted.is_set(), said
    world.service.on_request = lambda environ: None
    assert "_SUCCESS" not in world.names()
    assert [name for name in world.names() if name.startswith("_UNFINISHED-")]
    assert world.hidden()
    assert Ledger.inspect(world.folder / "ledger.sqlite").balance("people").spent == Fraction(1)
    assert world.run(*charged) == 0, world.said
    assert Ledger.inspect(world.folder / "ledger.sqlite").balance("people").spent == Fraction(1)
    assert "_SUCCESS" in world.names()
    assert not [name for name in world.names() if name.startswith("_UNFINISHED-")]
    assert world.verified()
    assert world.hidden() == []
    assert SECRET.encode() not in (world.folder / "ledger.sqlite").read_bytes()


def test_killed_while_it_writes_nothing_is_charged_and_what_is_left_is_named(world: World) -> None:
    def kill(environ: dict[str, Any]) -> int | None:
        if is_copy(environ, ".out.coterie-"):  # Spark puts its finished parts together
            os.killpg(process.pid, signal.SIGKILL)
            return 500
        return None

    world.service.on_request = kill
    process = world.start("--ledger", "ledger.sqlite", "--population", "people")
    said, _ = process.communicate(timeout=600)
    assert process.returncode == -signal.SIGKILL, said
    assert world.names() == []
    left = world.hidden()[0].partition("/")[0]
    with Ledger.open(world.folder / "ledger.sqlite") as ledger:
        assert f"Remove s3a://{BUCKET}/{left}" in ledger.recovered[0].message
    assert Ledger.inspect(world.folder / "ledger.sqlite").balance("people").spent == 0


def test_a_wrong_name_and_a_wrong_bucket_get_a_sentence(world: World) -> None:
    for source in ("nothing", "s3a://no-such-bucket/in"):
        assert world.run(source=source) != 0
        assert "There is nothing at an address" in world.said, world.said
    assert world.hidden() == []
    assert world.names() == []


@pytest.mark.parametrize(
    "left_out", [r",\S*hadoop-aws\S*", r"spark.hadoop.fs.s3a.threads.keepalivetime 60", r"\S*bundle\S*jar,"]
)
def test_a_package_that_is_missing_or_does_not_fit_is_told(world: World, left_out: str) -> None:
    settings = world.folder / "conf" / "spark-defaults.conf"
    fewer = re.sub(left_out, "", settings.read_text())
    assert fewer != settings.read_text()
    settings.write_text(fewer)
    assert world.run() != 0
    what = "has no connector for s3a://" if "hadoop-aws" in left_out else "does not fit Hadoop"
    assert what in world.said, world.said
    assert "org.apache.hadoop:hadoop-aws:" in world.said
