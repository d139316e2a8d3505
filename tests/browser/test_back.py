"""The back button: no page says that nothing was released when something was, and no form is sent again."""

from __future__ import annotations

from pathlib import Path

from studio_driving import Page, Studio, until

from coterie.studio.auth import StudioHome
from release_world import ready_project


def test_back_from_a_release_and_through_the_answers_to_forms(
    page: Page, studio: Studio, tmp_path: Path
) -> None:
    project = ready_project(StudioHome(studio.home), tmp_path, people=200)
    page.open(f"/p/{project.id}/release")
    page.fill("Name", "out")
    page.submit("Look into this ledger")  # there is none: the answer to the form says so
    page.problem()
    page.click_label("No ledger")
    page.submit("Go on: see everything before it happens")
    page.one("#understood").click()
    page.submit("Release now")
    page.sees("these bytes belong to this certificate")
    page.driver.back()
    until(
        lambda: "Nothing has been drawn" not in page.text and "Verified" in page.text,
        "the release that was made",
    )
    for _ in range(2):
        page.driver.back()
        page.sees("Say where the release goes")
    page.driver.refresh()
    page.sees("Say where the release goes")
    assert page.path == f"/p/{project.id}/release"
    assert sorted(path.name for path in tmp_path.glob("out*")) == ["out.csv", "out.csv.certificate.json"]
