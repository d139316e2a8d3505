"""What a hostile reader of the first version found; each must stay mended."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from command_line import run_command
from coterie import Certificate, Ledger, Schema, protect
from coterie.errors import CertificateError, OutputError, ParameterError, SchemaError
from coterie.promise.signing import check_signature, make_key, sign
from coterie.publication.publishing import Destination, publish_uncharged
from coterie.publication.staged_files import StagedFile
from coterie.publication.staging import StagedTable, stage
from coterie.table.reading import read_table

SCHEMA = {
    "attributes": {
        "x": {"role": "protect", "domain": {"lower": 0, "upper": 100}},
        "y": {"role": "protect", "domain": {"lower": 0, "upper": 10}},
    }
}
TABLE = pa.table({"x": np.linspace(0, 100, 20), "y": np.linspace(10, 0, 20)})


@pytest.fixture
def database(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path / 'data.db'}"
    stage(TABLE, url, force=False, table_name="people").publish()
    (tmp_path / "schema.yaml").write_text(Schema.load(SCHEMA).to_yaml())
    Ledger.add_population(tmp_path / "ledger", "p", "10")
    return url


def command(url: str, folder: Path, *extra: object) -> list[object]:
    common = ("protect", url, "--schema", folder / "schema.yaml", "--output", url, "--output-table", "rel")
    return [*common, "--certificate", folder / "c.json", *extra]


def test_an_interrupted_release_never_answers_another_request(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    charged = ("--ledger", tmp_path / "ledger", "--population", "p", "--table", "people", "--force")

    def dies(self: Any) -> None:
        raise OSError

    with monkeypatch.context() as broken:
        broken.setattr(StagedTable, "publish", dies)
        first = command(database, tmp_path, "--method", "idp-ls", "--epsilon", 1, "--k", 5, *charged)
        assert run_command(*first).code == 8
    other = command(database, tmp_path, "--method", "laplace", "--epsilon", 2, *charged)
    refused = run_command(*other)
    assert refused.code == 8
    assert "another request" in refused.words
    assert run_command(*first).code == 0
    assert Ledger.inspect(tmp_path / "ledger").balance("p").individual_spent == 2  # idp-ls: 2ε, once


def test_a_query_never_overwrites_what_it_reads(database: str, tmp_path: Path) -> None:
    arguments = command(database, tmp_path, "--query", "select * from people", "--method", "ir", "--k", 5)
    arguments[arguments.index("rel")] = "people"
    assert run_command(*arguments, "--force").code == 6
    assert read_table(database, table="people").equals(read_table(database, table="people"))
    assert read_table(database, table="people").num_rows == 20


def test_a_signed_certificate_with_an_entry_twice_is_refused(tmp_path: Path) -> None:
    make_key(tmp_path / "key")
    release = protect(TABLE, SCHEMA, method="laplace", epsilon=1)
    text = sign(release.certificate, tmp_path / "key").to_json()
    assert check_signature(Certificate.from_json(text), tmp_path / "key.pub")
    with pytest.raises(CertificateError, match="twice"):
        Certificate.from_json(text.replace("{", '{"epsilon": "0.001",', 1))
    for entry, value in (("fingerprint", "SHA256:0"), ("algorithm", "none")):
        document = json.loads(text)
        document["signature"][entry] = value
        with pytest.raises(CertificateError):
            check_signature(Certificate.from_json(json.dumps(document)), tmp_path / "key.pub")


def test_the_parts_sum_to_the_whole_where_each_gets_the_whole() -> None:
    certificate = protect(TABLE, SCHEMA, method="dp-mdav", epsilon=1, k=5).certificate
    assert certificate.epsilon == "2"
    assert [attribute.epsilon for attribute in certificate.attributes] == ["1", "1"]
    assert any("the whole ε" in note for note in certificate.notes)


@pytest.mark.parametrize("method", ["ir", "mdav"])
def test_no_noise_no_epsilon(method: str, tmp_path: Path, database: str) -> None:
    release = protect(TABLE, SCHEMA, method=method, k=5, seed=1)
    assert release.certificate.epsilon is None
    assert "none" in release.certificate.sampler
    assert not release.certificate.reproducible
    assert not [note for note in release.certificate.notes if "order of the table" not in note]
    charged = ("--ledger", tmp_path / "ledger", "--population", "p", "--table", "people")
    assert run_command(*command(database, tmp_path, "--method", method, "--k", 5, *charged)).code == 5


def test_noise_needs_epsilon() -> None:
    with pytest.raises(ParameterError, match="privacy budget"):
        protect(TABLE, SCHEMA, method="dp-ir", k=5)


def test_schema_check_knows_categories(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text("attributes:\n  c: {type: categorical, role: protect, categories: {labels: [a, b]}}\n")
    assert run_command("schema", "check", path, "--json").code == 0
    path.write_text("attributes:\n  c: {type: categorical, role: keep}\n")
    assert run_command("schema", "check", path, "--json").code == 3


def test_both_or_nothing_when_the_output_appears_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    published = StagedFile.publish

    def race(self: StagedFile) -> None:
        if str(self.target).endswith("out.csv"):
            (tmp_path / "out.csv").write_text("somebody else's")
        published(self)

    monkeypatch.setattr(StagedFile, "publish", race)
    with pytest.raises(OutputError, match="exists already"):
        publish_uncharged(
            lambda: protect(TABLE, SCHEMA, method="laplace", epsilon=1),
            Destination(str(tmp_path / "out.csv")),
        )
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]
    assert (tmp_path / "out.csv").read_text() == "somebody else's"


def test_mdav_groups_enormous_values() -> None:
    values = np.array([1.0, -1.0] * 3) * 1e200
    wide = {"attributes": {"x": {"role": "protect", "domain": {"lower": -1e289, "upper": 1e289}}}}
    released = (
        protect(pa.table({"x": values}), wide, method="mdav", k=3, shuffle=False).table.column("x").to_numpy()
    )
    np.testing.assert_allclose(released, values)


@pytest.mark.parametrize("name", ["x" * 300 + ".csv", "x" * 245 + ".csv", "loop.csv"])
def test_names_that_cannot_be_used(name: str, tmp_path: Path) -> None:
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    (tmp_path / "schema.yaml").write_text(Schema.load(SCHEMA).to_yaml())
    stage(TABLE, tmp_path / "in.csv", force=False).publish()
    arguments = (
        "--schema",
        tmp_path / "schema.yaml",
        "--method",
        "ir",
        "--k",
        5,
        "--output",
        tmp_path / name,
    )
    assert run_command("protect", tmp_path / "in.csv", *arguments).code == 6


@pytest.mark.parametrize("arguments", [("--epsilon", "0"), ("--k", "6000"), ("--k", "2")])
def test_a_demo_that_cannot_run_writes_nothing(arguments: tuple[str, str], tmp_path: Path) -> None:
    assert run_command("demo", "--output", tmp_path / "demo", *arguments).code == 5
    assert not (tmp_path / "demo").exists()


@pytest.mark.parametrize("epsilon", ["1_0", "١", "1,5", "0x1", "1e", "--1"])
def test_odd_spellings_of_epsilon(epsilon: str) -> None:
    with pytest.raises(ParameterError, match="finite number"):
        protect(TABLE, SCHEMA, method="laplace", epsilon=epsilon)


@pytest.mark.parametrize("epsilon", ["1e400", "1e-320", "1e999999999"])
def test_sizes_beyond_use(epsilon: str) -> None:
    with pytest.raises(ParameterError, match="beyond all use"):
        protect(TABLE, SCHEMA, method="laplace", epsilon=epsilon)


def test_bounds_from_the_data_stay_off_the_certificate() -> None:
    described = {
        "attributes": {
            "x": {"role": "protect", "domain": {"lower": 0, "upper": 98765432.5, "source": "data"}}
        }
    }
    certificate = protect(TABLE.select(["x"]), described, method="laplace", epsilon=1).certificate
    assert certificate.attributes[0].domain is not None
    assert certificate.attributes[0].domain.source == "data"
    assert "98765432" not in certificate.to_json()  # so long that no digest has it by chance


def test_a_command_line_that_cannot_be_read_is_json_too() -> None:
    refused = run_command("protect", "in.csv", "--json")
    assert refused.code == json.loads(refused.err)["exit_code"] == 2


def test_numpy_numbers_and_plain_schemas_are_welcome(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(Schema.load(SCHEMA).to_yaml())
    protect(TABLE, str(tmp_path / "s.yaml"), method="ir", k=np.int64(5), seed=np.int64(3))  # type: ignore[arg-type]
    assert protect(TABLE.to_batches()[0], SCHEMA, method="ir", k=5).table.num_rows == 20


def test_near_misses_in_a_schema() -> None:
    with pytest.raises(SchemaError, match="Did you mean 'protect'"):
        Schema.load({"attributes": {"x": {"role": "protct"}}})
    with pytest.raises(SchemaError, match="upper: this entry is missing"):
        Schema.load({"attributes": {"x": {"role": "protect", "domain": {"lower": 1}}}})
    for domain in (3, ["a", "b"], {"labels": ["a", "b"]}):
        with pytest.raises(SchemaError, match=r"Labels stand in categories: \{labels"):
            Schema.load({"attributes": {"x": {"role": "protect", "domain": domain}}})


@pytest.mark.parametrize(
    ("said", "meant"),
    [("number", "continuous"), ("Float", "continuous"), ("category", "categorical"), ("text", "categorical"),
     ("int", "integer"), ("bool", "boolean"), ("datetime", "timestamp")],
)  # fmt: skip
def test_types_by_the_names_of_other_tools(said: str, meant: str) -> None:
    with pytest.raises(SchemaError, match=f"Write `{meant}`"):
        Schema.load({"attributes": {"x": {"role": "protect", "type": said}}})
