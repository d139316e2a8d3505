"""Every conversion of `coterie.promise.loss`, checked by brute force on tiny randomised mechanisms; and what it refuses."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from coterie.errors import LedgerError, ParameterError
from coterie.promise.loss import (
    Loss,
    LossModel,
    NeighbourRelation,
    epsilon_at,
    epsilon_of,
    exp_up,
    for_unit,
    rho_for,
    under,
)

Table = tuple[int, ...]  # a multiset of rows, each 0 or 1, sorted
Law = dict[Table, np.ndarray]  # what a mechanism may print, for each table
TABLES = [table for size in range(5) for table in itertools.combinations_with_replacement((0, 1), size)]


def one_step(relation: NeighbourRelation, left: Table, right: Table) -> bool:
    """Neighbours for rows, by the definition of UNITS.md."""
    removed = {tuple(sorted(left[:i] + left[i + 1 :])) for i in range(len(left))}
    added = {tuple(sorted((*left, row))) for row in (0, 1)}
    replaced = {tuple(sorted((*rest, row))) for rest in removed for row in (0, 1)}
    return (
        right
        in {
            NeighbourRelation.REPLACE_ONE: replaced,
            NeighbourRelation.ADD_REMOVE: removed | added,
            NeighbourRelation.EXCHANGE: removed | added | replaced,
        }[relation]
    )


def units_apart(relation: NeighbourRelation, rows: int, left: Table, right: Table) -> bool:
    """One unit of at most so many rows differs: its rows are any part of either table."""
    for rest in TABLES:
        ones, others = _without(left, rest), _without(right, rest)
        if ones is None or others is None or max(ones, others) > rows:
            continue
        if relation is NeighbourRelation.REPLACE_ONE and ones == others:
            return True
        if relation is NeighbourRelation.ADD_REMOVE and 0 in (ones, others):
            return True
        if relation is NeighbourRelation.EXCHANGE:
            return True
    return False


def _without(table: Table, rest: Table) -> int | None:
    """How many rows are left when the others are taken away."""
    zeros, ones = (table.count(value) - rest.count(value) for value in (0, 1))
    return None if min(zeros, ones) < 0 else zeros + ones


def pairs(near: Callable[[Table, Table], bool]) -> list[tuple[Table, Table]]:
    return [(left, right) for left in TABLES for right in TABLES if left != right and near(left, right)]


def pure(law: Law, near: Iterable[tuple[Table, Table]]) -> float:
    return max(float(np.log(law[left] / law[right]).max()) for left, right in near)


def excess(law: Law, epsilon: float, near: Iterable[tuple[Table, Table]]) -> float:
    """The smallest δ for which the mechanism is (ε, δ)-DP."""
    return max(float(np.maximum(law[left] - math.exp(epsilon) * law[right], 0).sum()) for left, right in near)


ORDERS = np.concatenate([np.linspace(1.01, 4, 30), np.geomspace(4, 400, 30)])


def concentrated(law: Law, near: Iterable[tuple[Table, Table]]) -> float:
    """ρ on a grid of orders: D_α ≤ ρα."""
    found = 0.0
    for left, right in near:
        ratio = np.log(law[left]) - np.log(law[right])
        largest = ratio.max()
        sums = (law[right] * np.exp(np.outer(ORDERS, ratio - largest))).sum(axis=1)
        divergence = (np.log(sums) + ORDERS * largest) / (ORDERS - 1)
        found = max(found, float((divergence / ORDERS).max()))
    return found


def mechanisms() -> list[Law]:
    """Random laws, and noisy counts, which are the worst cases."""
    generator = np.random.default_rng(20261116)
    laws: list[Law] = []
    for spread in (0.3, 1.0, 3.0):
        for _ in range(12):
            laws.append({table: _normal(generator.uniform(0, spread, 4)) for table in TABLES})
    for epsilon in (0.1, 0.5, 1.5):
        places = np.arange(-20, 25)
        laws.append({table: _normal(-epsilon * np.abs(places - sum(table))) for table in TABLES})
        # One row moves this by 1, and a replaced one by 2.
        laws.append(
            {table: _normal(-epsilon * np.abs(places - 2 * sum(table) + len(table))) for table in TABLES}
        )
    return laws


def _normal(logs: np.ndarray) -> np.ndarray:
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


LAWS = mechanisms()
A_LITTLE = 1e-9
CHANGES = [
    (NeighbourRelation.ADD_REMOVE, NeighbourRelation.EXCHANGE),
    (NeighbourRelation.ADD_REMOVE, NeighbourRelation.REPLACE_ONE),
    (NeighbourRelation.EXCHANGE, NeighbourRelation.ADD_REMOVE),
    (NeighbourRelation.EXCHANGE, NeighbourRelation.REPLACE_ONE),
]


def loss(
    relation: NeighbourRelation, epsilon: float = 0.0, delta: float | None = None, rho: float | None = None
) -> Loss:
    exact = [None if value is None else Fraction(value) for value in (delta, rho)]
    return Loss(LossModel.DP, relation, "proved", Fraction(epsilon) if rho is None else None, *exact)


@pytest.mark.parametrize(("stated", "counted"), CHANGES)
def test_neighbours_are_changed_by_an_upper_bound(
    stated: NeighbourRelation, counted: NeighbourRelation
) -> None:
    near = pairs(lambda left, right: one_step(stated, left, right))
    far = pairs(lambda left, right: one_step(counted, left, right))
    tight = False
    for law in LAWS:
        epsilon = pure(law, near)
        pure_then = under(loss(stated, epsilon), counted).epsilon
        assert pure_then is not None
        assert pure(law, far) <= pure_then + A_LITTLE
        tight |= pure(law, far) > 0.99 * float(pure_then)
        rho = concentrated(law, near)
        then = under(loss(stated, rho=rho), counted).rho
        assert then is not None
        assert concentrated(law, far) <= then + A_LITTLE
        for share in (0.2, 0.6):
            less = share * epsilon
            delta = excess(law, less, near)
            if not delta:
                continue
            approximate = under(loss(stated, less, delta), counted)
            assert approximate.epsilon is not None
            assert approximate.delta is not None
            assert excess(law, float(approximate.epsilon), far) <= approximate.delta + A_LITTLE
    assert tight  # twice is not too much: some mechanism needs it


@pytest.mark.parametrize("relation", list(NeighbourRelation))
@pytest.mark.parametrize("rows", [2, 3])
def test_a_unit_of_several_rows_is_a_group(relation: NeighbourRelation, rows: int) -> None:
    near = pairs(lambda left, right: one_step(relation, left, right))
    far = pairs(lambda left, right: units_apart(relation, rows, left, right))
    assert set(near) < set(far)
    tight = False
    for law in LAWS:
        epsilon, rho = pure(law, near), concentrated(law, near)
        pure_then = for_unit(loss(relation, epsilon), "household", rows).epsilon
        rho_then = for_unit(loss(relation, rho=rho), "household", rows).rho
        assert pure_then is not None
        assert rho_then is not None
        assert pure(law, far) <= pure_then + A_LITTLE
        tight |= pure(law, far) > 0.99 * float(pure_then)
        assert concentrated(law, far) <= rho_then + A_LITTLE
        delta = excess(law, 0.5 * epsilon, near)
        if delta:
            then = for_unit(loss(relation, 0.5 * epsilon, delta), "household", rows)
            assert then.epsilon is not None
            assert then.delta is not None
            assert excess(law, float(then.epsilon), far) <= then.delta + A_LITTLE
    assert tight


def test_pure_epsilon_is_at_most_half_its_square_in_rho() -> None:
    near = pairs(lambda left, right: one_step(NeighbourRelation.EXCHANGE, left, right))
    for law in LAWS:
        epsilon = pure(law, near)
        assert concentrated(law, near) <= epsilon**2 / 2 + A_LITTLE


def test_the_formula_of_a_group_is_the_one_that_is_printed() -> None:
    stated = loss(NeighbourRelation.ADD_REMOVE, 0.5, 1e-6)
    for rows in (2, 3, 7):
        then = for_unit(stated, "person", rows)
        assert then.epsilon == rows * Fraction(1, 2)
        wanted = 1e-6 * math.expm1(rows * 0.5) / math.expm1(0.5)
        assert then.delta is not None
        assert float(then.delta) == pytest.approx(wanted, rel=1e-12)
    exchanged = under(stated, NeighbourRelation.EXCHANGE)
    assert exchanged.delta is not None
    assert float(exchanged.delta) == pytest.approx((1 + math.exp(0.5)) * 1e-6, rel=1e-12)
    assert for_unit(loss(NeighbourRelation.ADD_REMOVE, 3000.0, 1e-300), "person", 2).delta == 1


@pytest.mark.parametrize("other", [NeighbourRelation.ADD_REMOVE, NeighbourRelation.EXCHANGE])
def test_replace_one_says_nothing_about_tables_of_another_size(other: NeighbourRelation) -> None:
    """The exact number of rows is free under replace-one, and tells under add-remove that someone is there."""
    law = {table: np.eye(5)[len(table)] + 1e-12 for table in TABLES}
    assert pure(law, pairs(lambda left, right: one_step(NeighbourRelation.REPLACE_ONE, left, right))) == 0
    assert pure(law, pairs(lambda left, right: one_step(other, left, right))) > 20
    with pytest.raises(LedgerError, match=f"promised under replace-one, and the account counts {other}"):
        under(Loss.pure(Fraction(1)), other)


def test_individual_differential_privacy_has_no_groups() -> None:
    """The median of 0, 0, 0, 0, 1 has local sensitivity 0, and two rows move it."""
    stated = Loss(LossModel.IDP, NeighbourRelation.REPLACE_ONE, "proved", Fraction(1))
    assert for_unit(stated, "person", 1).epsilon == 1
    with pytest.raises(LedgerError, match="says nothing about several rows"):
        for_unit(stated, "person", 2)


def test_a_row_inside_a_unit_has_the_promise_of_the_unit() -> None:
    household = Loss(
        LossModel.DP, NeighbourRelation.EXCHANGE, "proved", Fraction(1), unit="household", rows_per_unit=4
    )
    assert for_unit(household, "row", 1).epsilon == 1
    assert for_unit(household, "household", 3) == household
    for unit, rows in (("household", 5), ("person", 2)):
        with pytest.raises(LedgerError, match="promised for a household of at most 4 rows"):
            for_unit(household, unit, rows)
    truncated = Loss(
        LossModel.DP,
        NeighbourRelation.EXCHANGE,
        "proved",
        Fraction(1),
        unit="household",
        rows_per_unit=4,
        policy="truncate",
    )
    assert for_unit(truncated, "household", 5) == truncated


@pytest.mark.parametrize("value", ["1/3", "0.1", "1", "7", "123.456", "1/1000000007"])
def test_exponentials_are_rounded_up_and_hardly_so(value: str) -> None:
    exact = Fraction(value)
    series = sum((exact**n / math.factorial(n) for n in range(900)), Fraction(0))  # below e^x
    assert series < exp_up(exact) < series * (1 + Fraction(1, 10**35))


@pytest.mark.parametrize(("rho", "delta"), [("0.01", "1e-6"), ("1/3", "1e-9"), ("5", "0.001")])
def test_rho_becomes_epsilon_never_too_small(rho: str, delta: str) -> None:
    exact, at = Fraction(rho), Fraction(delta)
    found, nearest = epsilon_at(exact, at), epsilon_of(float(exact), float(at))
    assert nearest < found <= Fraction(nearest) * (1 + Fraction(1, 10**8)) + Fraction(1, 10**6)
    # Never above the closed form of Bun & Steinke 2016, and never below what a Gaussian needs.
    assert nearest <= float(exact) + 2 * math.sqrt(float(exact) * math.log(1 / float(at)))
    assert float(at) >= _gaussian_excess(float(exact), float(found))
    assert epsilon_at(Fraction(0), at) == 0


def _gaussian_excess(rho: float, epsilon: float) -> float:
    """δ of the Gaussian mechanism with this ρ (Balle & Wang 2018)."""
    shift = math.sqrt(2 * rho)

    def cdf(value: float) -> float:
        return 0.5 * math.erfc(-value / math.sqrt(2))

    return cdf(shift / 2 - epsilon / shift) - math.exp(epsilon) * cdf(-shift / 2 - epsilon / shift)


def test_the_table_in_the_manual_is_what_is_computed() -> None:
    """Each cell of docs/how-to/keep-a-ledger.md, evaluated at ε = 0.3, δ = 1e-6, ρ = 0.02, c = 4."""
    text = (Path(__file__).parents[2] / "docs" / "how-to" / "keep-a-ledger.md").read_text()
    table = (
        text.partition("<!-- conversions -->")[2].partition("<!-- /conversions -->")[0].strip().splitlines()
    )
    rows = {
        cells[0]: cells[1:]
        for cells in ([c.strip() for c in line.strip("|").split("|")] for line in table[2:])
    }
    e, d, r, c = 0.3, 1e-6, 0.02, 4
    written = {
        "2ε": (2 * e,),
        "cε": (c * e,),
        "4ρ": (4 * r,),
        "c²ρ": (c * c * r,),
        "2ε, (1+e^ε)δ": (2 * e, (1 + math.exp(e)) * d),
        "cε, δ(e^{cε}−1)/(e^ε−1)": (c * e, d * math.expm1(c * e) / math.expm1(e)),
    }
    changes: dict[str, list[tuple[NeighbourRelation, Callable[[Loss], Loss]]]] = {}
    for relation in NeighbourRelation:
        others = [other for other in NeighbourRelation if other is not relation]
        name = f"{relation} → {' or '.join(others)}"
        changes[name] = [(relation, lambda loss, other=other: under(loss, other)) for other in others]  # type: ignore[misc]
        changes.setdefault("row → unit of at most c rows", []).append(
            (relation, lambda loss: for_unit(loss, "person", c))
        )
        changes.setdefault("unit → a row inside it", []).append(
            (relation, lambda loss: for_unit(replace(loss, unit="person", rows_per_unit=c), "row", 1))
        )
    assert set(changes) == set(rows)
    for name, cells in rows.items():
        for relation, change in changes[name]:
            for cell, stated in zip(
                cells, (loss(relation, e), loss(relation, rho=r), loss(relation, e, d)), strict=True
            ):
                if cell == "refused":
                    with pytest.raises(LedgerError):
                        change(stated)
                    continue
                then = change(stated)
                found = [float(v) for v in (then.epsilon, then.delta, then.rho) if v is not None]
                same = [float(v) for v in (stated.epsilon, stated.delta, stated.rho) if v is not None]
                assert found == pytest.approx(list(written.get(cell, same)), rel=1e-12)


@pytest.mark.parametrize("epsilon", [1e-6, 1e-5, 0.1, 1.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-9, 1e-6])
def test_rho_stays_within_epsilon_and_is_not_wasted(epsilon: float, delta: float) -> None:
    """Against the plain conversion, ρ + 2√(ρ ln 1/δ) = ε."""
    rho = rho_for(epsilon, delta)
    assert epsilon_of(rho, delta) <= epsilon
    assert rho >= 0.5 * (math.sqrt(math.log(1 / delta) + epsilon) - math.sqrt(math.log(1 / delta))) ** 2


def test_a_rho_that_is_too_small_for_any_noise_is_told() -> None:
    with pytest.raises(ParameterError, match="leave nothing"):
        rho_for(1e-200, 1e-200)
