"""coterie risk: for people, for programs, and as files that nobody else may read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SCHEMA = """attributes:
  age: {type: integer, role: protect, domain: {lower: 0, upper: 120}, recode: {bands: [40]}}
  sex: {type: categorical, role: protect, categories: {labels: [f, m]}}
  wgt: {role: keep}
"""
PEOPLE = "age,sex,wgt\n31,f,10\n35,f,10\n62,m,20\n28,m,5\n"


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text(PEOPLE)
    (tmp_path / "schema.yaml").write_text(SCHEMA)
    return tmp_path


def test_for_people_and_for_programs(run: Callable[..., Any], survey: Path) -> None:
    arguments = ("risk", "people.csv", "--schema", "schema.yaml", "--keys", "age,sex", "--weight", "wgt")
    shown = run(*arguments)
    assert shown.code == 0
    assert "DO NOT PUBLISH" in shown.words
    assert "2 of 4 records (50 %) share their age and sex with nobody; before recoding 4" in shown.words
    assert "before recoding after" in shown.words
    told = run(*arguments, "--json").json
    assert told["warning"].startswith("DO NOT PUBLISH")
    assert (told["risk"]["uniques"], told["before_recoding"]["uniques"], told["population"]) == (2, 4, 45)


def test_files_are_private_and_never_replace_an_input(run: Callable[..., Any], survey: Path) -> None:
    arguments = ("risk", "people.csv", "-s", "schema.yaml", "--keys", "age,sex")
    assert run(*arguments, "--page", "risk.html", "--output", "risk.json").code == 0
    for name in ("risk.html", "risk.json"):
        assert (survey / name).stat().st_mode & 0o077 == 0
    assert json.loads((survey / "risk.json").read_text())["keys"] == ["age", "sex"]
    refused = run(*arguments, "--page", "new.html", "--output", "risk.json")
    assert refused.code == 6
    assert not (survey / "new.html").exists()  # both, or nothing
    for name in ("people.csv", "schema.yaml"):
        assert run(*arguments, "--output", name, "--force").code == 6
    assert (survey / "people.csv").read_text() == PEOPLE


def test_bad_input_is_a_sentence(run: Callable[..., Any], survey: Path) -> None:
    assert "Did you mean 'sex'" in run("risk", "people.csv", "-s", "schema.yaml", "--keys", "sec").words
    (survey / "people.csv").write_text(PEOPLE.replace("5\n", "0\n"))
    refused = run("risk", "people.csv", "-s", "schema.yaml", "--keys", "age", "--weight", "wgt")
    assert (refused.code, "zero or negative" in refused.words) == (4, True)
