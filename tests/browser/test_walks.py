"""Three whole walks, each from a file to a verified release and its dossier; every page at both widths, in both themes."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from studio_driving import Page, Studio, until

from coterie.publication.ledger import Ledger
from coterie.studio.project import Choice, Project
from shown_lines import run_lines

Everywhere = Callable[[str], None]
LOOK, ATTACK, RELEASE = "Next: look before and after", "Attack it", "Go on: see everything before it happens"


def project_of(page: Page, studio: Studio) -> Project:
    return Project(studio.home / "projects" / page.path.split("/")[2])


def opened(page: Page, path: Path, seen: str) -> None:
    page.fill("Path", str(path))
    page.submit("Open")
    page.sees(seen)
    page.sees("Go on: describe the columns")


def bounds(page: Page, name: str, kind: str, lower: str, upper: str) -> None:
    page.choose(f"Role of {name}", "Protect")
    page.choose(f"Type of {name}", {"integer": "Whole number", "continuous": "Number"}[kind])
    page.fill(f"Lower bound of {name}", lower)
    page.fill(f"Upper bound of {name}", upper)


def verified(data: Path) -> None:
    """By the command, as a recipient would."""
    words = ["coterie", "certificate", "verify", str(data), f"{data}.certificate.json"]
    run_lines(data.parent, ("Command", shlex.join(words)))


def looked(page: Page) -> None:
    """From the recommendation, whose first look has to end."""
    page.submit(LOOK)
    page.sees("Each column, worst first")
    until(lambda: not page.all("#preview .job"), "the end of the look")


def with_ledger(page: Page, population: str, lifetime: str) -> None:
    page.fill("Population", population)
    page.fill("Lifetime ε", lifetime)
    page.submit("Make it")
    page.sees(f"remaining {lifetime}")


def released(page: Page, studio: Studio) -> None:
    """Once it is confirmed, with the very words of its cost."""
    choice = project_of(page, studio).state.choice
    assert choice is not None
    page.sees("Release this?")
    page.click_label(
        f"I understand that this spends ε = {choice.epsilon} and draws the noise once. It cannot be taken back."
    )
    page.submit("Release now")
    page.sees("Verified: these bytes belong to this certificate")


def dossier(page: Page, folder: Path, version: str, kind: str, data: str) -> bytes:
    page.click(f"{version} dossier as {kind}")
    path = folder / "downloads" / f"{data}.{'public-' if version == 'Public' else ''}dossier.{kind.lower()}"
    until(path.exists, path.name)
    return path.read_bytes()


def test_a_clean_file(page: Page, studio: Studio, tmp_path: Path, everywhere: Everywhere) -> None:
    source = tmp_path / "stays.csv"
    lines = (
        f"person {n},{20 + n * 7 % 60},{1 + n * n % 29},{('north', 'south', 'west')[n % 3]}"
        for n in range(300)
    )
    source.write_text("name,age,stay,ward\n" + "\n".join(lines))
    everywhere("front")
    opened(page, source, "300 rows × 4 columns")
    everywhere("load")
    page.click("Go on: describe the columns")
    page.sees("columns still need what is public about them")
    everywhere("describe-open")
    bounds(page, "age", "integer", "0", "120")
    bounds(page, "stay", "integer", "0", "365")
    page.fill("Labels, one per line of ward", "north\nsouth\nwest")
    page.submit("Save and go on")

    page.sees("What users can expect")
    everywhere("recommend")
    page.one("input[name=dial][value='2']").click()  # the dial needs no answer from the studio
    until(lambda: "at most 89 % sure" in page.text, "the promise of ε = 2")
    looked(page)
    everywhere("look")
    assert project_of(page, studio).state.choice == Choice(method="dp-synthetic", epsilon="2")

    page.click("Next: attack it yourself")
    everywhere("audit-before")
    page.submit(ATTACK)
    page.sees("What each attack achieved")
    everywhere("audit-calm")
    page.click("Next: release and dossier")
    page.sees("Who counts the ε")
    with_ledger(page, "patients", "5")
    everywhere("release")
    page.submit(RELEASE)
    page.sees("5 → 3")
    everywhere("release-confirm")
    page.click("Release now")  # not ticked: the browser itself holds it back
    assert page.path.endswith("/release/confirm")
    released(page, studio)
    everywhere("released")
    data = tmp_path / "stays-released.csv"
    verified(data)
    assert Ledger.inspect(tmp_path / "ledger.sqlite").balance("patients").spent == 2
    page.click("Download the data")
    copy = tmp_path / "downloads" / data.name
    until(lambda: copy.exists() and copy.read_bytes() == data.read_bytes(), "the whole file")
    page.click("Attack this release")
    page.click("Attack again, with other settings")
    page.submit("Attack again")
    page.sees("Release 1 as it was published")
    page.open(page.path.replace("audit", "release/1"))
    page.click("View the internal dossier")
    page.driver.switch_to.window(page.driver.window_handles[-1])
    page.sees("Release dossier")  # no script runs in it, so axe neither
    assert page.too_wide() <= 0
    assert page.console() == []
    page.driver.close()
    page.driver.switch_to.window(page.driver.window_handles[0])
    assert dossier(page, tmp_path, "Internal", "PDF", data.name).startswith(b"%PDF-")
    assert b"stays" in dossier(page, tmp_path, "Public", "HTML", data.name)


def test_a_dirty_european_file_and_a_restart(
    page: Page, studio: Studio, tmp_path: Path, everywhere: Everywhere
) -> None:
    source = tmp_path / "löhne.csv"
    lines = (
        f"{20 + n * 7 % 60};{1000 + n * 37 % 4000},50;{('Köln', 'Bonn', 'Aachen')[n % 3]}" for n in range(300)
    )
    text = "alter;lohn;ort\n" + "\n".join(lines)
    source.write_bytes(text.replace("\n27;", "\nn.k.;", 1).replace("\n34;", "\n340;", 1).encode("latin-1"))
    page.give_file("File", source)
    before = page.one("html")
    page.click("Upload and read")
    page.arrives_after(before)
    page.sees("300 rows × 3 columns")
    page.sees("How the file writes its cells is guessed")
    page.click("Go on: describe the columns")
    bounds(page, "alter", "integer", "0", "120")
    bounds(page, "lohn", "continuous", "0", "10000")
    page.fill("Labels, one per line of ort", "Köln\nBonn\nAachen\nDüren")
    page.submit("Save and check the table")
    page.sees("holds text that is not a number")
    page.click("More about alter")
    page.fill("Texts that mean missing, one per line of alter", "n.k.")
    page.choose("Missing cells of alter", "release “missing”")
    page.submit("Save and check the table")
    page.sees("outside its bounds")
    page.click("More about alter")
    page.choose("Values outside the bounds of alter", "cut to the bound")
    page.submit("Save and check the table")
    page.sees("Everything fits.")
    everywhere("describe-checked")
    page.submit("Save and go on")
    page.sees("What users can expect")
    deep = page.path
    studio.kill()
    studio.start()
    page.open(deep)  # after a restart it goes on where it was
    page.sees("What users can expect")
    looked(page)
    page.open(deep.replace("recommend", "release"))
    page.fill("Folder on this machine", str(tmp_path))
    page.fill("Name", "lohn")
    page.choose("Format", ".parquet")
    page.click_label("No ledger")
    page.submit(RELEASE)
    page.sees("It was not attacked.")
    released(page, studio)
    verified(tmp_path / "lohn.parquet")
    assert b"lohn" in dossier(page, tmp_path, "Internal", "HTML", "lohn.parquet")


def survey(path: Path) -> None:
    """Households with a number, value labels and weights."""
    import pyreadstat

    draw = np.random.Generator(np.random.PCG64(1))
    rows = []
    for home in range(150):
        urban, weight = int(draw.integers(1, 3)), float(draw.integers(60, 140))
        for member in range(int(draw.integers(1, 5))):
            rows.append((home + 1, urban, 1 + member % 2, int(draw.integers(0, 90)), weight))
    frame = pd.DataFrame(rows, columns=["hhid", "urbrur", "sex", "age", "wgt"])
    labels = {"urbrur": {1: "urban", 2: "rural"}, "sex": {1: "male", 2: "female"}}
    pyreadstat.write_sav(
        frame, str(path), column_labels={"age": "Age in years"}, variable_value_labels=labels
    )


def test_a_survey_of_households_with_weights(
    page: Page, studio: Studio, tmp_path: Path, everywhere: Everywhere
) -> None:
    survey(tmp_path / "homes.sav")
    opened(page, tmp_path / "homes.sav", "hhid seems to number households")
    page.click_label("urbrur")
    page.click_label("age")
    page.submit("Count them")
    page.sees("share their urbrur and age with nobody")
    everywhere("load-risk")
    page.click("Choose in the next step")
    page.click_label("Each household, or another unit of several rows")
    page.fill("At most", "4")
    page.submit("Protect these")
    page.sees("From your data, so nothing can be proved")
    everywhere("describe-survey")
    page.click_label("select all shown")
    page.fill("Known from, for all selected", "codebook 2026, page 12")
    page.submit("Set")
    page.sees_not("so nothing can be proved")
    bounds(page, "age", "integer", "0", "110")
    page.choose("Role of wgt", "Weight")
    page.choose("Type of wgt", "Number")
    page.fill("Lower bound of wgt", "1")
    page.fill("Upper bound of wgt", "500")
    page.submit("Save")
    page.sees("The description is complete.")
    page.fill("People in all, or by label", "35,000")
    page.submit("Save the totals")
    page.submit("Save and go on")

    page.sees("Say about how many rows there are")
    page.fill("We protect every hhid of up to 4 rows. Rows in all, from public knowledge: about", "400")
    page.submit("Find a release")
    page.sees("What users can expect")
    page.sees("what one hhid contributed")
    everywhere("recommend-survey")
    looked(page)
    page.click("Next: attack it yourself")
    page.submit(ATTACK)
    page.sees("What each attack achieved")
    page.click("Next: release and dossier")
    with_ledger(page, "homes", "3")
    page.submit(RELEASE)
    released(page, studio)
    data = Path(project_of(page, studio).state.released[0].data)
    verified(data)
    certificate = json.loads(Path(f"{data}.certificate.json").read_text())
    assert certificate["guarantee"]["status"] == "proved"
    assert certificate["guarantee"]["unit"] == "hhid"
    counted = Ledger.inspect(data.parent / "ledger.sqlite").balance("homes")
    assert (counted.terms.unit, counted.terms.rows_per_unit, counted.spent) == ("hhid", 4, 1)
    assert b"hhid" in dossier(page, tmp_path, "Public", "HTML", data.name)


def test_a_severe_finding_stops_the_path(
    page: Page, studio: Studio, tmp_path: Path, everywhere: Everywhere
) -> None:
    from coterie.studio.auth import StudioHome
    from release_world import ready_project

    refuted = Choice(method="idp-cbls", epsilon="1", k=50)
    project = ready_project(StudioHome(studio.home), tmp_path, choice=refuted)
    page.open(f"/p/{project.id}/audit")
    page.submit(ATTACK)
    page.sees("The guided path stops here")
    everywhere("audit-severe")
    page.click("Release")
    page.sees("nothing can be released yet")
    everywhere("release-blocked")
    page.click("sign why you go on")
    page.fill("Reason", "a test with invented people")
    page.fill("Name", "A. Steward")
    page.submit("Sign and go on despite the finding")
    page.sees("A. Steward signed why it goes on")
    with_ledger(page, "people", "5")
    page.submit(RELEASE)
    page.sees("outside the account")
    everywhere("release-despite")
    assert page.button("Release now").is_enabled()
