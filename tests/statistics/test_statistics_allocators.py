"""Every allocator keeps the rules; the optimum is one; the closed forms are those of the textbook."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, minimize

from coterie.errors import ParameterError
from coterie.statistics.allocators import (
    DEFAULT,
    NotApplicable,
    Problem,
    allocators,
    find_allocator,
)
from coterie.statistics.allocators.fixed_shares import geometric, taylor
from coterie.statistics.allocators.grid import STEPS, blocks, compositions
from coterie.statistics.planning.composition import Feasible, exact_budgets, minimise, separable_optimum
from coterie.statistics.prediction.metric import Metric
from coterie.statistics.prediction.noise_model import Family, ScaleLaw
from coterie.statistics.prediction.target_error import Quantity, Target
from coterie.statistics.specification.equations import parse
from coterie.statistics.specification.specification import ErrorSummary


def metric(formulas: list[str], values: list[float], sensitivities: list[float], power: int = 1) -> Metric:
    family = Family.LAPLACE if power == 1 else Family.GAUSSIAN
    quantities = tuple(
        Quantity(f"q{i}", value, family, ScaleLaw(sensitivity, power))
        for i, (value, sensitivity) in enumerate(zip(values, sensitivities, strict=True))
    )
    return Metric(quantities, tuple(Target(f"t{i}", parse(formula)) for i, formula in enumerate(formulas)))


MIXED = metric(
    ["q0", "q1", "q2", "q3", "q0 / max(q1, 5)", "q2 - q3", "sqrt(max(q0 * q2, 0))"],
    [40.0, 90.0, 60.0, 5.0],
    [1.0, 2.0, 0.5, 0.1],
)
PROBLEMS = {
    "one budget": Problem(MIXED, Feasible.sequential(4, 3.0, 0.1)),
    "no floor": Problem(MIXED, Feasible.sequential(4, 3.0)),
    "groups": Problem(
        MIXED, Feasible(np.array([[1.0, 1, 0, 0], [0, 0, 1.0, 0.5], [1.0, 0, 0, 1]]), 3.0, np.full(4, 0.05))
    ),
    "one measurement": Problem(metric(["q0"], [3.0], [1.0]), Feasible.sequential(1, 1.0)),
}


@pytest.mark.parametrize("name", list(allocators()))
@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=list(PROBLEMS))
def test_every_allocator_stays_within_floors_and_total(name: str, problem: Problem) -> None:
    try:
        budgets = find_allocator(name).allocate(problem)
    except NotApplicable:
        return
    assert (budgets > 0).all()
    assert (budgets >= problem.feasible.floors - 1e-12).all()
    assert problem.feasible.used(budgets) <= problem.feasible.total * (1 + 1e-9)
    assert problem.feasible.used(budgets) >= problem.feasible.total * (1 - 1e-6), "budget left unused"


def test_the_default_beats_every_other() -> None:
    for problem in PROBLEMS.values():
        best = problem.metric.score(find_allocator(DEFAULT).allocate(problem))
        for name in allocators():
            try:
                other = problem.metric.score(find_allocator(name).allocate(problem))
            except NotApplicable:
                continue
            assert best <= other * (1 + 1e-4), name


def test_names_are_found_and_misspellings_explained() -> None:
    assert next(iter(allocators())) == DEFAULT
    with pytest.raises(ParameterError, match="Did you mean 'gradient'"):
        find_allocator("gradeint")


def test_the_series_are_those_that_nunes_prints() -> None:
    falling = [1.54, 1.41, 1.3, 1.19, 1.09, 1.0, 0.92, 0.84, 0.77, 0.71, 0.65, 0.59]
    assert np.abs(geometric(12) * 12 - falling).max() < 0.006
    poisson = [0.08, 0.41, 1.02, 1.70, 2.12, 2.12, 1.76, 1.26, 0.79, 0.44, 0.22, 0.10]
    assert np.abs(taylor(12) * 12 - poisson).max() < 0.011


@given(st.lists(st.floats(0.01, 100.0), min_size=1, max_size=8), st.sampled_from([1.0, 2.0]))
def test_the_separable_optimum_is_the_closed_form(weights: list[float], power: float) -> None:
    """Σ c·s/ε: ε ∝ √(c·s); Gaussian: ρ ∝ (c·s)^(2/3)."""
    w = np.array(weights)
    found = separable_optimum(w, Feasible.sequential(len(w), 2.0), np.full(len(w), power))
    shape = w ** (power / (power + 1))
    assert found == pytest.approx(2.0 * shape / shape.sum(), rel=1e-9)


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.sampled_from([1.0, 2.0]))
def test_prices_find_the_optimum_over_several_rows(seed: int, power: float) -> None:
    draw = np.random.Generator(np.random.PCG64(seed))
    count, rows = int(draw.integers(2, 6)), int(draw.integers(1, 5))
    matrix = (draw.random((rows, count)) < 0.6) * draw.choice([0.25, 0.5, 1.0], (rows, count))
    matrix[0, matrix.sum(axis=0) == 0] = 1.0
    if not (matrix.sum(axis=1) > 0).all():
        return
    feasible = Feasible(matrix, 1.0, np.full(count, 0.01))
    weights, powers = draw.lognormal(0, 1, count), np.full(count, power)
    found = separable_optimum(weights, feasible, powers)
    reference = minimize(
        lambda e: ((weights * e ** (-1 / power)).sum(), -weights / power * e ** (-1 / power - 1)),
        feasible.fill(np.ones(count)),
        jac=True,
        method="SLSQP",
        bounds=[(0.01, None)] * count,
        constraints=[LinearConstraint(matrix, -np.inf, 1.0)],
        options={"maxiter": 500, "ftol": 1e-12},
    )
    assert feasible.used(found) <= 1 + 1e-9
    assert (weights * found ** (-1 / power)).sum() <= reference.fun * (1 + 1e-4)


def test_a_linear_equation_alone_gets_the_two_thirds_rule() -> None:
    """Its variance is least at ε ∝ (c·s)^(2/3); Gaussian: ρ ∝ c·s."""
    for power, exponent in ((1, 2 / 3), (2, 1.0)):
        target = Target("t", parse("q0 + 3 * q1"))
        quantities = tuple(
            Quantity(f"q{i}", 1.0, Family.LAPLACE if power == 1 else Family.GAUSSIAN, ScaleLaw(s, power))
            for i, s in enumerate((1.0, 2.0))
        )
        problem = Problem(Metric(quantities, (target,)), Feasible.sequential(2, 1.0))
        shape = np.array([1.0, 6.0]) ** exponent
        assert find_allocator("square-root").allocate(problem) == pytest.approx(shape / shape.sum(), rel=1e-6)


def test_the_grid_is_the_best_of_all_its_splits() -> None:
    small = metric(["q0", "q1", "q2", "q0 / max(q1, 1)"], [30.0, 50.0, 7.0], [1.0, 2.0, 0.4])
    problem = Problem(small, Feasible.sequential(3, 4.0, 0.4))
    assert [len(block) for block in blocks(small)] == [2, 1]
    step = (4.0 - 1.2) / STEPS
    splits = [np.array(s) for s in itertools.product(range(STEPS + 1), repeat=3) if sum(s) == STEPS]
    scores = small.scores_of_many(np.array([0.4 + step * s for s in splits]), exponent=10)
    found = find_allocator("grid").allocate(problem)
    assert small.scores_of_many(found[None, :], exponent=10)[0] == pytest.approx(scores.min(), rel=1e-12)
    assert len(compositions(3, STEPS)) == 455


def test_a_grid_that_would_explode_says_so() -> None:
    many = metric(["+".join(f"q{i}" for i in range(14))], [1.0] * 14, [1.0] * 14)
    with pytest.raises(NotApplicable, match="splits"):
        find_allocator("grid").allocate(Problem(many, Feasible.sequential(14, 1.0)))


@pytest.mark.parametrize("summary", list(ErrorSummary))
def test_the_gradient_of_the_score(summary: ErrorSummary) -> None:
    base = metric(["q0 / q1", "q0 - 2 * q1 + q2", "q2"], [30.0, 50.0, 7.0], [1.0, 2.0, 0.4])
    targets = tuple(Target(t.name, t.expression, 1.0, 1.0, summary) for t in base.targets)
    chosen = Metric(base.quantities, targets)
    at = np.array([0.7, 0.9, 0.3])
    value, slope = chosen.score_gradient(at, exponent=14)
    assert value == pytest.approx(chosen.score(at, exponent=14))
    for i in range(3):
        step = np.zeros(3)
        step[i] = 1e-4 if summary is ErrorSummary.MEAN else 0.05
        ends = [chosen.score(at + sign * step, exponent=14) for sign in (-1, 1)]
        difference = (ends[1] - ends[0]) / (2 * step[i])
        # A quantile's slope is itself an average over the few draws near it.
        close = {"rel": 1e-3} if summary is ErrorSummary.MEAN else {"abs": 0.12 * float(np.abs(slope).max())}
        assert slope[i] == pytest.approx(difference, **close)


def test_the_search_finds_a_constrained_minimum() -> None:
    problem = PROBLEMS["groups"]
    found = minimise(problem.metric.score_gradient, problem.feasible, problem.powers)
    reference = minimize(
        problem.metric.score_gradient,
        problem.feasible.fill(np.ones(4)),
        jac=True,
        method="SLSQP",
        bounds=[(0.05, None)] * 4,
        constraints=[LinearConstraint(problem.feasible.rows, -np.inf, 3.0)],
        options={"ftol": 1e-12},
    )
    assert found.value <= reference.fun * (1 + 1e-5)


@given(st.integers(1, 12), st.integers(0, 1000))
def test_exact_parts_are_the_whole(count: int, seed: int) -> None:
    draw = np.random.Generator(np.random.PCG64(seed))
    total = Fraction(int(draw.integers(1, 10_000)), 1000)
    feasible = Feasible.sequential(count, float(total), float(total) / count / 10)
    parts = exact_budgets(feasible.fill(draw.lognormal(0, 2, count)), feasible, total)
    assert sum(parts) == total
    assert min(parts) > 0


def test_exact_parts_of_groups_never_pass_the_total() -> None:
    problem = PROBLEMS["groups"]
    total = Fraction(3)
    parts = exact_budgets(find_allocator(DEFAULT).allocate(problem), problem.feasible, total)
    for row in problem.feasible.rows:
        assert sum(Fraction(float(share)) * part for share, part in zip(row, parts, strict=True)) <= total


def test_floors_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ParameterError, match="floors need a budget of 4, but the total is 3"):
        Feasible.sequential(4, 3.0, 1.0)


def test_acceptable_budgets_lift_the_weak(  # Nunes 2024, §3.1
) -> None:
    targets = (Target("a", parse("q0"), tolerance=0.5), Target("b", parse("q1")), Target("c", parse("q2")))
    base = metric(["q0", "q1", "q2"], [1.0] * 3, [1.0] * 3)
    problem = Problem(Metric(base.quantities, targets), Feasible.sequential(3, 6.0))
    assert find_allocator("geometric-rising").allocate(problem)[0] == pytest.approx(2.0)  # Δ/ε = tolerance


@pytest.mark.parametrize("power", [1, 2])
def test_the_acceptable_budget_of_a_derived_mean_is_in_the_units_of_its_sum(power: int) -> None:
    """A mean of 100 records to within 0.5 needs its sum to within 50, not to within 0.5."""
    family = Family.LAPLACE if power == 1 else Family.GAUSSIAN
    quantities = (
        Quantity("total", 4000.0, family, ScaleLaw(10.0, power)),
        Quantity("n", 100.0, family, ScaleLaw(1.0, power)),
        Quantity("plain", 7.0, family, ScaleLaw(1.0, power)),
    )
    targets = (
        Target("mean", parse("total / n"), tolerance=0.5),
        Target("plain", parse("plain"), tolerance=2.0),
    )
    floors = Problem(Metric(quantities, targets), Feasible.sequential(3, 10.0)).acceptable().floors
    # ∂mean/∂total = 1/100, ∂mean/∂n = −4000/100² = −0.4
    assert floors == pytest.approx([(0.1 / 0.5) ** power, (0.4 / 0.5) ** power, 0.5**power])


@pytest.mark.parametrize("total", [Fraction(1, 10**12), Fraction(1, 10**7), Fraction(3), Fraction(10**7)])
def test_a_tiny_budget_is_split_as_planned(total: Fraction) -> None:
    """Was: below 1e-8 every part was rounded down to its floor, a fiftieth of an even split."""
    rows = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    wanted = np.array([0.6, 0.4, 0.6]) * float(total)
    parts = exact_budgets(wanted, Feasible(rows, float(total), 0.01 * wanted), total)
    assert [float(part) for part in parts] == pytest.approx(wanted, rel=1e-6, abs=0)
