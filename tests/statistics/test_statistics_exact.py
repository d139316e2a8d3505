"""Sums in whole numbers: they equal exact arithmetic, and the noise on their steps costs what the budget says."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.statistics import plan, read_specification
from coterie.statistics.planning.design import build_design
from coterie.statistics.planning.plan import Plan
from coterie.statistics.prediction import measurement as measured
from coterie.statistics.prediction.measurement import Kind, Measurement, exact_level
from coterie.statistics.prediction.value_grid import ValueGrid
from coterie.statistics.releasing.measuring import SLACK, Noise, compute
from coterie.statistics.releasing.records import Kinds, open_records
from coterie.statistics.specification.expectations import Expectations
from coterie.statistics.specification.filters import Filter
from coterie.statistics.specification.specification import Neighbours


def planned(
    attribute: dict[str, Any], records: int, budget: dict[str, str] | None = None, *, alone: bool = False
) -> Plan:
    """Every kind of sum over one column `x`; or the sum alone, around the middle of its domain."""
    entries = {kind: {"kind": kind, "of": "x"} for kind in ("sum", "mean", "variance", "std")}
    entries["squares"] = {"kind": "sum", "of": ["x", "x"]}
    entries["spread"] = {"kind": "variance", "of": "x", "route": "sums", "where": {"g": "a"}}
    for name in ("mean", "variance", "std"):
        entries[name]["route"] = "direct"
    if alone:
        entries = {"sum": {"kind": "sum", "of": "x", "route": "sums"}}
    content = {
        "release": "r",
        "schema": {
            "coterie_schema": 1,
            "attributes": {"g": {"role": "keep"}, "x": {"role": "protect", **attribute}},
        },
        "records": records,
        "neighbours": "replace-one",
        "budget": budget or {"epsilon": "1"},
        "statistics": entries,
    }
    return plan(read_specification(content), report_losses=False)


def measured_of(chosen: Plan, values: list[float], groups: list[str] | None = None) -> dict[str, Any]:
    table = pa.table({"g": groups or ["a"] * len(values), "x": pa.array(values, pa.float64())})
    return compute(chosen.design, open_records(table))


def by_fractions(m: Measurement, values: list[float]) -> Fraction:
    """The measurement of one group, by exact arithmetic on the values' grid."""
    grid = m.domains[0]
    x = [min(max(round(Fraction(v) / grid.step), grid.low), grid.high) * grid.step for v in values]
    n = len(x)
    if m.kind is Kind.SUM:
        centres = [grid.half_steps(centre) * grid.step / 2 for _, centre in m.terms]
        return sum((math.prod((v - c for c in centres), start=Fraction(1)) for v in x), Fraction(0))
    mean = sum(x, Fraction(0)) / n
    if m.kind is Kind.MEAN:
        return mean
    return sum(((v - mean) ** 2 for v in x), Fraction(0)) / (n - 1)


