"""The site builds without a warning, and what is generated in it is up to date."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from coterie.papers import all_experiments
from coterie.papers.tables import page

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def test_reference_pages_are_generated() -> None:
    spec = importlib.util.spec_from_file_location("write_reference", ROOT / "tools" / "write_reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, make in module.PAGES.items():
        written = (DOCS / "reference" / name).read_text(encoding="utf-8")
        assert written == make(), "run `python tools/write_reference.py`"


def test_the_table_of_experiments_is_made_from_runs() -> None:
    found = json.loads((DOCS / "reference" / "experiments.json").read_text(encoding="utf-8"))
    written = (DOCS / "reference" / "experiments.md").read_text(encoding="utf-8")
    assert written == page(found), (
        "run `coterie reproduce all -o DIR`, then `python tools/write_experiments.py DIR`"
    )
    assert {entry["experiment"] for entry in found} == set(all_experiments())
    for entry in found:
        assert entry["reproduced"] == all(finding["holds"] for finding in entry["findings"])


def test_the_strict_build(tmp_path: Path) -> None:
    if importlib.util.find_spec("mkdocs") is None:
        pytest.skip("MkDocs is not installed")
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
    home = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    first = [home.index(f">{section}<") for section in ("Tutorial", "How to", "Reference", "Decisions")]
    assert first == sorted(first), "sections stand in the order in which a reader needs them"
    assert 'href="tutorial/first-release.html" class="btn' in home, "the next page is the tutorial"
    table = (tmp_path / "site" / "reference" / "experiments.html").read_text(encoding="utf-8")
    assert "css/site.css" in table
    rules = (tmp_path / "site" / "css" / "site.css").read_text(encoding="utf-8")
    assert "white-space: normal" in rules, "else the columns with the results are out of sight"


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
