"""How far a quantile chosen by the exponential mechanism falls from the table's own, if the shape is as declared.

Given a table the mechanism's law is known exactly: see coterie.statistics.prediction.value_grid for the sets and their
utility. The table is what the plan may not look at, so tables are drawn from the declared shape: the number of records
in each set is multinomial, and the table's own quantile lies where the order statistics of that set lie (a Beta law).
What is reported is the mean over tables and how much tables differ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from coterie.schema.arrays import Floats
from coterie.statistics.prediction.noise_model import SEED
from coterie.statistics.prediction.value_grid import Candidates, distances
from coterie.statistics.specification.shape import ValueShape

MOST_TABLES, FEWEST_TABLES = 64, 8
_ROOM = 2**17  # numbers held for the tables of one quantile
_STEPS = np.geomspace(1e-7, 1e7, 337)  # utility scales at which the search's mean error is tabulated


class Basis(StrEnum):
    """What a predicted error rests on."""

    CLOSED_FORM = "closed form"
    SOBOL = "Sobol"
    SHAPE = "declared shape"  # quantiles: tables drawn from the shape that the specification states
    ASSUMED = "assumption"  # a shape, a size or a value that matters, and that nobody states


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


@dataclass(frozen=True, slots=True)
class Tables:
    """`distances[t, j]`: how far the quantile of table t is from set j, in records; `truth[t]`: the quantile itself."""

    released: Floats
    distances: NDArray[np.float64]
    truth: Floats
    deviations: NDArray[np.float64]  # released − truth, tables × sets
    by_size: NDArray[np.int64]  # the order of |deviations|, all tables together


@dataclass(frozen=True, slots=True)
class RankLaw:
    """The exponential mechanism on the sets of values that `candidates` lists."""

    shape: ValueShape
    size: int
    quantile: float
    candidates: Candidates
    sensitivity: float
    zcdp: bool

    @property
    def power(self) -> int:
        return 2 if self.zcdp else 1

    @property
    def coefficient(self) -> float:
        return float(self.scale(1.0))

    def utility_scale(self, budget: Floats | float) -> Floats | float:
        """s = 2Δu/ε; an ε-DP choice costs ρ = ε²/8, so ε = √(8ρ) under zCDP."""
        epsilon = np.sqrt(8.0 * np.asarray(budget)) if self.zcdp else np.asarray(budget)
        return 2.0 * self.sensitivity / epsilon

    def noise_scale(self, budget: float) -> float:
        return float(self.utility_scale(budget))

    def scale(self, budget: Floats | float) -> Floats | float:
        """The mean error on a table that follows the shape exactly: smooth in the budget, for the search."""
        logs = np.interp(np.log(self.utility_scale(budget)), np.log(_STEPS), _log_errors(self))
        return np.asarray(np.exp(logs))

    def slope(self, budget: Floats | float) -> Floats | float:
        """∂scale/∂budget, over one step of the tabulation."""
        step = 0.02 * np.asarray(budget)
        return (self.scale(budget + step) - self.scale(budget - step)) / (2.0 * step)

    def probabilities(self, budget: float) -> NDArray[np.float64]:
        """The law of the chosen set: tables × sets."""
        utility = -tables(self).distances / float(self.utility_scale(budget))
        weights = np.exp(utility - utility.max(axis=1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def mean_errors(self, budget: float) -> Floats:
        """Mean |chosen − truth| on each table."""
        return np.asarray((self.probabilities(budget) * np.abs(tables(self).deviations)).sum(axis=1))

    def within(self, budget: float, probability: float) -> float:
        """The size that |chosen − truth| stays within, with this probability over tables and choices."""
        found = tables(self)
        upto = np.cumsum(self.probabilities(budget).ravel()[found.by_size])
        place = int(np.searchsorted(upto, probability * upto[-1] * (1 - 1e-12)))
        return float(np.abs(found.deviations.ravel()[found.by_size[place]]))

    @property
    def tabled(self) -> Tabled:
        number = len(tables(self).truth)
        return Tabled(number, number, self.shape.declared)

    def draw(self, points: Floats, budget: float) -> tuple[Floats, Floats]:
        """(truth, chosen) at each point of (0, 1): equal runs of points belong to one table each."""
        found = tables(self)
        upto = np.cumsum(self.probabilities(budget), axis=1)
        runs = points.reshape(len(upto), -1)
        places = [np.searchsorted(row[:-1], run) for row, run in zip(upto, runs, strict=True)]
        return np.repeat(found.truth, runs.shape[1]), found.released[np.concatenate(places)]


@lru_cache(maxsize=256)
def _log_errors(law: RankLaw) -> Floats:
    far = distances(law.size * np.diff(_upto(law)), law.quantile)
    sizes = np.abs(law.candidates.released - law.shape.at(law.quantile))
    weights = np.exp(-(far - far.min())[None, :] / _STEPS[:, None])
    # A chosen gap is off by about a quarter of its width at best, wherever the grid happens to lie.
    means = weights @ sizes / weights.sum(axis=1)
    least = 0.25 * law.candidates.finest or 1e-3 * float(law.candidates.grid.step)
    return np.asarray(np.log(np.maximum(means, least)))


@lru_cache(maxsize=64)
def tables(law: RankLaw) -> Tables:
    """The same tables for every budget, so that two splits differ by their noise only."""
    upto, released = _upto(law), law.candidates.released
    number = MOST_TABLES
    while number > FEWEST_TABLES and number * len(released) > 2 * _ROOM:
        number //= 2
    draw = np.random.Generator(np.random.PCG64([SEED, law.size, law.candidates.cells]))
    counts = draw.multinomial(law.size, np.diff(upto), size=number)
    below = np.concatenate([np.zeros((number, 1)), np.cumsum(counts, axis=1)], axis=1)
    truth = _quantiles(law, upto, counts, below, draw)
    deviations = released[None, :] - truth[:, None]
    far = np.asarray(distances(counts, law.quantile), dtype=np.float64)
    return Tables(released, far, truth, deviations, np.argsort(np.abs(deviations).ravel()))


def _upto(law: RankLaw) -> Floats:
    """The share of records below each set, and at the end 1."""
    points = law.candidates.grid.values(law.candidates.points)
    ends = np.empty(2 * len(points))
    ends[0::2], ends[1::2] = law.shape.below(points), law.shape.upto(points)
    ends[0], ends[-1] = 0.0, 1.0
    starts = ends[:-1][law.candidates.kept]  # what lies between two neighbours counts as the lower one
    return np.append(np.maximum.accumulate(starts), 1.0)


def _quantiles(
    law: RankLaw, upto: Floats, counts: NDArray[np.int64], below: Floats, draw: np.random.Generator
) -> Floats:
    """Each table's own quantile, between two neighbouring records as everybody computes it (type 7)."""
    place = (law.size - 1) * law.quantile
    first = math.floor(place)
    second = min(first + 1, law.size - 1)
    rows = np.arange(len(below))
    cell = (below[:, 1:] <= first).sum(axis=1)
    other = (below[:, 1:] <= second).sum(axis=1)
    rank, members = first - below[rows, cell] + 1.0, counts[rows, cell]
    inside = draw.beta(rank, members - rank + 1.0)
    # The next record: above the first in the same cell, or the smallest of a later one.
    left = np.where(other == cell, members - rank, counts[rows, other])
    start = np.where(other == cell, inside, 0.0)
    after = start + (1.0 - start) * (1.0 - draw.random(len(rows)) ** (1.0 / np.maximum(left, 1.0)))
    if second == first:
        other, after = cell, inside
    lower, upper = (
        law.shape.values(upto[index] + part * (upto[index + 1] - upto[index]))
        for index, part in ((cell, inside), (other, after))
    )
    return np.asarray(lower + (place - first) * (upper - lower))