CASES: dict[str, tuple[dict[str, Any], float, float]] = {
    "huge whole numbers": ({"type": "integer", "domain": {"lower": 0, "upper": 2**53}}, 0, 2**53),
    "a huge offset": ({"domain": {"lower": 2.0**52, "upper": 2.0**52 + 1}}, 2.0**52, 2.0**52 + 1),
    "tiny decimals": ({"decimals": 7, "domain": {"lower": -0.001, "upper": 0.002}}, -0.001, 0.002),
    "cents": ({"decimals": 2, "domain": {"lower": 0, "upper": 0.1}}, 0, 0.1),
    "plain": ({"domain": {"lower": -3.7, "upper": 1e6}}, -3.7, 1e6),
    "enormous": ({"domain": {"lower": 1e60, "upper": 1.5e60}}, 1e60, 1.5e60),
    "minute": ({"domain": {"lower": 0, "upper": 1e-60}}, 0, 1e-60),
    "yes or no": ({"type": "integer", "domain": {"lower": 0, "upper": 1}}, 0, 1),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_computed_is_exact(case: str) -> None:
    attribute, low, high = CASES[case]
    draw = np.random.Generator(np.random.PCG64(7))
    values = np.clip(low + (high - low) * draw.random(300), low, high)
    values = np.rint(values) if attribute.get("type") == "integer" else values
    if "decimals" in attribute:
        values = np.clip(np.round(values, attribute["decimals"]), low, high)
    chosen = planned(attribute, 300)
    specification = chosen.specification
    # As asked, each number by itself: what a strategy measures together are sums of these.
    design = build_design(specification, chosen.design.routes, Expectations.of(specification))
    found = measured_of(replace(chosen, design=design), values.tolist())
    for m in design.measurements:
        assert isinstance(m, Measurement)
        if m.kind is Kind.COUNT:
            continue
        steps = (by_fractions(m, values.tolist()) - m.offset) / m.unit
        if m.kind is Kind.STD:
            variance = by_fractions(m, values.tolist()) / m.unit**2
            assert found[m.name] == math.isqrt(math.floor(variance)), m.name
        else:
            assert found[m.name] == math.floor(steps), m.name
        if m.kind is Kind.SUM:
            assert steps.denominator == 1  # a sum lies on its steps: nothing is rounded


def test_a_million_records_are_added_up_exactly() -> None:
    grid = ValueGrid.of(0.0, 2.0**53, 0)
    draw = np.random.Generator(np.random.PCG64(8))
    values = draw.integers(0, 2**53, 1_000_000)
    kinds = Kinds(np.arange(1_000_000) % 3, [0, 0, 0], {}, {})
    places = grid.places(values.astype(np.float64))
    whole = places.tolist()
    assert kinds.sums(places) == [sum(whole[kind::3]) for kind in range(3)]
    assert kinds.product_sums(places, places[::-1]) == [
        sum(a * b for a, b in zip(whole[kind::3], whole[::-1][kind::3], strict=True)) for kind in range(3)
    ]


@cache
def clipped(case: str) -> Plan:
    """Planned once: it does not depend on the records."""
    return planned({**CASES[case][0], "outside": "clip"}, 5)


@pytest.mark.parametrize("case", CASES)
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_no_record_moves_a_measurement_by_more_than_its_steps(case: str, data: st.DataObject) -> None:
    """The property behind the proof, without a tolerance: in steps, on doubles of any kind, inside the domain or not."""
    attribute, low, high = CASES[case]
    cell = st.one_of(
        st.sampled_from([float(low), float(high)]), st.floats(-1e300, 1e300), st.floats(low, high)
    )
    if attribute.get("type") == "integer":
        cell = cell.map(lambda x: float(round(min(max(x, -(2.0**53)), 2.0**53))))
    rest = data.draw(st.lists(cell, min_size=4, max_size=4))
    old, new = data.draw(cell), data.draw(cell)
    groups = data.draw(st.sampled_from([["a"] * 5, ["a", "b", "a", "b", "a"], ["b"] * 4 + ["a"]]))
    other = data.draw(st.sampled_from(["a", "b"]))
    chosen = clipped(case)
    before = measured_of(chosen, [*rest, old], groups)
    after = measured_of(chosen, [*rest, new], [*groups[:4], other])
    for m in chosen.design.measurements:
        one, other_rows = (
            rows if isinstance(rows, list) else [rows] for rows in (before[m.name], after[m.name])
        )
        apart = sum(abs(a - b) for a, b in zip(one, other_rows, strict=True))
        assert apart <= m.moved(Neighbours.REPLACE_ONE, 1), m.name


@pytest.mark.parametrize("notion", [{"epsilon": "1"}, {"rho": "1/2"}])
def test_the_loss_of_a_sum_far_from_zero_is_what_the_budget_says(notion: dict[str, str]) -> None:
    """[2^52, 2^52 + 1], n = 10: sums of doubles had ε ≥ 4.46 here. The law is known, so the loss is computed."""
    attribute, low, high = CASES["a huge offset"]
    chosen = planned(attribute, 10, notion, alone=True)
    low_table, high_table = (measured_of(chosen, [low] * 9 + [last]) for last in (low, high))
    for m, budget in zip(chosen.design.measurements, chosen.budgets, strict=True):
        if m.kind is not Kind.SUM or not m.where.everyone:
            continue
        apart = abs(low_table[m.name] - high_table[m.name])
        steps = m.steps(Neighbours.REPLACE_ONE)
        assert 0 < apart <= steps
        if "epsilon" in notion:
            assert apart / (steps / budget) <= budget  # discrete Laplace: |k − k′|/scale
        else:
            assert Fraction(apart**2) / (2 * (Fraction(steps) ** 2 / (2 * budget))) <= budget


@pytest.mark.statistical
def test_no_event_of_the_released_doubles_shows_more_than_epsilon() -> None:
    """4,000 real draws on each of two neighbours; the odds of each frequent output and of each tail, with their error.

    Under ε = 1 the expected share on one side is at most e times that on the other. Six standard errors: odds below 1e-8.
    A sampler with half the noise (ε = 2) is found.
    """
    attribute, low, high = CASES["a huge offset"]
    chosen = planned(attribute, 10, alone=True)
    tables = [measured_of(chosen, [low] * 9 + [last]) for last in (low, high)]
    m = next(
        m for m in chosen.design.measurements if m.kind is Kind.SUM and m.where.everyone and len(m.terms) == 1
    )
    draws = 4000

    def worst(epsilon: Fraction) -> float:
        quantity = next(q for q in chosen.design.metric.quantities if q.name == m.name)
        one, other = (
            Noise.secure().add([t[m.name]], m, quantity.family, epsilon, Neighbours.REPLACE_ONE, "t", draws)
            for t in tables
        )
        cuts = np.quantile(np.concatenate([one, other]), np.linspace(0.02, 0.98, 25))
        found = -math.inf
        for cut in cuts:
            for a, b in ((one, other), (other, one)):
                for event in (np.less, np.greater):
                    p, q = event(a, cut).mean(), event(b, cut).mean()
                    error = math.sqrt(p * (1 - p) / draws + math.e**2 * q * (1 - q) / draws) + 1e-9
                    found = max(found, (p - math.e * q) / error)
        return found

    assert worst(Fraction(1)) < 6
    assert worst(Fraction(2)) > 6


def test_both_neighbours_can_release_the_same_doubles() -> None:
    """What comes out is a function of one whole number, the same for every table: no double tells where it began."""
    m = measured.total(Filter(), (("x", 0.0),), (ValueGrid.of(2.0**52, 2.0**52 + 1),))
    k, other = (int(Fraction(10) * int(2.0**52) / m.unit) + shift for shift in (0, int(1 / m.unit)))
    reach = m.steps(Neighbours.REPLACE_ONE)
    near = {m.value(k + j) for j in range(-50, 50)}
    assert near == {m.value(other + j) for j in range(k - other - 50, k - other + 50)}
    assert other - k <= reach


@pytest.mark.parametrize("at_least", [1, 2, 3, 7, 100, 999_983])
def test_rounding_down_costs_no_more_than_the_noise_allows_for(at_least: int) -> None:
    """A record that enters a group may move a rounded quotient by one step more than it moves the quotient."""
    grid = ValueGrid.of(0.0, 10.0, 2)
    made = [
        build(Filter(), "x", grid, at_least) for build in (measured.mean, measured.variance, measured.std)
    ]
    for m in (*made, measured.share(Filter(), Filter(), at_least)):
        moved = math.ceil(Fraction(m.bound.enter) / m.unit)
        paid = Fraction(m.bound.enter / m.bound.nominal(Neighbours.REPLACE_ONE, False))
        for power in (1, 2):  # ε adds up in steps, ρ in their squares
            assert moved**power <= paid**power * m.steps(Neighbours.REPLACE_ONE) ** power * SLACK


def test_the_level_of_a_quantile_is_the_one_its_bound_is_for() -> None:
    for q in (1e-6, 0.1234567, 0.5, 0.9999994):
        m = measured.quantile(Filter(), "x", ValueGrid.of(0.0, 1.0), q, 9)
        level = exact_level(m.quantile)
        assert 0 < level < 1
        assert Fraction(m.bound.enter) >= max(level, 1 - level)
