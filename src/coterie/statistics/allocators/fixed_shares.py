"""Shares that are fixed beforehand: all alike, by sensitivity, and three series in the order of the statistics.

Uniform is what one does without a plan, and the benchmark of Nunes 2024. In proportion to the sensitivity, every
measurement gets noise of the same size. The series are those of Bai et al. (Nunes 2024, §3.1), calibrated to sum to 1 and
lifted to the acceptable budgets, and the arithmetic progression used for random forests (Nunes 2024, §3.2).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from coterie.schema.arrays import Floats
from coterie.statistics.allocators import Allocator, Problem


def uniform(problem: Problem) -> Floats:
    return problem.feasible.fill(np.ones(problem.feasible.count))


def by_sensitivity(problem: Problem) -> Floats:
    return problem.feasible.fill(problem.coefficients**problem.powers)


def arithmetic(step: int, problem: Problem) -> Floats:
    """n, n − 1, …, 1; with a step of −1 the other way round."""
    return problem.feasible.fill(np.arange(problem.feasible.count, 0, -1.0)[::step])


def series(shares: Callable[[int], Floats], step: int, problem: Problem) -> Floats:
    return problem.acceptable().fill(shares(problem.feasible.count)[::step])


def geometric(count: int) -> Floats:
    """k_i = (1 − r)·r^(i−1) with r = (n − 1)/n, calibrated; with one query there is nothing to split."""
    ratio = (count - 1) / count
    terms = ratio ** np.arange(count) if count > 1 else np.ones(1)
    return np.asarray(terms / terms.sum())


def taylor(count: int) -> Floats:
    """k_i = t·(ln 1/t)^(i−1)/(i−1)! with t = e^(1−⌈n/2⌉): Poisson weights, in logarithms for long lists.

    Nunes 2024 prints (i − 1) without the factorial; only with it do the terms add up to 1 and give its own numbers.
    """
    from scipy.special import gammaln  # slow to load: paid by those who use it

    rate = max(math.ceil(count / 2) - 1, 1e-9)
    steps = np.arange(count)
    logs = steps * math.log(rate) - gammaln(steps + 1.0)
    terms = np.exp(logs - logs.max())
    return np.asarray(terms / terms.sum())


_BAI, _FORESTS = "Bai et al.; Nunes 2024, §3.1", "Nunes 2024, §3.2"
ALLOCATORS = (
    Allocator("uniform", "the same for all", "Nunes 2024, §5.4", uniform, 10),
    Allocator("sensitivity", "in proportion to the sensitivity", "common practice", by_sensitivity, 15),
    Allocator("geometric", "geometric series, falling", _BAI, partial(series, geometric, 1), 20),
    Allocator("geometric-rising", "geometric series, rising", _BAI, partial(series, geometric, -1), 21),
    Allocator("taylor", "Taylor series", _BAI, partial(series, taylor, 1), 22),
    Allocator("taylor-reversed", "Taylor series, reversed", _BAI, partial(series, taylor, -1), 23),
    Allocator("arithmetic", "arithmetic progression, falling", _FORESTS, partial(arithmetic, 1), 24),
    Allocator("arithmetic-rising", "arithmetic progression, rising", _FORESTS, partial(arithmetic, -1), 25),
)
