"""Searches for the best split: in closed form, along the gradient, for the worst of several truths, and by evolution."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.schema.arrays import Floats
from coterie.statistics.allocators import Allocator, NotApplicable, Problem
from coterie.statistics.allocators.fixed_shares import uniform
from coterie.statistics.planning.composition import minimise, separable_optimum

MANY_TARGETS = 100
SHARPNESS = 32.0  # the p of the p-norm that stands for a maximum
POPULATION = 48
GENERATIONS = 60
SEED = 2002


def first_order(problem: Problem) -> Floats:
    """Closed form: minimise Σ c_i·scale_i, so ε_i ∝ √(c_i·s_i), or ρ_i ∝ (c_i·s_i)^(2/3) for Gaussian noise.

    c_i is how strongly the targets depend on measurement i, to first order. Exact when every target is a single
    measurement. One linear equation alone has its own closed form: its variance is least at
    ε_i ∝ (c_i·s_i)^(2/3), or ρ_i ∝ c_i·s_i (Lagrange on Σ(c_i s_i/ε_i)²).
    """
    parts = [target.weight / target.unit * problem.slopes(target) for target in problem.metric.targets]
    weights, powers = problem.coefficients * np.sum(parts, axis=0), problem.powers
    if sum(target.weight > 0 for target in problem.metric.targets) == 1 and len(problem.feasible.rows) == 1:
        # (c·s/ε^(1/p))² summed: the exponent of the separable problem is 2/p instead of 1/p.
        weights, powers = weights**2, powers / 2.0
    return separable_optimum(np.maximum(weights, 1e-300), problem.feasible, powers)


def by_gradient(problem: Problem) -> Floats:
    """The exact gradient of the metric over all allowed splits, floors and groups included; the better of two searches.

    They start from the uniform split and from the first-order optimum.
    2048 Sobol points for a few targets; for hundreds, whose errors average out in the score, 256 points, one
    start and a shorter search. The report uses 16 other sets of points in any case.
    """
    many = len(problem.metric.targets) > MANY_TARGETS
    exponent, steps, tolerance = (8, 40, 1e-4) if many else (11, 200, 1e-8)
    starts = [first_order] if many else [first_order, uniform]
    found = [problem.descended(start(problem), exponent, tolerance, steps) for start in starts]
    return min(found, key=lambda optimum: optimum.value).budgets


def largest_of(parts: Floats, slopes: Floats) -> tuple[float, Floats]:
    """The largest part and its slope, smoothed: the p-norm of all (`slopes` is parts × budgets)."""
    largest = float(parts.max())
    weights = (parts / largest) ** SHARPNESS
    value = largest * float(weights.sum()) ** (1.0 / SHARPNESS)
    return value, np.asarray(weights / np.maximum(parts, 1e-300) / weights.sum() * value @ slopes)


def by_worst_case(problem: Problem) -> Floats:
    """Best over the whole range of expected values: the worst score over many possible truths is made small."""
    if not problem.scenarios:
        raise NotApplicable(
            "No statistic has a range of expected values.", "Write expected: [low, high] to plan for a range."
        )

    def objective(budgets: Floats) -> tuple[float, Floats]:
        scores, slopes = zip(*(m.score_gradient(budgets, exponent=9) for m in problem.scenarios), strict=True)
        return largest_of(np.array(scores), np.array(slopes))

    start = by_gradient(problem)
    return minimise(objective, problem.feasible, problem.powers, start, tolerance=1e-6, steps=60).budgets


def by_evolution(problem: Problem) -> Floats:
    """A genetic algorithm, as Nunes 2024's outlook suggests; for comparison with the gradient.

    Individuals are log-weights; crossover mixes parents, mutation shrinks over the generations. A plan never sees data, so
    the seed gives nothing away.
    """
    generator = np.random.default_rng(SEED)
    count = problem.feasible.count
    people = generator.normal(0.0, 1.0, (POPULATION, count))
    people[0] = 0.0
    scores = _scores(problem, people)
    for generation in range(GENERATIONS):
        parents = people[_tournament(scores, generator)], people[_tournament(scores, generator)]
        mask = generator.random((POPULATION, count)) < 0.5
        size = 0.5 * 0.94**generation
        children = np.where(mask, *parents) + generator.normal(0.0, size, (POPULATION, count))
        everyone = np.vstack([people, children])
        all_scores = np.concatenate([scores, _scores(problem, children)])
        survivors = np.argsort(all_scores, kind="stable")[:POPULATION]
        people, scores = everyone[survivors], all_scores[survivors]
    return problem.feasible.fill(np.exp(people[0]))


def _scores(problem: Problem, people: Floats) -> Floats:
    budgets = np.array([problem.feasible.fill(np.exp(person)) for person in people])
    return problem.metric.scores_of_many(budgets, exponent=8)


def _tournament(scores: Floats, generator: np.random.Generator) -> NDArray[np.int64]:
    pairs = generator.integers(0, POPULATION, (2, POPULATION))
    return np.asarray(np.where(scores[pairs[0]] < scores[pairs[1]], pairs[0], pairs[1]))


_LAGRANGE = "Lagrange; exact for statistics alone"
ALLOCATORS = (
    Allocator("gradient", "gradient optimum of the metric", "ours", by_gradient, order=0),
    Allocator("robust", "best over the range of expected values", "ours", by_worst_case, order=5),
    Allocator("square-root", "closed form, first order", _LAGRANGE, first_order, 30),
    Allocator("genetic", "genetic algorithm", "Nunes 2024, §6.4 (suggested)", by_evolution, order=60),
)
