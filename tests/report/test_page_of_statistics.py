"""The page of released statistics: tables with their margins, intervals, the plan; offline, escaped, nothing of the data."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from coterie import write_report
from coterie.errors import OutputError
from coterie.report.statistics_page import interval, shown, statistics_page
from coterie.statistics import Published, release

NASTY = "<b>&\"'</b>"


def people() -> pa.Table:
    draw = np.random.Generator(np.random.PCG64(1))
    return pa.table(
        {
            "home": draw.choice(["urban", NASTY], 400),
            "water": draw.choice(["piped", "well", "river"], 400),
            "pay": draw.uniform(0, 100, 400),
        }
    )


def specification(**changes: Any) -> dict[str, Any]:
    by: dict[str, list[str]] = {"home": ["urban", NASTY], "water": ["piped", "well", "river"]}
    bounded = {"role": "protect", "unit": "dollars", "domain": {"lower": 0, "upper": 100}}
    return {
        "release": "survey",
        "population": "people",
        "schema": {"attributes": {"home": {"role": "keep"}, "water": {"role": "keep"}, "pay": bounded}},
        "neighbours": "add-remove",
        "budget": {"epsilon": 1},
        "statistics": {
            "persons": {"kind": "count", "expected": 400},
            "homes": {"kind": "count", "by": {"home": by["home"]}, "complete": True},
            "waters": {"kind": "count", "by": {"water": by["water"]}, "complete": True},
            "both": {"kind": "count", "by": by, "complete": True},
            "pay": {"kind": "mean", "of": "pay", "by": {"home": by["home"]}, "expected": 50},
        },
        "equations": {"half": "persons / 2"},
        **changes,
    }


class Cells(HTMLParser):
    """The text of every cell, by table."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_data(self, data: str) -> None:
        if self.tables and self.tables[-1] and self.tables[-1][-1]:
            self.tables[-1][-1][-1] += data.strip()


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Published:
    folder = tmp_path_factory.mktemp("page")
    return release(specification(), people(), folder / "out.csv", raw=folder / "raw.json", seed=2)


@pytest.fixture(scope="module")
def page(published: Published) -> str:
    return statistics_page(published)


def test_a_two_way_table_has_its_margins(published: Published, page: str) -> None:
    rows = {row["name"]: row for row in published.values}
    grid = next(table for table in Cells(page).tables if table[0][:2] == ["water", "home"])
    assert grid[1] == ["urban", NASTY, "all"]
    assert [line[0] for line in grid[2:]] == ["piped", "well", "river", "all"]
    for line, water in zip(grid[2:5], ("piped", "well", "river"), strict=True):
        names = [f"both[urban, {water}]", f'both["<b>&\\"\'</b>", {water}]', f"waters[{water}]"]
        assert line[1:] == [shown(rows[name]) + interval(rows[name]) for name in names]
    assert grid[5][3].startswith(shown(rows["persons"]) + interval(rows["persons"]))


def test_the_page_says_the_promise_the_plan_and_how_to_verify(page: str) -> None:
    words = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))
    for said in (
        "reproducible: not private",
        "mean of pay (dollars)",
        "How the budget was spent",
        "What else could have been measured",
        "every cell",
        "How else the budget could have been split",
        "uniform",
        "coterie stats verify out.csv out.csv.certificate.json",
        "coterie stats verify raw.json raw.json.certificate.json",
        "persons / 2",
    ):
        assert said in words, said


def test_it_opens_offline_and_names_are_escaped(page: str) -> None:
    assert NASTY not in page
    assert not re.search(r"(src|href)=", page)
    assert not re.search(r'style="', page)


def test_a_private_release_says_how_sure_an_attacker_can_become(tmp_path: Path) -> None:
    content = specification(statistics={"persons": {"kind": "count"}}, equations={})
    limits = []
    for neighbours, budget in (
        ("add-remove", {"epsilon": 1}),
        ("replace-one", {"epsilon": 1}),
        ("add-remove", {"rho": 0.01}),
    ):
        name = f"{neighbours}-{len(limits)}"
        asked = {**content, "neighbours": neighbours, "budget": budget, "release": name}
        if neighbours == "replace-one":
            asked["statistics"] = {"urban": {"kind": "count", "where": {"home": "urban"}}}
            asked["records"] = 400
        made = release(asked, people(), tmp_path / f"{name}.csv")
        (found,) = re.findall(r"at most (\d+) % sure after", statistics_page(made))
        limits.append(int(found))
    assert limits == [89, 74, 87]  # a changed answer is two steps under add-remove: 2ε, 4ρ


def test_write_report_writes_the_page(
    published: Published, page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coterie.report.statistics_page.statistics_page", lambda _: page)
    write_report(published, tmp_path)
    assert (tmp_path / "statistics.html").read_text().startswith("<!doctype html>")
    with pytest.raises(OutputError, match="exists"):
        write_report(published, tmp_path)
    write_report(published, tmp_path, force=True)
