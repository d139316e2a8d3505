"""No wrong implementation passes: every experiment notices Coterie broken on purpose, or the page says that it cannot."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from broken_methods import WAYS, broken, forget
from coterie.papers import all_experiments, get_experiment
from coterie.papers.data import available
from write_power import POWER, is_formula, noticed

NOTHING_TO_BREAK = {  # no groups and no domain, and tables without noise
    "nunes-fig52": {"wrong trimming", "wrong remainder"},
    "nunes-fig53": {"wrong trimming", "wrong remainder"},
    "nunes-fig54": {"wrong trimming", "wrong remainder"},
    "nunes-fig55": {"wrong trimming", "wrong remainder"},
    "nunes-fig58": set(WAYS),
    "nunes-scores": {"ε not split", "wrong trimming", "wrong remainder"},
    "nunes-tables": set(WAYS),
}
SAID = json.loads(POWER.read_text(encoding="utf-8"))
PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "experiments.md").read_text(encoding="utf-8")


def needs_data(name: str) -> None:
    if not all(available(data) for data in get_experiment(name).data):
        pytest.skip("public data not here: set COTERIE_DATA")


def test_what_the_page_says_was_tried_with_every_fault() -> None:
    assert set(SAID) <= set(all_experiments())
    assert all(set(found) == set(WAYS) for found in SAID.values())
    for name in set(all_experiments()) - set(SAID):
        assert f"| [{name}](#{name}) | not tried |" in PAGE


@pytest.mark.parametrize("name", sorted(SAID))
def test_each_fault_is_noticed_or_the_page_says_that_it_cannot_be(name: str) -> None:
    for way, claims in SAID[name].items():
        if way not in NOTHING_TO_BREAK.get(name, set()):
            assert claims, f"{way} passes {name}"
    blind = [way for way, claims in SAID[name].items() if all(map(is_formula, claims))]
    section = PAGE.split(f"### {name}\n")[1].split("\n### ")[0]
    if blind:
        assert f"This figure cannot tell: {', '.join(blind)}." in section
    else:
        assert "cannot tell:" not in section


@pytest.mark.parametrize("way", WAYS)
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
@pytest.mark.parametrize("name", sorted(all_experiments()))
def test_every_experiment_notices_every_fault(name: str) -> None:
    needs_data(name)
    found = noticed(get_experiment(name))
    for way in WAYS:
        if way not in NOTHING_TO_BREAK.get(name, set()):
            assert found[way], f"{way} passes {name}"
