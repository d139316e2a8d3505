"""Load: every kind of source, a sentence in the page for whatever is wrong, and another try."""

from __future__ import annotations

import re
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest
from studio_client import finished, visiting

import coterie
from coterie.publication.staging import stage
from coterie.studio.auth import StudioHome
from coterie.studio.project import Origin, Project
from coterie.table.hidden_files import _ALONE
from workbooks import write_xlsx

Visit = tuple[httpx.Client, StudioHome]
PEOPLE = "name,age,code\nAnn,30,01\nBob,41,02\nCid,52,03\n"


@pytest.fixture(scope="module")
def visit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visit]:
    with visiting(tmp_path_factory.mktemp("load") / "home") as (client, home):
        yield client, home


def project_at(home: StudioHome, answer: httpx.Response) -> Project:
    found = re.search(r"/p/(\w+)/load", str(answer.url))
    assert found, answer.text
    return Project(home.projects / found[1])


def opened(visit: Visit, path: Path | str) -> tuple[Project, str]:
    """The project of this file once its job has ended, and its page."""
    client, home = visit
    project = project_at(home, client.post("/new", data={"kind": "path", "path": str(path)}))
    finished(client, project, "load")
    return Project(project.folder), client.get(f"/p/{project.id}/load").text


def write_database(path: Path) -> str:
    with sqlite3.connect(path) as base:
        base.execute("CREATE TABLE people (name TEXT, age INTEGER)")
        base.executemany("INSERT INTO people VALUES (?, ?)", [("Ann", 30), ("Bob", 41)])
    return f"sqlite:///{path}"


@pytest.mark.parametrize("end", ["csv", "tsv", "csv.gz", "parquet", "arrow", "feather", "xlsx", "sav", "dta"])
def test_every_format_is_read_and_shown(visit: Visit, tmp_path: Path, end: str) -> None:
    path = tmp_path / f"people.{end}"
    table = pa.table({"name": ["Ann", "Bob"], "age": [30, 41]})
    if end == "xlsx":
        write_xlsx(path, {"S": [["name", "age"], ["Ann", 30], ["Bob", 41]]})
    elif end in ("tsv", "csv.gz"):
        import gzip

        text = b"name\tage\nAnn\t30\nBob\t41\n"
        path.write_bytes(text if end == "tsv" else gzip.compress(text.replace(b"\t", b",")))
    else:
        stage(table, path, force=False).publish()
    project, page = opened(visit, path)
    assert project.table().to_pydict() == table.to_pydict()
    assert "2 rows × 2 columns" in page
    assert re.search(r'<td>Ann</td><td(?: class="number")?>30</td>', page)


def test_the_page_between_the_table_and_what_was_found(visit: Visit, tmp_path: Path) -> None:
    """The worker keeps the table before it says what it found; a page asked for in between shows the table."""
    path = tmp_path / "people.csv"
    path.write_text(PEOPLE)
    project, _ = opened(visit, path)
    (project.folder / "load.json").unlink()
    page = visit[0].get(f"/p/{project.id}/load")
    assert (page.status_code, "rows ×" in page.text) == (200, True)


def test_the_same_file_again_is_the_same_project(visit: Visit, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text(PEOPLE)
    assert opened(visit, path)[0].id == opened(visit, path)[0].id


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("ragged.csv", b"a,b\n1,2\n3\n", "Line 3 has"),
        ("twice.csv", b"a,a\n1,2\n", "More than one column is named"),
        ("nameless.csv", b"a,\n1,2\n", "Column 2 has no name"),
        ("empty.csv", b"", "is empty"),
        ("header.csv", b"a,b\n", "has a header but no rows"),
        ("bytes.csv", b"a,b\n1,\0\n", "holds bytes that no CSV file has"),
        ("wrong.parquet", b"a,b\n1,2\n", "is not a Parquet file"),
        ("wrong.xlsx", b"a,b\n1,2\n", "is not a spreadsheet that can be read"),
        ("wrong.sav", b"a,b\n1,2\n", "is not a complete SPSS file"),
        ("wrong.rds", b"a,b\n1,2\n", "is not a complete R file"),
    ],
)
def test_a_dirty_file_gets_a_sentence_and_another_try(
    visit: Visit, tmp_path: Path, name: str, content: bytes, problem: str
) -> None:
    client, _ = visit
    path = tmp_path / name
    path.write_bytes(content)
    project, page = opened(visit, path)
    assert problem in page
    assert "Read it again" in page
    assert project.state.loaded is None
    assert [entry.name for entry in project.folder.iterdir() if "table" in entry.name] == []
    if name.endswith(".csv"):  # mended on the disk, and read again by the button
        path.write_text(PEOPLE)
        client.post(f"/p/{project.id}/load", data={"version": project.state.version})
        finished(client, project, "load")
        assert "3 rows × 3 columns" in client.get(f"/p/{project.id}/load").text


