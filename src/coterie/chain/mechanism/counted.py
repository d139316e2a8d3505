"""Counts of public cells: how methods that model the whole table describe what they read of one attribute."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from coterie.chain.mechanism.mechanism import Described


@dataclass(frozen=True, slots=True)
class CountedCells(Described):
    """Described only: the counts of all attributes are read through one account (coterie.chain.synthesis.accountant)."""

    read: str

    @property
    def stages(self) -> str:
        return f"{self.read} · discrete Laplace or Gaussian noise · nearest counts"

    def reach(self, records: int, k: int) -> Fraction:
        """Noise on the share of one cell."""
        return Fraction(2, records)
