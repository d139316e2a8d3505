"""How a text file writes its cells: declared in the schema, guessed for a draft only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from coterie import Schema
from coterie.errors import DataError, SchemaError
from coterie.schema.draft import drafted
from coterie.table.checked import check
from coterie.table.reading import guess_dialect, read_table

ATTRIBUTES = {
    "city": {"type": "categorical", "role": "protect", "categories": {"labels": ["Bern", "Zürich"]}},
    "bill": {"type": "continuous", "role": "protect", "domain": {"lower": 0, "upper": 9999}},
    "day": {"type": "date", "role": "protect", "domain": {"lower": "2000-01-01", "upper": "2030-01-01"}},
}
GERMAN = "city;bill;day\nZürich;1,5;31.1.2020\nBern;1000;01.02.2020\nBern; 2,25 ;2020-02-03\n"
DIALECT = {"delimiter": ";", "decimal": ",", "encoding": "cp1252", "date_format": "%d.%m.%Y"}


def schema(**dialect: Any) -> Schema:
    return Schema.load({"dialect": dialect, "attributes": ATTRIBUTES})


def numbers(path: Path, described: Schema, name: str) -> list[float]:
    return check(read_table(path, schema=described), described).columns[name].position.tolist()


def test_a_declared_dialect_is_what_is_read(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(GERMAN.encode("cp1252"))
    assert numbers(path, schema(**DIALECT), "bill") == [1.5, 1000, 2.25]
    assert numbers(path, schema(**DIALECT), "day") == [18292, 18293, 18295]
    with pytest.raises(DataError, match="not UTF-8"):
        read_table(path, schema=schema())


def test_a_point_is_no_decimal_mark_where_a_comma_is(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(GERMAN.replace("1000", "1.000").encode("cp1252"))
    with pytest.raises(DataError, match=r"not a number\. The first is in row 2"):
        numbers(path, schema(**DIALECT), "bill")


def test_marks_of_thousands_are_declared(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(
        "city;bill;day\nBern;1.234,50;2020-01-01\nBern;12;2020-01-01\nBern;1.000.000;2020-01-01\n"
    )
    wide = {
        **ATTRIBUTES,
        "bill": {"type": "continuous", "role": "protect", "domain": {"lower": 0, "upper": 1e7}},
    }
    told = {"dialect": {"decimal": ",", "thousands": "."}, "attributes": wide}
    assert numbers(path, Schema.load(told), "bill") == [1234.5, 12, 1_000_000]
    path.write_text('city,bill,day\nBern,"1,234.5",2020-01-01\nBern,12,2020-01-01\n')
    assert numbers(path, schema(thousands=","), "bill") == [1234.5, 12]
    for odd in ("12,34", "1,2345", ",123", "1234,567"):
        path.write_text(f'city,bill,day\nBern,"{odd}",2020-01-01\nBern,12,2020-01-01\n')
        with pytest.raises(DataError, match="not a number"):
            numbers(path, schema(thousands=","), "bill")


def test_marks_among_numbers_of_another_dialect(tmp_path: Path) -> None:
    lines = "".join(f"{n}.{n:03d},5;{n}\n" for n in range(1, 60))
    (tmp_path / "t.csv").write_text(f"pay;n\n{lines}k.A.;60\n")
    drafted = Schema.draft(tmp_path / "t.csv").schema
    assert (drafted.dialect.decimal, drafted.dialect.thousands) == (",", ".")
    assert (drafted["pay"].type.value, drafted["pay"].missing_marks) == ("continuous", ("k.A.",))


def test_codes_with_leading_zeros_stay_text_in_a_draft(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('zip,n\n01234,10\n"00042",20\n8001,30\n')
    assert read_table(tmp_path / "t.csv").to_pydict() == {
        "zip": ["01234", "00042", "8001"],
        "n": [10, 20, 30],
    }


def test_escapes_and_no_quotes(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    described = Schema.load(
        {"dialect": {"escape": "\\"}, "attributes": {"a": {"role": "keep"}, "b": {"role": "keep"}}}
    )
    path.write_text('a,b\n"x \\"y\\" z",1\nu\\,v,2\n')
    assert read_table(path, schema=described)["a"].to_pylist() == ['x "y" z', "u,v"]
    path.write_text('a,b\nx\\,"y",1\n')
    with pytest.raises(DataError, match="quote inside a cell"):
        read_table(path, schema=described)
    plain = described.model_copy(update={"dialect": schema(quote=None).dialect})
    path.write_text('a,b\n6" nail,1\n"x,2\n')
    assert read_table(path, schema=plain)["a"].to_pylist() == ['6" nail', '"x']


@pytest.mark.parametrize(
    ("entry", "word"),
    [
        ({"delimiter": "ab"}, "one ASCII character"),
        ({"delimiter": '"'}, "different characters"),
        ({"decimal": ",", "delimiter": ","}, "same character"),
        ({"decimal": ",", "thousands": ","}, "mark of thousands are the same"),
        ({"encoding": "klingon"}, "no such encoding"),
        ({"encoding": "hex"}, "no such encoding"),
        ({"encoding": "iso2022_jp"}, "how the cells after it are read"),
        ({"encoding": "utf-7"}, "how the cells after it are read"),
        ({"date_format": "%d.%m"}, "%d, %m and %Y"),
        ({"colour": "red"}, "no such entry"),
    ],
)
def test_a_wrong_dialect_is_told(entry: dict[str, Any], word: str) -> None:
    with pytest.raises(SchemaError, match=word):
        schema(**entry)


def test_it_is_written_back_and_absent_where_it_is_the_default() -> None:
    assert Schema.load(schema(**DIALECT).to_yaml()).dialect == schema(**DIALECT).dialect
    assert Schema.load(schema(quote=None).to_yaml()).dialect.quote is None
    assert "dialect" not in schema().to_dict()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (GERMAN.replace("2020-02-03", "3.2.2020").encode("cp1252"), {k: v for k, v in DIALECT.items() if k != "delimiter"}),
        (b"a,b\n1,2\n", {}),
        (b"a,b\n1,01/31/2020\n2,02/01/2020\n", {"date_format": "%m/%d/%Y"}),
        (b"a,b\n1,01/02/2020\n2,02/01/2020\n", {}),
        (b'a,b\n"1,000",x\n900,y\n', {"thousands": ","}),
        (b"a;b\n1.234,56;1.500\n9,5;20\n", {"decimal": ",", "thousands": "."}),
        (b"a;b\n1.234,56;1.500\n0,00;0\n", {"decimal": ",", "thousands": "."}),
        (b"a;b\n1,5;0.25\n2,5;1.5\n", {}),
        (b"a;b\n0,125;x\n0,250;y\n", {"decimal": ","}),
        (b"a;b\n1'000;x\n20'500;y\n", {"thousands": "'"}),
        (b"a,b\n31.12.2020 08:30,1\n01.01.2021 09:00,2\n", {"date_format": "%d.%m.%Y"}),
        (b'a,b\n6" nail,1\n', {"quote": None}),
        (b'a,b\n"x \\"y\\"",1\n', {"escape": "\\"}),
    ],
)  # fmt: skip
def test_a_draft_guesses_and_says_so(tmp_path: Path, content: bytes, expected: dict[str, Any]) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    dialect = guess_dialect(path)
    found = dialect.model_dump(exclude_defaults=True)
    assert found == ({**expected, "source": "data"} if expected else {})
    text = drafted(read_table(path, dialect=dialect), dialect=dialect).text
    assert ("How the text file writes its cells: from the data, confirm" in text) is bool(expected)
    draft = Schema.load(text)
    assert draft.dialect == dialect
    if "date_format" in expected:
        assert {"date", "timestamp"} & {attribute.type.value for attribute in draft.attributes}


def test_a_mark_is_written_in_the_files_own_format_of_dates(tmp_path: Path) -> None:
    day = {
        "type": "date",
        "role": "protect",
        "missing": "own category",
        "missing_marks": ["01.01.1900", "?"],
        "domain": {"lower": "1900-01-01", "upper": "2100-01-01"},
    }
    described = Schema.load({"dialect": {"date_format": "%d.%m.%Y"}, "attributes": {"d": day}})
    (tmp_path / "t.csv").write_text("d\n01.01.1900\n?\n1.2.2020\n02.02.2020\n")
    found = check(read_table(tmp_path / "t.csv", schema=described), described).columns["d"]
    assert np.isnan(found.values).tolist() == [True, True, False, False]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('"Income, net","Age; years; full","z"\n1,2,3\n', ["Income, net", "Age; years; full", "z"]),
        ('"a, b, c, d";"e"\n1;2\n', ["a, b, c, d", "e"]),
        ('a, b;"x, y, z"\n1;2\n', ["a, b", "x, y, z"]),
        ('"a ""b"", c";"d"\n1;2\n', ['a "b", c', "d"]),
        ('"one\ntwo, three";b\n1;2\n', ["one\ntwo, three", "b"]),
        ("a;b,c\n1,2\n", ["a;b", "c"]),
    ],
)
def test_a_delimiter_inside_a_quoted_name_splits_nothing(text: str, names: list[str], tmp_path: Path) -> None:
    path = tmp_path / "header.csv"
    path.write_text(text)
    assert read_table(path).column_names == names
