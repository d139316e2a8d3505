"""No wrong implementation passes: every experiment notices Coterie broken on purpose, or the page says that it cannot."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from broken_methods import WAYS, broken, forget, touches
from coterie.papers import all_experiments, get_experiment
from coterie.papers.data import available
from write_power import POWER, is_formula, noticed

# Claims about exact scores, in which no draw is; and about differences of forests, which stay when both sides are exchanged.
BLIND = {
    ("nunes-fig58", "noise x0.5"),
    ("nunes-fig58", "noise x2"),
    ("soria-comas-fig6", "test for training"),
}
SAID = json.loads(POWER.read_text(encoding="utf-8"))
PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "experiments.md").read_text(encoding="utf-8")


def needs_data(name: str) -> None:
    if not all(available(data) for data in get_experiment(name).data):
        pytest.skip("public data not here: set COTERIE_DATA")


def test_what_the_page_says_was_tried_with_every_fault() -> None:
    assert set(SAID) == set(all_experiments())
    table = PAGE.split("## Would wrong code be noticed?")[1].split("\n## ")[0]
    for name, found in SAID.items():
        row = next(line for line in table.splitlines() if line.startswith(f"| [{name}](#{name}) | "))
        missing = {way for way in WAYS if touches(way, name)} - set(found)
        assert row.count("not tried") == len(missing)
        assert set(found) <= set(WAYS)


@pytest.mark.parametrize("name", sorted(SAID))
def test_each_fault_is_noticed_or_the_page_says_that_it_cannot_be(name: str) -> None:
    for way, claims in SAID[name].items():
        assert claims or (name, way) in BLIND, f"{way} passes {name}"
    blind = [way for way, claims in SAID[name].items() if all(map(is_formula, claims))]
    section = PAGE.split(f"### {name}\n")[1].split("\n### ")[0]
    if blind:
        assert f"This figure cannot tell: {', '.join(blind)}." in section
    else:
        assert "cannot tell:" not in section


@pytest.mark.parametrize("way", [way for way in WAYS if touches(way, "univariate-fig1")])
def test_a_fault_is_noticed_and_gone_afterwards(way: str) -> None:
    """One experiment, here and now; all of them in `make test-slow`."""
    needs_data("univariate-fig1")
    experiment = get_experiment("univariate-fig1")
    with broken(way):
        spoilt = experiment.judge(("printed",), 20)["printed"].judgements
    sound = experiment.judge(("printed",), 20)["printed"].judgements
    forget()
    assert {judged.claim for judged in sound if not judged.holds} == {sound[0].claim}  # the slip
    assert sum(not judged.holds for judged in spoilt) > 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "way"), [(name, way) for name in sorted(all_experiments()) for way in WAYS if touches(way, name)]
)
def test_every_experiment_notices_every_fault(name: str, way: str) -> None:
    needs_data(name)
    assert noticed(get_experiment(name), way) or (name, way) in BLIND
