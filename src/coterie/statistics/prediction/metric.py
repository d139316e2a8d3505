"""The metric of Nunes 2024 (eq. 5.13): how large the error of each statistic and each equation will be.

A *quantity* is what gets noise; a *target* is what analysts read: a statistic or an equation, as an
expression over quantities. One noise, clamped or not, and sums of noises have closed forms; all else is a
mean over Sobol points. The score is the weighted mean of the targets' errors, each divided by its unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from coterie.schema.arrays import Floats
from coterie.statistics.prediction.noise_model import Family, ScaleLaw, from_uniform
from coterie.statistics.prediction.predicted_error import PredictedError
from coterie.statistics.prediction.rank_law import RankLaw
from coterie.statistics.prediction.target_error import Batch, TargetError, make_batches
from coterie.statistics.specification.equations import Expression


class Summary(StrEnum):
    MEAN = "mean"
    MEDIAN = "median"
    P95 = "p95"


@dataclass(frozen=True, slots=True)
class Quantity:
    """One noisy number: its expected value (never the data's), and how its noise depends on its budget."""

    name: str
    value: float
    family: Family
    law: ScaleLaw | RankLaw
    unstated: tuple[str, ...] = ()  # what its value rests on without anybody having said it

    def draw(self, points: Floats, budget: float) -> tuple[Floats, Floats]:
        """(truth, released) at points of (0, 1), under the noise that is really drawn."""
        if isinstance(self.law, RankLaw):
            return self.law.draw(points, budget)
        truth = np.asarray(self.value)
        return truth, truth + from_uniform(self.family, points, float(self.law.scale(budget)))


@dataclass(frozen=True, slots=True)
class Target:
    """One number that analysts read, and how much its error counts."""

    name: str
    expression: Expression
    weight: float = 1.0
    unit: float = 1.0
    summary: Summary = Summary.MEAN
    tolerance: float | None = None
    is_equation: bool = False


@dataclass(frozen=True)
class Metric:
    """Errors and score of allocations, if the quantities are worth what is expected."""

    quantities: tuple[Quantity, ...]
    targets: tuple[Target, ...]
    _errors: tuple[TargetError, ...] = field(init=False, repr=False, compare=False)
    _batches: tuple[Batch, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        place = {quantity.name: index for index, quantity in enumerate(self.quantities)}
        errors = tuple(TargetError.of(target.expression, place, self.quantities) for target in self.targets)
        object.__setattr__(self, "_errors", errors)
        batches = make_batches(
            [target.expression for target in self.targets],
            [error.inputs for error in errors],
            [error.families for error in errors],
            [target.summary.value for target in self.targets],
        )
        object.__setattr__(self, "_batches", batches)

    @property
    def values(self) -> Floats:
        return np.array([quantity.value for quantity in self.quantities])

    @property
    def _shares(self) -> Floats:
        weights = np.array([target.weight / target.unit for target in self.targets])
        total = sum(target.weight for target in self.targets)
        return weights / total if total > 0 else weights

    def scales(self, budgets: Floats) -> Floats:
        """Noise scales for budgets of shape (…, quantities)."""
        budgets = np.asarray(budgets, dtype=np.float64)
        columns = [quantity.law.scale(budgets[..., i]) for i, quantity in enumerate(self.quantities)]
        return np.stack(columns, axis=-1)

    def truths(self) -> Floats:
        """What each target is worth without noise, at the expected values."""
        return np.array([error.truth for error in self._errors])

    def target_errors(self, budgets: Floats, exponent: int = 11) -> Floats:
        """Each target's error, by its own summary, under the noise of the search (continuous)."""
        return self._evaluate(budgets, exponent, slopes=False)[0]

    def score(self, budgets: Floats, exponent: int = 11) -> float:
        return float(self._shares @ self.target_errors(budgets, exponent))

    def gradient(self, budgets: Floats, exponent: int = 11) -> tuple[Floats, NDArray[np.float64]]:
        """All target errors and their derivatives by budget (targets × quantities)."""
        errors, slopes = self._evaluate(budgets, exponent, slopes=True)
        by_budget = [float(q.law.slope(budget)) for q, budget in zip(self.quantities, budgets, strict=True)]
        return errors, slopes * np.array(by_budget)

    def _evaluate(self, budgets: Floats, exponent: int, slopes: bool) -> tuple[Floats, NDArray[np.float64]]:
        """Errors and their derivatives by scale: closed forms one by one, the rest in batches."""
        scales = self.scales(budgets)
        errors = np.full(len(self.targets), np.nan)
        slope = np.zeros((len(self.targets), len(self.quantities))) if slopes else np.empty((0, 0))
        for index, (error, target) in enumerate(zip(self._errors, self.targets, strict=True)):
            closed = error.closed_slope(scales) if target.summary is Summary.MEAN else None
            if closed is not None:
                errors[index] = closed[0]
                if slopes:
                    slope[index, list(error.inputs)] = closed[1]
        for batch in self._batches:
            targets = np.array(batch.targets)
            members = np.flatnonzero(np.isnan(errors[targets]))
            if len(members):
                chosen = targets[members]
                errors[chosen], parts = batch.errors(members, scales, self.values, exponent, slopes)
                if slopes:
                    slope[chosen[:, None], batch.inputs[members]] = parts
        return errors, slope

    def score_gradient(self, budgets: Floats, exponent: int = 11) -> tuple[float, Floats]:
        errors, slopes = self.gradient(budgets, exponent)
        return float(self._shares @ errors), np.asarray(self._shares @ slopes)

    def predict(self, budgets: Floats, exponent: int = 10) -> tuple[PredictedError, ...]:
        """The full report under the noise that will really be drawn (discrete for counts)."""
        return tuple(
            error.report(target.name, np.asarray(budgets, dtype=np.float64), exponent)
            for error, target in zip(self._errors, self.targets, strict=True)
        )

    def score_of(self, predictions: Sequence[PredictedError]) -> tuple[float, float]:
        """Score and its standard error from a report (errors of different targets add in the worst case)."""
        chosen = [getattr(p, t.summary.value) for p, t in zip(predictions, self.targets, strict=True)]
        spread = [p.simulation_error for p in predictions]  # tables differ alike under every split
        return float(self._shares @ np.array(chosen)), float(self._shares @ np.array(spread))

    @property
    def errors(self) -> tuple[TargetError, ...]:
        """How each target's error comes about."""
        return self._errors

    @property
    def inputs(self) -> tuple[tuple[int, ...], ...]:
        """Which quantities each target depends on."""
        return tuple(error.inputs for error in self._errors)

    @property
    def uses(self) -> tuple[tuple[str, ...], ...]:
        """The names of those quantities."""
        return tuple(tuple(self.quantities[i].name for i in error.inputs) for error in self._errors)

    def scores_of_many(
        self, budgets: Floats, exponent: int = 11, only: frozenset[int] | None = None
    ) -> Floats:
        """Scores of many allocations (allocations × quantities); `only` counts targets of these quantities."""
        scales = self.scales(budgets)
        total = np.zeros(len(scales))
        for share, error, target in zip(self._shares, self._errors, self.targets, strict=True):
            if only is None or only.intersection(error.inputs):
                total += share * error.estimate_many(scales, target.summary, exponent)
        return total
