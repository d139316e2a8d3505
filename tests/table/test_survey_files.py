"""SPSS, Stata and SAS files: read as they are stored, written with what the schema says, whole or not at all."""

from __future__ import annotations

import datetime as dt
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest
from typer.testing import CliRunner

import coterie
from coterie import Schema
from coterie.cli import app
from coterie.errors import CertificateError, DataError, MissingExtra, OutputError
from coterie.publication.staging import stage
from coterie.schema.codebook import Variable
from coterie.table import survey_files
from coterie.table.checked import check
from coterie.table.reading import read_table

DAYS = [dt.date(1980, 12, 31), dt.date(2024, 2, 29), dt.date(1899, 1, 1)]
MOMENTS = [
    dt.datetime(2024, 5, 1, 12, 30, 15),
    dt.datetime(1969, 12, 31, 23, 59, 59),
    dt.datetime(2000, 1, 1),
]
FRAME = pd.DataFrame(
    {
        "sex": [1.0, 2.0, 99.0],
        "age": [30.0, np.nan, 98.0],
        "town": ["Bern", "Zürich", ""],
        "born": DAYS,
        "seen": MOMENTS,
    }
)
WORDS = {"sex": {1: "male", 2: "female", 99: "refused"}}
SCHEMA = """\
attributes:
  id: {role: identifier}
  sex: {type: categorical, role: protect, label: Sex of the person, missing: own category, missing_marks: [9],
        value_labels: {1: male, 2: female, 9: refused}}
  mood: {type: ordinal, role: protect, categories: [1, 2, 3], value_labels: {1: bad, 2: fair, 3: good}, missing: impute,
         missing_marks: ["7 to 9"]}
  age: {type: integer, role: protect, label: Age in years, domain: {lower: 0, upper: 96}, missing: own category,
        missing_marks: ["97 to 99", -1], value_labels: {97: refused}}
  pay: {type: continuous, role: protect, domain: {lower: 0, upper: 9999}, decimals: 2, format: F9.3}
  born: {type: date, role: protect, domain: {lower: 1900-01-01, upper: 2020-12-31}, format: EDATE10}
  seen: {type: timestamp, role: protect, domain: {lower: 2020-01-01, upper: 2025-01-01}, format: "%tc"}
  ok: {type: boolean, role: protect}
  town: {type: categorical, role: protect, categories: [Bern, Zürich], missing: own category, missing_marks: ["n/a"]}
  site: {role: keep}
"""


def write(path: Path, frame: pd.DataFrame = FRAME, **options: Any) -> Path:
    writers = {
        ".sav": pyreadstat.write_sav,
        ".zsav": lambda *given, **more: pyreadstat.write_sav(*given, compress=True, **more),
        ".por": pyreadstat.write_por,
        ".dta": pyreadstat.write_dta,
        ".xpt": pyreadstat.write_xport,
    }
    writers[path.suffix](frame, str(path), **options)
    return path


def people(rows: int = 200) -> pa.Table:
    draw = np.random.default_rng(7)
    return pa.table(
        {
            "id": np.arange(rows),
            "sex": draw.choice([1, 2, 9], rows),
            "mood": draw.choice([1, 2, 3, 8], rows),
            "age": draw.choice([20, 45, 70, 98, -1], rows),
            "pay": draw.uniform(0, 9000, rows),
            "born": pa.array(draw.integers(-20_000, 18_000, rows).astype(np.int32), pa.date32()),
            "seen": pa.array(draw.integers(1_600_000_000, 1_700_000_000, rows), pa.timestamp("s")),
            "ok": draw.random(rows) < 0.5,
            "town": draw.choice(["Bern", "Zürich", "n/a"], rows),
            "site": draw.choice(["a", "b"], rows),
        }
    )


@pytest.mark.parametrize("end", [".sav", ".zsav", ".por", ".dta", ".xpt"])
def test_every_format_reads_the_same(tmp_path: Path, end: str) -> None:
    towns = ["Bern", "Zurich" if end == ".por" else "Zürich", ""]  # a portable file has few letters
    path = write(tmp_path / f"t{end}", FRAME.assign(town=towns))
    found = read_table(path).rename_columns(list(FRAME)).to_pydict()
    assert found == {
        "sex": [1, 2, 99],
        "age": [30, None, 98],
        "town": [*towns[:2], None],
        "born": DAYS,
        "seen": MOMENTS,
    }


