"""What the pages say to a person who does not program, and where the browser's back button leads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from statistics_studio import DESCRIBED, Bench, working

from coterie.errors import LedgerError
from coterie.report.charts import label_bars
from coterie.report.charts.svg import text_width
from coterie.schema.exact import number
from coterie.studio.auth import StudioHome
from coterie.studio.desk.desk import Desk, ReleasedStatistics
from coterie.studio.ledgers import last_account
from coterie.studio.pages import STATIC
from coterie.studio.project import Origin, PastRelease, Project
from coterie.studio.release_plan import ReleaseForm, plan_of
from coterie.studio.releases import DrawProgress
from coterie.studio.work.previews import _DROWNED, look
from coterie.studio.work.tables import describe, load
from release_world import CHOICE, ready_project


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with working(tmp_path) as made:
        yield made


def test_no_page_draws_a_picture_by_hand() -> None:
    """Charts come from report/charts; the icons stand in one style sheet and one file."""
    shapes = re.compile(
        r"<(?:svg|rect|path|line|circle|poly\w+)\b|createElementNS|getContext\(", re.IGNORECASE
    )
    parts = [path for path in STATIC.parent.rglob("*") if path.suffix in (".html", ".js", ".py")]
    assert len(parts) > 50
    assert [path.name for path in parts if shapes.search(path.read_text(encoding="utf-8"))] == []


def test_a_label_does_not_turn_the_words_around_it(bench: Bench) -> None:
    """U+202E reverses what comes after it; the page writes it out, and forms keep the label as it is."""
    schema = {**DESCRIBED, "attributes": {**DESCRIBED["attributes"]}}
    label = "west\u202etsae"
    schema["attributes"]["region"] = {
        **schema["attributes"]["region"],
        "categories": {"labels": ["north", label]},
    }
    bench.project.change(schema=yaml.safe_dump(schema, sort_keys=False))
    bench.specify(statistics={"n": {"kind": "count", "by": {"region": [label]}}}, equations={})
    page = bench.get()
    assert "count, by region (west⟨U+202E⟩tsae)" in page
    words = re.sub(r"<(textarea|code|option).*?</|<[^>]*>", "", page, flags=re.DOTALL)
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", words)
    assert label in re.search("<textarea.*?</textarea>", page, re.DOTALL)[0]  # type: ignore[index]


def counted_release(project: Project) -> None:
    paid = {"ledger": "/books/l.sqlite", "population": "patients"}
    made = PastRelease(
        data="a.csv",
        certificate="a.json",
        at="2026",
        choice=CHOICE,
        cost="1",
        status="proved",
        label="",
        **paid,
    )
    project.change(released=(made,))


@pytest.mark.parametrize(
    ("form", "page"),
    [
        ("release/ledger", "release"),
        ("describe/import", "describe"),
        ("statistics/optimise", "statistics"),
        ("release/nonsense", "release"),
        ("rename", ""),
    ],
)
def test_the_address_of_a_form_leads_back_to_its_page(bench: Bench, form: str, page: str) -> None:
    answer = bench.client.get(f"/p/{bench.project.id}/{form}", follow_redirects=False)
    assert answer.status_code == 303
    assert answer.headers["location"] == (f"/p/{bench.project.id}/{page}" if page else "/")


def test_statistics_are_about_the_people_of_the_last_counted_release(bench: Bench) -> None:
    assert last_account(bench.project) == ("", "")
    counted_release(bench.project)
    assert last_account(bench.project) == ("/books/l.sqlite", "patients")
    bench.post("/suggest")
    specification = yaml.safe_load((bench.project.folder / "statistics.yaml").read_text(encoding="utf-8"))
    assert specification["population"] == "patients"
    assert "/books/l.sqlite" in bench.get("/release")


def test_an_error_that_rests_on_an_assumption_says_on_which(bench: Bench) -> None:
    page = bench.post("/suggest")
    assert page.index("assumed</span>") < page.index("Not stated, so assumed: ")


def test_nobody_is_asked_for_the_labels_of_a_boolean(bench: Bench) -> None:
    smoker = {"role": "keep", "type": "boolean"}
    attributes = {**DESCRIBED["attributes"], "smoker": smoker}
    bench.project.change(schema=yaml.safe_dump({**DESCRIBED, "attributes": attributes}, sort_keys=False))
    bench.specify(statistics={"n": {"kind": "count", "where": {"smoker": "true"}}}, equations={})
    assert "declares no labels for smoker" not in bench.get()


def test_large_numbers_are_written_out() -> None:
    assert [number(n) for n in (0.0591, 3.959, 9999.4, 11990.2, 46760)] == [
        "0.0591", "3.96", "9,999", "11,990", "46,760",
    ]  # fmt: skip


def test_a_label_of_wide_letters_stays_inside_its_figure() -> None:
    assert text_width("medium") > 49  # pixels of DejaVu Sans at 12 px
    place = re.search(
        r'<text x="([0-9.]+)"[^>]*>medium<', label_bars("risk", ["medium"], [1], {"after": [2]}).__html__()
    )
    assert place is not None
    assert float(place[1]) > 49


def test_no_time_is_promised_for_what_nobody_can_tell() -> None:
    progress = DrawProgress(attributes=4, done=3)
    assert progress.shown()["left"] is not None
    progress.done = 4
    assert progress.shown()["left"] is None
    assert progress.shown()["share"] is None


def test_a_ledger_that_is_not_there_is_made_on_the_page(tmp_path: Path) -> None:
    project = ready_project(StudioHome(tmp_path / "home"), tmp_path)
    asked = ReleaseForm(
        folder=str(tmp_path), name="out", ledger=str(tmp_path / "none.sqlite"), population="people"
    )
    with pytest.raises(LedgerError) as refused:
        plan_of(project, asked)
    assert "'Make it'" in refused.value.advice


def test_numbers_and_dates_among_texts_are_told_where_they_are_described(tmp_path: Path) -> None:
    rows = [f"{1000 + n},2001-02-{n % 28 + 1:02d}" for n in range(40)]
    source = tmp_path / "people.csv"
    source.write_text("\n".join(["income,since", *rows, "unknown,n/a"]), encoding="utf-8")
    project = Project.new(
        StudioHome(tmp_path / "home").projects, "people", Origin(kind="file", shown=str(source))
    )
    found = load(project, {"source": str(source), "table": None, "query": None}, lambda share, words: None)
    income, since = found["columns"]
    assert "1 cell is not" in income["note"]
    assert since["note"] == "Most cells are dates, 1 not, but it was read as text."
    schema = "attributes:\n  income: {type: integer, role: protect, domain: {lower: 0, upper: 9999}}\n"
    project.change(schema=schema + "  since: {role: identifier}\n")
    checked = describe(project, {}, lambda share, words: None)["attributes"][0]
    assert "under 'More', in 'Texts that mean missing'" in checked["advice"]


def test_a_preview_speaks_of_noise_not_of_options(tmp_path: Path) -> None:
    project = ready_project(StudioHome(tmp_path / "home"), tmp_path, people=60)
    choice = {"method": "laplace", "epsilon": "0.001"}
    found = look(project, {"choice": choice, "rows": 60, "synthetic": False}, lambda share, words: None)
    assert found["notes"] == [_DROWNED]


def test_a_database_file_is_pointed_to_the_form_for_databases(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "people.db").touch()
    answer = bench.client.post("/new", data={"kind": "path", "path": str(tmp_path / "people.db")})
    assert answer.status_code == 400
    assert f"sqlite:///{tmp_path}/people.db" in answer.text


def test_the_front_page_counts_released_statistics_too(bench: Bench) -> None:
    counted_release(bench.project)
    desk = Desk(bench.project)
    made = ReleasedStatistics(
        id="a", release="r", at="2027", data="s.csv", certificate="s.json", cost="1", status="proved", label="",
        plan="p", command="", ledger="/books/s.sqlite", population="staff",
    )  # fmt: skip
    desk.change(None, released=(made,))
    assert "<td>2</td>" in bench.client.get("/").text
    assert last_account(bench.project) == ("/books/s.sqlite", "staff")
