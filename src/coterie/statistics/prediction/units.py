"""What an error is measured against, so that a count and an income can stand in one score (Nunes 2024, end of §5.3)."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from coterie.statistics.prediction.autodiff import Tape
from coterie.statistics.prediction.derivation import derive
from coterie.statistics.prediction.measurement import Kind
from coterie.statistics.specification.equations import Expression
from coterie.statistics.specification.ranges import Range
from coterie.statistics.specification.specification import (
    Equation,
    RelativeTo,
    Route,
    Specification,
    Statistic,
)

# An equation expected near zero is still measured against this part of the terms it is made of.
_SMALLEST_PART = 0.05


def unit_of_statistic(
    specification: Specification, statistic: Statistic, expected: float, domain: Range
) -> float:
    if specification.relative_to is RelativeTo.NOTHING:
        return 1.0
    if specification.relative_to is RelativeTo.SENSITIVITY:
        return _sensitivity(specification, statistic)
    if statistic.tolerance is not None:
        return statistic.tolerance
    if expected != 0:
        return abs(expected)
    return domain.width if math.isfinite(domain.width) and domain.width > 0 else 1.0


def unit_of_equation(
    specification: Specification, equation: Equation, expression: Expression, expected: Mapping[str, float]
) -> float:
    """The tolerance, or the expected size; or what the equation's own sensitivity would be to first order."""
    if specification.relative_to is RelativeTo.NOTHING:
        return 1.0
    if specification.relative_to is RelativeTo.SCALE and equation.tolerance is not None:
        return equation.tolerance
    tape = Tape.of(expression)
    results = tape.run({name: np.asarray(value) for name, value in expected.items()})
    slopes = tape.gradient(results, np.asarray(1.0))
    if specification.relative_to is RelativeTo.SENSITIVITY:
        parts = [abs(float(s)) * _sensitivity(specification, specification[n]) for n, s in slopes.items()]
        size = sum(parts)
    else:
        terms = sum(abs(float(slope) * expected[name]) for name, slope in slopes.items())
        size = max(abs(float(results[-1])), _SMALLEST_PART * terms)
    return size if size > 0 and math.isfinite(size) else 1.0


def _sensitivity(specification: Specification, statistic: Statistic) -> float:
    measured = derive(specification, statistic, Route.DIRECT).measurements
    if not measured or measured[0].kind is Kind.QUANTILE:
        return 1.0
    return measured[0].bound.nominal(specification.neighbours, measured[0].where.everyone)
