"""The hierarchy CSV of ARX users."""

from __future__ import annotations

from pathlib import Path

import pytest

from coterie.errors import SchemaError
from coterie.schema.taxonomy.loading import load_taxonomy


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "hierarchy.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_one_row_a_leaf(tmp_path: Path) -> None:
    tree = load_taxonomy(write(tmp_path, "France;Europe;*\nItaly;Europe;*\nJapan;Asia;*\n"))
    assert tree.nodes == ("*", "Asia", "Japan", "Europe", "France", "Italy")
    assert tree.categories == ("Japan", "France", "Italy")


@pytest.mark.parametrize(
    "text",
    ["\ufeffa;b;*\r\nc;b;*\r\n", "a;b;*\n\nc;b;*", '"a";"b";"*"\n"c";"b";*\n'],
    ids=["BOM and CRLF", "blank line, no last newline", "quotes"],
)
def test_spellings_of_one_tree(tmp_path: Path, text: str) -> None:
    plain = load_taxonomy(write(tmp_path, "a;b;*\nc;b;*\n"))
    assert load_taxonomy(write(tmp_path, text)) == plain


def test_a_repeated_label_on_neighbouring_levels_is_one_node(tmp_path: Path) -> None:
    tree = load_taxonomy(
        write(tmp_path, "Guam;Oceania;Oceania;*\nFrance;West;Europe;*\nEurope;Europe;Europe;*\n")
    )
    assert tree.ancestors("Guam") == ("Guam", "Oceania", "*")
    assert tree.ancestors("France") == ("France", "West", "Europe", "*")
    assert "Europe" in tree.categories  # an inner concept that has a row of its own


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ("a\nb\n", "Line 1 has no level"),
        ("a;b;*\nc;*\n", "Line 2 has 2 levels"),
        ("a;b;*\nc;b;*\na;d;*\n", "'a' has two rows, at lines 1 and 3"),
        ("a;b;*\nc;b;Top\n", r"'b' appears twice \(line 2\)"),
        ("a;b;X\nc;d;Y\n", "2 roots, among them 'X' and 'Y'"),
        ("a;b;*\nb;a;*\n", r"appears twice \(line 2\)"),
        ("a;b;a\n", r"appears twice \(line 1\)"),
        ("a;;*\n", r"empty.*\(line 1\)"),
        ('a;b;*\n"c;b;*\n', "not valid CSV"),
        (b"a;\xff;*\n", "UTF-8"),
    ],
)
def test_malformed_files_are_refused_with_their_line(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        load_taxonomy(write(tmp_path, text))
