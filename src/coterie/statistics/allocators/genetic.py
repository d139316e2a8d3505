"""A genetic algorithm, as Nunes 2024's outlook suggests; here for comparison with the gradient.

Seeded, so that a plan can be repeated; a plan never sees data, so the seed gives nothing away.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.schema.arrays import Floats
from coterie.statistics.allocators import Allocator, Problem

POPULATION = 48
GENERATIONS = 60
SEED = 2002


def allocate(problem: Problem) -> Floats:
    """Individuals are log-weights; crossover mixes parents, mutation shrinks over the generations."""
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


ALLOCATORS = (Allocator("genetic", "genetic algorithm", "Nunes 2024, §6.4 (suggested)", allocate, order=60),)
