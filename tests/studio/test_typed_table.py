"""A project's table as the command reads it: labels as text, once a description, never from a changed file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coterie.errors import DataError
from coterie.studio.project import Origin, Project
from coterie.studio.work.tables import load
from coterie.table.reading import read_table
from workbooks import write_xlsx

CODES = "code,age,day\n01234,30,2020-01-02\n00042,41,2021-03-04\n"
SCHEMA = """\
attributes:
  code: {type: categorical, role: protect, categories: {labels: ["01234", "00042"]}}
  age: {type: integer, role: protect, domain: {lower: 0, upper: 120}}
  day: {type: date, role: keep}
"""


def loaded(folder: Path, source: Path, kind: Any = "file", table: str | None = None) -> Project:
    (folder / "projects").mkdir(exist_ok=True)
    project = Project.new(folder / "projects", source.name, Origin(kind=kind, shown=str(source), table=table))
    if kind == "upload":
        (project.folder / f"upload{source.suffix}").write_bytes(source.read_bytes())
    load(project, {"source": str(project.source), "table": table, "query": None}, lambda share, words: None)
    return project


@pytest.mark.parametrize("kind", ["file", "upload"])
def test_codes_keep_their_zeros(tmp_path: Path, kind: str) -> None:
    source = tmp_path / "codes.csv"
    source.write_text(CODES)
    project = loaded(tmp_path, source, kind)
    assert project.table()["code"].to_pylist() == ["01234", "00042"], "a guess keeps them too"
    project.change(schema=SCHEMA)
    assert project.typed_table().equals(read_table(source, schema=project.schema()))
    assert project.typed_table()["code"].to_pylist() == ["01234", "00042"]


def test_it_is_read_again_only_where_types_were_guessed_wrong(tmp_path: Path) -> None:
    source = tmp_path / "codes.csv"
    source.write_text(CODES)
    project = loaded(tmp_path, source)
    project.change(schema=SCHEMA)
    first = project.typed_table()
    source.unlink()
    assert project.typed_table().equals(first), "the cache does not need the file"
    project.change(schema=SCHEMA.replace("day: {type: date", "day: {type: categorical"))
    assert project.typed_table().equals(first), "the same columns are text: nothing to do"
    project.change(
        schema=SCHEMA.replace("code: {type: categorical", "code: {type: integer").replace(
            ', categories: {labels: ["01234", "00042"]}', ", domain: {lower: 0, upper: 9999}"
        )
    )
    with pytest.raises(DataError, match="changed or removed") as caught:
        project.typed_table()
    assert "Load" in caught.value.advice


def test_a_changed_file_is_not_mixed_with_the_loaded_one(tmp_path: Path) -> None:
    source = tmp_path / "codes.csv"
    source.write_text(CODES)
    project = loaded(tmp_path, source)
    project.change(schema=SCHEMA)
    source.write_text(CODES + "7,8,2022-01-01\n")
    with pytest.raises(DataError, match="changed or removed"):
        project.typed_table()
    load(project, {"source": str(source), "table": None, "query": None}, lambda share, words: None)
    assert project.typed_table().num_rows == 3


def test_a_sheet_is_read_again_by_its_name(tmp_path: Path) -> None:
    rows = [["code", "age", "day"], [12, 30, "2020-01-02"], [13, 31, "2020-01-03"]]
    source = write_xlsx(tmp_path / "book.xlsx", {"Notes": [["x"]], "People": rows})
    project = loaded(tmp_path, source, table="People")
    project.change(schema=SCHEMA)
    assert project.typed_table()["code"].to_pylist() == ["12", "13"]


def test_typed_files_are_taken_as_they_are(tmp_path: Path) -> None:
    source = tmp_path / "codes.parquet"
    pq.write_table(pa.table({"code": [1, 2], "age": [3, 4], "day": ["a", "b"]}), source)
    project = loaded(tmp_path, source)
    project.change(schema=SCHEMA)
    assert project.typed_table().equals(project.table())
    assert not (project.folder / "typed.arrow").exists()


def test_the_copies_are_private_and_nothing_else_is_left(tmp_path: Path) -> None:
    source = tmp_path / "codes.csv"
    source.write_text(CODES)
    project = loaded(tmp_path, source)
    project.change(schema=SCHEMA)
    project.typed_table()
    for name in ("table.arrow", "typed.arrow", "schema.yaml", "state.json"):
        assert (project.folder / name).stat().st_mode & 0o077 == 0, name
    assert [path.name for path in project.folder.iterdir() if path.name.startswith(".")] == []
