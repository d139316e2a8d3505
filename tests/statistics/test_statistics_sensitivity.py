"""Every printed sensitivity holds on every small table we can think of, and is not needlessly large."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import trim_mean

from coterie.statistics.planning.composition import neighbour_rows
from coterie.statistics.prediction import measurement as measured
from coterie.statistics.prediction.measurement import Kind, Measurement
from coterie.statistics.prediction.value_grid import ValueGrid, distances
from coterie.statistics.releasing.measuring import finish, trimmed
from coterie.statistics.specification.cells import reachable
from coterie.statistics.specification.filters import Between, Filter, OneOf, read_filter
from coterie.statistics.specification.specification import Neighbours

DOMAIN = ValueGrid.of(-2.0, 6.0)
EVERYONE = Filter()


def exact(m: Measurement, values: list[float]) -> float:
    """What the engine computes for a group with these values."""
    if m.kind is Kind.SUM:
        return (
            float(np.prod([np.array(values) - centre for _, centre in m.terms], axis=0).sum())
            if values
            else 0.0
        )
    places = DOMAIN.places(np.array(values)).tolist()
    return m.value(finish(m, len(values), sum(places), sum(place**2 for place in places)))


def kinds(m: int) -> list[Measurement]:
    return [
        measured.mean(EVERYONE, "x", DOMAIN, m),
        measured.variance(EVERYONE, "x", DOMAIN, max(m, 2)),
        measured.std(EVERYONE, "x", DOMAIN, max(m, 2)),
        measured.total(EVERYONE, (("x", 0.0),), (DOMAIN,)),
        measured.total(EVERYONE, (("x", 2.0),), (DOMAIN,)),
        measured.total(EVERYONE, (("x", 2.0), ("x", 2.0)), (DOMAIN, DOMAIN)),
    ]


# Ends of the domain are where the worst cases are.
cells = st.one_of(st.sampled_from([-2.0, 6.0, 2.0]), st.floats(-2.0, 6.0))


@given(st.integers(1, 6), st.lists(cells, max_size=9), cells, cells)
def test_no_neighbour_moves_further_than_the_bound(m: int, rest: list[float], old: float, new: float) -> None:
    for measurement in kinds(m):
        slack = 1e-9
        entered = abs(exact(measurement, [*rest, new]) - exact(measurement, rest))
        swapped = abs(exact(measurement, [*rest, new]) - exact(measurement, [*rest, old]))
        assert entered <= measurement.bound.enter + slack, measurement.name
        assert swapped <= measurement.bound.swap + slack, measurement.name


def test_the_bounds_are_reached_or_nearly() -> None:
    """A bound twice as large as needed would waste half the budget."""
    ends = [-2.0, 2.0, 6.0]
    for m in (2, 3, 5):
        tables = [list(t) for n in range(m + 2) for t in itertools.combinations_with_replacement(ends, n)]
        for measurement in kinds(m):
            swaps = [
                abs(exact(measurement, [*rest, a]) - exact(measurement, [*rest, b]))
                for rest in tables
                for a, b in itertools.combinations(ends, 2)
            ]
            # W/√m is reached only in the limit of one outlier among equals; the others are exact.
            least = 0.55 if measurement.kind in (Kind.STD, Kind.VARIANCE) else 0.999
            assert max(swaps) >= least * measurement.bound.swap, (measurement.name, max(swaps))


def test_a_padded_group_of_full_size_is_not_changed_by_the_padding() -> None:
    values = [0.0, 1.0, 5.0, 3.0]
    assert exact(measured.mean(EVERYONE, "x", DOMAIN, 4), values) == pytest.approx(np.mean(values))
    assert exact(measured.std(EVERYONE, "x", DOMAIN, 4), values) == pytest.approx(np.std(values, ddof=1))
    assert exact(measured.variance(EVERYONE, "x", DOMAIN, 3), values) == pytest.approx(np.var(values, ddof=1))


@given(st.floats(0.05, 0.95), st.lists(st.integers(0, 9), max_size=8), st.integers(0, 9), st.integers(0, 9))
def test_rank_utilities_move_within_their_bound(q: float, rest: list[int], old: int, new: int) -> None:
    bound = measured.quantile(EVERYONE, "x", DOMAIN, q, 10).bound

    def utility(values: list[int]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        counts = np.bincount(values, minlength=10) if values else np.zeros(10)
        return np.asarray(-distances(counts, q), dtype=np.float64)

    assert np.abs(utility([*rest, new]) - utility(rest)).max() <= bound.enter + 1e-9
    assert np.abs(utility([*rest, new]) - utility([*rest, old])).max() <= bound.swap + 1e-9


def test_a_product_of_columns_is_bounded_by_its_corners() -> None:
    bound = measured.total(
        EVERYONE, (("x", 0.0), ("y", 0.0)), (ValueGrid.of(-2, 3), ValueGrid.of(-5, 1))
    ).bound
    assert bound.enter == pytest.approx(15.0)
    assert bound.swap == pytest.approx(10.0 + 15.0)


# --- parallel composition -------------------------------------------------------------------------------

COUNT = measured.count(EVERYONE).bound
SUM = measured.total(EVERYONE, (("x", 0.0),), (ValueGrid.of(-1.0, 3.0),)).bound

conditions = st.one_of(
    st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=2, unique=True).map(
        lambda v: OneOf(tuple(v))
    ),
    st.tuples(st.integers(0, 3), st.integers(1, 3)).map(lambda t: Between(float(t[0]), float(t[0] + t[1]))),
)


@st.composite
def filters(draw: st.DrawFn) -> Filter:
    chosen = Filter()
    if draw(st.booleans()):
        chosen = chosen.and_also("letter", draw(conditions.filter(lambda c: isinstance(c, OneOf))))
    if draw(st.booleans()):
        chosen = chosen.and_also("number", draw(conditions.filter(lambda c: isinstance(c, Between))))
    return chosen


def holds(chosen: Filter, letter: str, number: float) -> bool:
    return all(
        condition.accepts(letter if column == "letter" else None, number if column == "number" else None)
        for column, condition in chosen.conditions
    )


RECORDS = [(letter, float(number)) for letter in "abcd" for number in range(8)]


@given(st.lists(filters(), min_size=1, max_size=5), st.booleans(), st.sampled_from(list(Neighbours)))
def test_rows_are_exactly_what_one_record_can_do(
    chosen: list[Filter], zcdp: bool, neighbours: Neighbours
) -> None:
    """Counts and sums, half and half; the cost of the worst change by brute force over all records."""
    bounds = [COUNT if i % 2 else SUM for i in range(len(chosen))]
    nominal = np.array([b.nominal(neighbours, f.everyone) for b, f in zip(bounds, chosen, strict=True)])
    if (nominal == 0).any():
        return
    rows = neighbour_rows(chosen, bounds, neighbours, zcdp)
    budgets = np.linspace(0.3, 1.7, len(chosen))
    enter = np.array([b.enter for b in bounds]) / nominal
    swap = np.array([b.swap for b in bounds]) / nominal
    power = 2 if zcdp else 1
    member = np.array([[holds(f, *record) for f in chosen] for record in RECORDS])
    if neighbours is Neighbours.ADD_REMOVE:
        costs = (member * enter**power) @ budgets
    else:
        if neighbours is Neighbours.EXCHANGE:  # or the record is not there at all
            member = np.vstack([member, np.zeros_like(member[:1])])
        both = member[:, None, :] & member[None, :, :]
        one = member[:, None, :] ^ member[None, :, :]
        costs = (both * swap**power + one * enter**power) @ budgets
    assert float((rows @ budgets).max()) == pytest.approx(float(costs.max()), rel=1e-9, abs=1e-9)


def test_disjoint_groups_cost_the_largest_or_the_two_largest() -> None:
    groups = [Filter().and_also("g", OneOf((str(i),))) for i in range(4)]
    bounds = [COUNT] * 4
    budgets = np.array([1.0, 2.0, 3.0, 4.0])
    assert (neighbour_rows(groups, bounds, Neighbours.ADD_REMOVE, False) @ budgets).max() == pytest.approx(
        4.0
    )
    assert (neighbour_rows(groups, bounds, Neighbours.REPLACE_ONE, False) @ budgets).max() == pytest.approx(
        7.0
    )


def test_many_groups_are_counted_on_the_safe_side() -> None:
    groups = [Filter().and_also("g", OneOf((str(i),))) for i in range(100)]
    bounds = [measured.total(EVERYONE, (("x", 0.0),), (ValueGrid.of(-1.0, 1.0),)).bound] * 100
    budgets = np.ones(100)
    cost = float((neighbour_rows(groups, bounds, Neighbours.REPLACE_ONE, False) @ budgets).max())
    assert 1.0 - 1e-9 <= cost <= 1.0 + 1e-6  # two halves of a swap, or a whole one


def test_a_text_that_is_a_number_overlaps_the_number() -> None:
    """A CSV cell "3" is the text 3 and the number 3: the two groups can share it."""
    filters = [Filter().and_also("x", OneOf(("3",))), Filter().and_also("x", Between(0.0, 5.0))]
    kinds = reachable(filters)
    assert kinds is not None
    assert 0b11 in kinds


def test_declared_groups_are_kept_apart() -> None:
    filters = [Filter().and_also("x", OneOf(("a",))), Filter().and_also("y", OneOf(("b",)))]
    assert 0b11 in (reachable(filters) or [])
    assert 0b11 not in (reachable(filters, [frozenset({0, 1})]) or [])


def test_filters_are_read_from_yaml() -> None:
    chosen = read_filter({"age": {"from": 18, "below": 65}, "region": ["n", "s"], "k": 3}, "here")
    assert str(chosen) == "age ≥ 18 and < 65, k = 3, region in (n, s)"


# --- trimmed means ----------------------------------------------------------------------------------------------


def trimmed_exactly(m: Measurement, values: list[float]) -> float:
    return m.value(trimmed(m, DOMAIN.places(np.array(values, dtype=float))))


def test_a_trimmed_mean_is_the_mean_of_what_is_left() -> None:
    rng = np.random.Generator(np.random.PCG64(2))
    values = rng.uniform(-2, 6, 40)
    m = measured.trimmed(EVERYONE, "x", DOMAIN, 1, 0.1)
    assert trimmed_exactly(m, values.tolist()) == pytest.approx(trim_mean(values, 0.1), abs=1e-6)
    # Of eleven values 1.1 are left out at each end: a tenth of the second.
    odd = np.sort(values[:11])
    weights = np.array([0, 0.9, *[1] * 7, 0.9, 0])
    assert trimmed_exactly(m, odd.tolist()) == pytest.approx(float(weights @ odd / weights.sum()), abs=1e-6)
    assert trimmed_exactly(measured.trimmed(EVERYONE, "x", DOMAIN, 3, 0.4), [5.0]) == pytest.approx(2.0)


@given(
    st.sampled_from([0.1, 0.25, 0.3333, 0.45]),
    st.integers(1, 6),
    st.lists(cells, max_size=9),
    cells,
    cells,
)
def test_no_neighbour_moves_a_trimmed_mean_further_than_the_bound(
    trim: float, m: int, rest: list[float], old: float, new: float
) -> None:
    measurement = measured.trimmed(EVERYONE, "x", DOMAIN, m, trim)
    entered = abs(trimmed_exactly(measurement, [*rest, new]) - trimmed_exactly(measurement, rest))
    swapped = abs(trimmed_exactly(measurement, [*rest, new]) - trimmed_exactly(measurement, [*rest, old]))
    assert entered <= measurement.bound.enter + 1e-8
    assert swapped <= measurement.bound.swap + 1e-8


def test_the_bound_of_a_trimmed_mean_is_reached() -> None:
    """Half of the values at each end, and one in the middle goes over: that of the mean would be broken."""
    for size, trim in ((4, 0.25), (9, 0.2)):
        m = measured.trimmed(EVERYONE, "x", DOMAIN, size, trim)
        tables = [[-2.0] * low + [6.0] * (size - low) for low in range(size + 1)]
        moved = max(abs(trimmed_exactly(m, a) - trimmed_exactly(m, b)) for a, b in itertools.pairwise(tables))
        assert moved == pytest.approx(m.bound.swap, rel=1e-6)
        assert moved > 1.2 * measured.mean(EVERYONE, "x", DOMAIN, size).bound.swap
