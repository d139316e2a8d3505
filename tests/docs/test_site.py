"""The site builds without a warning, and what is generated in it is up to date."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import write_experiments
import write_reference
import write_tables
from coterie.papers import all_experiments

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def test_reference_pages_are_generated() -> None:
    for name, make in write_reference.PAGES.items():
        written = (DOCS / "reference" / name).read_text(encoding="utf-8")
        assert written == make(), "run `python tools/write_reference.py`"


@pytest.mark.parametrize("page", write_tables.TABLES)
def test_tables_about_methods_are_generated(page: str) -> None:
    assert write_tables.with_tables(page) == (ROOT / page).read_text(encoding="utf-8"), (
        "run `make docs-tables`"
    )


def test_the_table_of_experiments_is_made_from_runs() -> None:
    found = json.loads((DOCS / "reference" / "experiments.json").read_text(encoding="utf-8"))
    written = (DOCS / "reference" / "experiments.md").read_text(encoding="utf-8")
    power, weka = (write_experiments.read(f"experiments-{name}.json") for name in ("power", "weka"))
    assert written == write_experiments.page(found, power, weka), (
        "run `coterie reproduce all -o DIR`, then `python tools/write_experiments.py DIR`"
    )
    assert {entry["experiment"] for entry in found} == set(all_experiments())
    for entry in found:
        assert entry["reproduced"] == all(finding["verdict"] == "holds" for finding in entry["findings"])


def test_the_strict_build(tmp_path: Path) -> None:
    if importlib.util.find_spec("material") is None or importlib.util.find_spec("mkdocstrings") is None:
        pytest.skip("the theme or mkdocstrings is not installed")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "mkdocs",
            "build",
            "--strict",
            "--quiet",
            "--site-dir",
            str(tmp_path / "site"),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site" / "tutorial" / "first-release.html").exists()
    page = (tmp_path / "site" / "how-to" / "develop-a-method.html").read_text(encoding="utf-8")
    assert "the noisy median of each group" in page, "a file that a page includes is not on it"
    home = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    sections = ("Tutorial", "How to", "Explanation", "Guarantees", "Reference", "Decisions")
    first = [re.search(rf">\s*{section}\s*<", home).start() for section in sections]  # type: ignore[union-attr]
    assert first == sorted(first), "sections stand in the order in which a reader needs them"
    assert re.search(r'href="tutorial/first-release.html"[^>]*aria-label="Next', home), (
        "the next page is the tutorial"
    )
    assert "css/site.css" in home
    api = (tmp_path / "site" / "reference" / "api.html").read_text(encoding="utf-8")
    assert 'id="coterie.protect"' in api, "the API reference is made from docstrings"
    for page_ in (tmp_path / "site").rglob("*.html"):
        fetched = re.findall(
            r'<(?:link|script|img)[^>]+(?:href|src)="(https?:[^"]+)"', page_.read_text("utf-8")
        )
        assert not fetched, f"{page_.name} fetches {fetched}: the site must open offline"
    assert (tmp_path / "site" / "search" / "search_index.js").exists(), "search works from a file on disk"


def test_benchmark_tables_live_on_one_page() -> None:
    """A reader of any other page gets a sentence and a link."""
    measured = {page_.name for page_ in DOCS.rglob("*.md") if "<!-- measured: " in page_.read_text("utf-8")}
    assert measured == {"performance.md"}


@pytest.mark.parametrize("picture", ["chain", "ties", "before-after", "risk-utility", "synthetic-rows"])
def test_the_pictures_are_shown(picture: str) -> None:
    drawn = (DOCS / "pictures" / f"{picture}.svg").read_text(encoding="utf-8")
    assert "<title>" in drawn, "a picture says in words what it shows"
    assert any(f"pictures/{picture}.svg" in page_.read_text("utf-8") for page_ in DOCS.rglob("*.md"))


def test_each_known_fault_names_tests_that_exist() -> None:
    """Every entry of `what-was-broken.md` is linked to the tests that would have found it."""
    page_ = (DOCS / "guarantees" / "what-was-broken.md").read_text(encoding="utf-8")
    entries = page_.split("\n### ")[1:]
    assert len(entries) > 30
    for entry in entries:
        title, named = entry.split("\n")[0], re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", entry)
        assert named, f"{title}: no test is named"
        for file, test in named:
            assert (ROOT / file).is_file(), f"{title}: there is no {file}"
            assert not test or f"\ndef {test}(" in (ROOT / file).read_text(), f"{title}: no {test} in {file}"
