"""Splitting a budget: against the obvious ways, side by side, and against the limits set for it.

Run as `python -m benchmarks statistics`. The insurance data are used where they are at hand (COTERIE_DATA).
"""

from __future__ import annotations

from time import perf_counter

import numpy as np

from coterie.papers.data import available, load
from coterie.papers.nunes_scenario import FLOOR, TOTAL, Scenario, all_scores, exact_scores, scenario
from coterie.statistics import plan, read_specification
from coterie.statistics.allocators import find_allocator


def run() -> None:
    if available("insurance"):
        _scenario(scenario(load("insurance")))
    else:
        print("Nunes 2024's scenario: skipped, insurance.csv is not here (set COTERIE_DATA)")
    _large()


def _scenario(chosen: Scenario) -> None:
    allocator = find_allocator("gradient")
    allocator.allocate(chosen.problem)  # Sobol points and caches
    ours, slsqp = [], []
    for _ in range(3):  # interleaved: the machine's other work hits both alike
        started = perf_counter()
        budgets = allocator.allocate(chosen.problem)
        ours.append(perf_counter() - started)
        started = perf_counter()
        reference = _slsqp(chosen)
        slsqp.append(perf_counter() - started)
    score = chosen.metric.score(budgets, exponent=14)
    print(
        f"gradient optimum of Nunes 2024's scenario: score {score:.4f} in {min(ours) * 1e3:.0f} ms (limit .2295, 1 s)"
    )
    print(f"  SciPy SLSQP with the same gradient: {reference:.4f} in {min(slsqp) * 1e3:.0f} ms")
    print(
        f"  published best {exact_scores(chosen)['best']:.4f}; ratio {exact_scores(chosen)['best'] / score:.3f}"
    )
    started = perf_counter()
    scores, _ = all_scores(chosen)
    fast = perf_counter() - started
    # The paper's way on a sample: every allocation simulated 1,000 times.
    sample = 200
    started = perf_counter()
    _simulate_like_the_paper(chosen, sample)
    naive = (perf_counter() - started) / sample * len(scores)
    print(
        f"all {len(scores):,} allocations: {fast:.1f} s (limit 60 s); simulated one by one: about "
        f"{naive / 60:.0f} min, ratio {naive / fast:.0f}"
    )


def _slsqp(chosen: Scenario) -> float:
    from scipy.optimize import LinearConstraint, minimize

    found = minimize(
        lambda e: chosen.metric.score_gradient(e, exponent=11),
        np.full(12, TOTAL / 12),
        jac=True,
        method="SLSQP",
        bounds=[(FLOOR, None)] * 12,
        constraints=[LinearConstraint(np.ones((1, 12)), -np.inf, TOTAL)],
    )
    return chosen.metric.score(found.x, exponent=14)


def _simulate_like_the_paper(chosen: Scenario, allocations: int, runs: int = 1000) -> None:
    generator = np.random.Generator(np.random.PCG64(0))
    for _ in range(allocations):
        budgets = FLOOR + generator.dirichlet(np.ones(12)) * (TOTAL - 12 * FLOOR)
        x = chosen.metric.values + generator.laplace(size=(runs, 12)) * chosen.metric.scales(budgets)
        for a, b in ((0, 1), (2, 3)):
            np.abs(
                (x[:, a] - x[:, b]) / np.sqrt(x[:, 8 + a] ** 2 / x[:, 4 + a] + x[:, 8 + b] ** 2 / x[:, 4 + b])
            ).mean()
        np.abs(x - chosen.metric.values).mean(axis=0)


def _large() -> None:
    specification = read_specification(large_specification())
    started = perf_counter()
    chosen = plan(specification)
    seconds = perf_counter() - started
    uniform = plan(specification, allocator="uniform")
    print(
        f"200 statistics, 300 equations: {seconds:.1f} s (limit 10 s), score {chosen.score:.4f}, "
        f"uniform {uniform.score:.4f}, ratio {uniform.score / chosen.score:.2f}"
    )


def large_specification(groups: int = 50, equations: int = 300) -> dict[str, object]:
    generator = np.random.Generator(np.random.PCG64(5))
    statistics: dict[str, object] = {}
    for g in range(groups):
        where, size = {"cell": f"g{g}"}, int(generator.integers(50, 2000))
        mean, std = float(generator.uniform(10, 90)), float(generator.uniform(5, 20))
        statistics[f"count{g}"] = {"kind": "count", "where": where, "expected": size}
        statistics[f"mean{g}"] = {"kind": "mean", "of": "y", "where": where, "expected": mean}
        statistics[f"std{g}"] = {"kind": "std", "of": "y", "where": where, "expected": std}
        statistics[f"sum{g}"] = {"kind": "sum", "of": "z", "where": where, "expected": 500.0 * size}
    formulas: dict[str, object] = {}
    for i in range(equations):
        a, b = (int(x) for x in generator.choice(groups, 2, replace=False))
        test = [f"{kind}{group}" for group in (a, b) for kind in ("mean", "std", "count")]
        formulas[f"e{i}"] = [
            {"ready": "t_test", "of": test},
            f"sum{a} / sum{b}",
            f"count{a} + count{b} - 2 * count{(a + 1) % groups}",
            f"sum{a} / count{a}",
        ][i % 4]
    attributes = {
        "y": {"role": "protect", "domain": {"lower": 0, "upper": 100}},
        "z": {"role": "protect", "domain": {"lower": 0, "upper": 1000}},
        "cell": {"role": "keep"},
    }
    return {
        "schema": {"attributes": attributes},
        "records": 50_000,
        "neighbours": "replace-one",
        "budget": {"epsilon": 4},
        "statistics": statistics,
        "equations": formulas,
    }