@pytest.mark.parametrize(
    ("path", "problem", "advice"),
    [
        ("peolpe.csv", "is not there", "Did you mean &#39;people.csv&#39;?"),
        ("nowhere/people.csv", "is not there", "There is no folder"),
        ("", "is a folder", "Give one file"),
        ("people.sax", "ends in &#39;.sax&#39;", "Coterie knows .arrow"),
    ],
)
def test_a_wrong_path_gets_a_near_miss(
    visit: Visit, tmp_path: Path, path: str, problem: str, advice: str
) -> None:
    (tmp_path / "people.csv").write_text(PEOPLE)
    (tmp_path / "people.sax").write_text("x")
    answer = visit[0].post("/new", data={"kind": "path", "path": f"{tmp_path}/{path}"})
    assert answer.status_code == 400
    assert problem in answer.text
    assert advice in answer.text
    assert f'value="{tmp_path}/{path}"' in answer.text, "what was typed is kept"


def test_text_that_was_meant_as_numbers_is_told(visit: Visit, tmp_path: Path) -> None:
    path = tmp_path / "marks.csv"
    path.write_text("a;b\n1;1,5\n2;2,5\nNA;3,5\n")
    _, page = opened(visit, path)
    assert "Most cells are numbers, 1 cell is not" in page
    assert "guessed: decimal ,." in page


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16"])
def test_a_guessed_encoding_is_told_and_guessed_again(visit: Visit, tmp_path: Path, encoding: str) -> None:
    client, path = visit[0], tmp_path / "wards.csv"
    path.write_bytes("name,city\nAnn,Z\xfcrich\nBob,Bern\n".encode(encoding))
    project, page = opened(visit, path)
    assert "Z\xfcrich" in page
    assert f"guessed: encoding {encoding}" in page
    assert project.schema().dialect.source == "data"
    path.write_text("name,city\nAnn,Z\xfcrich\nBob,Bern\n", encoding="utf-8")
    client.post(f"/p/{project.id}/load", data={"version": project.state.version})
    finished(client, project, "load")
    assert "Z\xfcrich" in client.get(f"/p/{project.id}/load").text
    assert project.schema().dialect.source == "declared", "the default needs no guess"


def test_a_changed_file_is_noticed_and_read_again(visit: Visit, tmp_path: Path) -> None:
    client, _ = visit
    path = tmp_path / "people.csv"
    path.write_text(PEOPLE)
    project, page = opened(visit, path)
    assert "was changed or removed" not in page
    client.post(f"/p/{project.id}/describe", data=filled(project))
    path.write_text("name,age,town\nAnn,30,A\n")
    page = client.get(f"/p/{project.id}/load").text
    assert "was changed or removed since it was read" in page
    version = Project(project.folder).state.version
    client.post(f"/p/{project.id}/load", data={"version": version})
    finished(client, project, "load")
    page = client.get(f"/p/{project.id}/load").text
    assert "New columns since the table was described: town" in page
    assert "Gone: code" in page
    schema = Project(project.folder).schema()
    assert [attribute.name for attribute in schema.attributes] == ["name", "age", "town"]
    assert schema["age"].bounds().upper == 120, "what was described stays"
    path.unlink()
    assert "was changed or removed" in client.get(f"/p/{project.id}/load").text


def filled(project: Project) -> dict[str, Any]:
    return {
        "version": str(project.state.version),
        "name": ["name", "age", "code"],
        "a0.role": "identifier",
        "a1.type": "integer",
        "a1.lower": "0",
        "a1.upper": "120",
        "a2.role": "keep",
    }


def test_another_sheet_of_the_workbook(visit: Visit, tmp_path: Path) -> None:
    client, _ = visit
    sheets = {"Notes": [["x"], [1]], "People": [["a", "b"], [1, 2], [3, 4]]}
    project, page = opened(visit, write_xlsx(tmp_path / "book.xlsx", sheets))
    assert "has 2 sheets: Notes, People." in page
    for sheet, words in (("Peple", "Did you mean &#39;People&#39;?"), ("People", "2 rows × 2 columns")):
        version = Project(project.folder).state.version
        client.post(f"/p/{project.id}/load", data={"version": version, "sheet": sheet})
        finished(client, project, "load")
        assert words in client.get(f"/p/{project.id}/load").text


