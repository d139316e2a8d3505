"""Counts of every possible value + Laplace(2/ε_a): for labels, and for numbers that can take few values.

Replacing one record takes one from one count and adds one to another: L1 sensitivity 2, exactly, because counts are
whole numbers. The order of values is public.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Any, ClassVar

import numpy as np

from coterie.chain.mechanism.listed import SortedCentroids
from coterie.chain.mechanism.mechanism import Described, Mechanism
from coterie.chain.noise.grid import whole_grid
from coterie.chain.noise.sampler import Sampler, laplace_scales
from coterie.chain.partition.clustering import Clustering
from coterie.chain.synthesis.marginal import Marginal, Steps, onto_counts
from coterie.table.columns.column import CategoryColumn, Floats, NumericColumn


@dataclass(frozen=True, slots=True)
class Counts:
    """How many records hold each possible value, in public order."""

    values: Any  # numbers, or codes of labels
    counts: Floats
    records: int


@dataclass(frozen=True, slots=True)
class CountedLabels(Mechanism):
    stages: str = "count of every label · Laplace, scale 2 / ε · nearest counts"
    many_runs: ClassVar[bool] = True

    def reach(self, records: int, k: int) -> Fraction:
        return Fraction(2, records)

    def centroids(self, column: CategoryColumn, clustering: Clustering) -> Counts:
        counts = np.bincount(column.position.astype(np.int64), minlength=len(column.order))
        return Counts(column.order, counts.astype(np.float64), len(column.codes))

    def sensitivity(self, column: Any, centroids: Counts, k: int) -> Floats:
        return np.full(len(centroids.counts), 2.0)

    def noise(
        self, column: Any, centroids: Counts, sensitivity: Floats, epsilon: Fraction, sampler: Sampler
    ) -> Marginal:
        return noisy_counts(column.attribute.name, centroids, sensitivity, epsilon, sampler)


@dataclass(frozen=True, slots=True)
class CountedOrSorted(Mechanism):
    """Numbers: counted where at most √n values are possible, else the smoothed sorted list. The choice is public."""

    listed: SortedCentroids
    many_runs: ClassVar[bool] = True

    @property
    def stages(self) -> str:
        return f"{self.listed.stages} (up to √n possible values: counted, Laplace, scale 2 / ε)"

    def reach(self, records: int, k: int) -> Fraction:
        """Of counts, or of a list that is smoothed over all its groups."""
        return Fraction(2, records)

    def centroids(self, column: NumericColumn, clustering: Clustering) -> Any:
        values = few_values(column)
        if values is None:
            return self.listed.centroids(column, clustering)
        cell = np.rint((column.values - column.domain.lower) / (column.step or 1.0)).astype(np.int64)
        counts = np.bincount(np.clip(cell, 0, len(values) - 1), minlength=len(values))
        return Counts(values, counts.astype(np.float64), len(cell))

    def sensitivity(self, column: NumericColumn, centroids: Any, k: int) -> Floats:
        if isinstance(centroids, Counts):
            return np.full(len(centroids.counts), 2.0)
        return self.listed.sensitivity(column, centroids, k)

    def noise(
        self, column: NumericColumn, centroids: Any, sensitivity: Floats, epsilon: Fraction, sampler: Sampler
    ) -> Marginal:
        if isinstance(centroids, Counts):
            return noisy_counts(column.attribute.name, centroids, sensitivity, epsilon, sampler)
        return self.listed.noise(column, centroids, sensitivity, epsilon, sampler)


def few_values(column: NumericColumn) -> Floats | None:
    """All values of the domain if there are at most √n: of n, the step and the bounds alone."""
    if column.step is None:
        return None
    steps = (column.domain.upper - column.domain.lower) / column.step
    if steps + 1 > isqrt(len(column.values)):
        return None
    return np.asarray(column.domain.lower + column.step * np.arange(int(np.floor(steps)) + 1))


def noisy_counts(
    stream: str, counted: Counts, sensitivity: Floats, epsilon: Fraction, sampler: Sampler
) -> Steps:
    """Noise on every count, those that are 0 too; then the nearest counts that are positive and add up to n."""
    scales = laplace_scales(sensitivity, epsilon)
    grid = whole_grid(counted.records, float(scales.max())) if sampler.private else None
    noisy = sampler.laplace(counted.counts, scales, stream, grid)
    total = float(counted.records)
    if noisy.ndim == 1:
        return Steps(counted.values, onto_counts(noisy, total))
    return Steps(counted.values, np.stack([onto_counts(row, total) for row in noisy]))  # a row a run


@dataclass(frozen=True, slots=True)
class CountedCells(Described):
    """Described only: a method that models the whole table reads the counts of all attributes through one account."""

    read: str

    @property
    def stages(self) -> str:
        return f"{self.read} · discrete Laplace or Gaussian noise · nearest counts"

    def reach(self, records: int, k: int) -> Fraction:
        """Noise on the share of one cell; half of the budget goes to distributions."""
        return Fraction(2, records)
