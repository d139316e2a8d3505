"""Storage that has no rename: parts move one by one. Here through Hadoop on this disk; test_s3a.py does it in S3."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coterie import Attribute, Domain, Role, Schema
from coterie.engines.spark.faults import told
from coterie.errors import DataError, OutputError, ParameterError
from coterie.promise.certificate import Certificate
from coterie.publication.engine_runs import OnSpark, ProtectRequest
from coterie.publication.publishing import Destination, publish_uncharged
from coterie.publication.spark_staging import RemoteFolder, _Storage, check_address
from coterie.table.digest import folder_digest

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.timeout(900)]
OLD, NEW = {"part-old.parquet"}, {"part-new-0.parquet", "part-new-1.parquet"}


class Killed(BaseException):
    pass


@pytest.fixture(autouse=True)
def _no_rename(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coterie.publication.spark_staging.ONE_STEP", set())


def fill(folder: Path, names: set[str]) -> None:
    folder.mkdir()
    for number, name in enumerate(sorted(names)):
        pq.write_table(pa.table({"x": [float(number)]}), folder / name)
    (folder / "_SUCCESS").touch()


def staged(spark: Any, folder: Path, *, force: bool = True) -> RemoteFolder:
    place = folder / ".out.coterie-abcd.tmp"
    fill(place, NEW)
    return RemoteFolder(f"file://{folder}/out", f"file://{place}", folder_digest(place), 0, force, spark)


def seen(folder: Path) -> set[str]:
    """What a reader sees who asks for `_SUCCESS` first, as one should."""
    there = {path.name for path in folder.iterdir()} if folder.exists() else set()
    return {name for name in there if name.endswith(".parquet")} if "_SUCCESS" in there else set()


def die_at(monkeypatch: pytest.MonkeyPatch, step: int, fault: BaseException) -> list[str]:
    """Whatever changes the storage, counted; the given one and all after it do not happen."""
    done: list[str] = []

    def counted(name: str) -> Any:
        really = getattr(_Storage, name)

        def method(self: _Storage, *paths: Any) -> None:
            if len(done) >= step:
                raise fault
            done.append(name)
            really(self, *paths)

        return method

    for name in ("rename", "touch", "remove"):
        monkeypatch.setattr(_Storage, name, counted(name))
    monkeypatch.setattr("coterie.publication.spark_staging._AT_ONCE", 1)
    return done


def test_killed_at_any_step_it_is_never_taken_for_whole_and_can_be_finished(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step, finished = 0, False
    while not finished:
        folder = tmp_path / str(step)
        folder.mkdir()
        fill(folder / "out", OLD)
        remote = staged(spark, folder)
        with monkeypatch.context() as patch:
            done = die_at(patch, step, Killed())
            try:
                remote.publish()
                finished = True
            except Killed:
                assert len(done) == step
        assert seen(folder / "out") in (OLD, NEW, set())
        remote.publish()
        assert seen(folder / "out") == NEW
        assert {path.name for path in folder.iterdir() if not path.name.endswith(".crc")} == {"out"}
        assert {path.name for path in (folder / "out").iterdir() if path.suffix != ".crc"} == {
            *NEW,
            "_SUCCESS",
        }
        step += 1
    assert step > 8  # aside, mark, parts, `_SUCCESS`, and what is removed


def test_a_failure_at_any_step_can_be_undone(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for step in range(7):
        folder = tmp_path / str(step)
        folder.mkdir()
        fill(folder / "out", OLD)
        before = folder_digest(folder / "out")
        remote = staged(spark, folder)
        with monkeypatch.context() as patch:
            die_at(patch, step, OutputError("The network is gone.", "Wait."))
            with pytest.raises(OutputError):
                remote.publish()
        remote.discard()
        assert seen(folder / "out") == OLD
        assert folder_digest(folder / "out") == before
        assert {path.name for path in folder.iterdir() if not path.name.endswith(".crc")} == {"out"}


def test_a_half_written_folder_is_named_so_and_its_parts_are_checked(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote = staged(spark, tmp_path, force=False)
    with monkeypatch.context() as patch:
        die_at(patch, 2, Killed())
        with pytest.raises(Killed):
            remote.publish()
    other = RemoteFolder(remote.target, f"file://{tmp_path}/.out.coterie-efgh.tmp", "", 0, False, spark)
    fill(tmp_path / ".out.coterie-efgh.tmp", OLD)
    with pytest.raises(OutputError, match="half-written"):
        other.publish()
    (tmp_path / "out" / "part-new-0.parquet").write_bytes(b"changed meanwhile")
    (tmp_path / "out" / ".part-new-0.parquet.crc").unlink(missing_ok=True)
    with pytest.raises(OutputError, match="is not whole"):
        remote.publish()
    assert seen(tmp_path / "out") == set()


def test_an_earlier_release_and_its_certificate_survive_a_failed_replacement(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in").mkdir()
    for part in range(3):
        pq.write_table(pa.table({"x": np.linspace(0, 1, 50)}), tmp_path / "in" / f"{part}.parquet")
    schema = Schema(attributes=(Attribute(name="x", role=Role.PROTECT, domain=Domain(lower=0, upper=1)),))
    options = {"method": "laplace", "epsilon": "1", "k": None, "seed": None}

    def run(*, force: bool) -> Certificate:
        where = Destination(
            f"file://{tmp_path}/out/", certificate=tmp_path / "c.json", parts=True, force=force
        )
        made = OnSpark(ProtectRequest(f"file://{tmp_path}/in", schema, **options), "local[2]")
        made.refuse_early(where)
        return publish_uncharged(lambda: made.make(forget=True), where, made.stage)

    first = run(force=False)
    assert folder_digest(tmp_path / "out") == first.release.digest.value
    before = (tmp_path / "c.json").read_bytes()
    with monkeypatch.context() as patch:
        die_at(patch, 5, OutputError("The network is gone.", "Wait."))
        patch.setattr(RemoteFolder, "discard", lambda self: None)  # nor can it be undone now
        with pytest.raises(OutputError, match="network"):
            run(force=True)
    assert (tmp_path / "c.json").read_bytes() == before
    assert seen(tmp_path / "out") == set()
    second = run(force=True)
    assert folder_digest(tmp_path / "out") == second.release.digest.value != first.release.digest.value


@pytest.mark.parametrize(
    "address",
    [
        "s3a://AKIA:se@bucket/x",
        "s3a://AKIA:se/cr+et@bucket/x",
        "hdfs://me:word@host:8020/x",
        "s3a://A:/s@b/x",
    ],
)
def test_keys_in_an_address_are_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(ParameterError) as told_so:
        check_address(address)
    said = f"{told_so.value.problem} {told_so.value.advice}"
    assert "AKIA" not in said
    assert "word@" not in said


@pytest.mark.parametrize(
    "address",
    [
        "s3a://bucket/a@b:c",
        "hdfs://host:8020/a@b",
        "abfs://box@account.dfs.core.windows.net/x",
        "/a:b@c",
        "file:///a:b",
    ],
)
def test_addresses_without_keys_are_taken(address: str) -> None:
    check_address(address)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("java.nio.file.AccessDeniedException: s3a://…", "refuses"),
        ("org.apache.hadoop.fs.s3a.UnknownStoreException: …", "nothing at"),
        ("java.net.ConnectException: refused", "cannot reach"),
        ("java.lang.OutOfMemoryError: Java heap space", "too little memory"),
        ("an executor was lost", "could not finish"),
    ],
)
def test_faults_of_storage_get_a_sentence(words: str, sentence: str) -> None:
    errors = pytest.importorskip("pyspark.errors")
    with pytest.raises(DataError, match=sentence) as said, told():
        raise errors.PySparkException(f"{words} value 4711")
    assert "4711" not in str(said.value)