def test_a_database_is_read_and_its_password_is_nowhere(visit: Visit, tmp_path: Path) -> None:
    client, home = visit
    address = write_database(tmp_path / "base.db")
    form = {"kind": "database", "address": address, "table": "peple"}
    project = project_at(home, client.post("/new", data=form))
    assert finished(client, project, "load")["state"] == "failed"
    page = client.get(f"/p/{project.id}/load").text
    assert "Did you mean &#39;people&#39;?" in page
    again = {"version": Project(project.folder).state.version, "address": address, "table": "people"}
    client.post(f"/p/{project.id}/load", data=again)
    finished(client, project, "load")
    assert "2 rows × 2 columns" in client.get(f"/p/{project.id}/load").text
    # A server that is not there: the password was needed, and is kept nowhere.
    secret = "correct-horse"
    form = {"kind": "database", "address": f"postgresql://me:{secret}@127.0.0.1:1/base", "table": "people"}
    project = project_at(home, client.post("/new", data=form))
    assert finished(client, project, "load")["state"] == "failed"
    page = client.get(f"/p/{project.id}/load").text
    assert "Address with its password" in page
    assert secret not in page
    assert not [
        path for path in home.folder.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()
    ]


@pytest.mark.database
def test_a_password_that_worked_is_kept_nowhere(visit: Visit, postgres_url: str) -> None:
    client, home = visit
    form = {"kind": "database", "address": f"{postgres_url}", "query": "SELECT 1 AS a UNION SELECT 2"}
    project = project_at(home, client.post("/new", data=form))
    assert finished(client, project, "load")["state"] == "done"
    found = re.search(r"://[^:/]*:([^@]+)@", postgres_url)
    kept = b"".join(path.read_bytes() for path in project.folder.iterdir() if path.is_file())
    assert found is None or found[1].encode() not in kept
    assert postgres_url.encode() not in kept


@pytest.mark.parametrize(
    ("form", "problem"),
    [
        ({"address": "people.db", "table": "t"}, "not the address of a database"),
        ({"address": "sqlite:////x.db"}, "needs a table or a query"),
        ({"address": "sqlite:////x.db", "table": "t", "query": "q"}, "needs a table or a query"),
    ],
)
def test_a_wrong_database_gets_a_sentence(visit: Visit, form: dict[str, str], problem: str) -> None:
    answer = visit[0].post("/new", data={"kind": "database", **form})
    assert answer.status_code == 400
    assert problem in answer.text
    assert form["address"] in answer.text


def test_an_upload_is_kept_on_this_machine_and_read(visit: Visit) -> None:
    client, home = visit
    answer = client.post("/upload?name=..%2Fpeople.csv", content=PEOPLE.encode())
    project = Project(home.projects / answer.json()["address"].split("/")[2])
    finished(client, project, "load")
    assert (project.folder / "upload.csv").stat().st_mode & 0o077 == 0
    assert Project(project.folder).state.origin.shown == "people.csv"
    assert "3 rows × 3 columns" in client.get(answer.json()["address"]).text


def test_a_dirty_upload_is_called_by_its_own_name(visit: Visit) -> None:
    client, home = visit
    answer = client.post("/upload?name=wards.csv", content=b"a,b\n1,2\n3\n")
    project = Project(home.projects / answer.json()["address"].split("/")[2])
    assert (
        finished(client, project, "load")["problem"]
        == "A line of wards.csv has more or fewer cells than the header. Line 3 has 1 instead of 2."
    )


def test_an_upload_that_is_too_large_leaves_nothing(visit: Visit) -> None:
    client, home = visit
    before = set(home.projects.iterdir())
    for content in (b"x" * 1_000_001, iter([b"x" * 600_000] * 2)):  # with its length said, and without
        answer = client.post("/upload?name=people.csv", content=content)
        assert answer.status_code == 413
        assert "larger than 1 MB" in answer.json()["problem"]
        assert "path" in answer.json()["advice"]
    answer = client.post("/upload?name=people.sax", content=b"x")
    assert answer.status_code == 400
    assert "ends in '.sax'" in answer.json()["problem"]
    assert set(home.projects.iterdir()) == before


