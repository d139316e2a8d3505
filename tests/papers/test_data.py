"""Where data come from, in which order, and what is said when they cannot be had."""

from __future__ import annotations

import gzip
import hashlib
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pyarrow.csv as csv
import pytest
from r_writer import frame, integer, integers, r_file, reals

from coterie.errors import DataError, OutputError
from coterie.papers import data
from coterie.papers import data as sources
from coterie.papers.data import DATA_SETS, DataSet

RAW = b'a;"b"\n1;2\n3;4\n'
CSV = "a,b\n1,2\n3,4\n"
CLOSED = "http://127.0.0.1:9"  # nothing listens on the port of the discard service
TOY = DataSet(
    name="toy",
    file="toy.csv",
    sha256=hashlib.sha256(CSV.encode()).hexdigest(),
    title="toy",
    addresses=((f"{CLOSED}/toy", sources._wine),),
)
Serve = Callable[..., None]


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No data at all: an empty cache, no variable, no development folder, and no address beyond this machine."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.delenv("COTERIE_DATA", raising=False)
    monkeypatch.setattr(data, "__file__", str(tmp_path / "a" / "b" / "c" / "d" / "data.py"))
    monkeypatch.setitem(DATA_SETS, "toy", TOY)
    for name, known in DATA_SETS.items():
        local = tuple((f"{CLOSED}/{url.rsplit('/', 1)[1]}", convert) for url, convert in known.addresses)
        monkeypatch.setitem(DATA_SETS, name, replace(known, addresses=local))


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """A web server on this machine: `serve("toy", b"…")` answers the addresses of a data set, in their order."""
    answers: dict[str, bytes | None] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = answers.get(self.path)
            self.send_response(404 if content is None else 200)
            self.send_header("Content-Length", str(len(content or b"")))
            self.end_headers()
            self.wfile.write(content or b"")

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()

    def answer(name: str, *contents: bytes | None) -> None:
        known = DATA_SETS[name]
        here = f"http://127.0.0.1:{server.server_port}"
        local = tuple((f"{here}/{name}/{i}", way) for i, (_, way) in enumerate(known.addresses))
        monkeypatch.setitem(DATA_SETS, name, replace(known, addresses=local))
        answers.update({f"/{name}/{i}": content for i, content in enumerate(contents)})

    yield answer
    server.shutdown()
    server.server_close()
    thread.join()


def kept(tmp_path: Path) -> list[str]:
    """Every file in the cache, hidden ones too."""
    return sorted(path.name for path in (tmp_path / "cache").rglob("*") if path.is_file())


def test_without_network_the_message_says_what_to_do() -> None:
    with pytest.raises(DataError, match=r"127\.0\.0\.1:9/toy cannot be reached \(.*refused\).*COTERIE_DATA"):
        data.load("toy")
    assert not data.available("toy")


def test_a_set_without_an_address_says_how_to_make_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DATA_SETS, "toy", replace(TOY, addresses=(), by_hand="It is in the book."))
    with pytest.raises(
        DataError, match=r"'toy' is not here: toy\. It is in the book\. Save it as .*toy\.csv"
    ):
        data.load("toy")


def test_census_names_both_its_addresses_and_the_way_by_hand() -> None:
    with pytest.raises(DataError) as error:
        data.load("census")
    for said in (
        "CASC",
        "CASCrefmicrodata.rda cannot be reached",
        "CASCrefmicrodata.csv cannot",
        "sdcMicro",
        "write.csv",
    ):
        assert said in str(error.value)


def test_the_public_addresses_are_of_a_commit_and_encrypted() -> None:
    # Read afresh: the fixture above has turned every address of the registry to this machine.
    written = Path(data.load.__code__.co_filename).read_text(encoding="utf-8")
    assert "http://" not in written
    assert len(re.findall(r"raw\.githubusercontent\.com/\w+/[\w-]+/[0-9a-f]{40}\"", written)) == 3


def test_a_download_is_verified_converted_and_kept(serve: Serve, tmp_path: Path) -> None:
    serve("toy", RAW)
    assert data.load("toy").to_pydict() == {"a": [1, 3], "b": [2, 4]}
    assert kept(tmp_path) == ["toy.csv"]
    assert (tmp_path / "cache" / "coterie" / "data" / "toy.csv").read_text(encoding="utf-8") == CSV
    serve("toy", None)  # from the cache: no network is asked
    assert data.load("toy").num_rows == 2
    assert data.available("toy")


@pytest.mark.parametrize("wrong", [b"<html>moved</html>", b"", RAW + b"5;6\n", RAW[:-2], b"\xff\xfe" * 40])
def test_a_wrong_download_is_refused_and_not_kept(serve: Serve, tmp_path: Path, wrong: bytes) -> None:
    serve("toy", wrong)
    with pytest.raises(DataError, match="not the file we know"):
        data.load("toy")
    assert kept(tmp_path) == []


def test_a_download_without_end_is_cut_off(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data, "LARGEST", len(RAW) - 1)
    serve("toy", RAW)
    with pytest.raises(DataError, match="not the file we know"):
        data.load("toy")
    assert kept(tmp_path) == []


