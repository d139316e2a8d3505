"""Load and describe as a person does it, in a real browser: clean and dirty files, spreadsheets, two tabs, keys only."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from studio_driving import Page, Studio, until

from coterie.studio.project import Project
from workbooks import write_xlsx

PEOPLE = "name,age,code,ward\n" + "".join(
    f"person {n},{20 + n % 60},0{n % 3},{('north', 'south', 'west')[n % 3]}\n" for n in range(60)
)


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text(PEOPLE)
    return path


def load(page: Page, path: Path) -> None:
    page.open("/")
    page.fill("Path", str(path))
    page.submit("Open")
    page.sees("Load")


def project_of(page: Page, studio: Studio) -> Project:
    return Project(studio.home / "projects" / page.path.split("/")[2])


def test_a_clean_file_is_loaded_and_described(
    page: Page, studio: Studio, people: Path, screenshot: Callable[[str], None], tmp_path: Path
) -> None:
    load(page, people)
    page.sees("60 rows × 4 columns")
    screenshot("load")
    page.click("Go on: describe the columns")
    page.sees("3 of 4 columns still need what is public about them")
    screenshot("describe-open")
    page.choose("Type of code", "Labels")  # the fields follow at once
    assert not page.field("Lower bound of code").is_displayed()
    page.fill("Labels, one per line of code", "00\n01\n02")
    page.fill("Lower bound of age", "0")
    page.fill("Upper bound of age", "120")
    page.sees("Not saved yet.")
    page.sees("Saved.")  # by itself
    page.submit("Fill ward from my data")
    page.sees("The description is complete.")
    page.sees("Labels from your data")
    screenshot("describe-from-data")
    page.size("phone")
    screenshot("describe-from-data-phone")
    page.size("desk")
    page.click("Labels of ward")
    page.fill("Labels, one per line of ward", "north\nsouth\nwest\neast")
    page.submit("Save")
    page.sees("Labels from your data")  # typing does not change where it came from
    page.fill("Why ward is public", "the map of the town")
    page.submit("Save and check the table")
    page.sees_not("Labels from your data")
    page.sees("Everything fits.")
    screenshot("describe-checked")
    project = project_of(page, studio)
    assert project.typed_table()["code"].to_pylist()[:3] == ["00", "01", "02"], "the zeros came back"
    assert page.console() == []
    page.click("Download schema.yaml")
    until((tmp_path / "downloads" / "schema.yaml").exists, "the downloaded schema")
    page.submit("Save and go on")
    assert page.path.endswith("/recommend")


def test_a_dirty_file_gets_sentences_until_it_is_right(
    page: Page, people: Path, screenshot: Callable[[str], None]
) -> None:
    people.write_bytes(PEOPLE.encode().replace(b"person 7,", b"person 7,extra,"))
    load(page, people)
    assert "Line 9 has" in page.problem()
    screenshot("load-ragged")
    people.write_bytes(PEOPLE.encode().replace(b"person 5,", b"person\0 5,"))
    page.submit("Read it again")
    page.sees("holds bytes that no CSV file has")
    people.write_text(PEOPLE.replace("person 3,23", "person 3,n.k."))
    page.submit("Read it again")
    page.sees("60 rows × 4 columns")
    page.sees("Most cells are numbers, 1 cell is not")
    page.click("Go on: describe the columns")
    page.choose("Role of ward", "Keep untouched")
    page.choose("Role of code", "Keep untouched")
    page.choose("Role of age", "Protect")
    page.choose("Type of age", "Whole number")
    page.fill("Lower bound of age", "0")
    page.submit("Save")
    assert "'age' has only one bound" in page.problem()
    assert page.field("Lower bound of age").get_attribute("value") == "0"
    page.fill("Upper bound of age", "50")
    page.submit("Save and check the table")
    page.sees("holds text that is not a number. The first is in row 4")
    page.click("More about age")
    page.fill("Texts that mean missing, one per line of age", "n.k.")
    page.choose("Missing cells of age", "put a public value in")
    page.submit("Save and check the table")
    page.sees("values are outside its bounds")
    screenshot("describe-does-not-fit")
    page.fill("Upper bound of age", "120")
    page.submit("Save and check the table")
    page.sees("Everything fits.")


def test_a_spreadsheet_is_uploaded_and_another_sheet_read(page: Page, tmp_path: Path) -> None:
    sheets = {"Notes": [["written by"], ["me"]], "People": [["age", "ok"], [30, True], [41, False]]}
    page.give_file(
        "File",
        write_xlsx(tmp_path / "people.xlsx", sheets),
    )
    before = page.one("html")
    page.click("Upload and read")
    page.arrives_after(before)
    page.sees("has 2 sheets: Notes, People.")
    page.fill("Sheet or data frame (empty: the only one)", "People")
    page.submit("Read it again")
    page.sees("2 rows × 2 columns")


def test_an_upload_that_is_too_large(
    start_studio: Callable[..., Studio], browser: Any, tmp_path: Path
) -> None:
    studio = start_studio("--largest-upload", "1")
    page = Page(browser, studio.root).open(studio.address)
    path = tmp_path / "large.csv"
    path.write_bytes(b"a,b\n" + b"1,2\n" * 300_000)
    field = page.one("#file")
    field.send_keys(str(path))
    page.click("Upload and read")
    assert "too large to upload" in page.problem()
    # The same where the page does not look: the server refuses it.
    browser.execute_script("document.getElementById('upload').dataset.largest = 1e12")
    page.click("Upload and read")
    until(lambda: "larger than 1 MB" in page.problem(), "the server's refusal")
    assert studio.projects == []


def test_enter_saves_two_tabs_and_a_restart_in_the_middle(
    page: Page, studio: Studio, browser: Any, people: Path
) -> None:
    from selenium.webdriver.common.keys import Keys

    load(page, people)
    page.sees("60 rows")
    deep = page.path.replace("load", "describe")
    page.open(deep)
    before = page.one("html")
    page.fill("Lower bound of age", "0")
    page.fill("Upper bound of age", "119")
    page.press(Keys.ENTER)
    page.arrives_after(before)
    page.sees("2 of 4 columns still need")
    assert "from your data" not in page.one("#state").text

    first = browser.current_window_handle
    browser.switch_to.new_window("tab")
    page.size("desk")
    page.open(deep)
    page.fill("Upper bound of age", "120")
    page.submit("Save")
    browser.switch_to.window(first)
    page.fill("Upper bound of age", "6")
    page.submit("Save")
    assert "changed in another tab" in page.problem()
    assert page.field("Upper bound of age").get_attribute("value") == "120"

    studio.kill()
    studio.start()
    page.open(deep)
    assert page.field("Upper bound of age").get_attribute("value") == "120"
    page.open(deep.replace("describe", "recommend"))
    page.sees("Describe every attribute first.")
    page.open("/p/00000000/describe")
    page.sees("There is no such page.")


def test_describe_with_the_keyboard_only(page: Page, people: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    load(page, people)
    page.sees("60 rows")
    page.open(page.path.replace("load", "describe"))

    def tab_to(name: str) -> None:
        """Press Tab until the field or button of this name has the focus."""
        for _ in range(150):
            if page.focused.accessible_name == name:
                return
            page.press(Keys.TAB)
        raise AssertionError(f"'{name}' was not reached by Tab")

    page.press(Keys.TAB)
    assert page.focused.text == "Skip to the content"
    page.press(Keys.ENTER)
    tab_to("Lower bound of age")
    page.press("0", Keys.TAB, "120")
    tab_to("More about age")
    page.press(Keys.ENTER)
    tab_to("Missing cells of age")
    page.press("p")  # put a public value in
    tab_to("Role of code")
    page.press("k")  # keep untouched
    tab_to("Labels, one per line of ward")
    page.press("north", Keys.ENTER, "south", Keys.ENTER, "west")
    before = page.one("html")
    tab_to("Save")
    page.press(Keys.ENTER)
    page.arrives_after(before)
    page.sees("The description is complete.")
    assert page.field("Upper bound of age").get_attribute("value") == "120"


def test_two_hundred_attributes(page: Page, tmp_path: Path, screenshot: Callable[[str], None]) -> None:
    path = tmp_path / "wide.csv"
    names = [f"q{n}_{'score' if n % 2 else 'count'}" for n in range(200)]
    path.write_text(",".join(names) + "\n" + (",".join(["1"] * 200) + "\n") * 5)
    load(page, path)
    page.sees("5 rows × 200 columns")
    page.open(page.path.replace("load", "describe"))
    until(lambda: "200 of 200 columns" in page.one("#state").text, "what is open")
    page.fill("Show only names with", "score")
    until(lambda: page.one("#shown-count").text == "100 of 200 shown", "the filtered list")
    page.click_label("select all shown")
    page.choose("Set for all selected", "Role: Drop")
    page.submit("Set")
    until(lambda: "100 of 200 columns" in page.one("#state").text, "what is open")
    screenshot("describe-two-hundred")


def test_a_schema_file_and_a_taxonomy_come_in(
    page: Page, studio: Studio, people: Path, tmp_path: Path
) -> None:
    load(page, people)
    page.sees("60 rows")
    page.open(page.path.replace("load", "describe"))
    wards = tmp_path / "wards.csv"
    wards.write_text("north;up;all\nsouth;down;all\nwest;down;all\n")
    page.click("Add a taxonomy file")
    page.give_file("Taxonomy (.csv, .yaml, .json, .ttl, …)", wards)
    page.click("Add it")
    page.sees("Added taxonomies/wards.csv with 3 labels.")
    schema = tmp_path / "schema.yaml"
    schema.write_text(
        "attributes:\n  name: {role: identifier}\n  age: {type: integer, role: protect, domain: {lower: 0, upper: 99}}\n"
        "  code: {type: categorical, role: keep}\n"
        "  ward: {type: categorical, role: protect, categories: {taxonomy: taxonomies/wards.csv}}\n"
    )
    page.click("Take in a schema file")
    page.give_file("Schema file (.yaml)", schema)
    until(lambda: page.field("or its text").get_attribute("value"), "the file's text")
    page.submit("Take it in")
    page.sees("The description is complete.")
    page.submit("Save and check the table")
    page.sees("Everything fits.")


def test_load_and_describe_are_accessible(
    page: Page, everywhere: Callable[[str], None], people: Path
) -> None:
    load(page, people)
    page.sees("60 rows")
    everywhere("load")
    page.open(page.path.replace("load", "describe"))
    page.click("No public knowledge at all? Fill from my data")
    page.submit("Fill all open ones from my data")
    page.click("More about age")
    page.click("Take in a schema file")
    everywhere("describe")
    page._press(lambda: page.all(".words .help summary")[-1])  # not under the bar at the end of the window
    assert page.one(".words .help[open] .words").is_displayed()
    everywhere("describe-help")
    page.open("/")
    page.click("Rename people.csv")
    everywhere("rename")
    people.write_bytes(b"")
    page.click("people.csv")
    page.sees("was changed or removed")
    everywhere("load-changed")