def test_codes_stay_codes_and_the_dictionary_is_noted_for_a_draft(tmp_path: Path) -> None:
    missing = {"sex": [99], "age": [{"lo": 97, "hi": 99}], "town": ["n/a"]}
    path = write(
        tmp_path / "t.sav",
        variable_value_labels=WORDS,
        column_labels={"sex": "Sex of the person"},
        missing_ranges=missing,
        variable_measure={"sex": "nominal"},
        variable_format={"born": "EDATE10"},
    )
    found = read_table(path)
    assert found["sex"].to_pylist() == [1, 2, 99], (
        "a code that the file calls missing is still the schema's to judge"
    )
    noted = {field.name: Variable.of(field.metadata) for field in found.schema}
    assert noted["sex"] == Variable(
        label="Sex of the person",
        value_labels={"1": "male", "2": "female", "99": "refused"},
        missing=("99",),
        measure="nominal",
    )
    assert (noted["age"].missing, noted["town"].missing) == (("97 to 99",), ("n/a",))
    assert noted["born"].format == "EDATE10"
    schema = Schema.load({"attributes": {name: {"role": "keep"} for name in FRAME}})
    assert not any(field.metadata for field in read_table(path, schema=schema).schema)


def test_open_ranges_and_stata_gaps(tmp_path: Path) -> None:
    low, high = -sys.float_info.max, sys.float_info.max
    frame = pd.DataFrame({"a": [1.0, -5.0, 2.0], "b": [1.0, 900.0, 2.0]})
    ranges = {"a": [{"lo": low, "hi": -1.0}], "b": [{"lo": 900.0, "hi": high}]}
    table = read_table(write(tmp_path / "t.sav", frame, missing_ranges=ranges))
    assert [Variable.of(field.metadata).missing for field in table.schema] == [
        ("lowest to -1",),
        ("900 to highest",),
    ]
    tagged = pd.DataFrame({"x": [1, "a", 3]})
    path = write(
        tmp_path / "t.dta",
        tagged,
        missing_user_values={"x": ["a"]},
        variable_value_labels={"x": {1: "one", "a": "refused"}},
    )
    found = read_table(path)
    assert found["x"].to_pylist() == [1, None, 3]
    assert Variable.of(found.schema.field("x").metadata).value_labels == {"1": "one"}


