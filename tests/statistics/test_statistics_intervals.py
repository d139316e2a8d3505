"""95 % intervals cover the truth in 93 to 97 % of releases, for every kind of figure and at every edge.

Error rate: a right interval fails with probability 1e-3 per figure (binomial, 500 releases, fixed seed). An interval
30 % too narrow covers about 88 % under Laplace noise and is rejected with probability .997: tested below. More than 97 %
is right in two cases: noise wider than all that is possible, where the interval is the whole domain; and noise on whole
numbers of a scale near 1, where the next narrower interval covers 92.7 %.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

from coterie.statistics import Plan, plan, read_specification
from coterie.statistics.prediction.joint import JointMeasurement
from coterie.statistics.releasing import releasing
from coterie.statistics.releasing.consistency import Replay
from coterie.statistics.releasing.measuring import Noise, compute
from coterie.statistics.releasing.records import open_records
from coterie.statistics.releasing.releasing import evaluate
from coterie.statistics.specification.calculus import Range

RUNS = 500
LEAST = int(binom.ppf(1e-3, RUNS, 0.95))
MOST = int(binom.ppf(1 - 1e-3, RUNS, 0.96))  # a simulated tail is off by up to 1 %
SIZES = {"a": 0, "b": 1, "c": 3, "d": 12, "e": 36, "f": 948}
RELATIONS = ["replace-one", "add-remove"]
MEDIAN = {
    "kind": "median",
    "of": "x",
    "shape": {"distribution": "normal", "mean": 30, "std": 15},
    "expected": 30,
}
GROUPS = {"g": ["d", "e", "f"]}

pytestmark = pytest.mark.statistical


@lru_cache
def table(seed: int = 1) -> pa.Table:
    draw = np.random.Generator(np.random.PCG64(seed))
    group = np.repeat(list(SIZES), list(SIZES.values()))
    smoker = draw.choice(["yes", "no"], len(group), p=[0.1, 0.9])
    x = np.clip(draw.normal(30, 15, len(group)), 0, 100)
    y = np.clip(20 + x / 2 + draw.normal(0, 8, len(group)), 0, 100)
    return pa.table({"g": group, "s": smoker, "x": x, "y": y})


def planned(
    relation: str,
    epsilon: str,
    statistics: dict[str, Any],
    equations: dict[str, str] | None = None,
    records: int = 1000,
) -> Plan:
    schema = {"g": {"role": "keep"}, "s": {"role": "keep"}}
    used = sorted({name for entry in statistics.values() for name in entry.get("of", ())} | {"x"})
    bounded = {name: {"role": "protect", "domain": {"lower": 0, "upper": 100}} for name in used}
    document = {
        "coterie_statistics": 1,
        "release": "r",
        "population": "p",
        "schema": {"coterie_schema": 1, "attributes": {**schema, **bounded}},
        "neighbours": relation,
        "budget": {"epsilon": epsilon},
        "statistics": statistics,
        "equations": equations or {},
        "records": records,
    }
    return plan(read_specification(document), "square-root", report_losses=False)


def released(
    chosen: Plan, people: pa.Table | None = None, runs: int = RUNS
) -> tuple[dict[str, float], list[dict[str, Range]]]:
    """The truth, and the intervals of many releases."""
    design = chosen.design
    exact = compute(design, open_records(table() if people is None else people))
    budgets = np.array([float(budget) for budget in chosen.budgets])
    rows: list[float] = []
    for m in design.measurements:
        rows += (
            [float(k * m.unit) for k in exact[m.name]]
            if isinstance(m, JointMeasurement)
            else [m.value(exact[m.name])]
        )
    clean = design.reconstruction(budgets).linear(np.array([rows]))
    statistics, equations = evaluate(design, clean)
    noisy = releasing.add_noise(design, exact, chosen.budgets, Noise.seeded(3), releases=runs)
    replay = Replay.of(design, budgets)
    found = {name: float(value[0]) for name, value in {**statistics, **equations}.items()}
    return found, [replay.intervals(row) for row in noisy]


def hits(truth: dict[str, float], drawn: list[dict[str, Range]], width: float = 1.0) -> dict[str, int]:
    counted = dict.fromkeys(drawn[0], 0)
    for found in drawn:
        for name, interval in found.items():
            assert np.isfinite([interval.lower, interval.upper]).all()
            middle, reach = (interval.lower + interval.upper) / 2, (interval.upper - interval.lower) / 2
            counted[name] += abs(truth[name] - middle) <= width * reach + 1e-6
    return counted


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("epsilon", ["0.1", "1"])
@pytest.mark.parametrize("complete", [True, False])
def test_small_and_empty_cells_are_covered(relation: str, epsilon: str, complete: bool) -> None:
    """Was: 50 to 71 % for cells of 1 to 36 records at ε = .1 with `complete: true`."""
    statistics = {
        "n": {"kind": "count", "by": {"g": list(SIZES)}, "complete": complete},
        "all": {"kind": "count"},
    }
    chosen = planned(relation, epsilon, statistics, {"gap": "n[e] - n[d]", "few": "n[a] + n[b] + n[c]"})
    truth, drawn = released(chosen)
    counted = hits(truth, drawn)
    assert min(counted.values()) >= LEAST, counted
    if epsilon == "0.1":  # on steps of one, narrow and right may hold the same whole numbers
        narrow = hits(truth, drawn, width=0.7)
        assert narrow["n[f]"] < LEAST, narrow
        assert max(counted.values()) <= MOST, counted  # was 97.5 % and more for cells of 0 to 36 records
    assert all(
        found["n[a]"].upper > found["n[a]"].lower for found in drawn
    )  # never a point where noise was added


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("epsilon", ["0.1", "1"])
@pytest.mark.parametrize("route", ["direct", "sums"])
def test_sums_means_shares_and_spreads_are_covered(relation: str, epsilon: str, route: str) -> None:
    kinds: dict[str, Any] = {kind: {"kind": kind, "of": "x"} for kind in ("sum", "mean", "variance", "std")}
    if route == "direct":
        kinds["trimmed"] = {"kind": "trimmed_mean", "of": "x"}
    kinds["proportion"] = {"kind": "proportion", "that": {"s": "yes"}}
    statistics = {name: {**entry, "by": GROUPS, "route": route} for name, entry in kinds.items()}
    counted = hits(*released(planned(relation, epsilon, statistics)))
    assert min(counted.values()) >= LEAST, counted
    if route == "sums":  # those whose noise is not wider than their domain
        fine = ["sum[d]", "sum[e]", "sum[f]", "mean[f]", "proportion[f]"]
        fine += ["mean[e]", "proportion[e]", "variance[f]", "std[f]"] if epsilon == "1" else []
        assert max(counted[name] for name in fine) <= MOST, counted


REGRESSIONS = ("covariance", "correlation", "slope", "intercept")


@pytest.mark.parametrize(
    ("relation", "epsilon", "kinds"),
    [
        ("replace-one", "0.1", REGRESSIONS),
        ("add-remove", "1", REGRESSIONS),
        ("add-remove", "1", ("covariance",)),  # asked alone: was 85 % of those of 917 records
        ("add-remove", "4", ("intercept",)),  # was 86 % of those of 24 records
    ],
)
def test_covariances_and_regressions_are_covered(relation: str, epsilon: str, kinds: tuple[str, ...]) -> None:
    statistics = {kind: {"kind": kind, "of": ["y", "x"], "by": {"g": ["e", "f"]}} for kind in kinds}
    counted = hits(*released(planned(relation, epsilon, statistics)))
    assert min(counted.values()) >= LEAST, counted


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_mean_from_sums_is_not_covered_by_narrower_intervals(relation: str) -> None:
    statistics = {"mean": {"kind": "mean", "of": "x", "by": {"g": ["f"]}, "route": "sums"}}
    truth, drawn = released(planned(relation, "1", statistics))
    assert hits(truth, drawn)["mean[f]"] >= LEAST
    assert hits(truth, drawn, width=0.7)["mean[f]"] < LEAST


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("epsilon", ["0.1", "1"])
def test_equations_are_covered(relation: str, epsilon: str) -> None:
    statistics = {"n": {"kind": "count", "by": GROUPS, "expected": {"d": 12, "e": 36, "f": 948}}}
    equations = {
        "ratio": "n[e] / n[f]",
        "small": "n[d] / n[e]",
        "root": "sqrt(n[e]) + n[d]",
        "product": "n[d] * n[e]",
        "share": "min(max(n[d] / n[e], 0), 1)",
    }
    counted = hits(*released(planned(relation, epsilon, statistics, equations)))
    assert min(counted.values()) >= LEAST, counted
    assert max(counted[name] for name in ("root", "product")) <= MOST, counted


@pytest.mark.slow
@pytest.mark.parametrize("relation", RELATIONS)
def test_every_small_cell_is_covered_as_often_as_said(relation: str) -> None:
    """Cells of 0 to 30 records, each over 2,000 releases."""
    cells = {f"c{size}": size for size in range(31)}
    group = np.repeat(list(cells), list(cells.values()))
    people = pa.table({"g": group, "s": group, "x": np.zeros(len(group))})
    statistics = {"n": {"kind": "count", "by": {"g": list(cells)}}, "all": {"kind": "count"}}
    chosen = planned(relation, "0.2", statistics, records=len(group))
    counted = hits(*released(chosen, people, runs=2000))
    least, most = binom.ppf([1e-3, 1 - 1e-3], 2000, [0.95, 0.96])
    assert least <= min(counted.values()) <= max(counted.values()) <= most, counted


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("epsilon", ["0.1", "1"])
def test_a_median_is_covered_over_tables_of_its_shape(relation: str, epsilon: str) -> None:
    """Its interval is about tables of the declared shape, so every release has its own table."""
    chosen = planned(relation, epsilon, {"mid": MEDIAN})
    replay = Replay.of(chosen.design, np.array([float(budget) for budget in chosen.budgets]))
    covered, runs = 0, 150
    for seed in range(runs):
        exact = compute(chosen.design, open_records(table(seed)))
        (row,) = releasing.add_noise(chosen.design, exact, chosen.budgets, Noise.seeded(seed))
        found = replay.intervals(row)["mid"]
        covered += found.lower <= float(np.median(table(seed)["x"].to_numpy())) <= found.upper
    assert covered >= binom.ppf(1e-3, runs, 0.95)
