"""What is said about the error of one target, and how sure that is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from coterie.schema.arrays import Floats

# Evenly spread points for expectations without a closed form.
#
# The same points serve every allocation (common random numbers), so two allocations differ by their
# budgets and not by luck, and the score is a smooth function that a gradient method can follow.
# Several independently scrambled sets give an honest standard error.

SEED = 20020513  # planning never sees data, so a fixed seed discloses nothing and makes plans repeatable
REPLICATES = 16


@lru_cache(maxsize=64)
def points(dimension: int, exponent: int, replicates: int = 1) -> NDArray[np.float64]:
    """replicates × 2^exponent points in (0, 1)^dimension; replicate by replicate."""
    from scipy.stats import qmc  # half a second to load: only those who need it pay

    parts = []
    for replicate in range(replicates):
        engine = qmc.Sobol(dimension, scramble=True, rng=np.random.default_rng([SEED, dimension, replicate]))
        parts.append(engine.random_base2(exponent))
    joined = np.vstack(parts)
    joined = np.asarray(np.clip(joined, 2.0**-40, 1.0 - 2.0**-40), dtype=np.float64)
    joined.setflags(write=False)
    return joined


class Basis(StrEnum):
    """What a predicted error rests on."""

    CLOSED_FORM = "closed form"
    SOBOL = "Sobol"
    SHAPE = "declared shape"  # quantiles: tables drawn from the shape that the specification states
    ASSUMED = (
        "assumption"  # a shape, a size or a value that matters and that the specification does not state
    )


@dataclass(frozen=True, slots=True)
class PredictedError:
    """Expected absolute error with its standard error, the median and the 95 % point.

    The standard error is how far the mean error of many releases of one table may be from `mean`. For quantiles
    most of it is `between_tables`: tables of the same shape differ around the quantile.
    """

    name: str
    mean: float
    standard_error: float
    median: float
    p95: float
    basis: Basis = Basis.CLOSED_FORM
    between_tables: float = 0.0

    @property
    def simulation_error(self) -> float:
        """The part of the standard error that more simulation would take away."""
        return math.sqrt(max(self.standard_error**2 - self.between_tables**2, 0.0))


@dataclass(frozen=True, slots=True)
class Tabled:
    """The tables behind some draws: how many, over the quantiles used; and whether their shapes are declared."""

    most: int
    fewest: int
    declared: bool

    @property
    def basis(self) -> Basis:
        return Basis.SHAPE if self.declared else Basis.ASSUMED

    def spread(self, of_tables: Floats) -> tuple[float, float]:
        """Standard error and spread between tables, from the mean error of each run of draws."""
        between = float(of_tables.std(ddof=1))
        return between * math.sqrt(1.0 + 1.0 / self.fewest), between


def from_draws(name: str, sizes: Floats, tabled: Tabled | None) -> PredictedError:
    """Sizes of the error at all points: runs of equal length belong to one scrambled set, or to one table."""
    median, p95 = (float(q) for q in np.quantile(sizes, (0.5, 0.95)))
    runs = sizes.reshape(REPLICATES if tabled is None else tabled.most, -1).mean(axis=1)
    if tabled is not None:
        error, between = tabled.spread(runs)
        return PredictedError(name, float(runs.mean()), error, median, p95, tabled.basis, between)
    error = float(runs.std(ddof=1) / math.sqrt(REPLICATES))
    return PredictedError(name, float(runs.mean()), error, median, p95, Basis.SOBOL)
