"""ε of every attribute in each cell, worked out once for all methods and k that split it alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from coterie.budget import split
from coterie.methods.recipe import Method


@dataclass(frozen=True)
class Shares:
    """ε of every attribute, exactly and as the nearest doubles."""

    exact: Mapping[str, Fraction]

    @cached_property
    def doubles(self) -> dict[str, float]:
        return {name: float(share) for name, share in self.exact.items()}


@dataclass(frozen=True)
class ShareOut:
    """As `release.shares_of` for the attributes; the rest of ε goes to the dependence between them."""

    weights: Mapping[str, Fraction]
    _known: dict[tuple[int, int, bool], Shares] = field(default_factory=dict)

    def __call__(self, epsilon: Fraction, method: Method) -> Shares:
        """The same object for methods that share ε out alike."""
        total = epsilon - method.dependence(epsilon, len(self.weights)) if method.synthesis else epsilon
        key = (*total.as_integer_ratio(), method.splits_budget)  # hashing a fraction takes a modular power
        if key not in self._known:
            whole = (
                split(total, self.weights) if method.splits_budget else dict.fromkeys(self.weights, epsilon)
            )
            self._known[key] = Shares(whole)
        return self._known[key]
