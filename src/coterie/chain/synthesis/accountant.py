"""The only way from the data to a synthetic release: three noisy readings, each paid for before it is drawn.

The whole is ε (discrete Laplace) or ρ (discrete Gaussian, zero-concentrated DP). A reading names the part of it that it
costs, an exact fraction; parts never add up to more than 1, and nothing comes back once it was drawn. A part may follow from
earlier noisy answers, never from the data: pure ε and ρ both allow that (docs/guarantees/dp-synthetic, "the filter").

Sensitivities are those of replacing one unit of up to `rows` records: a histogram moves by 2·rows in L1 and √2·rows in L2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction

import numpy as np

from coterie.chain.noise.discrete_gaussian import whole_gaussian
from coterie.chain.noise.exponential import exponential_mechanism
from coterie.chain.noise.sampler import Sampler, laplace_scales, whole_grid
from coterie.errors import ParameterError
from coterie.schema.arrays import Floats, Whole

_FARTHEST = 2**53  # no reading is larger, and doubles hold whole numbers up to it
_ROOT_DIGITS = 40  # binary digits of a square root that is rounded down


class Currency(StrEnum):
    EPSILON = "epsilon"  # pure ε-DP
    RHO = "rho"  # zero-concentrated DP


@dataclass(frozen=True, slots=True)
class Spending:
    """One entry of the account: what was read, and the part of the whole that it cost."""

    what: str
    part: Fraction


@dataclass(frozen=True, slots=True)
class Reading:
    """Noisy numbers, and the standard deviation of the noise on each."""

    values: Floats
    deviation: float


@dataclass(slots=True)
class Accountant:
    whole: Fraction  # ε or ρ
    currency: Currency
    sampler: Sampler
    rows: int = 1  # of one unit, at most
    spent: list[Spending] = field(default_factory=list)

    @property
    def left(self) -> Fraction:
        return 1 - sum((entry.part for entry in self.spent), Fraction(0))

    def noisy_histogram(self, counts: Sequence[int] | Whole, part: Fraction, what: str) -> Reading:
        """Counts of disjoint cells: one record adds 1 to one of them."""
        return self._noisy(np.asarray(counts, dtype=np.int64), 2, 2, part, what)

    def noisy_vector(self, values: Whole, l1: int, l2_squared: int, part: Fraction, what: str) -> Reading:
        """Whole numbers that replacing one *record* moves by at most `l1` in L1 and √`l2_squared` in L2."""
        return self._noisy(np.asarray(values, dtype=np.int64), l1, l2_squared, part, what)

    def noisy_choice(self, scores: Sequence[int] | Whole, sensitivity: int, part: Fraction, what: str) -> int:
        """The place of a large score, by the exponential mechanism; one replaced *record* moves a score by `sensitivity`."""
        cost = self._charge(part, what)
        # The exponential mechanism with ε costs ε, or ε²/8 of ρ (Cesar & Rogers 2021, Lemma 3.4).
        epsilon = cost if self.currency is Currency.EPSILON else root_below(8 * cost)
        losses = -np.asarray(scores, dtype=np.float64)[None, :]
        reach = float(self.rows * sensitivity)
        return int(exponential_mechanism(losses, epsilon, reach, self.sampler, what)[0])

    def deviation(self, part: Fraction | float, l1: float = 2.0, l2_squared: float = 2.0) -> float:
        """What the noise of a histogram would be for that part: plans ask, nothing is charged."""
        if part <= 0:
            return math.inf
        cost = float(part) * float(self.whole)
        if self.currency is Currency.EPSILON:
            return math.sqrt(2) * self.rows * l1 / cost
        return self.rows * math.sqrt(l2_squared / (2 * cost))

    def _noisy(self, exact: Whole, l1: int, l2_squared: int, part: Fraction, what: str) -> Reading:
        cost = self._charge(part, what)
        if self.currency is Currency.RHO:
            variance = Fraction(self.rows**2 * l2_squared) / (2 * cost)
            noise = whole_gaussian(exact.size, variance, self.sampler, what).reshape(exact.shape)
            return Reading((exact + noise).astype(np.float64), math.sqrt(variance))
        scales = laplace_scales(np.full(exact.size, float(self.rows * l1)), cost)
        grid = whole_grid(_FARTHEST, float(scales[0])) if self.sampler.private else None
        noisy = self.sampler.laplace(exact.ravel().astype(np.float64), scales, what, grid)
        return Reading(noisy.reshape(exact.shape), math.sqrt(2) * float(scales[0]))

    def _charge(self, part: Fraction, what: str) -> Fraction:
        if any(entry.what == what for entry in self.spent):
            raise ParameterError(
                f"'{what}' was read already.", "Name each reading once: noise must be fresh."
            )
        if part <= 0 or part > self.left:
            raise ParameterError(
                f"Reading '{what}' would cost more than is left of the budget.",
                "The parts of a plan add up to at most 1.",
            )
        self.spent.append(Spending(what, part))
        return part * self.whole


def root_below(value: Fraction) -> Fraction:
    """√value, rounded down."""
    scaled = value * 4**_ROOT_DIGITS
    return Fraction(math.isqrt(scaled.numerator // scaled.denominator), 2**_ROOT_DIGITS)
