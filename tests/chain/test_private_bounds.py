"""Bounds that are paid for: exact budget, a choice that is ε-DP, and sentences for what cannot work."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie import CoterieError, Schema, protect
from coterie.chain.noise.seeded import SeededSampler
from coterie.chain.private_bounds import candidates, interval_scores, private_domain
from coterie.errors import ParameterError, SchemaError

WIDE = {"lower": -1e6, "upper": 1e9, "source": "dp"}


def _schema(**domain: Any) -> Schema:
    kind = domain.pop("type", "continuous")
    return Schema.load({"attributes": {"x": {"role": "protect", "type": kind, "domain": {**WIDE, **domain}}}})


def _incomes(records: int = 5000) -> pa.Table:
    draw = np.random.Generator(np.random.PCG64(2))
    return pa.table({"x": np.exp(draw.normal(10, 0.7, records))})


@pytest.mark.parametrize("method", ["laplace", "dp-synthetic", "dp-ir"])
def test_the_bounds_fit_the_data_and_the_budget_is_exact(method: str) -> None:
    k = 50 if method == "dp-ir" else None
    certificate = protect(_incomes(), _schema(), method=method, epsilon="1", k=k, seed=1).certificate
    entry = certificate.attributes[0]
    assert entry.domain is not None
    assert entry.domain.source == "dp"
    assert Fraction(entry.domain.epsilon or 0) == Fraction(1, 5)
    assert Fraction(entry.epsilon or 0) + Fraction(entry.domain.epsilon or 0) == 1
    incomes = _incomes()["x"].to_numpy()
    inside = (incomes >= float(entry.domain.lower)) & (incomes <= float(entry.domain.upper))
    assert inside.mean() > 0.9
    assert float(entry.domain.upper) < 1e6  # a thousandth of the public range
    assert any("paid" in note for note in certificate.notes)


def test_a_proved_promise_stays_proved_and_a_declared_share_is_used() -> None:
    release = protect(
        _incomes(), _schema(share="1/4", search="upper", lower=0), method="laplace", epsilon="1"
    )
    entry = release.certificate.attributes[0]
    assert release.guarantee.status == "proved"
    assert entry.domain is not None
    assert (entry.domain.lower, entry.domain.epsilon, entry.epsilon) == ("0.0", "0.25", "0.75")
    assert release.loss.epsilon == 1


def test_released_values_stay_inside_the_found_bounds() -> None:
    # Seeded: at times (below e^-4) a bound lies beyond all data, and nothing is clipped.
    release = protect(_incomes(), _schema(), method="laplace", epsilon="1", seed=1)
    domain = release.certificate.attributes[0].domain
    assert domain is not None
    values = release.table["x"].to_numpy()
    assert values.min() >= float(domain.lower)
    assert values.max() <= float(domain.upper)
    assert release.internal.values_clipped["x"] > 0


@given(
    st.lists(st.integers(0, 20), min_size=4, max_size=12),
    st.integers(0, 11),
    st.integers(0, 20),
    st.integers(1, 6),
)
def test_scores_move_by_at_most_one(values: list[int], place: int, new: int, beyond: int) -> None:
    other = list(values)
    other[place % len(values)] = new
    grid = np.arange(0, 21, 4)
    found = []
    for column in (values, other):
        above = np.array([sum(value > edge for value in column) for edge in grid])
        found.append(interval_scores(above[:-1], above[1:], beyond))
    assert np.abs(found[0] - found[1]).max() <= 1


def test_the_choice_is_private_and_uses_up_its_epsilon_nowhere_beyond() -> None:
    """Exact odds exp(-ε·score/2) on neighbours whose extreme record moves from one end to the other."""
    grid, epsilon = np.arange(0, 101, 5), 1.0
    worst = 0.0
    for beyond in (1, 2, 5):
        for others in (np.full(9, 0.0), np.linspace(0, 100, 9), np.full(9, 100.0)):
            odds = []
            for end in (0.0, 100.0):
                column = np.append(others, end)
                above = np.array([np.sum(column > edge) for edge in grid])
                weights = np.exp(-epsilon / 2 * interval_scores(above[:-1], above[1:], beyond))
                odds.append(weights / weights.sum())
            worst = max(worst, float(np.abs(np.log(odds[0] / odds[1])).max()))
    assert 0.4 < worst <= epsilon


def test_records_that_share_a_public_bound_are_found_there() -> None:
    """5,000 values at the lower end of the range: all intervals had one score, and any of them was chosen."""
    attribute = Schema.load(
        {
            "coterie_schema": 1,
            "attributes": {"x": {"role": "protect", "domain": {"lower": 0, "upper": 1e6, "source": "dp"}}},
        }
    )["x"]
    grid = candidates(attribute, attribute.bounds())
    for end, place in ((0.0, 1), (1e6, -2)):
        found = private_domain(
            np.full(5000, end), attribute, attribute.bounds(), Fraction(20), SeededSampler(1)
        )
        assert (found.upper if end == 0 else found.lower) == grid[place]


def test_bounds_outside_all_data_are_as_rare_as_promised() -> None:
    """The exact chance of an upper bound beyond all values is below e^-4, and not by a wide margin: 0.5 % here."""
    schema, incomes = _schema(), np.sort(_incomes()["x"].to_numpy())
    grid, epsilon = candidates(schema["x"], schema["x"].bounds()), 0.1
    above = len(incomes) - np.searchsorted(incomes, grid, side="right")
    beyond = math.ceil(2 * (math.log(len(grid)) + 4) / epsilon)
    weights = np.exp(-epsilon / 2 * interval_scores(above[:-1], above[1:], beyond))
    useless = weights[grid[:-1] > incomes[-1]].sum() / weights.sum()
    assert 0.001 < useless < math.exp(-4)


def test_candidates_are_public_and_inside() -> None:
    schema = _schema(type="integer", lower=-100, upper=1000)
    domain = schema["x"].bounds()
    grid = candidates(schema["x"], domain)
    assert grid[0] == -100
    assert grid[-1] == 1000
    assert 0 in grid
    assert np.all(grid == np.rint(grid))
    assert np.all(np.diff(grid) > 0)


def test_dates_are_searched_evenly() -> None:
    schema = _schema(type="date", lower="1900-01-01", upper="2100-01-01")
    days = pa.array([f"{1950 + number % 50}-06-15" for number in range(5000)])
    release = protect(pa.table({"x": days}), schema, method="laplace", epsilon="2", seed=1)
    found = release.certificate.attributes[0].domain
    assert found is not None
    assert "1940" < found.lower < "1960"
    assert "1990" < found.upper < "2010"


def test_too_little_epsilon_is_refused_by_public_numbers() -> None:
    with pytest.raises(ParameterError, match="too small to find bounds"):
        protect(_incomes(50), _schema(), method="laplace", epsilon="1")


@pytest.mark.parametrize(
    "domain",
    [
        {"share": "1"},
        {"share": "-1"},
        {"share": "much"},
        {"source": "declared", "share": "1/2"},
        {"search": "up"},
    ],
    ids=str,
)
def test_a_wrong_description_is_refused(domain: dict[str, str]) -> None:
    with pytest.raises(SchemaError):
        _schema(**domain)


def test_labels_cannot_be_bought() -> None:
    with pytest.raises(CoterieError, match="labels must be declared"):
        Schema.load(
            {
                "attributes": {
                    "x": {
                        "role": "protect",
                        "type": "categorical",
                        "categories": {"labels": ["a", "b"], "source": "dp"},
                    }
                }
            }
        )


def test_the_schema_survives_a_round_trip() -> None:
    schema = _schema(share="3/8", search="lower")
    assert Schema.load(schema.to_yaml()) == schema
