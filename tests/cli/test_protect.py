"""coterie protect: the happy path, what is written, and what --force may do."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from coterie.methods import all_methods

Run = Callable[..., Any]
Arguments = Callable[..., list[str]]
Files = Callable[[Path], dict[str, bytes]]


@pytest.mark.parametrize("method", all_methods())
def test_every_method_writes_a_release_that_verifies(
    run: Run, folder: Path, protect_arguments: Arguments, method: str
) -> None:
    k = None if all_methods()[method].fixed_k else 5
    done = run(*protect_arguments(method=method, k=k))
    assert done.code == 0, done.err
    assert "Released 61 rows" in done.words
    verified = run("certificate", "verify", "out.csv", "out.csv.certificate.json")
    assert (verified.code, "belong together" in verified.words) == (0, True)
    released = pyarrow.csv.read_csv(folder / "out.csv")
    assert released.column_names == ["age", "income", "region"]
    certificate = json.loads((folder / "out.csv.certificate.json").read_text())
    assert certificate["release"]["digest"]["over"] == "file bytes"
    assert certificate["guarantee"]["status"] in done.words


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
def test_files_of_every_kind_go_in_and_out(
    run: Run, folder: Path, people: pa.Table, protect_arguments: Arguments, ending: str
) -> None:
    pyarrow.parquet.write_table(people, folder / "people.parquet")
    with pa.OSFile(str(folder / "people.arrow"), "wb") as sink, pa.ipc.new_file(sink, people.schema) as file:
        file.write_table(people)
    output = f"out.{ending}"
    done = run(*protect_arguments(f"people.{ending}", output=output, seed=3))
    assert done.code == 0, done.err
    assert run("certificate", "verify", output, f"{output}.certificate.json").code == 0


def test_json_says_everything(run: Run, folder: Path, protect_arguments: Arguments) -> None:
    done = run(*protect_arguments(json=True, internal="internal.json", certificate="c.json"))
    content = done.json
    assert content["output"] == str(folder / "out.csv")
    assert content["certificate"] == "c.json"
    assert content["internal"] == "internal.json"
    assert content["rows"] == 61
    assert content["guarantee"]["status"] == "refuted"
    assert json.loads((folder / "internal.json").read_text())["warning"].startswith("DO NOT PUBLISH")
    assert (folder / "internal.json").stat().st_mode & 0o077 == 0


def test_a_seed_repeats_the_bytes_and_says_so(run: Run, folder: Path, protect_arguments: Arguments) -> None:
    first = run(*protect_arguments(seed=1, output="a.csv"))
    run(*protect_arguments(seed=1, output="b.csv"))
    run(*protect_arguments(seed=2, output="c.csv"))
    contents = [(folder / name).read_bytes() for name in ("a.csv", "b.csv", "c.csv")]
    assert contents[0] == contents[1] != contents[2]
    assert "reproducible: not private" in first.words


def test_a_shuffle_is_on_the_certificate(run: Run, folder: Path, protect_arguments: Arguments) -> None:
    assert run(*protect_arguments(shuffle=True)).code == 0
    assert json.loads((folder / "out.csv.certificate.json").read_text())["release"]["shuffled"] is True


@pytest.mark.parametrize("existing", ["out.csv", "out.csv.certificate.json", "internal.json"])
def test_nothing_is_overwritten_without_force(
    run: Run, folder: Path, files: Files, protect_arguments: Arguments, existing: str
) -> None:
    (folder / existing).write_text("mine")
    before = files(folder)
    refused = run(*protect_arguments(internal="internal.json"))
    assert refused.code == 6
    assert "exists already" in refused.words
    assert "--force" in refused.words
    assert files(folder) == before
    assert run(*protect_arguments(internal="internal.json", force=True)).code == 0
    assert (folder / existing).read_text() != "mine"
    assert run("certificate", "verify", "out.csv", "out.csv.certificate.json").code == 0


@pytest.mark.parametrize(
    "changes",
    [
        {"output": "people.csv"},
        {"certificate": "people.csv"},
        {"certificate": "schema.yaml"},
        {"internal": "schema.yaml"},
        {"certificate": "out.csv"},
        {"internal": "out.csv"},
        {"internal": "c.json", "certificate": "c.json"},
    ],
    ids=str,
)
def test_force_never_overwrites_an_input_or_another_output(
    run: Run, folder: Path, files: Files, protect_arguments: Arguments, changes: dict[str, str]
) -> None:
    before = files(folder)
    refused = run(*protect_arguments(force=True, **changes))
    assert refused.code == 6
    assert "overwrite" in refused.words or "Two outputs have the same name" in refused.words
    assert files(folder) == before


def test_signing(run: Run, folder: Path, protect_arguments: Arguments) -> None:
    assert run("certificate", "key", "mine").code == 0
    assert run("certificate", "key", "other", "--json").json["fingerprint"].startswith("SHA256:")
    assert run(*protect_arguments(sign="mine")).code == 0
    both = ("out.csv", "out.csv.certificate.json")
    trusted = run("certificate", "verify", *both, "--key", "mine.pub", "--json")
    assert trusted.json["match"] is True
    assert trusted.json["signer_trusted"] is True
    unknown = run("certificate", "verify", *both)
    assert "Give --key" in unknown.words
    wrong = run("certificate", "verify", *both, "--key", "other.pub")
    assert wrong.code == 7
    assert "another key" in wrong.words
    path = folder / "out.csv.certificate.json"
    path.write_text(path.read_text().replace('"epsilon": "1"', '"epsilon": "0.01"'))
    forged = run("certificate", "verify", *both)
    assert forged.code == 7
    assert "does not fit its content" in forged.words


def test_a_bad_key_writes_nothing(run: Run, folder: Path, files: Files, protect_arguments: Arguments) -> None:
    before = files(folder)
    refused = run(*protect_arguments(sign="schema.yaml"))
    assert refused.code == 5
    assert "private key file" in refused.words
    assert files(folder) == before


@pytest.mark.parametrize("how", ["changed", "appended", "other release", "missing"])
def test_what_does_not_match_is_exit_7(
    run: Run, folder: Path, protect_arguments: Arguments, how: str
) -> None:
    run(*protect_arguments())
    run(*protect_arguments(output="other.csv"))
    path = folder / "out.csv"
    content = path.read_bytes()
    if how == "changed":
        path.write_bytes(content.replace(b"north", b"south", 1))
    elif how == "appended":
        path.write_bytes(content + b"\n")
    elif how == "missing":
        path.unlink()
    name = "other.csv" if how == "other release" else "out.csv"
    refused = run("certificate", "verify", name, "out.csv.certificate.json", "--json")
    assert refused.code == 7
    error = json.loads(refused.err)
    assert error["error"] == "CertificateError"
    assert error["exit_code"] == 7
    assert error["advice"]


def test_a_database_file_in_and_out(run: Run, folder: Path, protect_arguments: Arguments) -> None:
    pytest.importorskip("adbc_driver_sqlite")
    target = {"output": "sqlite:///out.db", "output_table": "released", "certificate": "c.json"}
    assert run(*protect_arguments(**target)).code == 0
    verified = run("certificate", "verify", "sqlite:///out.db", "c.json", "--table", "released")
    assert verified.code == 0, verified.err
    nowhere = run(*protect_arguments(output="sqlite:///two.db", output_table="released"))
    assert nowhere.code == 5
    assert "--certificate" in nowhere.words
