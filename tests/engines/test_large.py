"""Tables larger than memory: the same release as in memory, within the memory allowed, whole or not at all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from mixed_table import RECORDS, mixed_schema, mixed_table
from typer.testing import CliRunner

from coterie import Schema, protect, publish
from coterie.cli.app import app
from coterie.engines.out_of_core import release as large_module
from coterie.engines.out_of_core.chain import check_grouping
from coterie.engines.out_of_core.release import LargeRelease, protect_file
from coterie.engines.out_of_core.scratch import Scratch
from coterie.errors import CoterieError, DataError, OutputError, ParameterError, SchemaError
from coterie.methods import all_methods
from coterie.promise.certificate import Digest
from coterie.schema.attributes import Attribute, Domain, Outside, Role
from coterie.schema.unit import PrivacyUnit
from coterie.table.memory_limit import parse_memory, room_for_work


def in_pieces(name: str) -> bool:
    try:
        check_grouping(all_methods()[name])
    except ParameterError:
        return False
    return True


METHODS = [method for method in all_methods().values() if in_pieces(method.name)]
REFUSED = [method for method in all_methods().values() if method not in METHODS]
SMALL = 100_000  # bytes for work: several buckets of the mixed table


@pytest.fixture
def source(tmp_path: Path) -> Path:
    pq.write_table(mixed_table(), tmp_path / "in.parquet", row_group_size=301)
    return tmp_path / "in.parquet"


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_module, "room_for_work", lambda limit: SMALL)


def run(source: Path, schema: Schema | None = None, **options: object) -> LargeRelease:
    chosen = {"method": "dp-ir", "epsilon": 1, "k": 7, "memory": "6GB", **options}
    scratch = Scratch.make(source.parent / "scratch")
    scratch.let_go()  # one run after another here, while earlier releases and interrupts are still held
    return protect_file(source, schema or mixed_schema(), scratch=scratch, **chosen)  # type: ignore[arg-type]


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_every_method_releases_the_same_bytes_as_in_memory(method: object, source: Path) -> None:
    name, fixed = method.name, method.fixed_k  # type: ignore[attr-defined]
    options = {"method": name, "epsilon": 1, "k": None if fixed else 7, "seed": 5}
    inside = protect(mixed_table(), mixed_schema(), **options)
    outside = run(source, **options)
    assert outside.table.read_all().equals(inside.table)
    assert outside.table.read_all().equals(inside.table)  # a stream that can be read again
    assert outside.guarantee == inside.guarantee
    assert outside.loss == inside.loss
    digest = Digest(over="file bytes", value="0" * 64)
    one, other = (json.loads(release.certify(digest).to_json()) for release in (inside, outside))
    assert {**one, "issued": ""} == {**other, "issued": ""}


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("method", ["dp-synthetic", "dp-ir", "idp-cbls"])
def test_labels_stored_as_a_dictionary_are_released_alike(method: str, tmp_path: Path) -> None:
    """Arrow ends batches of such a column at every row group, and those of the columns beside it elsewhere."""
    plain = mixed_table()
    table = pa.table(
        {
            name: column.dictionary_encode() if pa.types.is_string(column.type) else column
            for name, column in zip(plain.column_names, plain.columns, strict=True)
        }
    )
    assert any(map(pa.types.is_dictionary, table.schema.types))
    assert not all(map(pa.types.is_dictionary, table.schema.types))
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=301)
    options = {"method": method, "epsilon": 1, "k": None if method == "dp-synthetic" else 7, "seed": 5}
    inside = protect(table, mixed_schema(), **options)  # type: ignore[arg-type]
    assert run(tmp_path / "in.parquet", **options).table.read_all().equals(inside.table)


def test_methods_that_need_all_records_at_once_are_refused_and_no_other() -> None:
    """A method whose sensitivity adds up over clusters would get too little noise piece by piece."""
    names = {method.name for method in REFUSED}
    assert {"mdav", "idp-mdav", "idp-cbls-joint", "dp-sorted"} == names
    assert {"dp-ir", "dp-um", "idp-ls", "idp-cbls", "dp-mdav", "laplace", "idp"} <= {m.name for m in METHODS}


@pytest.mark.usefixtures("little_memory")
def test_secure_noise_comes_out_in_pieces_and_never_twice(tmp_path: Path) -> None:
    values = np.linspace(0, 1, 2000)
    pq.write_table(pa.table({"x": values}), tmp_path / "in.parquet")
    schema = Schema(
        attributes=(Attribute(name="x", role=Role.PROTECT, domain=Domain(lower=-1e6, upper=1e6)),)
    )
    released = []
    for _ in range(2):
        release = run(tmp_path / "in.parquet", schema, k=5, epsilon=10)
        released.append(np.array(release.table.read_all()["x"]))
        release.scratch.discard()
    groups = released[0].reshape(-1, 5)
    assert (groups == groups[:, :1]).all()
    assert len({*released[0], *released[1]}) == 800
    assert np.abs(released[0] - values).max() > 0


@pytest.mark.usefixtures("little_memory")
def test_an_interrupted_run_goes_on_where_it_stopped(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    protect_one = large_module.LargeChain.protect

    def interrupted(self, group, sampler, advance):  # type: ignore[no-untyped-def]
        if len(done) == 3:
            raise KeyboardInterrupt
        protect_one(self, group, sampler, advance)
        done.append(group[0].name)

    monkeypatch.setattr(large_module.LargeChain, "protect", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(source, seed=5)
    assert done == ["amount", "age", "born"]
    monkeypatch.setattr(large_module.LargeChain, "protect", lambda *a: (done.append("x"), protect_one(*a)))
    release = run(source, seed=5)
    assert len(done) == 8  # the five that were missing
    expected = protect(mixed_table(), mixed_schema(), method="dp-ir", epsilon=1, k=7, seed=5).table
    assert release.table.read_all().equals(expected)
    # Another request, or an input that changed, starts anew.
    run(source, seed=6)
    assert len(done) == 16
    os.utime(source, ns=(1, 1))
    run(source, seed=6)
    assert len(done) == 24


@pytest.mark.usefixtures("little_memory")
def test_another_taxonomy_under_the_same_name_starts_anew(tmp_path: Path) -> None:
    """What is finished is kept as codes: those of the labels that stood there."""
    labels = ["elm", "fir", "oak"]
    pq.write_table(pa.table({"tree": [labels[row % 3] for row in range(3000)]}), tmp_path / "in.parquet")
    (tmp_path / "schema.yaml").write_text(
        "attributes: {tree: {type: categorical, role: protect, categories: {taxonomy: t.csv}}}"
    )
    schema = Schema.load(tmp_path / "schema.yaml")
    for root in ("wood", "a wood"):
        (tmp_path / "t.csv").write_text("".join(f"{label};{root}\n" for label in labels))
        released = run(tmp_path / "in.parquet", schema, seed=5, k=3).table.read_all()
        assert released.equals(
            protect(tmp_path / "in.parquet", schema, method="dp-ir", k=3, epsilon=1, seed=5).table
        )
        labels.append("ash")


def test_progress_reaches_the_whole(source: Path) -> None:
    shares: list[float] = []
    release = run(source, advance=shares.append)
    assert sum(shares) == pytest.approx(8)
    rows: list[int] = []
    assert release.watched(rows.append).table.read_all().equals(release.table.read_all())
    assert sum(rows) == release.records


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"method": "mdav"}, ParameterError, "in memory only"),
        ({"memory": "1MB"}, ParameterError, "too small"),
        ({"memory": "lots"}, ParameterError, "cannot be read"),
        ({"k": RECORDS + 1}, ParameterError, "larger than"),
        ({"seed": -1}, ParameterError, "seed"),
        ({"epsilon": 0}, ParameterError, "greater than 0"),
    ],
)
def test_choices_that_cannot_be_are_refused(
    change: dict[str, object], error: type[CoterieError], message: str, source: Path
) -> None:
    with pytest.raises(error, match=message):
        run(source, **change)


def one_column(values: object) -> tuple[pa.Table, Schema]:
    schema = Schema(attributes=(Attribute(name="x", role=Role.PROTECT, domain=Domain(lower=0, upper=1)),))
    return pa.table({"x": values}), schema


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0.5, None, 0.5], "has missing values"),
        ([0.5, 7.0, 0.5], "outside its declared domain"),
        ([[0.5], [0.1], [0.2]], "not numbers"),
        ([{"a": 1}, {"a": 2}, {"a": 3}], "not numbers"),
        ([0.5], "two records"),
    ],
)
def test_bad_columns_are_told_by_name_and_row(values: object, message: str, tmp_path: Path) -> None:
    table, schema = one_column(values)
    pq.write_table(table, tmp_path / "in.parquet")
    with pytest.raises(DataError, match=message) as told:
        run(tmp_path / "in.parquet", schema, k=1, method="laplace")
    assert "7" not in told.value.problem.replace("7.0", "")


def test_a_fault_far_down_is_told_with_its_own_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coterie.engines.out_of_core.columns.BATCH", 100)
    table, schema = one_column([None if row == 249 else 0.5 for row in range(300)])
    pq.write_table(table, tmp_path / "in.parquet")
    with pytest.raises(DataError, match="The first is in row 250 of "):
        run(tmp_path / "in.parquet", schema, k=3)


def test_files_that_are_no_parquet_are_refused(tmp_path: Path) -> None:
    _, schema = one_column([0.1])
    with pytest.raises(DataError, match="no file"):
        run(tmp_path / "missing.parquet", schema)
    (tmp_path / "in.parquet").write_text("x\n1\n")
    with pytest.raises(DataError, match="not a complete Parquet"):
        run(tmp_path / "in.parquet", schema)
    pq.write_table(pa.table({"y": [0.1, 0.2]}), tmp_path / "in.parquet")
    with pytest.raises(SchemaError, match="does not have"):
        run(tmp_path / "in.parquet", schema)


def test_memory_is_read_in_both_units() -> None:
    assert parse_memory("2GB") == 2 * 10**9
    assert parse_memory("1.5 MiB") == 3 * 2**19
    assert parse_memory(12345) == 12345
    assert 0 < room_for_work(10**12) < 10**12


def command(source: Path, *more: str) -> list[str]:
    (source.parent / "schema.yaml").write_text(mixed_schema().to_yaml())
    where = ["--schema", str(source.parent / "schema.yaml"), "--output", str(source.parent / "out.parquet")]
    return ["protect", str(source), *where, "--method", "dp-ir", "--epsilon", "1", "--k", "7", *more]


def test_the_command_writes_the_same_release(source: Path) -> None:
    result = CliRunner().invoke(
        app, command(source, "--memory", "6GB", "--seed", "5"), catch_exceptions=False
    )
    assert result.exit_code == 0, result.output
    expected = protect(mixed_table(), mixed_schema(), method="dp-ir", epsilon=1, k=7, seed=5).table
    assert pq.read_table(source.parent / "out.parquet").equals(expected)
    left = {path.name for path in source.parent.iterdir()}
    assert left == {"in.parquet", "schema.yaml", "out.parquet", "out.parquet.certificate.json"}


@pytest.mark.parametrize("step", ["sort", "write"])
def test_a_full_disk_leaves_everything_as_it_was(
    step: str, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import errno

    before = source.read_bytes()
    earlier = source.parent / "out.parquet"
    earlier.write_bytes(b"an earlier release")

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if step == "sort":
        monkeypatch.setattr(large_module, "room_for_work", lambda limit: SMALL)
        monkeypatch.setattr("coterie.engines.out_of_core.scratch.open", full, raising=False)
    else:
        monkeypatch.setattr("coterie.table.formats.pq.ParquetWriter.write_batch", full)
    with pytest.raises(OutputError, match="disk is full"):
        CliRunner().invoke(app, command(source, "--memory", "6GB", "--force"), catch_exceptions=False)
    assert source.read_bytes() == before
    assert earlier.read_bytes() == b"an earlier release"
    assert {path.name for path in source.parent.iterdir()} == {"in.parquet", "schema.yaml", "out.parquet"}


@pytest.mark.parametrize(
    "more",
    [
        ["--memory", "6GB", "--shuffle"],
        ["--memory", "6GB", "--internal", "figures.json"],
        ["--memory", "6GB", "--grouping", "optimal"],
        ["--memory", "6GB", "--engine", "spark"],
        ["--memory", "x"],
        ["--engine", "sparc"],
        ["--master", "local[2]"],
        ["--scratch", "."],
    ],
)
def test_options_that_do_not_fit_are_refused_early(more: list[str], source: Path) -> None:
    with pytest.raises(ParameterError):
        CliRunner().invoke(app, command(source, *more), catch_exceptions=False)
    assert not (source.parent / "out.parquet").exists()


def test_other_outputs_and_inputs_are_refused(source: Path) -> None:
    line = command(source, "--memory", "6GB")
    line[line.index("--output") + 1] = str(source.parent / "out.csv")
    with pytest.raises(OutputError, match="not written as CSV"):
        CliRunner().invoke(app, line, catch_exceptions=False)
    text = source.parent / "in.csv"
    text.write_text("x\n1\n")
    with pytest.raises(DataError, match="not a complete Parquet file"):  # and not first about the output
        CliRunner().invoke(app, ["protect", str(text), *line[2:]], catch_exceptions=False)
    units = mixed_schema().model_copy(update={"unit": PrivacyUnit(column="id", at_most=2)})
    with pytest.raises(ParameterError, match="no statement for units"):
        publish(str(source), units, line[5], method="laplace", epsilon=1, memory="6GB")
    line[line.index("--output") + 1] = "sqlite:///x.db"
    with pytest.raises(ParameterError, match="written to a file"):
        CliRunner().invoke(
            app, [*line, "--output-table", "t", "--certificate", "c.json"], catch_exceptions=False
        )


def test_a_table_that_fits_is_not_sent_to_the_disk(source: Path) -> None:
    release = run(source, seed=5)
    assert {path.name for path in release.scratch.folder.iterdir()} == {"finished.json"}
    expected = protect(mixed_table(), mixed_schema(), method="dp-ir", epsilon=1, k=7, seed=5).table
    assert release.table.read_all().equals(expected)


@pytest.mark.parametrize("cores", [1, 3])
def test_attributes_side_by_side_are_the_same_release(
    cores: int, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_module, "room_for_work", lambda limit: SMALL * cores)
    monkeypatch.setattr("coterie.engines.out_of_core.chain._ROOM_PER_THREAD", SMALL)
    monkeypatch.setattr("coterie.engines.out_of_core.chain.sorting_bytes", lambda fields: 10**9)
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    expected = protect(mixed_table(), mixed_schema(), method="dp-ir", epsilon=1, k=7, seed=5).table
    assert run(source, seed=5).table.read_all().equals(expected)


@pytest.mark.parametrize("little", [True, False])
def test_a_fault_in_one_attribute_ends_all_and_is_told(
    little: bool, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if little:
        monkeypatch.setattr(large_module, "room_for_work", lambda limit: 2 * SMALL)
        monkeypatch.setattr("coterie.engines.out_of_core.chain.sorting_bytes", lambda fields: 10**9)
    monkeypatch.setattr("coterie.engines.out_of_core.chain._ROOM_PER_THREAD", SMALL)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    changed = mixed_schema()
    attributes = [
        a.model_copy(update={"outside": Outside.ERROR}) if a.name == "amount" else a
        for a in changed.attributes
    ]
    with pytest.raises(DataError, match="'amount' has values outside"):
        run(source, Schema(attributes=tuple(attributes)))


@pytest.mark.usefixtures("little_memory")
def test_scratch_files_of_original_values_do_not_outlive_their_attribute(source: Path) -> None:
    release = run(source)
    names = {path.name for path in release.scratch.folder.iterdir()}
    assert "attribute-0-rows-0" in names
    assert not any("column" in name or "bucket" in name for name in names)
    assert isinstance(release.scratch, Scratch)


LIMIT_MB = 400


def test_the_memory_allowed_is_kept(tmp_path: Path) -> None:
    """Peak resident memory of a child process; in memory the same table needs far more than the limit."""
    records, path = 6_000_000, tmp_path / "in.parquet"
    schema = pa.schema([("x", pa.float64()), ("y", pa.float64())])
    draw = np.random.Generator(np.random.PCG64(3))
    with pq.ParquetWriter(path, schema) as writer:
        for _ in range(records // 500_000):
            x, y = draw.random(500_000), draw.random(500_000)
            x[draw.random(500_000) < 0.9] = 0.0
            writer.write_batch(pa.record_batch([x, y], schema=schema))
    (tmp_path / "schema.yaml").write_text(
        "attributes:\n"
        + "".join(f"  {name}: {{role: protect, domain: {{lower: 0, upper: 1}}}}\n" for name in "xy")
    )
    line = ["protect", path, "--schema", tmp_path / "schema.yaml", "--method", "idp-cbls", "--epsilon", "1"]
    line += ["--k", "5", "--output", tmp_path / "out.parquet", "--force"]

    def peak(*more: str) -> int:
        # VmHWM, not ru_maxrss: that one remembers the size of the process that was forked.
        script = "from coterie.cli import main\ntry:\n    main()\nfinally:\n    print(open('/proc/self/status').read())"
        child = subprocess.run(
            [sys.executable, "-c", script, *map(str, line), *more], capture_output=True, text=True, check=True
        )
        return int(child.stdout.split("VmHWM:")[1].split()[0]) * 1024

    assert peak("--memory", f"{LIMIT_MB}MB") <= LIMIT_MB * 10**6
    assert pq.read_metadata(tmp_path / "out.parquet").num_rows == records
    assert peak() > LIMIT_MB * 10**6  # the test can fail


def test_long_texts_beside_do_not_break_the_limit(tmp_path: Path) -> None:
    """Half a gigabyte of kept texts, each file page of them small: only what is decoded at once counts."""
    records, path = 100_000, tmp_path / "in.parquet"
    texts = pa.array([letter * 5000 for letter in "abcdefghij"])
    index = pa.array(np.arange(records) % 10, pa.int32())
    schema = pa.schema([("x", pa.float64()), ("note", pa.string())])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, records, 10_000):
            note = texts.take(index.slice(start, 10_000))
            writer.write_table(pa.table({"x": np.linspace(0, 1, 10_000), "note": note}, schema=schema))
    lines = "attributes:\n  x: {role: protect, domain: {lower: 0, upper: 1}}\n  note: {role: keep}\n"
    (tmp_path / "schema.yaml").write_text(lines)
    line = ["protect", path, "--schema", tmp_path / "schema.yaml", "--method", "dp-ir", "--epsilon", "1"]
    line += ["--k", "5", "--output", tmp_path / "out.parquet", "--memory", "450MB"]
    script = "from coterie.cli import main\ntry:\n    main()\nfinally:\n    print(open('/proc/self/status').read())"
    child = subprocess.run(
        [sys.executable, "-c", script, *map(str, line)], capture_output=True, text=True, check=True
    )
    assert int(child.stdout.split("VmHWM:")[1].split()[0]) * 1024 <= 450 * 10**6
    released = pq.ParquetFile(tmp_path / "out.parquet")
    assert released.metadata.num_rows == records
    rows = 0
    for batch in released.iter_batches(5000, columns=["note"]):
        assert batch.column(0).equals(texts.take(index.slice(rows, len(batch))))
        rows += len(batch)
