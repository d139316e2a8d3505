"""R's own files: those that R wrote are read whole, and a hostile one is refused with a sentence."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import pytest
from r_writer import (
    ATTRIBUTES,
    HEADER,
    NIL,
    compact,
    frame,
    integer,
    integers,
    pairs,
    r_file,
    reals,
    symbol,
    texts,
)

from coterie.errors import DataError
from coterie.papers import r_file as reader
from coterie.papers.r_file import data_frame

FILES = Path(__file__).parent / "r_files"
INVENTED = {
    "whole": [3, None, -7],
    "number": [1.5, None, 2e10],
    "flag": [True, None, False],
    "label": ["wren", None, "owl"],
    "text": ["café", None, "plain"],
}
FACTOR = pairs({"levels": texts(["a"]), "class": texts(["factor"])})


@pytest.mark.parametrize("name", ["version-3-gzip", "version-3-xz", "version-2-bzip2", "version-2-plain"])
def test_what_r_saved_is_read(name: str) -> None:
    content = (FILES / f"{name}.rda").read_bytes()
    assert data_frame(content, "invented").to_pydict() == INVENTED
    empty = data_frame(content, "none")
    assert empty.num_rows == 0
    assert empty.column_names == list(INVENTED)


@pytest.mark.parametrize("name", ["version-3-gzip", "version-3-xz"])
def test_the_short_forms_of_newer_versions_of_r(name: str) -> None:
    table = data_frame((FILES / f"{name}.rda").read_bytes(), "short").to_pydict()
    up = list(range(1, 71))
    assert table["up"] == up
    assert table["down"] == up[::-1]
    assert table["real"] == [float(value) for value in up]
    assert table["sorted"] == [3 * value for value in up]
    assert table["ordered"] == [value / 2 for value in up]
    assert table["text"] == [str(100 + value) for value in up]
    assert table["latin"] == ["café"] * 70


def test_our_writer_and_the_reader_agree() -> None:
    content = r_file(other=texts(["x"]), t=frame({"a": reals([1.0, 2.5]), "b": integers([4, 5])}))
    assert data_frame(content, "t").to_pydict() == {"a": [1.0, 2.5], "b": [4, 5]}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "binary format"),
        (b"a,b\n1,2\n", "binary format"),
        ((FILES / "ascii.rda").read_bytes(), "binary format"),
        ((FILES / "function.rda").read_bytes(), "other than plain data"),
        ((FILES / "version-3-gzip.rda").read_bytes()[:-90], "ends too early"),
        ((FILES / "version-3-xz.rda").read_bytes()[:-90], "ends too early"),
        ((FILES / "version-2-bzip2.rda").read_bytes()[:-90], "ends too early"),
        ((FILES / "version-3-xz.rda").read_bytes()[:60] + bytes(400), "cannot be unpacked"),
        (b"\x1f\x8b" + bytes(50), "cannot be unpacked"),
        (gzip.compress(bytes(reader.LARGEST + 1)), "larger than 16 MiB"),
        (r_file(t=frame({"a": reals([1.0])}))[:-30], "claims more than it holds"),
        (HEADER, "claims more than it holds"),
        (r_file(t=integer(16) + integer(2**31 - 1)), "claims more than it holds"),
        (r_file(t=integer(14) + integer(-1)), "claims more than it holds"),
        (r_file(t=integer(16) + integer(1) + reals([1.0])), "a text is not one"),
        (r_file(t=integer(255)[:3] + b"\xff" + integer(9)), "refers to what is not there"),
        (r_file(t=(integer(19) + integer(1)) * 10_000 + NIL), "nests deeper"),
        (r_file(t=(integer(1)) * 10_000), "nests deeper"),
        (r_file(t=integer(4)), "other than plain data"),
        (r_file(u=frame({"a": reals([1.0])})), "no data frame t"),
        (r_file(t=frame({"a": reals([1.0])}, kind="list")), "no data frame t"),
        (HEADER + texts(["t"]), "no data frame t"),
        (r_file(t=frame({"a": reals([1.0]), "b": reals([1.0, 2.0])})), "different lengths"),
        (r_file(t=frame({"a": integer(19) + integer(0)})), "no plain vector"),
        (r_file(t=frame({"a": symbol("a")})), "no plain vector"),
        (r_file(t=frame({"a": integers([2], ATTRIBUTES) + FACTOR})), "a level that is not there"),
        (
            r_file(t=frame({"a": compact("compact_intseq", reals([1e12, 1.0, 1.0]))})),
            "more values than a table",
        ),
        (r_file(t=frame({"a": compact("compact_intseq", reals([float("nan"), 1, 1]))})), "more values"),
        (r_file(t=frame({"a": compact("mmap_real", reals([1.0]))})), "compact form that is not known"),
        (r_file(t=frame({"a": compact("deferred_string", reals([1.5]))})), "compact form"),
    ],
)
def test_what_is_no_table_gets_a_sentence(content: bytes, said: str) -> None:
    with pytest.raises(DataError, match=said):
        data_frame(content, "t")


def test_compact_forms_share_one_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand short forms of a thousand values each cost a file nothing, and must not fill the memory."""
    monkeypatch.setattr(reader, "LARGEST", 10_000)
    one = compact("compact_intseq", reals([6_000.0, 1.0, 1.0]))
    assert data_frame(r_file(t=frame({"a": one})), "t").num_rows == 6_000
    with pytest.raises(DataError, match="more values than a table has"):
        data_frame(r_file(t=frame({"a": one, "b": one})), "t")


def test_a_column_without_a_name_of_its_own() -> None:
    names = pairs({"names": texts(["a", "a"]), "class": texts(["data.frame"])})
    twice = integer(19 | ATTRIBUTES) + integer(2) + reals([1.0]) + reals([2.0]) + names
    with pytest.raises(DataError, match="no names of their own"):
        data_frame(r_file(t=twice), "t")


def test_every_damage_of_one_byte_gives_a_table_or_a_sentence() -> None:
    """Whatever a network does to a file, nothing but a `DataError` comes out."""
    whole = (FILES / "version-2-plain.rda").read_bytes()
    for position in range(len(whole)):
        for value in (0, 1, 127, 255):
            damaged = whole[:position] + struct.pack("B", value) + whole[position + 1 :]
            try:
                assert data_frame(damaged, "invented").num_columns == 5
            except DataError:
                continue