def test_a_cache_that_cannot_be_made(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be", encoding="utf-8")
    serve("toy", RAW)
    with pytest.raises(OutputError, match="XDG_CACHE_HOME"):
        data.load("toy")


R_NUMBERS = frame({"a": reals([1.0, 3.0]), "b": integers([2, 4])})


def _toy_in_r(monkeypatch: pytest.MonkeyPatch) -> None:
    """The toy at two addresses, as Census is: an R file first, then text."""
    both = (
        (f"{CLOSED}/toy.rda", sources._census_from_r),
        (f"{CLOSED}/toy.csv", sources._text),
    )
    monkeypatch.setitem(DATA_SETS, "toy", replace(TOY, addresses=both))


def test_an_r_file_becomes_our_text(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _toy_in_r(monkeypatch)
    serve("toy", r_file(CASCrefmicrodata=R_NUMBERS), None)
    assert data.load("toy").to_pydict() == {"a": [1, 3], "b": [2, 4]}
    assert (tmp_path / "cache" / "coterie" / "data" / "toy.csv").read_text(encoding="utf-8") == CSV


@pytest.mark.parametrize(
    "first",
    [
        None,
        b"<html>moved</html>",
        r_file(CASCrefmicrodata=R_NUMBERS)[:-20],
        r_file(CASCrefmicrodata=frame({"a": reals([1.0, 3.0]), "b": integers([2, 5])})),
        r_file(another=R_NUMBERS),
        b"\x1f\x8b" + bytes(50),
        gzip.compress(bytes(sources.LARGEST + 1)),
        r_file(t=integer(2**8 - 1)),
    ],
)
def test_where_the_first_address_fails_the_second_is_asked(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: bytes | None
) -> None:
    _toy_in_r(monkeypatch)
    serve("toy", first, CSV.replace("\n", "\r").rstrip("\r").encode())
    assert data.load("toy").num_rows == 2
    assert kept(tmp_path) == ["toy.csv"]


def test_where_both_fail_each_says_why(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _toy_in_r(monkeypatch)
    serve("toy", r_file(another=R_NUMBERS), None)
    with pytest.raises(
        DataError, match=r"no data frame CASCrefmicrodata.*/toy/1 cannot be reached \(Not Found\)"
    ):
        data.load("toy")
    assert kept(tmp_path) == []


def public(file: str) -> Path:
    path = Path(__file__).resolve().parents[3] / "shared" / "data" / file
    if not path.is_file():
        pytest.skip(f"{file} is not on this machine")
    return path


@pytest.mark.parametrize("road", ["whole numbers in R", "reals in R", "text"])
def test_census_itself_over_every_road(serve: Serve, tmp_path: Path, road: str) -> None:
    """The real table, packed as each address packs it and served from here: the checksum we hold is the right one."""
    source = public("casc_census.csv")
    table = csv.read_csv(source)
    write = integers if road.startswith("whole") else reals
    in_r = frame({name: write(table.column(name).to_pylist()) for name in table.column_names})
    if road == "text":
        serve("census", None, source.read_bytes().rstrip().replace(b"\n", b"\r"))
    else:
        serve("census", r_file(CASCrefmicrodata=in_r), None)
    assert data.load("census").equals(table)
    assert kept(tmp_path) == ["casc_census.csv"]


def test_the_insurance_data_as_they_are_served(serve: Serve, tmp_path: Path) -> None:
    serve("insurance", public("insurance.csv").read_bytes().rstrip())
    assert data.load("insurance").shape == (1338, 7)
    assert kept(tmp_path) == ["insurance.csv"]


def test_the_variable_comes_first_and_is_verified(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COTERIE_DATA", str(tmp_path))
    (tmp_path / "toy.csv").write_text(CSV, encoding="utf-8")
    assert data.load("toy").num_rows == 2
    (tmp_path / "toy.csv").write_text(CSV + "5,6\n", encoding="utf-8")
    with pytest.raises(DataError, match="checksum differs") as error:
        data.load("toy")
    assert "5" not in error.value.problem.replace(str(tmp_path), "")


@pytest.mark.parametrize("damage", [lambda raw: raw[:-12], lambda raw: raw[:12] + b"\xff\xff\xff\xff"])
def test_a_damaged_archive_is_named(
    damage: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A truncated gzip file ends in EOFError, which the command line took for Ctrl-D: 'Aborted.', and no word more."""
    monkeypatch.setenv("COTERIE_DATA", str(tmp_path))
    monkeypatch.setitem(DATA_SETS, "toy", replace(TOY, file="toy.csv.gz"))
    (tmp_path / "toy.csv.gz").write_bytes(damage(gzip.compress(CSV.encode())))
    with pytest.raises(DataError, match=r"toy.csv.gz cannot be read \(not a complete gzip file\)"):
        data.load("toy")


def test_what_the_named_folder_lacks_comes_from_the_cache_or_its_source(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "mine").mkdir()
    monkeypatch.setenv("COTERIE_DATA", str(tmp_path / "mine"))
    with pytest.raises(DataError, match=r"'toy' is not here.*cannot be reached.*COTERIE_DATA names"):
        data.load("toy")
    serve("toy", RAW)
    assert data.load("toy").num_rows == 2
    serve("toy", None)
    assert data.load("toy").num_rows == 2  # the cache
    assert kept(tmp_path) == ["toy.csv"]
    assert not list((tmp_path / "mine").iterdir())


def test_a_named_folder_that_is_not_there_is_a_slip_of_the_pen(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("COTERIE_DATA", str(tmp_path / "mime"))
    serve("toy", RAW)
    with pytest.raises(DataError, match="COTERIE_DATA names a folder that is not there"):
        data.load("toy")
    assert kept(tmp_path) == []


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
    assert sources._wine(b'"fixed acidity";"pH"\n7.4;3.5\n') == "fixed acidity,pH\n7.4,3.5\n"
    text = b"|1x3 Cross validator\n25, Private, <=50K.\n\n"
    assert sources._adult(text).splitlines()[1:] == ["25,Private,<=50K"]
