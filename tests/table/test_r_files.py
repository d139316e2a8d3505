"""R files: data frames, factors, dates and labelled values, as R writes them."""

from __future__ import annotations

import datetime as dt
import gzip
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rdata
from rdata.conversion.to_r import build_r_object
from rdata.parser import RObjectType

from coterie import Schema
from coterie.errors import DataError, ParameterError
from coterie.schema.codebook import Variable
from coterie.table.checked import check
from coterie.table.reading import read_table


@dataclass
class Vector:
    """Values with attributes, such as a class."""

    values: Any
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass
class Frame:
    columns: dict[str, Any]
    kind: tuple[str, ...] = ("data.frame",)


def _vector(data: Vector, converter: Any) -> Any:
    plain = converter.convert_to_r_object(data.values)
    if not data.attributes:
        return plain
    attributes = converter.convert_to_r_attributes(data.attributes)
    return build_r_object(
        plain.info.type, value=plain.value, is_object="class" in data.attributes, attributes=attributes
    )


def _frame(data: Frame, converter: Any) -> Any:
    rows = len(next(iter(data.columns.values())).values) if data.columns else 0
    said = {
        "names": np.array(list(data.columns)),
        "class": np.array(data.kind),
        "row.names": np.arange(1, rows + 1, dtype=np.int32),
    }
    cells = [converter.convert_to_r_object(column) for column in data.columns.values()]
    return build_r_object(
        RObjectType.VEC, value=cells, is_object=True, attributes=converter.convert_to_r_attributes(said)
    )


CLASSES = {Vector: _vector, Frame: _frame}


def texts(*values: str | None) -> Vector:
    return Vector(np.array(values, dtype=object if None in values else None))


def whole(*values: int | None) -> Any:
    gaps = [value is None for value in values]
    return np.ma.array([0 if value is None else value for value in values], mask=gaps, dtype=np.int32)


PEOPLE = Frame(
    {
        "town": texts("Bern", "Zürich", None),
        "n": Vector(whole(1, None, 3), {"label": np.array(["A count"])}),
        "x": Vector(np.array([1.5, np.nan, 3.0])),
        "ok": Vector(np.ma.array([True, False, True], mask=[False, False, True])),
        "ward": Vector(
            whole(2, 1, None), {"levels": np.array(["north", "south", "west"]), "class": np.array(["factor"])}
        ),
        "size": Vector(
            whole(1, 3, 2), {"levels": np.array(["S", "M", "L"]), "class": np.array(["ordered", "factor"])}
        ),
        "born": Vector(np.array([4017.0, np.nan, -1.0]), {"class": np.array(["Date"])}),
        "seen": Vector(
            np.array([1.5e9, 0.0, np.nan]),
            {"class": np.array(["POSIXct", "POSIXt"]), "tzone": np.array(["UTC"])},
        ),
        "sex": Vector(
            np.array([1.0, 2.0, 9.0]),
            {
                "labels": Vector(
                    np.array([1.0, 2.0, 9.0]), {"names": np.array(["male", "female", "refused"])}
                ),
                "na_values": np.array([9.0]),
                "na_range": np.array([-np.inf, -1.0]),
                "class": np.array(["haven_labelled_spss", "haven_labelled", "vctrs_vctr", "double"]),
            },
        ),
    },
    ("tbl_df", "tbl", "data.frame"),
)


def save(path: Path, content: Any) -> Path:
    write = rdata.write_rds if path.suffix == ".rds" else rdata.write_rda
    write(path, content, constructor_dict=CLASSES)
    return path


def test_a_data_frame_with_everything(tmp_path: Path) -> None:
    found = read_table(save(tmp_path / "t.rds", PEOPLE))
    assert found.to_pydict() == {
        "town": ["Bern", "Zürich", None],
        "n": [1, None, 3],
        "x": [1.5, None, 3.0],
        "ok": [True, False, None],
        "ward": ["south", "north", None],
        "size": ["S", "L", "M"],
        "born": [dt.date(1980, 12, 31), None, dt.date(1969, 12, 31)],
        "seen": [dt.datetime(2017, 7, 14, 2, 40), dt.datetime(1970, 1, 1), None],
        "sex": [1, 2, 9],
    }
    noted = {field.name: Variable.of(field.metadata) for field in found.schema}
    assert noted["n"].label == "A count"
    assert (noted["ward"].labels, noted["ward"].measure) == (("north", "south", "west"), "nominal")
    assert noted["size"].measure == "ordinal"
    assert noted["sex"].value_labels == {"1": "male", "2": "female", "9": "refused"}
    assert noted["sex"].missing == ("9", "lowest to -1")


# What R itself wrote: r_files/make.R.
FILES = Path(__file__).parent / "r_files"


