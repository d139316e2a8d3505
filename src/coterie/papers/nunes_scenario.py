"""Nunes 2024, §5.4: the scenario of twelve statistics and two t-tests, Tables 5.1 and 5.2, and the scores.

The order of the budgets is that of the tables: smokers Northwest, Southeast, then non-smokers Northwest,
Southeast; means, counts, standard deviations. It is the only order that gives the paper's numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from coterie.schema.arrays import Floats
from coterie.statistics.allocators import Problem
from coterie.statistics.planning.as_in_paper import leave_one_out
from coterie.statistics.planning.composition import Feasible
from coterie.statistics.prediction.metric import Metric
from coterie.statistics.prediction.noise_model import Family, ScaleLaw
from coterie.statistics.prediction.target_error import Quantity, Target
from coterie.statistics.specification.equations import parse
from coterie.statistics.specification.specification import StatisticKind

TOTAL, FLOOR, STEP = 12.0, 0.5, 0.5
GROUPS = (("yes", "northwest"), ("yes", "southeast"), ("no", "northwest"), ("no", "southeast"))
NAMES = tuple(f"{kind}{group}" for kind in ("mean", "count", "std") for group in range(4))

PUBLISHED_BEST = np.array([1.0, 0.5, 0.5, 0.5, 2.0, 1.5, 2.0, 2.0, 0.5, 0.5, 0.5, 0.5])
PUBLISHED_GEOMETRIC = np.array([1.54, 1.41, 1.3, 1.19, 1.09, 1.0, 0.92, 0.84, 0.77, 0.71, 0.65, 0.59])
PUBLISHED_TAYLOR = np.array([0.08, 0.41, 1.02, 1.70, 2.12, 2.12, 1.76, 1.26, 0.79, 0.44, 0.22, 0.10])
# Nunes 2024, §5.4.3; each is the mean of 1,000 simulations.
PUBLISHED_SCORES = {
    "best": 0.23013823722772533,
    "geometric": 0.3340621832395,
    "geometric rising": 0.373786903904,
    "taylor": 0.452966176473,
    "taylor reversed": 0.4175178039182,
}
# Tables 5.1 (dollars) and 5.2 (scaled); one sensitivity of Table 5.2 is a misprint.
TABLE_5_1 = {
    "mean": (30192.00, 34844.99, 8556.46, 8032.21),
    "mean sensitivity": (523.32, 321.39, 93.66, 104.95),
    "count": (58, 91, 267, 273),
    "std": (11413.82, 11324.76, 6128.55, 6137.32),
    "std sensitivity": (623.37, 361.82, 183.00, 239.24),
}
TABLE_5_2 = {
    "mean": (0.4640, 0.5382, 0.1186, 0.1103),
    "mean sensitivity": (0.0083, 0.0083, 0.0014, 0.0016),
    "count": (58, 91, 267, 273),
    "std": (0.1821, 0.1807, 0.0978, 0.0979),
    "std sensitivity": (0.0099, 0.0057, 0.0029, 0.0038),
}
MISPRINT = ("mean sensitivity", 1)  # Southeast smokers: 0.0083 is printed, the data give 0.0051
T_TESTS = (-2.433664, 0.993141)


@dataclass(frozen=True)
class Scenario:
    """The table computed from the data, and the metric over it."""

    table: Mapping[str, tuple[float, ...]]
    metric: Metric

    @property
    def problem(self) -> Problem:
        return Problem(self.metric, Feasible.sequential(12, TOTAL, FLOOR))


def groups_of(insurance: pa.Table, scaled: bool) -> list[Floats]:
    """Charges of the four groups, in dollars or scaled to [0, 1] by the data's own range, as Nunes 2024 does."""
    charges = insurance["charges"].to_numpy().astype(np.float64)
    if scaled:
        charges = (charges - charges.min()) / (charges.max() - charges.min())
    smoker, region = np.array(insurance["smoker"].to_pylist()), np.array(insurance["region"].to_pylist())
    return [charges[(smoker == s) & (region == r)] for s, r in GROUPS]


def table(insurance: pa.Table, scaled: bool) -> dict[str, tuple[float, ...]]:
    """Table 5.1 or 5.2: sensitivities by leaving one record out."""
    groups = groups_of(insurance, scaled)
    means = [leave_one_out(group, StatisticKind.MEAN) for group in groups]
    spreads = [leave_one_out(group, StatisticKind.STD) for group in groups]
    return {
        "mean": tuple(value for value, _ in means),
        "mean sensitivity": tuple(sensitivity for _, sensitivity in means),
        "count": tuple(float(len(group)) for group in groups),
        "std": tuple(value for value, _ in spreads),
        "std sensitivity": tuple(sensitivity for _, sensitivity in spreads),
    }


def scenario(insurance: pa.Table) -> Scenario:
    """Nunes 2024's metric: the plain mean over twelve statistics and two t-tests of the expected absolute error."""
    content = table(insurance, scaled=True)
    values = (*content["mean"], *content["count"], *content["std"])
    sensitivities = (*content["mean sensitivity"], 1.0, 1.0, 1.0, 1.0, *content["std sensitivity"])
    quantities = tuple(
        Quantity(name, value, Family.LAPLACE, ScaleLaw(sensitivity, 1))
        for name, value, sensitivity in zip(NAMES, values, sensitivities, strict=True)
    )
    tests = [
        Target(f"t{a}{b}", parse(f"(mean{a} - mean{b}) / sqrt(std{a}**2 / count{a} + std{b}**2 / count{b})"))
        for a, b in ((0, 1), (2, 3))
    ]
    return Scenario(content, Metric(quantities, (*(Target(name, parse(name)) for name in NAMES), *tests)))


def published_allocations() -> dict[str, Floats]:
    return {
        "best": PUBLISHED_BEST,
        "uniform": np.ones(12),
        "geometric": PUBLISHED_GEOMETRIC,
        "geometric rising": PUBLISHED_GEOMETRIC[::-1].copy(),
        "taylor": PUBLISHED_TAYLOR,
        "taylor reversed": PUBLISHED_TAYLOR[::-1].copy(),
    }


def exact_scores(chosen: Scenario) -> dict[str, float]:
    """The scores that Nunes 2024 estimates, without its simulation error."""
    return {
        name: chosen.metric.score(budgets, exponent=14) for name, budgets in published_allocations().items()
    }
