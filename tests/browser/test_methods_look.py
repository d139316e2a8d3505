"""All methods and Look in a real browser: by keyboard, live, cancelled, out of date."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import ActionChains
from studio_driving import Page, Studio, until

from coterie.studio.auth import StudioHome
from release_world import ready_project

LEFT, RIGHT, SPACE, TAB, ESCAPE = "\ue012", "\ue014", " ", "\ue004", "\ue00c"
WIDTHS = ("phone", "desk", "wide")


def choosing(page: Page, studio: Studio, folder: Path, people: int) -> Page:
    """Invented people, on the page of all methods."""
    project = ready_project(StudioHome(studio.home), folder, people=people, choice=None)
    return page.open(f"/p/{project.id}/choose")


@pytest.fixture
def chosen(page: Page, studio: Studio, tmp_path: Path) -> Page:
    return choosing(page, studio, tmp_path, 5_000)


def pick(page: Page, method: str) -> None:
    page.driver.execute_script("document.querySelectorAll('.unsafe').forEach(one => { one.open = true; })")
    page.one(f"#method-{method}").click()
    until(lambda: method in page.one("#summary").text, f"{method} in the summary")


def looking(page: Page, method: str = "idp-cbls") -> Page:
    pick(page, method)
    page.submit("Save and look")
    page.sees("Each column, worst first")
    return page


def test_the_slider_moves_the_odds_by_keyboard(chosen: Page, browser: Any) -> None:
    page = chosen
    assert "No method chosen yet" in page.one("#summary").text
    assert "74 %" in page.one("#summary").text
    pick(page, "laplace")
    assert "1-DP" in page.one("#summary").text
    browser.execute_script("document.getElementById('epsilon-slider').focus()")
    page.press(*[LEFT] * 20)  # a tenth
    until(lambda: "0.1-DP" in page.one("#summary").text, "the label of ε = 0.1")
    assert "53 %" in page.one("#summary").text
    assert page.field("exactly, as a decimal").get_attribute("value") == "0.1"
    assert page.focused.get_attribute("id") == "epsilon-slider"
    assert page.focused.get_attribute("aria-valuetext") == "ε = 0.1"
    page.fill("exactly, as a decimal", "0.25")
    until(lambda: "0.25-DP" in page.one("#summary").text, "the exact text counts")
    page.click("The same without this page")
    assert "--epsilon 0.25" in page.one("#ways").text
    assert page.console() == []


def test_settings_change_the_label_of_every_card(chosen: Page) -> None:
    page = chosen
    pick(page, "dp-mdav")
    assert "8-DP" in page.one("#summary").text
    page.one("#shuffle").click()
    until(lambda: "not private, whatever ε" in page.one("#summary").text, "the label of rows in order")
    assert page.one("#method-dp-mdav").is_selected()
    page.fill("exactly, from 1 to 5,000", "100")
    until(lambda: "q = 50)" in page.one("#cards").text, "the label of idp-cbls follows k")


def test_a_method_is_chosen_by_keyboard_and_saved(chosen: Page, browser: Any) -> None:
    page = chosen
    page.submit("Save")
    assert "No method is chosen." in page.problem()
    browser.execute_script("document.getElementById('method-laplace').focus()")
    page.press(SPACE)
    until(lambda: "laplace" in page.one("#summary").text, "laplace in the summary")
    assert page.focused.get_attribute("id") == "method-laplace", "the focus stays"
    page.submit("Save")
    page.sees("This choice is saved.")


def test_another_sample_is_put_in_place(chosen: Page, browser: Any) -> None:
    page = looking(chosen)
    until(lambda: not page.all("#preview .job"), "the first look")
    browser.execute_script("window.here = true")
    page.click("Look at another sample, or at invented rows")
    page.choose("Look at", "invented rows, from the public bounds alone")
    until(
        lambda: "invented rows, drawn from the public bounds alone" in page.one("#preview").text,
        "new figures",
    )
    assert browser.execute_script("return window.here === true"), "the page was not loaded anew"
    assert page.console() == []


def test_a_comparison_can_be_cancelled_at_once(chosen: Page) -> None:
    page = looking(chosen)
    page.click("Compare methods by measuring them")
    page.one("#compare-mdav").click()
    # So much that no machine is done before it is told to stop.
    page.write(page.one("#ks"), ", ".join(str(k) for k in range(3, 200)))
    page.submit("Compare")
    page.submit("Cancel")
    page.sees("Cancelled. Nothing was changed.")


def test_figures_of_other_settings_are_marked(chosen: Page) -> None:
    page = looking(chosen)
    page.open(page.path.replace("/look", "/choose"))
    pick(page, "laplace")
    page.submit("Save")
    page.open(page.path.replace("/choose", "/look"))
    page.sees("Made with other settings (idp-cbls, ε = 1, k = 10, 5,000 rows)")
    page.click("Look again with the settings of now")
    page.sees_not("Made with other settings")
    page.click("All measures")
    assert "replacing every value by the mean" in page.one("#preview").text


def test_two_tabs_do_not_overwrite_each_other(chosen: Page, browser: Any) -> None:
    page = chosen
    first, address = browser.current_window_handle, page.path
    browser.switch_to.new_window("tab")
    page.open(address)
    pick(page, "laplace")
    page.submit("Save")
    browser.switch_to.window(first)
    pick(page, "dp-ir")
    page.submit("Save")
    assert "another tab" in page.problem()


def test_every_figure_has_its_numbers_in_a_table_and_under_the_pointer(chosen: Page, browser: Any) -> None:
    page = looking(chosen)
    figures = page.all("figure.chart")
    assert len(figures) == 1 + 8 + 3  # one of them is the legend of all columns
    for figure in figures[1:]:
        assert figure.find_elements("css selector", "table tbody tr")
    bar = page.one(".look figure.chart rect.hit")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", bar)
    ActionChains(browser).move_to_element(bar).perform()
    first = until(lambda: page.one(".look figure.chart .tip").text, "a tooltip")
    assert re.search(r"to .*\nbefore: [\d,]+; after: [\d,]+", first)
    browser.execute_script("document.querySelector('.look figure.chart .panels svg').focus()")
    page.press(RIGHT)  # by keyboard, from one bar to the next
    until(lambda: page.one(".look figure.chart .tip").text not in ("", first), "another tooltip")
    page.press(ESCAPE)
    until(lambda: not page.one(".look figure.chart .tip").text, "no tooltip")


def test_both_pages_are_accessible_and_fit(
    page: Page, studio: Studio, tmp_path: Path, everywhere: Callable[[str], None]
) -> None:
    """Methods and comparison; the rest of Look: test_walks.py."""
    choosing(page, studio, tmp_path, 1_000)  # how a page looks does not depend on how many there are
    pick(page, "dp-synthetic")
    page.one(".unsafe summary").click()  # what is unsafe is folded
    everywhere("methods")
    looking(page, "dp-synthetic")
    page.click("Compare methods by measuring them")
    page.submit("Compare")
    page.sees("Risk and utility", 300)
    until(lambda: not page.all("#compared .job"), "the end of the comparison")
    everywhere("comparison")
