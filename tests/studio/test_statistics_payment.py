"""The release of statistics from the page: confirmed, drawn once, charged once, verified."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
from statistics_studio import Bench, sentence, working
from test_statistics_page import PLAIN

from coterie.publication.ledger import Ledger
from coterie.schema.attributes import Schema
from coterie.studio.desk.desk import Desk
from coterie.studio.desk.release import planned
from coterie.studio.ledgers import account_of
from shown_lines import run_lines


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with working(tmp_path) as made:
        made.specify(**PLAIN)
        yield made


def ask(bench: Bench, place: Path, status: int = 200, **changes: Any) -> str:
    asked = {"folder": place, "name": "out", "ending": ".csv", "counted": "ledger", "lifetime": "5"}
    return bench.post("/release", status, **{**asked, "ledger": place / "ledger.sqlite", **changes})


def confirm(bench: Bench, status: int = 200, **changes: str) -> str:
    order = planned(Desk(bench.project))
    assert order is not None
    return bench.post("/release/confirm", status, **{"plan": order.id, "understood": "yes", **changes})


def remaining(folder: Path) -> float:
    if not (
        folder / "ledger.sqlite"
    ).exists():  # a lifetime is promised when a release is confirmed, not before
        return 5.0
    return float(Ledger.inspect(folder / "ledger.sqlite").balance("people").remaining)


@pytest.mark.parametrize(("column", "counted"), [("home", True), ("house number", False)])
def test_a_new_account_counts_the_unit_of_the_schema(column: str, counted: bool) -> None:
    attributes = {column: {"role": "identifier"}, "smoker": {"role": "protect", "type": "boolean"}}
    schema = Schema.load({"attributes": attributes})
    assert account_of(schema) == {}
    of_homes = Schema.load({"attributes": attributes, "unit": {"column": column, "at_most": 4}})
    asked = {"relation": "exchange", "unit": "home", "rows_per_unit": 4}  # no account is named by two words
    assert account_of(of_homes) == (asked if counted else {})


def test_what_will_happen_is_shown_and_then_happens_once(bench: Bench, tmp_path: Path) -> None:
    bench.move("count | smoker = yes", "0.4")
    page = ask(bench, tmp_path)
    assert "now ε = 5, afterwards ε = <strong>3</strong>" in page
    assert not (tmp_path / "out.csv").exists()
    assert remaining(tmp_path) == 5
    assert not (tmp_path / "ledger.sqlite").exists(), "looking at the confirmation promises nothing"
    assert "not ticked" in sentence(confirm(bench, 400, understood=""))
    page = confirm(bench)
    assert "File and certificate belong together" in page
    assert remaining(tmp_path) == 3
    released = (tmp_path / "out.csv").read_text()
    for line in released.splitlines()[1:]:
        assert f'<th scope="row">{line.split(",")[0]}' in page
    confirm(bench)  # the same plan again: a reload of the sent form
    assert (tmp_path / "out.csv").read_text() == released
    assert remaining(tmp_path) == 3
    assert len(Desk(bench.project).state.released) == 1
    assert bench.client.get(f"/p/{bench.project.id}/statistics/released/1/data").text == released
    run_lines(tmp_path, ("Command", re.findall(r"coterie stats verify [^\n<]*", page)[0]))


def test_a_release_without_equations_has_its_page(bench: Bench, tmp_path: Path) -> None:
    """Its file has no column that says what an equation is."""
    bench.specify(**{**PLAIN, "equations": {}})
    ask(bench, tmp_path)
    assert "File and certificate belong together" in confirm(bench)
    assert "what" not in (tmp_path / "out.csv").read_text().splitlines()[0].split(",")


def test_two_clicks_at_once_make_one_release(bench: Bench, tmp_path: Path) -> None:
    for name, counted in (("a", "ledger"), ("b", "none")):
        # Another name for another release, as the library asks for.
        bench.specify(**PLAIN, release=name)
        ask(bench, tmp_path, name=name, counted=counted)
        with ThreadPoolExecutor(4) as clicks:
            pages = [done.result() for done in [clicks.submit(confirm, bench) for _ in range(4)]]
        assert all("belong together" in page for page in pages)
        assert [entry.release for entry in Desk(bench.project).state.released].count(name) == 1
    assert remaining(tmp_path) == 3


def test_a_studio_that_died_before_it_took_note_finds_the_release_again(bench: Bench, tmp_path: Path) -> None:
    ask(bench, tmp_path)
    confirm(bench)
    released = (tmp_path / "out.csv").read_bytes()
    Desk(bench.project).change(None, released=())  # as if the machine had stopped right after the charge
    page = confirm(bench)
    assert "stored already: nothing was spent" in page
    assert (tmp_path / "out.csv").read_bytes() == released
    assert remaining(tmp_path) == 3


def test_the_command_shown_finds_the_same_release(bench: Bench, tmp_path: Path) -> None:
    bench.move("count | smoker = yes", "0.4")
    page = ask(bench, tmp_path, ending=".json")
    command = re.findall(r"coterie stats release [^\n<]*", page)[0]
    confirm(bench)
    assert "nothing was spent" in run_lines(tmp_path, ("Command", command))
    assert remaining(tmp_path) == 3


def test_what_was_changed_after_the_confirmation_page_is_not_released(bench: Bench, tmp_path: Path) -> None:
    ask(bench, tmp_path)
    bench.move("count | smoker = yes", "0.7")
    assert "have changed" in sentence(confirm(bench, 400))
    assert "planned anew" in sentence(confirm(bench, 400, plan="0" * 32))
    assert not (tmp_path / "out.csv").exists()
    assert remaining(tmp_path) == 5


def test_a_changed_plan_under_the_same_name_is_refused(bench: Bench, tmp_path: Path) -> None:
    ask(bench, tmp_path)
    confirm(bench)
    bench.move("count | smoker = yes", "0.7")
    ask(bench, tmp_path, name="second")
    assert "already published, under another plan" in sentence(confirm(bench, 400))
    assert remaining(tmp_path) == 3


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"folder": "/no/such/folder"}, "There is no folder"),
        ({"name": "a/b"}, "a slash"),
        ({"name": ""}, "no name"),
        ({"ending": ".xlsx"}, "written as .csv, .json, .parquet, .arrow"),
        ({"ledger": ""}, "No ledger was named"),
        ({"lifetime": ""}, "does not know the population"),
        ({"lifetime": "much"}, "not a finite number"),
        ({"lifetime": "1"}, "epsilon 1 left of 1; this release asks for 2"),
        ({"lifetime": "9", "delta": "1"}, "promises nothing"),
        ({"name": "there"}, "exists already"),
        ({"version": "0"}, "another tab"),
    ],
)
def test_a_bad_place_is_refused_before_anything_is_drawn(
    bench: Bench, tmp_path: Path, changes: dict[str, str], message: str
) -> None:
    (tmp_path / "there.csv").write_text("mine")
    page = ask(bench, tmp_path, 400, **changes)
    assert re.search(message, sentence(page)), sentence(page)
    assert (tmp_path / "there.csv").read_text() == "mine"
    assert planned(Desk(bench.project)) is None
    assert not (tmp_path / "ledger.sqlite").exists()  # a lifetime is promised only to go on


def test_people_who_were_charged_under_another_name_are_named(bench: Bench, tmp_path: Path) -> None:
    ask(bench, tmp_path)
    confirm(bench)
    bench.specify(**PLAIN, population="staff")
    page = sentence(ask(bench, tmp_path, 400, name="again", lifetime=""))
    assert "does not know the population 'staff'" in page
    assert "Are they 'people', whom this project charged before?" in page


def test_a_file_changed_later_is_told(bench: Bench, tmp_path: Path) -> None:
    ask(bench, tmp_path, counted="none")
    confirm(bench)
    with (tmp_path / "out.csv").open("a+") as file:
        file.seek(0)
        file.write(file.readlines()[-1])
    assert "changed after it was certified" in sentence(bench.get("/released/1"))
    (tmp_path / "out.csv").unlink()
    assert "cannot be read" in sentence(bench.get("/released/1"))
    bench.get("/released/2", 404)


def test_a_pilot_pays_for_what_nobody_expects(bench: Bench, tmp_path: Path) -> None:
    bench.specify(**PLAIN, pilot="0.1")
    page = bench.get()
    assert "split at the release, after the pilot" in page
    assert 'type="range"' not in page
    ask(bench, tmp_path)
    assert "A share of 0.1 of the budget paid for a pilot" in confirm(bench)
    assert remaining(tmp_path) == 3


def test_without_statistics_there_is_nothing_to_release(bench: Bench) -> None:
    Desk(bench.project).change(None, text="")
    assert "Nothing yet" in bench.get("/release")
    assert "Nothing yet" in bench.get("/release/confirm")


def test_files_of_the_desk_are_for_their_owner_only(bench: Bench, tmp_path: Path) -> None:
    ask(bench, tmp_path)
    for name in ("statistics-desk.json", "statistics.yaml", "split.yaml", "statistics-release.json"):
        assert (bench.project.folder / name).stat().st_mode & 0o777 == 0o600
