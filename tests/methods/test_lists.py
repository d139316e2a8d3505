"""The exact privacy loss of noisy lists: Σ|Δc_j|/b_j over the worst neighbours, computed, not sampled.

Laplace noise of scales b on a list loses exactly max Σ|c_j - c'_j|/b_j. Means are the doubles that the chain
computes, so rounding is in it; the sums here are exact fractions.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie import Attribute, Domain, Role, Schema, protect
from coterie.chain.mechanism.numeric import SortedCentroids
from coterie.chain.partition.univariate import individual_ranking
from coterie.methods import all_methods
from coterie.methods.promises import public_k
from coterie.table.checked import check

K = 3
# A domain far from 0, where doubles are coarse, and values that are no multiples of anything.
LOWER, UPPER = 1e9, 1e9 + 1
values = st.lists(st.floats(LOWER, UPPER), min_size=6, max_size=14)


def _column(numbers: list[float], lower: float = LOWER, upper: float = UPPER, **more: Any) -> Any:
    attribute = Attribute(name="x", role=Role.PROTECT, domain=Domain(lower=lower, upper=upper), **more)
    return check(pa.table({"x": numbers}), Schema(attributes=(attribute,))).columns["x"]


def _list_and_reach(mechanism: Any, numbers: list[float]) -> tuple[list[Fraction], list[Fraction]]:
    column = _column(numbers)
    centroids = mechanism.centroids(column, individual_ranking(column.values, K))
    reach = mechanism.sensitivity(column, centroids, K)
    return [Fraction(c) for c in centroids.values.tolist()], [Fraction(s) for s in reach.tolist()]


def _loss(mechanism: Any, before: list[float], after: list[float]) -> Fraction:
    """In units of ε, with the scales of `before`."""
    old, reach = _list_and_reach(mechanism, before)
    new, _ = _list_and_reach(mechanism, after)
    return sum((abs(a - b) / s for a, b, s in zip(old, new, reach, strict=True)), Fraction(0))


SORTED = SortedCentroids()
JOINT = all_methods()["idp-cbls-joint"].numeric
CBLS = all_methods()["idp-cbls"].numeric


@given(values, st.integers(0, 13), st.floats(LOWER, UPPER))
@settings(max_examples=200)
def test_the_sorted_list_loses_at_most_epsilon(numbers: list[float], place: int, new: float) -> None:
    after = list(numbers)
    after[place % len(numbers)] = new
    assert _loss(SORTED, numbers, after) <= 1
    # The scale does not depend on the data: it is the same under both.
    assert _list_and_reach(SORTED, numbers)[1] == _list_and_reach(SORTED, after)[1]


def test_the_sorted_list_can_lose_almost_all_of_it() -> None:
    before, after = [LOWER] * 9, [UPPER] + [LOWER] * 8
    assert Fraction(999_999, 1_000_000) < _loss(SORTED, before, after) <= 1


def test_without_room_for_rounding_the_promise_would_break() -> None:
    """A record crosses the domain: some computed lists move by a little more than Δ/k, none by more than the bound."""
    draw = np.random.Generator(np.random.PCG64(6))
    width, beyond = Fraction(UPPER - LOWER), 0
    for _ in range(300):
        others = (LOWER + draw.uniform(size=8)).tolist()
        lists = [_list_and_reach(SORTED, [end, *others]) for end in (LOWER, UPPER)]
        moved = sum((abs(a - b) for a, b in zip(lists[0][0], lists[1][0], strict=True)), Fraction(0))
        beyond += moved > width / K
        assert moved <= lists[0][1][0]
    assert beyond > 0


@given(values, st.integers(0, 13), st.floats(LOWER, UPPER))
@settings(max_examples=200)
def test_the_joint_scale_covers_every_replacement(numbers: list[float], place: int, new: float) -> None:
    after = list(numbers)
    after[place % len(numbers)] = new
    assert _loss(JOINT, numbers, after) <= 1


@given(st.lists(st.integers(0, 8), min_size=6, max_size=9))
@settings(max_examples=25)
def test_the_joint_scale_by_brute_force(numbers: list[int]) -> None:
    """Small whole numbers, so ties abound, and every replacement by every value."""
    before = [LOWER + number / 8 for number in numbers]
    worst = max(
        _loss(JOINT, before, [*before[:place], LOWER + new / 8, *before[place + 1 :]])
        for place in range(len(before))
        for new in range(9)
    )
    assert worst <= 1


def test_the_joint_scale_is_not_wasteful_and_the_published_one_too_small() -> None:
    """The minimum moved above the maximum: the joint scale is used up, the published one overspent."""
    before = [LOWER + number / 16 for number in range(12)]
    after = [UPPER, *before[1:]]
    assert _loss(JOINT, before, after) > Fraction(99, 100)
    assert _loss(CBLS, before, after) > Fraction(5, 2)  # q = 4


def test_dp_sorted_releases_the_list_and_no_rows() -> None:
    draw = np.random.Generator(np.random.PCG64(1))
    table = pa.table({"x": draw.uniform(size=103), "y": draw.uniform(size=103)})
    attributes = [Attribute(name=name, role=Role.PROTECT, domain=Domain(lower=0, upper=1)) for name in "xy"]
    release = protect(table, Schema(attributes=tuple(attributes)), method="dp-sorted", epsilon="90", k=10)
    for name in "xy":
        found, sizes = np.unique(release.table[name].to_numpy(), return_counts=True)
        assert set(sizes) <= {10, 13}  # q = 10 groups, the last takes the remainder
        assert sizes.sum() == 103
        assert 0 <= found.min() <= found.max() <= 1
    rows = release.table.to_pandas()
    assert rows.drop_duplicates().shape[0] > 40  # groups of x and y are spread over one another


@pytest.mark.parametrize(("method", "k"), [("dp-sorted", 6), ("dp-synthetic", None)])
def test_the_order_of_records_is_not_in_the_release(method: str, k: int | None) -> None:
    """Reversed records give the same release, for the same seed: there is nothing to link."""
    draw = np.random.Generator(np.random.PCG64(2))
    x = np.round(draw.uniform(size=60), 3)
    table = pa.table({"x": x, "y": np.round(1 - x / 2, 3)})
    schema = Schema(
        attributes=tuple(
            Attribute(name=name, role=Role.PROTECT, domain=Domain(lower=0, upper=1), decimals=2)
            for name in "xy"
        )
    )
    straight, reversed_ = (
        protect(rows, schema, method=method, epsilon="1", k=k, seed=4).table
        for rows in (table, table.take(list(range(59, -1, -1))))
    )
    assert straight.equals(reversed_)


def test_k_follows_from_public_numbers_only() -> None:
    assert public_k(1080, Fraction(4, 65)) == 264
    assert public_k(30_162, Fraction(1, 5)) == 776
    assert public_k(10, Fraction(1, 1000)) == 5
    assert public_k(2, Fraction(1, 1000)) == 1
    table = pa.table({"x": np.linspace(0, 1, 400)})
    schema = Schema(attributes=(Attribute(name="x", role=Role.PROTECT, domain=Domain(lower=0, upper=1)),))
    constant = pa.table({"x": np.zeros(400)})
    used = {
        protect(rows, schema, method="dp-sorted", epsilon="1", seed=1).certificate.k
        for rows in (table, constant)
    }
    assert used == {public_k(400, Fraction(1))}
