"""Groups whose names are private: which noisy counts may be shown, and what a shown one says about the true count.

A key that only one record has must not be seen. Every key that occurs gets a count with discrete Gaussian noise N, and is
shown if the noisy count reaches τ: the smallest whole number with Pr(1 + N ≥ τ) ≤ δ.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import cached_property, lru_cache

from coterie.errors import ParameterError

_EXACT = Context(prec=100)
_NEGLIGIBLE = Decimal(10) ** -330  # of the weight of 0: beyond it no double can hold a tail
_SURE = _EXACT.add(Decimal(1), Decimal(10) ** -60)  # far more than all roundings in 100 digits together
MOST_STEPS = 2_000_000


@dataclass(frozen=True)
class KeyThreshold:
    """Noise of this variance on each key's count; δ is what one record's own key may be seen with."""

    variance: Fraction
    delta: Fraction

    @cached_property
    def least(self) -> int:
        """τ."""
        tails, limit = self._tails, _decimal(self.delta)
        # Tails fall, so the first that is small enough is found by halving. A count of 1 needs noise of τ − 1.
        return 1 + bisect.bisect_left(
            range(len(tails)), True, key=lambda t: _EXACT.multiply(tails[t], _SURE) <= limit
        )

    def seen(self, count: int, least: int | None = None) -> Decimal:
        """Pr(count + N ≥ τ), to about 60 digits."""
        return self._above((self.least if least is None else least) - count)

    def interval(self, noisy: int, level: float) -> tuple[int, int]:
        """The true counts that a key shown with this noisy count may have; right for shown keys, not only for all.

        Shown are counts of τ and more, so the noise of a shown count has the law of N given that count + N ≥ τ. An end
        is the last count under which a noisy count so far off has more than half of 1 − level.
        """
        tail = (1 - level) / 2

        def below(count: int) -> bool:  # is so small a count excluded?
            return float(self._above(noisy - count) / self._above(self.least - count)) <= tail

        def above(count: int) -> bool:
            seen = self._above(self.least - count)
            return float((seen - self._above(noisy + 1 - count)) / seen) <= tail

        reach = len(self._tails)
        lower = 1 + bisect.bisect_left(range(1, noisy + 1), True, key=lambda c: not below(c))
        upper = noisy + bisect.bisect_left(range(noisy, noisy + reach), True, key=above) - 1
        return min(lower, noisy), max(upper, noisy)

    @cached_property
    def _tails(self) -> list[Decimal]:
        """Pr(N ≥ t) for t = 0, 1, … Weights exp(−t²/2σ²) are made by multiplication: ratios q^(2t+1), q = exp(−1/2σ²)."""
        with localcontext(_EXACT):
            root = (-1 / (2 * _decimal(self.variance))).exp()
            weights: list[Decimal] = []
            weight, ratio = Decimal(1), root
            while weight > _NEGLIGIBLE:
                if len(weights) == MOST_STEPS:
                    raise ParameterError(
                        "A count by private keys has almost no budget: no key would ever be shown.",
                        "Raise the budget, or its `weight`.",
                    )
                weights.append(weight)
                weight, ratio = weight * ratio, ratio * root * root
            suffix, tails = Decimal(0), []
            for weight in reversed(weights):
                suffix += weight
                tails.append(suffix)
            whole = 2 * suffix - 1  # both sides, and 0 once
            return [tail / whole for tail in reversed(tails)]

    def _above(self, least: int) -> Decimal:
        if least <= 0:  # N and −N have the same law
            return _EXACT.subtract(Decimal(1), self._above(1 - least))
        return self._tails[least] if least < len(self._tails) else Decimal(0)


@lru_cache(maxsize=64)
def key_threshold(variance: Fraction, delta: Fraction) -> KeyThreshold:
    return KeyThreshold(variance, delta)


def _decimal(value: Fraction) -> Decimal:
    return _EXACT.divide(Decimal(value.numerator), Decimal(value.denominator))
