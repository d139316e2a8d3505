"""Taylor series (Bai et al., in Nunes 2024, §3.1): k_i = t·(ln 1/t)^(i−1)/(i−1)! with t = e^(1−⌈n/2⌉), calibrated.

Nunes 2024 prints (i − 1) without the factorial; only with it do the terms add up to 1 and give Nunes 2024's own numbers.
"""

from __future__ import annotations

import math

import numpy as np

from coterie.schema.arrays import Floats
from coterie.statistics.allocators.allocator import Allocator, Problem


def shares(count: int) -> Floats:
    """The calibrated shares; Poisson weights with mean ⌈n/2⌉ − 1, in logarithms for long lists."""
    from scipy.special import gammaln  # slow to load: paid by those who use it

    rate = max(math.ceil(count / 2) - 1, 1e-9)
    steps = np.arange(count)
    logs = steps * math.log(rate) - gammaln(steps + 1.0)
    terms = np.exp(logs - logs.max())
    return np.asarray(terms / terms.sum())


def falling(problem: Problem) -> Floats:
    return problem.acceptable().fill(shares(problem.feasible.count))


def rising(problem: Problem) -> Floats:
    return problem.acceptable().fill(shares(problem.feasible.count)[::-1])


ALLOCATORS = (
    Allocator("taylor", "Taylor series", "Bai et al.; Nunes 2024, §3.1", falling, order=22),
    Allocator("taylor-reversed", "Taylor series, reversed", "Bai et al.; Nunes 2024, §3.1", rising, order=23),
)
