"""A million rows of twenty attributes: the pages stay quick while they load, and the preview is there at once."""

from __future__ import annotations

import re
import time
from pathlib import Path

import httpx
import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from studio_driving import Page, Studio

pytestmark = pytest.mark.slow
ROWS = 1_000_000


def write_people(path: Path) -> None:
    draw = np.random.Generator(np.random.PCG64(7))
    table = pa.table(
        {f"whole {n}": draw.integers(0, 10_000, ROWS) for n in range(8)}
        | {f"number {n}": np.round(draw.lognormal(5, 1, ROWS), 2) for n in range(8)}
        | {
            f"label {n}": pa.array(["north", "south", "west", "east"]).take(
                pa.array(draw.integers(0, 4, ROWS))
            )
            for n in range(4)
        }
    )
    if path.suffix == ".csv":
        pacsv.write_csv(table, path)
    else:
        pq.write_table(table, path)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_pages_answer_while_a_million_rows_are_loaded(
    page: Page, studio: Studio, tmp_path: Path, ending: str
) -> None:
    path = tmp_path / f"people.{ending}"
    write_people(path)
    session = page.driver.get_cookie("coterie_studio")["value"]
    with httpx.Client(
        base_url=studio.root, cookies={"coterie_studio": session}, timeout=60, trust_env=False
    ) as http:
        own = {"origin": studio.root}
        begun = time.perf_counter()
        answer = http.post("/new", data={"kind": "path", "path": str(path)}, headers=own)
        here = answer.headers["location"]
        waits, loads = [], here.replace("/load", "/jobs/load")
        while True:
            for place in ("/", here, here.replace("load", "describe"), loads):
                asked = time.perf_counter()
                got = http.get(place)
                waits.append(time.perf_counter() - asked)
                assert got.status_code == 200
            if got.json()["state"] not in ("waiting", "running"):
                break
            time.sleep(0.02)
        took = time.perf_counter() - begun
        assert got.json()["state"] == "done", got.json()
        asked = time.perf_counter()
        shown = http.get(here)
        preview = time.perf_counter() - asked
        asked = time.perf_counter()
        http.get(here.replace("load", "describe"))
        described = time.perf_counter() - asked
    assert "1,000,000 rows × 20 columns" in shown.text
    assert len(re.findall('<th scope="row">', shown.text)) == 20
    figures = (
        f"{ending}: loaded in {took:.1f} s; {len(waits)} pages meanwhile, median {np.median(waits) * 1000:.0f} ms, "
        f"slowest {max(waits) * 1000:.0f} ms; preview {preview * 1000:.0f} ms; describe {described * 1000:.0f} ms"
    )
    print(figures)
    assert np.quantile(waits, 0.95) < 0.3, figures
    assert preview < 0.5, figures
    assert described < 0.5, figures
    page.open(here)
    page.sees("1,000,000 rows × 20 columns", 5)
