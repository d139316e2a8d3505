"""What a release costs the people in it: how much, in which model, for which neighbours and which unit.

Numbers of different kinds do not add. Each conversion below is one line of a table, and errs towards more loss:

    from → to                        ε           ρ          (ε, δ)
    add-remove → the other two       2ε          4ρ         2ε, (1+e^ε)δ
    exchange → the other two         same        same       same
    replace-one → the other two      none        none       none
    row → unit of at most c rows     cε          c²ρ        cε, δ(e^{cε}-1)/(e^ε-1)
    unit → a row inside it           same        same       same
    ε → ρ                                        ε²/2
    ρ → (ε, δ)                                              by dp-accounting
    (ε, δ) → ε or ρ                  none        none

Group privacy: Dwork & Roth 2014, Theorem 2.2, and Vadhan 2017, Lemma 2.2; for ρ and ε²/2: Bun & Steinke 2016,
Propositions 27 and 14. Replacing a row is removing one and adding one, so add-remove counts as a group of two. A promise for
tables of equal size (replace-one) says nothing about tables of different size. Individual differential privacy
(Soria-Comas et al. 2017) has no group privacy, so none of its values is ever multiplied.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context, Decimal
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from typing import Any

from coterie.errors import LedgerError, MissingExtra, ParameterError
from coterie.schema.exact import as_text, float_up


class LossModel(StrEnum):
    DP = "dp"
    IDP = "idp"  # individual differential privacy
    NONE = "none"  # no proof: ε is what the noise was calibrated for, and adds up to nothing


class NeighbourRelation(StrEnum):
    """Which two tables count as neighbours."""

    REPLACE_ONE = "replace-one"  # one unit's contents are replaced; the number of rows is public
    ADD_REMOVE = "add-remove"  # one unit is added or removed
    EXCHANGE = "exchange"  # one unit is replaced by any other, or by none: contains both


ROW = "row"
TRUNCATE = "truncate"  # of a unit with too many rows some were left out, so the promise holds for every unit


@dataclass(frozen=True, slots=True)
class Loss:
    """ε, or ρ (zero-concentrated), or ε with δ: exact. `status` is that of the statement about `scope`."""

    model: LossModel
    relation: NeighbourRelation
    status: str
    epsilon: Fraction | None = None
    delta: Fraction | None = None
    rho: Fraction | None = None
    unit: str = ROW
    rows_per_unit: int = 1
    policy: str = ""  # what happened to units with more rows: TRUNCATE, or "refuse"
    scope: str = ""

    @classmethod
    def pure(cls, epsilon: Fraction, status: str = "proved") -> Loss:
        """ε-DP under replace-one, one row per person."""
        return cls(LossModel.DP, NeighbourRelation.REPLACE_ONE, status, epsilon)

    def __str__(self) -> str:
        return self.amount(as_text)

    def amount(self, text: Any) -> str:
        """ε, ρ or (ε, δ), each written by `text`."""
        if self.rho is not None:
            return f"ρ {text(self.rho)}"
        if self.epsilon is None:
            return "none"
        return f"ε {text(self.epsilon)}" + ("" if self.delta is None else f", δ {text(self.delta)}")


def under(loss: Loss, relation: NeighbourRelation) -> Loss:
    """The same release, promised for other neighbours."""
    if loss.relation is relation:
        return loss
    if loss.relation is NeighbourRelation.REPLACE_ONE:
        raise LedgerError(
            f"This release is promised under replace-one, and the account counts {relation}.",
            "Where the number of rows is taken as public, nothing is promised about being in the table at all, so "
            "there is no number to count. Choose a release that is proved under "
            f"{relation}, or charge a population whose account counts replace-one.",
        )
    if loss.relation is NeighbourRelation.ADD_REMOVE:
        loss = _multiplied(loss, 2)
    return replace(loss, relation=relation)


def for_unit(loss: Loss, unit: str, rows_per_unit: int) -> Loss:
    """The same release, promised for a unit of at most so many rows; or for a row inside the unit it was proved for."""
    enough = loss.rows_per_unit >= rows_per_unit or loss.policy == TRUNCATE
    if loss.unit == unit and (unit == ROW or enough):
        return loss
    if unit == ROW or rows_per_unit == loss.rows_per_unit == 1:
        return replace(loss, unit=unit, rows_per_unit=rows_per_unit)
    if loss.unit != ROW:
        raise LedgerError(
            f"This release is promised for a {loss.unit} of at most {loss.rows_per_unit} rows, and the account counts "
            f"a {unit} of at most {rows_per_unit}.",
            f"Release with the unit '{unit}', or charge a population whose account counts the unit '{loss.unit}'.",
        )
    return replace(_multiplied(loss, rows_per_unit), unit=unit, rows_per_unit=rows_per_unit)


def epsilon_at(rho: Fraction, delta: Fraction) -> Fraction:
    """The ε that ρ-zCDP gives at δ, never too small: six digits, rounded up."""
    if rho == 0:
        return Fraction(0)
    # Every step below is a few roundings of doubles, some 1e-15 each.
    found = epsilon_of(float_up(rho), -float_up(-delta)) * (1 + 1e-9)
    return Fraction(math.ceil(Fraction(found) * 10**6), 10**6)


def epsilon_of(rho: float, delta: float) -> float:
    """The ε that ρ-zCDP gives at δ (the optimal Rényi conversion, valid for discrete Gaussian noise too)."""
    accounting, rdp = _library()
    accountant = rdp.RdpAccountant(_orders(), accounting.NeighboringRelation.ADD_OR_REMOVE_ONE)
    # ρ-zCDP and a Gaussian with σ = Δ/√(2ρ) have the same Rényi curve ρ·α.
    accountant.compose(accounting.GaussianDpEvent(1.0 / math.sqrt(2.0 * rho)))
    return float(accountant.get_epsilon(delta))


_HALVINGS = 200  # of the interval that ρ lies in
_ROUNDED = 1 + 2e-9  # so that `epsilon_at`, which allows for rounding, comes back to ε with six decimals


@lru_cache(maxsize=128)
def rho_for(epsilon: float, delta: float) -> float:
    """The largest ρ, rounded down, whose conversion stays within (ε, δ)."""
    low, high = 0.0, 1.0
    while epsilon_of(high, delta) < epsilon:
        high *= 2.0
        if high > 1e12:
            raise ParameterError("epsilon is too large to convert.", "Use a budget below 1e6.")
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if epsilon_of(middle, delta) * _ROUNDED <= epsilon:
            low = middle
        else:
            high = middle
        if high - low <= 1e-10 * high:
            break
    if low == 0.0:
        raise ParameterError(
            "epsilon and delta leave nothing: the noise would be wider than any count.",
            "Raise epsilon, or leave delta out.",
        )
    digits = max(0, 9 - math.ceil(math.log10(low)))
    return math.floor(low * 10.0**digits) / 10.0**digits


def _multiplied(loss: Loss, times: int) -> Loss:
    """Group privacy: neighbours that are `times` steps apart."""
    if times == 1:
        return loss
    if loss.model is LossModel.IDP:
        raise LedgerError(
            "Individual differential privacy says nothing about several rows at once.",
            "Where a person has more than one row, or the neighbours differ, choose a method that is proved for "
            "differential privacy.",
        )
    if loss.rho is not None:
        return replace(loss, rho=times**2 * loss.rho)
    assert loss.epsilon is not None
    if loss.delta is None:
        return replace(loss, epsilon=times * loss.epsilon)
    base, delta = exp_up(loss.epsilon), Fraction(0)
    for _ in range(times):  # δ(e^{cε}-1)/(e^ε-1) = δ(1 + e^ε(1 + e^ε(...)))
        delta = _up(base * delta + loss.delta)
        if delta >= 1:
            delta = Fraction(1)
            break
    return replace(loss, epsilon=times * loss.epsilon, delta=delta)


_DIGITS = Context(prec=40, rounding=ROUND_CEILING)


def exp_up(value: Fraction) -> Fraction:
    """A fraction that is not below e^value, and hardly above. (Of large values, e^2000: any δ is above 1 by then.)"""
    exponent = _DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator))
    # Decimal's exp is correctly rounded, to the nearest: the next one up is not below.
    return Fraction(min(exponent, Decimal(2000)).exp(_DIGITS).next_plus(_DIGITS))


def _up(value: Fraction) -> Fraction:
    """A short fraction that is not below the value."""
    context = Context(prec=18, rounding=ROUND_CEILING)
    return Fraction(context.divide(Decimal(value.numerator), Decimal(value.denominator)))


@lru_cache(maxsize=1)
def _orders() -> tuple[float, ...]:
    fine = [1.0 + step / 50.0 for step in range(1, 450)]
    large = [2.0**power for power in (10, 11, 12, 14, 18, 22, 26, 30)]  # the last for ε of a millionth
    return tuple(fine + [float(order) for order in range(10, 512)] + large)


def _library() -> tuple[Any, Any]:
    try:
        import dp_accounting
        from dp_accounting import rdp
    except ImportError:
        raise MissingExtra.named("statistics", "A budget in rho or with delta") from None
    return dp_accounting, rdp