@pytest.mark.parametrize(
    "name", ["version-3-gzip", "version-3-xz", "version-2-bzip2", "version-2-plain", "ascii"]
)
def test_what_r_saved_is_read(name: str) -> None:
    assert read_table(FILES / f"{name}.rda", table="invented").to_pydict() == {
        "whole": [3, None, -7],
        "number": [1.5, None, 2e10],
        "flag": [True, None, False],
        "label": ["wren", None, "owl"],
        "text": ["café", None, "plain"],
    }


@pytest.mark.parametrize("name", ["version-3-gzip", "version-3-xz"])
def test_the_short_forms_of_newer_versions_of_r(name: str) -> None:
    up = list(range(1, 71))
    assert read_table(FILES / f"{name}.rda", table="short").to_pydict() == {
        "up": up,
        "down": up[::-1],
        "real": [float(value) for value in up],
        "sorted": [3 * value for value in up],
        "text": [str(100 + value) for value in up],
        "latin": ["café"] * 70,
        "ordered": [value / 2 for value in up],
    }


def test_factors_are_drafted_with_their_levels_and_read_by_the_schema(tmp_path: Path) -> None:
    path = save(tmp_path / "t.rds", PEOPLE)
    drafted = Schema.draft(path, codebook="page 1").schema
    assert (drafted["size"].type, drafted["size"].categories.labels) == ("ordinal", ("S", "M", "L"))
    assert drafted["ward"].categories.labels == ("north", "south", "west"), "also the level that nobody has"
    assert drafted["sex"].missing_marks == ("9", "lowest to -1")
    content = drafted.to_dict()
    entry = {**content["attributes"]["sex"], "missing": "own category"}
    schema = Schema.load(
        {"attributes": {"sex": entry, **{n: {"role": "identifier"} for n in PEOPLE.columns if n != "sex"}}}
    )
    assert check(read_table(path, schema=schema), schema).columns["sex"].codes.tolist() == [1, 2, 0]


def test_an_old_encoding_is_guessed_by_the_draft_only(tmp_path: Path) -> None:
    """Texts of R before 2.10 have no flag, and files before version 3 name no encoding."""
    path = save(tmp_path / "t.rds", Frame({"town": texts(*["Bern", "Zurich"] * 20)}))
    content = gzip.decompress(path.read_bytes())
    flagged, plain = b"\x00\x04\x00\x09\x00\x00\x00\x06Zurich", b"\x00\x00\x00\x09\x00\x00\x00\x06Z\xfcrich"
    assert flagged in content
    path.write_bytes(content.replace(flagged, plain))
    with pytest.raises(DataError, match="another encoding than it says"):
        read_table(path)
    draft = Schema.draft(path).schema
    assert (draft.dialect.encoding, draft.dialect.source) == ("cp1252", "data")
    assert read_table(path, schema=draft)["town"].to_pylist()[:2] == ["Bern", "Zürich"]


def test_several_frames_ask_for_a_name(tmp_path: Path) -> None:
    other = Frame({"a": Vector(whole(1, 2))})
    path = save(tmp_path / "t.RData", {"people": PEOPLE, "other": other, "number": np.array([1.0])})
    with pytest.raises(DataError, match="holds 2 data frames: people, other") as caught:
        read_table(path)
    assert "--table" in caught.value.advice
    assert read_table(path, table="other").to_pydict() == {"a": [1, 2]}
    with pytest.raises(DataError, match="no data frame 'peple'"):
        read_table(path, table="peple")
    assert read_table(save(tmp_path / "one.rda", {"n": np.array([1.0]), "x": other})).num_rows == 2
    with pytest.raises(DataError, match="one object without a name"):
        read_table(save(tmp_path / "t.rds", other), table="other")
    with pytest.raises(ParameterError):
        read_table(path, query="SELECT 1")


@pytest.mark.parametrize("kind", ["matrix", "list", "date"])
def test_what_is_no_column_is_named(tmp_path: Path, kind: str) -> None:
    columns = {
        "matrix": Vector(np.array([1.0, 2.0]), {"dim": whole(2, 1)}),
        "list": Vector([np.array([1.0]), np.array([2.0])]),
        "date": Vector(np.array([1.0, 1e9]), {"class": np.array(["Date"])}),
    }
    with pytest.raises(DataError, match=f"Column '{kind}'"):
        read_table(save(tmp_path / "t.rds", Frame({kind: columns[kind]})))


@pytest.mark.parametrize("end", [".rds", ".rda"])
def test_a_damaged_file_is_refused_in_one_sentence(tmp_path: Path, end: str) -> None:
    path = save(tmp_path / f"t{end}", PEOPLE if end == ".rds" else {"people": PEOPLE})
    whole_file = path.read_bytes()
    for content in (b"Bern,secret\n" * 40, whole_file[:60], whole_file[:-9], b"\x1f\x8b" + b"\0" * 80):
        path.write_bytes(content)
        with pytest.raises(DataError, match="is not a complete R file") as caught:
            read_table(path)
        assert "Bern" not in str(caught.value)
    with pytest.raises(DataError, match="no data frame"):
        read_table(save(tmp_path / "v.rds", np.array([1.0, 2.0])))
