"""Where data come from, in which order, and what is said when they cannot be had."""

from __future__ import annotations

import hashlib
import io
import urllib.error
from pathlib import Path

import pytest

from coterie.errors import DataError
from coterie.papers import data, sources
from coterie.papers.sources import DATA_SETS, DataSet

RAW = 'a;"b"\n1;2\n3;4\n'
CSV = "a,b\n1,2\n3,4\n"
TOY = DataSet(
    name="toy",
    file="toy.csv",
    sha256=hashlib.sha256(CSV.encode()).hexdigest(),
    title="toy",
    address="https://archive.example/toy",
    raw_sha256=hashlib.sha256(RAW.encode()).hexdigest(),
    convert=sources._wine,
)


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No data at all: an empty cache, no variable, no development folder, no network."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("COTERIE_DATA", raising=False)
    monkeypatch.setattr(data, "__file__", str(tmp_path / "a" / "b" / "c" / "d" / "data.py"))
    monkeypatch.setitem(DATA_SETS, "toy", TOY)

    def no_network(*arguments: object, **named: object) -> None:
        raise urllib.error.URLError("no network")

    monkeypatch.setattr(data.urllib.request, "urlopen", no_network)


def _serve(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(data.urllib.request, "urlopen", lambda address, timeout: io.BytesIO(content))


def test_without_network_the_message_says_what_to_do() -> None:
    with pytest.raises(
        DataError, match=r"archive\.example/toy cannot be reached \(no network\).*COTERIE_DATA"
    ):
        data.load("toy")
    assert not data.available("toy")


def test_census_has_no_plain_address_and_says_how_to_get_it() -> None:
    with pytest.raises(DataError, match=r"CASC.*sdcMicro.*casc_census\.csv"):
        data.load("census")


def test_a_download_is_verified_converted_and_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _serve(monkeypatch, RAW.encode())
    assert data.load("toy").to_pydict() == {"a": [1, 3], "b": [2, 4]}
    assert (tmp_path / "cache" / "coterie" / "data" / "toy.csv").read_text(encoding="utf-8") == CSV
    monkeypatch.setattr(data.urllib.request, "urlopen", None)  # from the cache: no network is asked
    assert data.load("toy").num_rows == 2
    assert data.available("toy")


def test_a_wrong_download_is_refused_and_not_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _serve(monkeypatch, b"<html>moved</html>")
    with pytest.raises(DataError, match="not the file we know"):
        data.load("toy")
    assert not list((tmp_path / "cache").rglob("toy.csv"))


def test_the_variable_comes_first_and_is_verified(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COTERIE_DATA", str(tmp_path))
    with pytest.raises(DataError, match=r"no toy\.csv in the folder that COTERIE_DATA names"):
        data.load("toy")
    (tmp_path / "toy.csv").write_text(CSV, encoding="utf-8")
    assert data.load("toy").num_rows == 2
    (tmp_path / "toy.csv").write_text(CSV + "5,6\n", encoding="utf-8")
    with pytest.raises(DataError, match="checksum differs") as error:
        data.load("toy")
    assert "5" not in error.value.problem.replace(str(tmp_path), "")


def test_the_development_folder_beside_the_repository(tmp_path: Path) -> None:
    folder = tmp_path / "shared" / "data"
    folder.mkdir(parents=True)
    (folder / "toy.csv").write_text(CSV, encoding="utf-8")
    assert data.load("toy").num_rows == 2


def test_a_broken_gzip_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COTERIE_DATA", str(tmp_path))
    (tmp_path / "adult_train.csv.gz").write_bytes(b"not gzip")
    with pytest.raises(DataError, match="cannot be read"):
        data.load("adult-train")


def test_conversion_of_the_public_files() -> None:
    assert sources._wine('"fixed acidity";"pH"\n7.4;3.5\n') == "fixed acidity,pH\n7.4,3.5\n"
    text = "|1x3 Cross validator\n25, Private, <=50K.\n\n"
    assert sources._adult(text).splitlines()[1:] == ["25,Private,<=50K"]
