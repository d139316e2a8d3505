"""What one population has spent and holds: exact, in whole numbers over one common denominator.

A ledger is added up anew at each opening, and Python adds fractions some ten times more slowly than integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm


@dataclass(frozen=True)
class Balance:
    """A population's account: `held` is reserved by releases that are being computed now."""

    population: str
    lifetime: Fraction
    spent: Fraction
    held: Fraction

    @property
    def remaining(self) -> Fraction:
        return self.lifetime - self.spent - self.held


class Account:
    """Amounts are multiples of 1/`_parts`; an ε that needs finer parts makes them finer for all."""

    __slots__ = ("_held", "_limit", "_parts", "_spent")

    def __init__(self, lifetime: Fraction) -> None:
        self._parts = lifetime.denominator
        self._limit = lifetime.numerator
        self._spent = self._held = 0

    def hold(self, epsilon: Fraction) -> None:
        amount = self._whole(epsilon)
        if self._spent + self._held + amount > self._limit:
            raise ValueError  # an overspent ledger: no Coterie has written this
        self._held += amount

    def spend(self, epsilon: Fraction) -> None:
        """What was held is charged."""
        amount = self._whole(epsilon)
        self._held -= amount
        self._spent += amount

    def give_back(self, epsilon: Fraction) -> None:
        amount = self._whole(epsilon)  # first: it may change the parts that `_held` counts
        self._held -= amount

    def balance(self, population: str) -> Balance:
        lifetime, spent, held = (
            Fraction(amount, self._parts) for amount in (self._limit, self._spent, self._held)
        )
        return Balance(population, lifetime, spent, held)

    def _whole(self, epsilon: Fraction) -> int:
        denominator = epsilon.denominator
        if self._parts % denominator:
            finer = lcm(self._parts, denominator) // self._parts
            self._parts *= finer
            self._limit *= finer
            self._spent *= finer
            self._held *= finer
        return epsilon.numerator * (self._parts // denominator)
