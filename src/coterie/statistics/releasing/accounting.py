"""Budgets in one currency: ε for pure DP with Laplace noise, ρ for Gaussian noise; conversions by dp-accounting."""

from __future__ import annotations

import math
from fractions import Fraction

from coterie.methods.guarantee import Status
from coterie.promise.loss import Loss, LossModel, NeighbourRelation, rho_for
from coterie.schema.exact import as_text
from coterie.statistics.specification.specification import Budget, Notion, Specification

DANGEROUS = 10.0  # ε above which the promise is empty
LARGE_DELTA = Fraction(1, 1000)


def currency(budget: Budget) -> str:
    return "ε" if budget.notion is Notion.PURE else "ρ"


def total_in_currency(budget: Budget) -> Fraction:
    """What may be split: ε, ρ, or the largest ρ whose zCDP guarantee implies (ε, δ)."""
    if budget.notion is Notion.PURE:
        assert budget.epsilon is not None
        return budget.epsilon
    if budget.notion is Notion.ZCDP:
        assert budget.rho is not None
        return budget.rho
    assert budget.epsilon is not None
    assert budget.delta is not None
    return Fraction(str(rho_for(float(budget.epsilon), float(budget.delta))))


def budget_warnings(budget: Budget) -> list[str]:
    """Budgets that hide nobody, and failure probabilities that are no longer small."""
    warnings = []
    rho = None if budget.rho is None else float(budget.rho)
    epsilon = float(budget.epsilon or 0) if rho is None else rho + 2.0 * math.sqrt(rho * math.log(1e9))
    if epsilon > DANGEROUS:
        sure = 1.0 / (1.0 + math.exp(-min(epsilon, 700.0)))
        warnings.append(
            f"Dangerous budget: {budget} is above ε = {DANGEROUS:g}. Someone 50 % sure of a record before may be more than "
            f"{math.floor(1000 * min(sure, 0.9999)) / 10:g} % sure after; do not call these statistics private."
        )
    if budget.delta is not None and budget.delta > LARGE_DELTA:
        warnings.append(
            f"Dangerous delta: {as_text(budget.delta)} is above {as_text(LARGE_DELTA)}. With a δ of 1/records or more a "
            "whole record may be published; keep it far below."
        )
    return warnings


def loss_of(specification: Specification, status: Status) -> Loss:
    """What a ledger is charged: the budget as it is, for the neighbours of the specification.

    A release that has no proof is noted with its budget, and counts for nothing.
    """
    budget = specification.budget
    return Loss(
        LossModel.DP if status.proof else LossModel.NONE,
        NeighbourRelation(specification.neighbours.value),
        status,
        budget.epsilon,
        budget.delta,
        budget.rho,
        scope="all released statistics",
    )
