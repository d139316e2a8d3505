"""Budgets in one currency: ε for pure DP with Laplace noise, ρ for Gaussian noise; conversions by dp-accounting."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

from coterie.budget import as_text
from coterie.errors import MissingExtra, ParameterError
from coterie.statistics.specification import Budget, Notion

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


def epsilon_of(rho: float, delta: float) -> float:
    """The ε that ρ-zCDP gives at δ (the optimal Rényi conversion, valid for discrete Gaussian noise too)."""
    accounting, rdp = _library()
    accountant = rdp.RdpAccountant(orders=_orders(), neighboring_relation=_any_relation(accounting))
    # ρ-zCDP and a Gaussian with σ = Δ/√(2ρ) have the same Rényi curve ρ·α.
    accountant.compose(accounting.GaussianDpEvent(1.0 / math.sqrt(2.0 * rho)))
    return float(accountant.get_epsilon(delta))


@lru_cache(maxsize=128)
def rho_for(epsilon: float, delta: float) -> float:
    """The largest ρ, rounded down, whose conversion stays within (ε, δ)."""
    low, high = 0.0, 1.0
    while epsilon_of(high, delta) < epsilon:
        high *= 2.0
        if high > 1e12:
            raise ParameterError("epsilon is too large to convert.", "Use a budget below 1e6.")
    for _ in range(60):
        middle = 0.5 * (low + high)
        if middle == 0.0 or epsilon_of(middle, delta) <= epsilon:
            low = middle
        else:
            high = middle
        if high - low <= 1e-10 * high:
            break
    digits = max(0, 9 - math.ceil(math.log10(max(low, 1e-300))))
    return math.floor(low * 10.0**digits) / 10.0**digits


def ledger_epsilon(budget: Budget, delta: Fraction) -> Fraction:
    """What the ledger is charged: ε itself, or the ε of ρ at the ledger's δ, rounded up to six digits."""
    if budget.epsilon is not None:
        return budget.epsilon
    assert budget.rho is not None
    converted = epsilon_of(float(budget.rho), float(delta))
    return Fraction(math.ceil(converted * 10**6), 10**6)


@lru_cache(maxsize=1)
def _orders() -> tuple[float, ...]:
    fine = [1.0 + step / 50.0 for step in range(1, 450)]
    return tuple(
        fine + [float(order) for order in range(10, 512)] + [1024.0, 2048.0, 4096.0, 2.0**14, 2.0**18]
    )


def _any_relation(accounting: Any) -> Any:
    return accounting.NeighboringRelation.ADD_OR_REMOVE_ONE


def _library() -> tuple[Any, Any]:
    try:
        import dp_accounting
        from dp_accounting import rdp
    except ImportError:
        raise MissingExtra.named("statistics", "A budget in rho or with delta") from None
    return dp_accounting, rdp
