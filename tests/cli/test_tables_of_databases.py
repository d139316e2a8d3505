"""A table of a database is measured, compared and attacked as a file is: the same answers."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from coterie import demo_population, demo_schema


def test_a_table_of_a_database_gives_what_the_file_gives(run: Any, tmp_path: Path) -> None:
    people = demo_population(300).drop_columns(["person"])
    pq.write_table(people, tmp_path / "people.parquet")
    with sqlite3.connect(tmp_path / "people.db") as database:
        names = ", ".join(people.column_names)
        database.execute(f"CREATE TABLE people ({names})")
        marks = ", ".join("?" * people.num_columns)
        database.executemany(
            f"INSERT INTO people VALUES ({marks})", zip(*people.to_pydict().values(), strict=True)
        )
    database.close()
    schema = demo_schema().to_dict()
    del schema["attributes"]["person"]
    (tmp_path / "schema.yaml").write_text(type(demo_schema()).load(schema).to_yaml())
    described = ("--schema", tmp_path / "schema.yaml")
    stored = (f"sqlite:///{tmp_path / 'people.db'}", ("--table", "people"))
    released = tmp_path / "out.parquet"
    made = ("--method", "dp-ir", "--epsilon", "1", "--k", "10", "--seed", "1", "--output", released)
    assert run("protect", tmp_path / "people.parquet", *described, *made).code == 0
    for command, options in (
        ("evaluate", ()),
        ("audit", ("--seconds", "500", "--attack", "nearest-linkage")),
    ):
        answers = []
        for number, (source, named) in enumerate([(tmp_path / "people.parquet", ()), stored]):
            output = ("--output", tmp_path / f"{command}{number}") if command == "audit" else ()
            ran = run(command, source, released, *named, *described, *options, *output, "--json")
            assert ran.code == 0, ran.words
            found = ran.json.get("findings", ran.json.get("measures"))
            answers.append([entry["estimate"] for entry in found] if command == "audit" else found)
        assert answers[0]
        assert answers[0] == answers[1]
    grid = ("--methods", "dp-ir", "--epsilon", "1", "--k", "10", "--runs", "2", "--no-risk", "--json")
    both = [
        run("compare", source, *named, *described, *grid, "--output", tmp_path / f"grid{number}")
        for number, (source, named) in enumerate([(tmp_path / "people.parquet", ()), stored])
    ]
    assert both[0].json["best"] == both[1].json["best"]
