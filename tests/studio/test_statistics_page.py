"""The statistics' page: what it shows is what the library says, and the parts are always the whole."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("fastapi")
from statistics_studio import DESCRIBED, Bench, document, sentence, specification, working

from coterie.errors import CoterieError
from coterie.schema.exact import number
from coterie.statistics import plan, read_specification, resplit
from coterie.studio.desk.desk import Desk

PLAIN: dict[str, Any] = {
    "statistics": {
        "average": {"kind": "mean", "of": "cost"},
        "smokers": {"kind": "count", "where": {"smoker": "yes"}, "expected": 600},
        "old": {"kind": "count", "where": {"age": {"from": 60}}, "expected": 700},
    },
    "equations": {"share": "smokers / (old + 1)"},
}


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with working(tmp_path) as made:
        yield made


def test_it_begins_with_a_suggestion_that_can_be_planned(bench: Bench) -> None:
    assert "Nothing yet" in bench.get()
    page = bench.post("/suggest")
    assert "average_age[yes]" in page or "average_age[north]" in page
    assert "Equal" not in sentence_free(page)
    desk = Desk(bench.project)
    assert sum(map(float, desk.state.split.values())) > 0
    assert desk.specification().records == 2400


def sentence_free(page: str) -> str:
    assert '<div class="problem" role="alert"><strong>' not in page
    return page


def test_the_errors_shown_are_those_of_the_library_for_the_same_split(bench: Bench) -> None:
    bench.specify()
    told = bench.move("count | smoker = yes", "0.4")
    library = plan(read_specification({**document(), "schema": DESCRIBED}), report_losses=False)
    same = resplit(library, {share["name"]: share["budget"] for share in told["shares"]})
    assert {share["name"] for share in told["shares"]} == set(library.split)
    shown = {error["name"]: error["exact"] for error in told["errors"]}
    assert shown == {error.name: [error.mean, error.median, error.p95] for error in same.errors}
    page = sentence_free(bench.get())
    for error in same.errors:
        assert f'<td class="number">{number(error.mean)}</td>' in page


@pytest.mark.parametrize(
    "budget", [{"epsilon": "1"}, {"epsilon": "0.35"}, {"rho": "0.02"}, {"epsilon": "1", "delta": "1e-6"}]
)
def test_the_parts_are_the_total_under_random_moves(bench: Bench, budget: dict[str, str]) -> None:
    bench.specify(**PLAIN, budget=budget)
    rng = np.random.Generator(np.random.PCG64(3))
    told = bench.move("count | smoker = yes", "0.005")
    total = Fraction(told["total"])
    assert "delta" in budget or total == Fraction(next(iter(budget.values())))
    names, version = [share["name"] for share in told["shares"]], told["version"]
    for _ in range(25):
        name = names[rng.integers(len(names))]
        locked = [n for n in names if n != name and rng.random() < 0.3]
        told = bench.move(name, f"{float(total) * rng.random() + 1e-6:.17g}", *locked, version=version)
        version = told["version"]
        assert sum(Fraction(share["budget"]) for share in told["shares"]) == total
    assert {name: Fraction(text) for name, text in Desk(bench.project).state.split.items()} == {
        share["name"]: Fraction(share["budget"]) for share in told["shares"]
    }


def test_a_typed_share_is_taken_exactly(bench: Bench) -> None:
    bench.specify(**PLAIN, budget={"epsilon": "1"})
    name = list(Desk(bench.project).state.split)[1]
    bench.move(name, "0.125")
    after = Desk(bench.project).state
    assert after.split[name] == "0.125"
    assert sum(Fraction(text) for text in after.split.values()) == 1
    assert after.rule == "by hand"
    assert "not a finite number" in bench.move(name, "much", status=400)["problem"]


def test_a_tab_that_shows_an_older_state_is_refused(bench: Bench) -> None:
    bench.specify(**PLAIN)
    old = bench.version
    bench.move("count | smoker = yes", "0.4")
    assert "another tab" in bench.move("count | smoker = yes", "0.5", version=old, status=400)["problem"]
    page = bench.post("/import", status=400, version=old, text=specification())
    assert "another tab" in sentence(page)


def test_a_new_total_keeps_the_proportions(bench: Bench) -> None:
    bench.specify(**PLAIN, budget={"epsilon": "1"})
    told = bench.move("count | smoker = yes", "0.5")
    before = {share["name"]: float(share["budget"]) for share in told["shares"]}
    page = settings(bench, budget="2")
    sentence_free(page)
    after = {name: float(text) for name, text in Desk(bench.project).state.split.items()}
    assert sum(after.values()) == pytest.approx(2)
    assert after == pytest.approx({name: 2 * part for name, part in before.items()}, rel=0.01)


def settings(bench: Bench, status: int = 200, **changes: str) -> str:
    usual = {"unit": "epsilon", "budget": "1", "neighbours": "replace-one", "records": "2400", "release": "a"}
    return bench.post("/settings", status=status, **{**usual, "population": "people", **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"budget": "-1"}, "greater than 0"),
        ({"budget": "much"}, "not a finite number"),
        ({"unit": "delta", "budget": "1", "delta": "0.5"}, "delta is too large"),
        ({"unit": "delta", "budget": "1", "delta": ""}, "delta is not a finite number"),
        ({"floor": "0.5"}, "Lower `floor`"),
        ({"records": ""}, "State `records:`"),
        ({"records": "many"}, "not a whole number"),
        ({"pilot": "0.9"}, "half"),
        ({"neighbours": "friends"}, "not one that Coterie knows"),
    ],
)
def test_a_bad_promise_gets_its_sentence_and_keeps_what_was_typed(
    bench: Bench, changes: dict[str, str], message: str
) -> None:
    bench.specify(**PLAIN)
    before = Desk(bench.project).state
    page = settings(bench, status=400, **changes)
    assert re.search(message, sentence(page)), sentence(page)
    for name, typed in changes.items():
        if typed and name in ("budget", "records", "floor", "pilot"):
            assert f'name="{name}" inputmode' in page
            assert f'value="{typed}"' in page
    assert Desk(bench.project).state == before


def test_the_specification_goes_out_and_comes_in_again(bench: Bench) -> None:
    bench.specify()
    before = Desk(bench.project).specification()
    text = bench.get("/statistics.yaml")
    assert read_specification(text).statistics == before.statistics  # stands on its own, with its schema
    bench.post("/import", text=text)
    assert Desk(bench.project).specification() == before


def test_a_description_changed_later_is_told_beside_the_entry(bench: Bench) -> None:
    bench.specify()
    bench.project.change(schema=bench.project.schema().to_yaml().replace("cost", "price"))
    page = bench.get()
    assert "no attribute 'cost'" in page
    with pytest.raises(CoterieError):
        Desk(bench.project).specification()


def test_the_commands_shown_do_what_the_page_does(bench: Bench) -> None:
    bench.specify(**PLAIN)
    told = bench.move("count | smoker = yes", "0.4")
    page = bench.get()
    for text in told["equivalent"]:
        assert f"<code>{text}</code>" in page
    command, python = re.findall(r"<pre tabindex=\"0\"><code>(.*?)</code></pre>", page, re.DOTALL)
    printed = run(f"{command} --json")
    assert told["plan"] in printed
    done = subprocess.run([sys.executable, "-c", python], capture_output=True, text=True, check=True)
    for error in told["errors"]:
        assert f"{error['name']} {error['exact'][0]}" in done.stdout


def run(command: str) -> str:
    import shlex

    words = shlex.split(command)
    assert words[0] == "coterie"
    start = "from coterie.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", start, *words[1:]], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_table_is_put_together_with_its_margins(bench: Bench) -> None:
    page = bench.post("/table", by=["smoker", "region"], of="")
    entry = Desk(bench.project).document["statistics"]["people_by_smoker_region"]
    assert entry["by"] == {"smoker": ["yes", "no"], "region": ["north", "south", "west"]}
    assert entry["totals"] is True
    assert "ready to release" in page
    assert "is at most 74 % sure" in page
    assert "stands in the list already" in sentence(bench.post("/table", 400, by=["smoker", "region"], of=""))
    assert "one to three different columns" in sentence(
        bench.post("/table", 400, by=["smoker", "smoker"], of="")
    )
