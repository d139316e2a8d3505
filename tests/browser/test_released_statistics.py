"""The page of released statistics in a real browser: accessible and not too wide, on a desk and a phone, light and dark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
from studio_driving import Page

from coterie import write_report
from coterie.statistics import release


def test_the_page_fits_and_axe_finds_nothing(
    browser: Any, tmp_path: Path, axe: Callable[[], None], screenshot: Callable[[str], None]
) -> None:
    labels: dict[str, list[str]] = {"sex": ["f", "m"], "water": ["piped", "well", "river", "tanker"]}
    people = pa.table({"sex": ["f", "m"] * 200, "water": labels["water"] * 100})
    content = {
        "release": "survey",
        "population": "people",
        "schema": {"attributes": {name: {"role": "keep"} for name in labels}},
        "neighbours": "add-remove",
        "budget": {"epsilon": 1},
        "statistics": {
            "all": {"kind": "count", "expected": 400},
            "sexes": {"kind": "count", "by": {"sex": labels["sex"]}},
            "both": {"kind": "count", "by": labels},
        },
        "equations": {"half": "all / 2"},
    }
    write_report(release(content, people, tmp_path / "out.csv", seed=1), tmp_path)
    page = Page(browser, "")
    for size, theme in (("phone", "dark"), ("desk", "light")):
        page.size(size)
        page.theme(theme)
        browser.get((tmp_path / "statistics.html").as_uri())
        assert page.too_wide() <= 0
        axe()
        screenshot(f"statistics-page-{size}-{theme}")
