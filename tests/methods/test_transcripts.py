"""dp-synthetic, all of it, against its proof: a release is made again from a neighbour, and told the first one's answers.

What comes out must be the same to the last bit: then nothing but the accountant read the records. And what the answers cost,
summed over all readings and computed from the exact numbers behind both, is at most ε, or ρ: the noise that was drawn
plays no part, so this is no sample but a bound.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import coterie
from coterie.chain import private_bounds
from coterie.chain.synthesis.accountant import Accountant, Currency
from coterie.promise.loss import rho_for

LABELS = ["a", "b", "c"]
ODD = {  # what an adversary puts into one record
    "x": [0.0, 100.0, 99.999, 1e-7, 33.3333333],
    "spiked": [-1e6, 1e6, 0.0, 1.0, None],
    "whole": [0, 9, 5],
    "many": [0, 10**6, 999_999, None],
    "day": ["1900-01-01", "2100-12-31", "2000-02-29"],
    "grade": ["low", "high", None],
    "label": [*LABELS, None],
    "yes": [True, False],
    "w": [0.1, 50.0],
}


def schema(unit: int | None, private: bool) -> dict[str, Any]:
    own = {"missing": "own category"}
    entry: dict[str, Any] = {
        "x": {"role": "protect", "domain": {"lower": 0, "upper": 100}},
        "spiked": {"role": "protect", "domain": {"lower": -1e6, "upper": 1e6}, **own},
        "whole": {"type": "integer", "role": "protect", "domain": {"lower": 0, "upper": 9}},
        "many": {"type": "integer", "role": "protect", "domain": {"lower": 0, "upper": 10**6}, **own},
        "day": {"type": "date", "role": "protect", "domain": {"lower": "1900-01-01", "upper": "2100-12-31"}},
        "grade": {
            "type": "ordinal",
            "role": "protect",
            "categories": {"labels": ["low", "mid", "high"]},
            **own,
        },
        "label": {"type": "categorical", "role": "protect", "categories": {"labels": LABELS}, **own},
        "yes": {"type": "boolean", "role": "protect"},
        "w": {"role": "weight", "domain": {"lower": 0.1, "upper": 50}},
    }
    if private:
        entry["x"]["domain"]["source"] = "dp"
    if unit is None:
        return {"attributes": entry}
    return {
        "unit": {"column": "home", "at_most": unit},
        "attributes": {"home": {"role": "identifier"}, **entry},
    }


def record(draws: np.random.Generator, odd: bool) -> dict[str, Any]:
    """One that an adversary makes up, or one of a crowd that is all in one place, with dependence in it."""
    if odd:
        return {name: values[draws.integers(len(values))] for name, values in ODD.items()}
    common = int(draws.integers(3))
    usual = {
        "x": 50.0 + common,
        "spiked": 0.0,
        "whole": 3 + common,
        "many": 1000 * common,
        "day": "1990-05-05",
    }
    return {**usual, "grade": "mid", "label": LABELS[common], "yes": common > 0, "w": 1.5}


def table(homes: list[list[dict[str, Any]]], draws: np.random.Generator) -> pa.Table:
    lines = [{"home": str(number), **line} for number, home in enumerate(homes) for line in home]
    order = draws.permutation(len(lines))
    kinds = {
        "x": pa.float64(),
        "spiked": pa.float64(),
        "whole": pa.int64(),
        "many": pa.int64(),
        "yes": pa.bool_(),
        "w": pa.float64(),
    }
    names = ["home", *ODD]
    return pa.table({n: pa.array([lines[i][n] for i in order], kinds.get(n, pa.string())) for n in names})


@dataclass
class Heard:
    """Every reading by name: what it was of, its answer, and what one unit of distance behind it costs."""

    exact: dict[str, Any] = field(default_factory=dict)
    answer: dict[str, Any] = field(default_factory=dict)
    terms: dict[str, Any] = field(default_factory=dict)


@pytest.fixture
def tell(monkeypatch: pytest.MonkeyPatch) -> Any:
    """tell(heard, answers): from now on readings are noted in `heard`, and answered as in `answers` where there are any."""
    drawn, chosen, searched = Accountant._noisy, Accountant.noisy_choice, private_bounds._chosen
    state: dict[str, Any] = {}

    def answered(what: str, exact: Any, terms: Any, honest: Any, charge: Any = lambda: None) -> Any:
        heard, answers = state["heard"], state["answers"]
        assert what not in heard.exact
        heard.exact[what], heard.terms[what] = np.array(exact, dtype=np.float64), terms
        if answers is not None:
            charge()
        heard.answer[what] = honest() if answers is None else answers.answer[what]
        return heard.answer[what]

    def noisy(self: Accountant, exact: Any, l1: int, l2: int, part: Fraction, what: str) -> Any:
        terms = self.currency, part * self.whole, self.rows * l1, self.rows**2 * l2
        charge = lambda: self._charge(part, what)  # noqa: E731
        return answered(what, exact, terms, lambda: drawn(self, exact, l1, l2, part, what), charge)

    def choice(self: Accountant, scores: Any, reach: int, part: Fraction, what: str) -> Any:
        terms = self.currency, part * self.whole, 2 * self.rows * reach, None
        charge = lambda: self._charge(part, what)  # noqa: E731
        return answered(what, scores, terms, lambda: chosen(self, scores, reach, part, what), charge)

    def search(scores: Any, epsilon: Fraction, sampler: Any, stream: str) -> Any:
        terms = Currency.EPSILON, epsilon, 2, None
        return answered(stream, -scores, terms, lambda: searched(scores, epsilon, sampler, stream))

    monkeypatch.setattr(Accountant, "_noisy", noisy)
    monkeypatch.setattr(Accountant, "noisy_choice", choice)
    monkeypatch.setattr(private_bounds, "_chosen", search)
    return lambda heard, answers=None: state.update(heard=heard, answers=answers)


def loss(what: str, one: Heard, other: Heard) -> float:
    """The most that this reading can cost between the two: ε, or ρ. Of a choice exactly, of noise for the worst noise."""
    currency, cost, l1, l2 = one.terms[what]
    assert one.terms[what] == other.terms[what]
    moved = one.exact[what] - other.exact[what]
    if l2 is None:
        epsilon = float(cost) if currency is Currency.EPSILON else math.sqrt(8 * float(cost))
        weights = [epsilon * scores / l1 for scores in (one.exact[what], other.exact[what])]
        logs = [line - line.max() - np.log(np.exp(line - line.max()).sum()) for line in weights]
        spread = logs[0] - logs[1]
        if currency is Currency.EPSILON:
            return float(np.abs(spread).max())
        return float(spread.max() - spread.min()) ** 2 / 8  # bounded range (Cesar & Rogers 2021)
    if currency is Currency.EPSILON:
        return float(np.abs(moved).sum()) * float(cost) / l1
    return float((moved**2).sum()) * float(cost) / l2


def left(release: Any) -> str:
    content = {**json.loads(release.certificate.to_json()), "issued": ""}
    return repr((release.table.to_pydict(), content, release.measurements.to_pydict()))


@pytest.mark.parametrize("delta", [None, "1e-9"])
@pytest.mark.parametrize("unit", [None, 1, 3])
def test_a_neighbour_told_the_same_answers_releases_the_same_and_they_cost_epsilon(
    tell: Any, unit: int | None, delta: str | None
) -> None:
    most, readings = 0.0, set()
    for case in range(6):
        draws = np.random.default_rng([case, unit or 0, delta is None])
        size = 1 if unit is None else unit
        count = (8, 60, 200)[case % 3]
        homes = [[record(draws, False) for _ in range(size)] for _ in range(count)]
        # Out goes one of the crowd, or a made-up one; in comes a made-up one, all of whose rows are alike; or nobody.
        others = [*homes[:-1], [record(draws, True)] * size]
        if case % 2:
            homes[-1] = [record(draws, True)] * size
        if unit is not None and case >= 4:
            others = homes[:-1]
        epsilon = 3.0 if case == 0 else 400.0
        options: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "seed": case}
        options |= {"rows": (None, 30)[case % 2], "target": ("yes", None)[case % 2]}
        described = schema(unit, private=delta is None and case in (2, 5))
        tables = [table(one, draws) for one in (homes, others)]
        if unit is None:
            tables = [one.drop_columns(["home"]) for one in tables]
        first, second = Heard(), Heard()
        tell(first)
        release = coterie.protect(tables[0], described, method="dp-synthetic", **options)
        tell(second, first)
        again = coterie.protect(tables[1], described, method="dp-synthetic", **options)
        assert left(release) == left(again)
        assert list(first.exact) == list(second.exact)
        assert not all((first.exact[what] == second.exact[what]).all() for what in first.exact)
        whole = epsilon if delta is None else rho_for(epsilon, float(delta))
        spent = sum(loss(what, first, second) for what in first.exact)
        assert spent <= whole * (1 + 1e-12)
        most = max(most, spent / whole)
        readings |= {what.split(":")[-1].strip().split(" ")[0] for what in first.exact}
    assert {"histogram", "last", "table", "decimal", "scores", "choice"} <= readings
    assert most > 0.5  # these neighbours are far apart: half the noise would show
