"""What a reader of a release should know beside its figures: said from public numbers alone, before any data are read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from coterie.errors import shortened
from coterie.schema.exact import as_text, number
from coterie.schema.unit import Above
from coterie.statistics.planning.design import Design
from coterie.statistics.prediction.derivation import domain_of, spread_warnings, weight_warnings
from coterie.statistics.prediction.measurement import Kind
from coterie.statistics.prediction.target_error import PredictedError
from coterie.statistics.releasing.measuring import threshold_of
from coterie.statistics.specification.checking import unchecked_columns
from coterie.statistics.specification.expectations import Expectations
from coterie.statistics.specification.specification import PrivacyBudget, StatisticKind

DANGEROUS = 10.0  # ε above which the promise is empty
LARGE_DELTA = Fraction(1, 1000)
LITTLE = 0.5  # of the expected size: an error above leaves little of a figure


def warnings_on(design: Design, errors: Sequence[PredictedError]) -> tuple[str, ...]:
    """What also a reader of the release should know."""
    specification = design.specification
    unit = specification.schema.unit
    warnings = [
        *design.warnings,
        *spread_warnings(specification),
        *weight_warnings(specification),
        *budget_warnings(specification.budget),
        *_said(
            _useless(design, errors),
            "Useless at this budget: {}. The error is as large as a guess within the range would have, or above half of the "
            "expected value, so the released figure tells hardly more. Raise the budget, or publish fewer statistics.",
        ),
        *_said(
            _missed(design, errors),
            "The tolerance of {} is not met at this budget. `--solve epsilon` finds the smallest one that meets all.",
        ),
        *_said(
            _guessed(design),
            "Nothing is said of the means and spreads behind {}: the predicted error may be many times too small, and the "
            "split rests on it. State about: {size: …, mean: [y, x], std: [y, x]}.",
        ),
    ]
    if unit is not None and unit.above is Above.TRUNCATE:
        warnings.append(
            f"Of a {unit.word} with more than {unit.at_most} records, {unit.at_most} count: figures are about these, and "
            "are smaller than those of the whole table."
        )
    if specification.size is None and specification.records is not None:
        warnings.append(
            f"Under {specification.neighbours} neighbours the number of records is private: `records` is used for planning "
            "only, and no released figure is fitted to it. Write a public estimate there, not the true number."
        )
    unchecked = unchecked_columns(specification)
    if unchecked:
        warnings.append(
            f"The schema declares no labels for {', '.join(unchecked)}: a misspelt value in a filter would find "
            "nobody, and its noise would be published as a result. Write categories: {labels: […]} to have "
            "the values checked."
        )
    quantiles = [s for s in specification.statistics if s.kind is StatisticKind.QUANTILE]
    warnings += _said(
        [s.name for s in quantiles if s.shape is None],
        "No `shape` is declared for {}: errors and intervals rest on an assumed one (a normal of the expected std, else "
        "values spread evenly on either side of the expected quantile). Where values lie twice as dense the error is about "
        "half as large, and the other way round.",
    )
    return tuple(warnings)


def _said(names: list[str], words: str) -> list[str]:
    """The sentence with the names in it, if there are any."""
    return [words.replace("{}", shortened(names, 6))] if names else []


def threshold_words(design: Design, budgets: Sequence[Fraction]) -> list[str]:
    """Which private keys the release shows."""
    specification, delta = design.specification, design.specification.budget.key_delta
    return [
        f"{m.name}: a key is shown if its noisy count is {threshold_of(budget, specification).least} or more. A key of one "
        f"record is shown with probability {number(delta, 2)} at most, as part of δ. How many are not shown is not told."
        for m, budget in zip(design.measurements, budgets, strict=True)
        if m.kind is Kind.KEYS
    ]


def budget_warnings(budget: PrivacyBudget) -> list[str]:
    """Budgets that hide nobody, and failure probabilities that are no longer small."""
    warnings = []
    rho = None if budget.rho is None else float(budget.rho)
    epsilon = float(budget.epsilon or 0) if rho is None else rho + 2.0 * math.sqrt(rho * math.log(1e9))
    if epsilon > DANGEROUS:
        sure = 1.0 / (1.0 + math.exp(-min(epsilon, 700.0)))
        warnings.append(
            f"Dangerous budget: {budget} is above ε = {number(DANGEROUS)}. Someone 50 % sure of a record before may be "
            f"more than {number(math.floor(1000 * min(sure, 0.9999)) / 10, 4)} % sure after; do not call these "
            "statistics private."
        )
    if budget.delta is not None and budget.delta > LARGE_DELTA:
        warnings.append(
            f"Dangerous delta: {as_text(budget.delta)} is above {as_text(LARGE_DELTA)}. With a δ of 1/records or more a "
            "whole record may be published; keep it far below."
        )
    return warnings


def _useless(design: Design, errors: Sequence[PredictedError]) -> list[str]:
    """Statistics whose released value will tell no more than a guess: within their range, or at their expected size."""
    expected = Expectations.of(design.specification)
    found = {error.name: error.mean for error in errors}
    names = []
    for statistic in design.specification.statistics:
        width = domain_of(design.specification, statistic).width
        # The middle of a range is off by a quarter of its width on average, without any data.
        guess = width / 4 if math.isfinite(width) else LITTLE * abs(expected.statistic(statistic))
        if found.get(statistic.name, 0.0) >= guess > 0:
            names.append(statistic.name)
    return names


def _missed(design: Design, errors: Sequence[PredictedError]) -> list[str]:
    """Tolerances that this plan does not keep."""
    return [
        target.name
        for target, error in zip(design.metric.targets, errors, strict=True)
        if target.tolerance is not None and getattr(error, target.summary.value) > target.tolerance * 1.01
    ]


def _guessed(design: Design) -> list[str]:
    """Errors of covariances and what is made of them depend on means and spreads: an assumed one may be far off."""
    assumed = {quantity.name for quantity in design.metric.quantities if quantity.unstated}
    kinds = {s.name: s.kind for s in design.specification.statistics if s.kind.of_two_columns}
    return [e.target.name for e in design.metric.errors if e.target.name in kinds and assumed & set(e.names)]