def test_an_upload_that_breaks_off_leaves_nothing(visit: Visit) -> None:
    client, home = visit
    before = set(home.projects.iterdir())
    port = client.base_url.port
    assert port
    head = (
        f"POST /upload?name=people.csv HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\n"
        f"Cookie: coterie_studio={home.session}\r\nContent-Length: 500000\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", port)) as line:
        line.sendall(head.encode() + b"a,b\n" * 1000)
        wait_for(lambda: set(home.projects.iterdir()) != before)
    wait_for(lambda: set(home.projects.iterdir()) == before)


def wait_for(there: Callable[[], bool], seconds: float = 120) -> None:
    ends = time.monotonic() + seconds
    while not there():
        assert time.monotonic() < ends
        time.sleep(0.02)


def test_a_load_is_cancelled_and_tried_again(visit: Visit, tmp_path: Path) -> None:
    client, home = visit
    address = write_database(tmp_path / "base.db")
    endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) AS a FROM c"
    form = {"kind": "database", "address": address, "query": endless}
    project = project_at(home, client.post("/new", data=form))
    wait_for(lambda: client.get(f"/p/{project.id}/jobs/load").json()["state"] == "running")
    page = client.post(f"/p/{project.id}/jobs/load/cancel").text
    assert "Cancelled. Nothing was changed." in page
    assert "Read it again" in page
    again = {"version": Project(project.folder).state.version, "address": address, "table": "people"}
    client.post(f"/p/{project.id}/load", data=again)
    finished(client, project, "load")
    assert "2 rows × 2 columns" in client.get(f"/p/{project.id}/load").text


def test_what_a_killed_studio_left_behind(visit: Visit) -> None:
    client, home = visit
    project = Project.new(home.projects, "people.csv", Origin(kind="upload", shown="people.csv"))
    (project.folder / ".upload.csv").write_text("a,b\n1,2\n3,")  # killed in the middle of the upload
    assert "It was not read to its end." in client.get(f"/p/{project.id}/load").text
    answer = client.post(f"/p/{project.id}/load", data={"version": 0})
    assert "The upload was not finished." in answer.text
    (project.folder / "upload.csv").write_text(PEOPLE)
    (project.folder / f".table.arrow.coterie-{_ALONE}{16 * '0'}.tmp").write_text("half a table")
    client.post(f"/p/{project.id}/load", data={"version": 0})
    assert finished(client, project, "load")["state"] == "done"
    assert not list(project.folder.glob(".table.arrow.*"))


def test_rename_and_forget(visit: Visit, tmp_path: Path) -> None:
    client, _ = visit
    path = tmp_path / "rename.csv"
    path.write_text(PEOPLE)
    project, _ = opened(visit, path)
    version = project.state.version
    client.post(f"/p/{project.id}/rename", data={"version": version, "name": "Ward <7>"})
    assert "Ward &lt;7&gt;" in client.get("/").text
    stale = client.post(f"/p/{project.id}/rename", data={"version": version, "name": "other"})
    assert "changed in another tab" in stale.text
    empty = client.post(f"/p/{project.id}/rename", data={"version": version + 1, "name": " "})
    assert "needs a name" in empty.text
    client.post(f"/p/{project.id}/forget")
    assert not project.folder.exists()
    assert path.exists(), "only the studio's copy goes"
    assert client.get(f"/p/{project.id}/load").status_code == 404


def test_a_broken_project_does_not_hide_the_others(visit: Visit) -> None:
    client, home = visit
    folder = home.projects / "deadbeef"
    folder.mkdir()
    (folder / "state.json").write_text("{}")
    assert client.get("/").status_code == 200


def test_the_profile_says_what_to_look_at_and_how_easily_somebody_is_found(
    visit: Visit, tmp_path: Path
) -> None:
    path = tmp_path / "homes.csv"
    rows = [f"{n // 3},{20 + n % 40},{(n % 2) + 1},{9 if n % 20 == 0 else n % 4 + 1}" for n in range(120)]
    path.write_text("\n".join(["hhid,age,sex,water", *rows]))
    project, page = opened(visit, path)
    assert "hhid seems to number households" in page
    assert "Code 9 in 6 rows" in page
    assert "To decide" in page
    client = visit[0]
    assert "No key is ticked" in client.post(f"/p/{project.id}/load/risk", data={}).text
    client.post(f"/p/{project.id}/load/risk", data={"keys": ["age", "sex"]})
    assert finished(client, project, "risk")["state"] == "done"
    page = client.get(f"/p/{project.id}/load").text
    expected = coterie.risk(project.typed_table(), project.schema(), keys=["age", "sex"])
    assert expected.verdict in unescape(page)
    assert f"{expected.now.uniques} " in page or "nobody" in expected.verdict
