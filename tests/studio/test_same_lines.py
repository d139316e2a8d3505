"""The lines under a page read what the page reads: the sheet, the database, the noise; and they run."""

from __future__ import annotations

import csv
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from studio_client import finished, visiting

from coterie.errors import DataError
from coterie.studio.auth import StudioHome
from coterie.studio.project import Choice, Loaded, Origin, Project
from coterie.studio.same_in_code import (
    audit_lines,
    comparison_lines,
    loading_lines,
    preview_lines,
    protect_lines,
)
from coterie.studio.table_cache import keep, stamp
from coterie.studio.work.previews import compare as compare_work
from coterie.table.demo_population import demo_population, demo_schema
from shown_lines import run_lines
from workbooks import write_xlsx

CHOICE = Choice(method="laplace", epsilon="1")
AUDIT = {"choice": CHOICE.model_dump(), "of": 0, "known": 0.04, "seconds": 2, "control": "", "rows": 100}


def loaded_project(home: StudioHome, origin: Origin, table: pa.Table, source: Path | None = None) -> Project:
    project = Project.new(home.projects, "people", origin)
    if source is not None:
        assert project.source is not None
        shutil.copy(source, project.source)
    seen = stamp(project.source) if project.source else None
    loaded = Loaded(
        rows=table.num_rows, columns=table.num_columns, digest=keep(table, project.table_path), stamp=seen
    )
    project.change(loaded=loaded, schema=demo_schema().to_yaml(), choice=CHOICE)
    return project


@pytest.fixture
def sheet(tmp_path: Path) -> Project:
    """An uploaded workbook whose second sheet was chosen."""
    table = demo_population().slice(0, 60)
    rows = [table.column_names, *([*row.values()] for row in table.to_pylist())]
    book = write_xlsx(tmp_path / "book.xlsx", {"first": [["x"], [1]], "people": rows})
    origin = Origin(kind="upload", shown="book.xlsx", table="people")
    return loaded_project(StudioHome(tmp_path / "home"), origin, table, book)


@pytest.fixture
def database(tmp_path: Path) -> Project:
    address, table = f"sqlite:///{tmp_path}/people.db", demo_population().slice(0, 60)
    with sqlite3.connect(tmp_path / "people.db") as people:
        people.execute(f"create table people ({', '.join(table.column_names)})")
        marks = ", ".join("?" * table.num_columns)
        people.executemany(
            f"insert into people values ({marks})", [[*row.values()] for row in table.to_pylist()]
        )
    return loaded_project(
        StudioHome(tmp_path / "home"), Origin(kind="database", shown=address, table="people"), table
    )


@pytest.mark.parametrize("which", ["sheet", "database"])
def test_every_line_reads_the_sheet_or_the_database_of_the_page(
    which: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    project: Project = request.getfixturevalue(which)
    work = tmp_path / "work"
    work.mkdir()
    assert "60 9" in run_lines(work, *loading_lines(project))
    run_lines(
        work,
        *protect_lines(project, CHOICE),
        *preview_lines(project, CHOICE, 60),
        *audit_lines(project, AUDIT),
    )
    assert (work / "audit" / "audit.html").exists()


def test_the_comparison_of_the_command_has_the_figures_of_the_page(database: Project, tmp_path: Path) -> None:
    asked = {"methods": ["laplace"], "epsilons": ["1"], "ks": [], "rows": 60, "synthetic": False}
    found = compare_work(database, asked, lambda share, words: None)
    run_lines(tmp_path, *comparison_lines(database, asked))
    [page] = [entry["error"] for entry in found["best"] if entry["measure"] == "sse"]
    with (tmp_path / "comparison" / "results.csv").open(encoding="utf-8") as written:
        values = [float(row["sse"]) for row in csv.DictReader(written)]
    assert np.isclose(np.mean(values), page)


def test_the_words_say_what_attackers_gained(database: Project) -> None:
    asked = {"methods": ["laplace", "ir"], "epsilons": ["1"], "ks": [5], "rows": 60, "synthetic": False}
    found = compare_work(database, asked, lambda share, words: None)
    assert found["points"][0].startswith("How much the best of our attacks learns (0 % is guessing")
    for point in found["attacked"]:
        assert f"{point['name']}: {100 * point['risk']:.0f} %" in found["points"][0]


def test_an_upload_that_cannot_be_read_says_how_to_mend_it(tmp_path: Path) -> None:
    with visiting(tmp_path / "home") as (client, home):
        address = client.post("/upload?name=a.csv", content=b"a,b\n1,2\n3\n").json()["address"]
        [project] = Project.all(home.projects)
        assert finished(client, project, "load")["state"] == "failed"
        assert "upload it again" in client.get(address).text
        with pytest.raises(DataError):
            project.table()
