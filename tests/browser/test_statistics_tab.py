"""The statistics' tab in a real browser: moved by keyboard, optimised, released once; readable at every width."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import yaml
from statistics_people import RECORDS, SCHEMA, document, population
from studio_driving import Page, Studio, until

pytest.importorskip("fastapi")
from coterie.publication.ledger import Ledger
from coterie.studio.desk.desk import Desk
from coterie.studio.project import Loaded, Origin, Project
from coterie.studio.table_cache import keep

ENTER, RIGHT = "\ue007", "\ue014"
PLAIN: dict[str, Any] = {
    "statistics": {
        "average": {"kind": "mean", "of": "cost", "expected": 20},
        "smokers": {"kind": "count", "where": {"smoker": "yes"}, "expected": 600, "tolerance": 10},
        "old": {"kind": "count", "where": {"age": {"from": 60}}, "expected": 700},
    },
    "equations": {"share": "smokers / (old + 1)"},
}


@pytest.fixture
def project(studio: Studio) -> Project:
    made = Project.new(studio.home / "projects", "people.csv", Origin(kind="demo", shown="people"))
    loaded = Loaded(rows=RECORDS, columns=4, digest=keep(population(), made.table_path))
    labels = {"role": "keep", "type": "categorical", "categories": {"labels": ["yes", "no"]}}
    schema = {**SCHEMA, "attributes": {**SCHEMA["attributes"], "smoker": labels}}
    made.change(loaded=loaded, schema=yaml.safe_dump(schema, sort_keys=False))
    return made


def specify(page: Page, project: Project, **changes: Any) -> None:
    """Through the page, as text."""
    text = yaml.safe_dump({**document(**changes), "schema": "schema.yaml"}, sort_keys=False)
    page.open(f"/p/{project.id}/statistics")
    page.click("Import or edit it as text")
    page.driver.execute_script("document.getElementById('text').value = arguments[0]", text)
    page.submit("Use this specification")


def budgets(page: Page) -> list[Fraction]:
    return [Fraction(field.get_attribute("value")) for field in page.all(".share input[type=text]")]


def errors(page: Page) -> dict[str, str]:
    return {
        row.find_element("tag name", "th").text.split()[0]: row.find_elements("css selector", "td.number")[
            0
        ].text
        for row in page.all("#errors tbody tr")
    }


def test_from_nothing_to_a_plan_by_the_forms(page: Page, project: Project, axe: Callable[[], None]) -> None:
    page.open(f"/p/{project.id}/statistics")
    page.submit("Add a statistic")
    axe()
    page.fill("Name (letters, digits and _)", "average")
    page.choose("What", "mean: the average")
    assert page.field("Of").is_displayed()
    assert not page.field("Which quantile").is_displayed()
    page.choose("Of", "cost")
    page.choose("By", "smoker")
    page.field("Expected").send_keys("yes: 36\nno: 16")
    page.submit("Save")
    page.sees("mean of cost, by smoker (yes, no)")
    page.submit("Add an equation")
    axe()
    page.fill("Name", "times")
    page.choose("a", "average[yes]")
    page.choose("b", "average[no]")
    page.submit("Save")
    assert set(errors(page)) == {"average[yes]", "average[no]", "times"}
    assert page.console() == []


def test_a_share_moved_by_the_keyboard_moves_the_errors(page: Page, project: Project) -> None:
    specify(page, project, **PLAIN, budget={"epsilon": "1"})
    before, start = errors(page), budgets(page)
    page.click("Split it by hand")
    slider = page.field("count | smoker = yes")
    page.driver.execute_script("arguments[0].focus()", slider)
    for _ in range(12):
        page.press(RIGHT)
    until(lambda: budgets(page)[1] > start[1] + Fraction(1, 20), "a larger share")
    until(lambda: float(errors(page)["smokers"]) < float(before["smokers"]), "a smaller error")
    assert float(errors(page)["average"]) > float(before["average"])
    until(lambda: sum(budgets(page)) == 1, "the parts to be the whole")
    assert page.driver.switch_to.active_element == slider
    until(lambda: sum(map(Fraction, Desk(project).state.split.values())) == 1, "kept")
    shown = errors(page)
    page.open(f"/p/{project.id}/statistics")  # it is kept
    assert errors(page) == shown
    assert page.console() == []


def test_a_locked_share_stays(page: Page, project: Project) -> None:
    specify(page, project, **PLAIN, budget={"epsilon": "1"})
    start = budgets(page)
    page.click("Split it by hand")
    page.all("input[name=locked]")[0].click()
    page.write(page.all(".share input[type=text]")[1], "0.45")
    page.press(ENTER)
    until(lambda: sum(budgets(page)) == 1 and budgets(page) != start, "the answer")
    assert budgets(page)[:2] == [start[0], Fraction(45, 100)]


def test_two_tabs_do_not_overwrite_each_other(page: Page, project: Project) -> None:
    specify(page, project, **PLAIN)
    Desk(project).change(None, locked=())  # the other tab
    page.click("Split it by hand")
    page.write(page.all(".share input[type=text]")[1], "0.45")
    page.press(ENTER)
    assert "another tab" in page.problem()


def test_optimise_moves_the_sliders(page: Page, project: Project, screenshot: Callable[[str], None]) -> None:
    specify(page, project)
    start, score = budgets(page), page.one("#score").text
    page.submit("Optimise: split it best")
    page.sees("Ways of splitting, compared")
    assert budgets(page) != start
    assert float(page.one("#score").text.split()[1].rstrip(":")) < float(score.split()[1].rstrip(":"))
    screenshot("statistics-optimised")


def test_release_once_for_two_clicks(
    page: Page,
    studio: Studio,
    project: Project,
    tmp_path: Path,
    axe: Callable[[], None],
    screenshot: Callable[[str], None],
) -> None:
    specify(page, project)
    page.submit("Go on: release these statistics")
    axe()
    for name, text in (("folder", str(tmp_path)), ("ledger", str(tmp_path / "l.sqlite")), ("lifetime", "9")):
        page.write(page.one(f"#{name}"), text)
    page.submit("See what will happen")
    page.sees("now ε = 9, afterwards ε = 7")
    axe()
    screenshot("statistics-confirm")
    page.one("input[name=understood]").click()
    before = page.one("html")
    # Two clicks before the answer comes: the form is sent twice.
    page.driver.execute_script("const b = document.getElementById('confirm'); b.click(); b.click();")
    page.arrives_after(before)
    page.sees("File and certificate belong together")
    axe()
    screenshot("statistics-released")
    page.driver.refresh()
    page.sees("File and certificate belong together")
    address = studio.restart()
    page = Page(page.driver, studio.root).open(address)
    page.open(f"/p/{project.id}/statistics/release/confirm")  # back in the history: it is released already
    page.sees("File and certificate belong together")
    assert Ledger.inspect(tmp_path / "l.sqlite").balance("people").spent == 2
    assert len(Desk(project).state.released) == 1


def test_readable_at_every_width_light_and_dark(
    page: Page, project: Project, everywhere: Callable[[str], None]
) -> None:
    specify(page, project)
    page.click("Split it by hand")
    everywhere("statistics")
    page.size("wide")
    assert page.too_wide() <= 0
    page.size("phone")
    for form in ("statistic", "equation", "release"):
        page.open(f"/p/{project.id}/statistics/{form}")
        assert page.too_wide() <= 0
    assert page.console() == []