def test_sas_keeps_its_labels_in_a_file_beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here writes .sas7bdat: a transport file of the same content stands in, and a catalogue of labels."""
    frame = pd.DataFrame({"SEX": [1.0, 2.0], "D": [0.0, 366.0], "T": [0.0, 86_401.5]})
    formats = {"SEX": "SEXF", "D": "DATE9", "T": "DATETIME20"}
    path = write(tmp_path / "t.xpt", frame, variable_format=formats).rename(tmp_path / "t.sas7bdat")
    monkeypatch.setattr(pyreadstat, "read_sas7bdat", pyreadstat.read_xport)
    found = read_table(path)
    assert found.to_pydict() == {
        "SEX": [1, 2],
        "D": [dt.date(1960, 1, 1), dt.date(1961, 1, 1)],
        "T": [dt.datetime(1960, 1, 1), dt.datetime(1960, 1, 2, 0, 0, 1, 500_000)],
    }
    assert not Variable.of(found.schema.field("SEX").metadata).value_labels
    (tmp_path / "t.sas7bcat").write_bytes(b"x")
    with pytest.raises(DataError, match="not a SAS catalogue"):
        read_table(path)
    catalogue = SimpleNamespace(value_labels={"SEXF": {1.0: "male", 2.0: "female"}})
    monkeypatch.setattr(pyreadstat, "read_sas7bcat", lambda _: (None, catalogue))
    labels = Variable.of(read_table(path).schema.field("SEX").metadata).value_labels
    assert labels == {"1": "male", "2": "female"}


def test_a_large_file_is_read_in_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pd.DataFrame({"n": np.arange(2500.0), "t": [f"t{n % 7}" for n in range(2500)]})
    for end in (".sav", ".por", ".dta", ".xpt"):
        path = write(tmp_path / f"t{end}", frame)
        whole = read_table(path)
        with monkeypatch.context() as patch:
            patch.setattr(survey_files, "_CELLS_AT_ONCE", 1)
            pieces = read_table(path)
        assert pieces.equals(whole)
        assert (whole.column(0).num_chunks, pieces.column(0).num_chunks) == (1, 3)
        exact = write(tmp_path / f"u{end}", frame.head(2000))
        with monkeypatch.context() as patch:
            patch.setattr(survey_files, "_CELLS_AT_ONCE", 1)
            assert read_table(exact).num_rows == 2000


@pytest.mark.parametrize("end", [".sav", ".zsav", ".por", ".dta", ".xpt", ".sas7bdat"])
def test_a_damaged_file_is_refused_in_one_sentence(tmp_path: Path, end: str) -> None:
    path = tmp_path / f"t{end}"
    contents = [b"secret,name\n1,2\n" * 40, b"\0" * 700]
    if end != ".sas7bdat":
        many = pd.concat([FRAME] * 40, ignore_index=True).assign(town="Bern")
        whole = write(path, many).read_bytes()
        contents += [whole[: len(whole) // share + 1] for share in (2, 9)]
        if end in (".sav", ".zsav", ".dta"):
            contents += [whole[:-40], whole[:200] + b"\xff" * 300 + whole[500:]]
    for content in contents:
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"not a complete|encoding|has no variables") as caught:
            read_table(path)
        assert "secret" not in str(caught.value)
        assert "Bern" not in str(caught.value)


def test_an_encrypted_file_says_so(tmp_path: Path) -> None:
    (tmp_path / "t.sav").write_bytes(b"ENCRYPTEDSAV\0\0\0" + b"\x07" * 200)
    with pytest.raises(DataError, match="is encrypted with a password"):
        read_table(tmp_path / "t.sav")


def test_a_date_beyond_the_calendar_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "t.dta", pd.DataFrame({"d": [1.0, 4e6]}), variable_format={"d": "%td"})
    with pytest.raises(DataError, match="Column 'd' holds a date before the year 1 or after 9999"):
        read_table(path)


def test_an_old_encoding_is_guessed_by_the_draft_only(tmp_path: Path) -> None:
    content = write(tmp_path / "t.sav").read_bytes()
    (tmp_path / "wrong.sav").write_bytes(content.replace("Zürich".encode(), "Zürich ".encode("cp1252")))
    with pytest.raises(DataError, match="another encoding than it says"):
        read_table(tmp_path / "wrong.sav")
    draft = Schema.draft(tmp_path / "wrong.sav")
    assert (draft.schema.dialect.encoding, draft.schema.dialect.source) == ("cp1252", "data")


@pytest.mark.parametrize("end", [".sav", ".rds"])
def test_without_the_extra_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    path = tmp_path / f"t{end}"
    path.write_bytes(b"$FL2")
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    monkeypatch.setitem(sys.modules, "rdata", None)
    with pytest.raises(MissingExtra) as caught:
        read_table(path)
    assert "coterie[survey]" in caught.value.advice
    with pytest.raises(MissingExtra):
        stage(people(), tmp_path / "out.dta", schema=Schema.load(SCHEMA), force=False)


# Out.


@pytest.mark.parametrize("end", [".sav", ".zsav", ".dta"])
def test_a_release_is_read_back_as_it_was(tmp_path: Path, end: str) -> None:
    schema = Schema.load(SCHEMA)
    release = coterie.protect(people(), schema, method="dp-synthetic", epsilon=1, seed=1)
    staged = stage(release.table, tmp_path / f"out{end}", schema=schema, force=False)
    assert not (tmp_path / f"out{end}").exists()
    staged.publish()
    back = read_table(tmp_path / f"out{end}", schema=schema)
    described = Schema.load(
        {
            **schema.to_dict(),
            "attributes": {k: v for k, v in schema.to_dict()["attributes"].items() if k != "id"},
        }
    )
    before, after = (check(table, described) for table in (release.table, back))
    for name, column in before.columns.items():
        np.testing.assert_allclose(after.columns[name].position, column.position, rtol=0, atol=1e-5)
    assert back["site"].to_pylist() == release.table["site"].to_pylist()


def test_labels_missing_codes_and_formats_come_from_the_schema(tmp_path: Path) -> None:
    schema = Schema.load(SCHEMA)
    release = coterie.protect(people(), schema, method="dp-synthetic", epsilon=1, seed=1)
    for end in (".sav", ".dta"):
        stage(release.table, tmp_path / f"out{end}", schema=schema, force=False).publish()
    spss = pyreadstat.read_sav(tmp_path / "out.sav", user_missing=True)[1]
    assert spss.column_names_to_labels["sex"] == "Sex of the person"
    assert spss.variable_value_labels["sex"] == {1: "male", 2: "female", 9: "refused"}
    assert spss.variable_value_labels["age"] == {97: "refused"}
    assert spss.missing_ranges == {
        "sex": [{"lo": 9, "hi": 9}],
        "mood": [{"lo": 7, "hi": 9}],
        "age": [{"lo": 97, "hi": 99}, {"lo": -1, "hi": -1}],
        "town": [{"lo": "", "hi": ""}, {"lo": "n/a", "hi": "n/a"}],
    }
    drafted = Schema.draft(tmp_path / "out.sav")
    assert drafted.schema["town"].missing_marks == ("n/a",)
    shown = {name: spss.original_variable_types[name] for name in ("sex", "pay", "born", "seen", "ok")}
    assert shown == {"sex": "F8.0", "pay": "F9.3", "born": "EDATE10", "seen": "DATETIME20", "ok": "F8.0"}
    assert [spss.variable_measure[name] for name in ("sex", "mood", "age")] == ["nominal", "ordinal", "scale"]
    stata = pyreadstat.read_dta(tmp_path / "out.dta")[1]
    assert stata.variable_value_labels["mood"] == {1: "bad", 2: "fair", 3: "good"}
    assert stata.column_names_to_labels["age"] == "Age in years"
    shown = {name: stata.original_variable_types[name] for name in ("pay", "born", "seen")}
    assert shown == {"pay": "%9.2f", "born": "%td", "seen": "%tc"}
    assert stata.readstat_variable_types["sex"] == "int32"


def test_the_storage_does_not_follow_the_cells(tmp_path: Path) -> None:
    """Two releases of one schema, with and without a gap, have the same dictionary."""
    schema = Schema.load(
        {
            "attributes": {
                "n": {
                    "type": "integer",
                    "role": "protect",
                    "missing": "own category",
                    "domain": {"lower": 0, "upper": 9},
                }
            }
        }
    )
    kinds = []
    for values in ([1, 2], [1, None]):
        path = tmp_path / f"{len(kinds)}.dta"
        stage(pa.table({"n": pa.array(values, pa.int64())}), path, schema=schema, force=False).publish()
        kinds.append(pyreadstat.read_dta(path)[1].readstat_variable_types)
    assert kinds[0] == kinds[1] == {"n": "int32"}


@pytest.mark.parametrize(
    ("names", "end", "problem"),
    [
        (["two words"], ".sav", "'two words' cannot be the name of a variable in SPSS"),
        (["with"], ".sav", "'with' cannot be"),
        (["x" * 65], ".zsav", "cannot be the name"),
        (["Age", "age"], ".sav", "'Age' and 'age' are one name to SPSS"),
        (["x" * 33], ".dta", "cannot be the name of a variable in Stata"),
        (["1st"], ".dta", "'1st' cannot be"),
    ],
)
def test_a_name_without_a_place_is_told_before_noise_is_drawn(
    tmp_path: Path, names: list[str], end: str, problem: str
) -> None:
    described = {name: {"type": "boolean", "role": "protect"} for name in names}
    table = pa.table([[True, False, True]] * len(names), names=names)
    with pytest.raises(OutputError, match=problem):
        coterie.publish(table, {"attributes": described}, tmp_path / f"out{end}", method="laplace", epsilon=1)
    assert list(tmp_path.iterdir()) == []


def test_a_type_without_a_place_leaves_nothing(tmp_path: Path) -> None:
    table = pa.table({"x": pa.array([[1], [2]])})
    with pytest.raises(OutputError, match="Column 'x' cannot be written"):
        stage(table, tmp_path / "out.sav", force=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("marks", "expected"),
    [
        (["97", "98", "99"], [97, 98, 99]),
        (["96", "97", "98", "99"], [{"lo": 96, "hi": 99}]),
        (["-9", "97", "98", "99"], [{"lo": 97, "hi": 99}, -9]),
        (["lowest to -1"], [{"lo": -sys.float_info.max, "hi": -1}]),
        (["0", "3", "11", "13"], []),
        (["?"], []),
    ],
)
def test_missing_codes_fit_the_room_that_spss_has(marks: list[str], expected: list[Any]) -> None:
    from coterie.table.survey_writing import _missing

    entry = {"type": "categorical", "role": "protect", "categories": ["1", "2", "12"], "missing_marks": marks}
    assert _missing(Schema.load({"attributes": {"a": entry}})["a"], as_text=False) == expected


def test_kept_columns_have_their_codes_and_labels(tmp_path: Path) -> None:
    """From a CSV file they are text, from an SPSS file numbers: both have a place."""
    entry = {"role": "keep", "type": "categorical", "value_labels": {1: "a", 9: "none"}, "missing_marks": [9]}
    schema = Schema.load({"attributes": {"k": entry}})
    for place, cells in enumerate((["1", "9"], [1.0, 9.0], [1, 9])):
        path = tmp_path / f"{place}.sav"
        stage(pa.table({"k": cells}), path, schema=schema, force=False).publish()
        found = pyreadstat.read_sav(path, user_missing=True)[1]
        assert list(found.variable_value_labels["k"].values()) == ["a", "none"]
        assert found.missing_ranges["k"] == [dict.fromkeys(("lo", "hi"), cells[1])]


def test_from_an_spss_file_to_one_with_the_commands(tmp_path: Path) -> None:
    """Draft, fill, protect, verify, evaluate: what a steward does."""
    draw = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "id": np.arange(300.0),
            "sex": draw.choice([1.0, 2.0, 99.0], 300),
            "age": draw.integers(18, 90, 300) * 1.0,
            "job": draw.choice([0.5, 1.0], 300),
        }
    )
    words = WORDS | {"job": {0.5: "part time", 1.0: "full time"}}
    source = write(tmp_path / "p.sav", frame, variable_value_labels=words, missing_ranges={"sex": [99]})
    schema, out, run = tmp_path / "s.yaml", tmp_path / "out.sav", CliRunner()
    drafted = run.invoke(
        app, ["schema", "draft", str(source), "-o", str(schema), "--codebook", "codebook, page 3", "--json"]
    )
    assert json.loads(drafted.stdout)["to_fill"] == ["age"]
    assert json.loads(drafted.stdout)["dropped"] == ["id"]
    text = schema.read_text().replace("lower:  #", "lower: 0  #").replace("upper:  #", "upper: 120  #")
    schema.write_text(text.replace("missing: error", "missing: own category"))
    line = [
        "protect",
        str(source),
        "-s",
        str(schema),
        "-m",
        "dp-synthetic",
        "-e",
        "1",
        "-o",
        str(out),
        "--json",
    ]
    done = run.invoke(app, line)
    assert done.exit_code == 0, done.output
    certificate = json.loads(Path(f"{out}.certificate.json").read_text())
    assert certificate["guarantee"]["status"] == "proved", "the labels are said to be public"
    verified = run.invoke(app, ["certificate", "verify", str(out), f"{out}.certificate.json"])
    assert verified.exit_code == 0, verified.output
    released, dictionary = pyreadstat.read_sav(out)
    assert dictionary.variable_value_labels["sex"][2] == "female"
    assert dictionary.variable_value_labels["job"] == words["job"]
    assert set(released["job"].dropna()) == {0.5, 1.0}, "codes that are no whole numbers stay numbers"
    evaluated = run.invoke(app, ["evaluate", str(source), str(out), "-s", str(schema), "--json"])
    assert evaluated.exit_code == 0, evaluated.output
    out.write_bytes(out.read_bytes()[:-1])
    again = run.invoke(app, ["certificate", "verify", str(out), f"{out}.certificate.json"])
    assert isinstance(again.exception, CertificateError)
