"""The exponential mechanism (Sánchez et al. 2016, Algorithm 2), exact: Pr(a) = exp(-ε m_a / (2s)) / Σ_b exp(-ε m_b / (2s)).

One uniform number U in [0, 1) a cluster decides, by inverting the distribution function. U is drawn lazily:
its first 64 bits and double precision settle almost every cluster, because a bound on all rounding errors
shows on which side of each boundary U lies. Where U is nearer to a boundary than that bound, further bits of
U are drawn and longer arithmetic is used until the side is certain. The chosen category is therefore the one
that exact real arithmetic would choose: no floating-point leak, and no slack in ε.

The bits come from the release's sampler: `secure` for real releases, `seeded` for experiments, in which a
draw is a pure function of (seed, attribute, cluster number).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from coterie.chain.noise.sampler import Sampler
from coterie.errors import ParameterError
from coterie.schema.arrays import Codes, Flags, Floats, Whole, Words


def exponential_mechanism(
    scores: Floats,
    epsilon: Fraction,
    sensitivity: float,
    sampler: Sampler,
    stream: str,
    line: Whole | None = None,
) -> Codes:
    """One category per cluster: row j of `scores` holds m(S_j, a), smaller is better.

    `sensitivity` is s: `cluster_sensitivity` as in the paper, `list_sensitivity` for the proved list.
    Scores and sensitivity mean exactly the doubles they are. `stream` names the attribute. Where clusters
    share scores, `line` says which row is whose. A sampler that gives a row of words per run gets a row of
    categories for each.
    """
    rows, categories = scores.shape
    if categories == 0 or not np.isfinite(scores).all():
        raise ParameterError("The scores are empty or not finite.", "Give one finite score a category.")
    if epsilon <= 0:
        raise ParameterError("epsilon must be greater than 0.", "Write it as a positive decimal.")
    of_cluster = np.arange(rows) if line is None else line
    if categories == 1:
        return np.zeros(len(of_cluster), dtype=np.int32)  # nothing to choose, nothing to tell
    if not (math.isfinite(sensitivity) and sensitivity > 0):
        raise ParameterError("The sensitivity must be positive and finite.", "Compute it from the taxonomy.")
    factor = epsilon / (2 * Fraction(sensitivity))
    first = _words(sampler, len(of_cluster), stream, 0)
    chosen, doubtful = _in_double_precision(scores, of_cluster, float(factor), first)
    for place in zip(*np.nonzero(doubtful), strict=True):
        bits = _bits(sampler, len(of_cluster), stream, place, int(first[place]))
        chosen[place] = _exactly(scores[of_cluster[place[-1]]], factor, bits)
    return chosen


def _in_double_precision(scores: Floats, line: Whole, factor: float, words: Words) -> tuple[Codes, Flags]:
    """The choice, and where rounding might have decided it.

    Row r of the scores has the stretch from r to r + 1: all boundaries make one rising list, in which the U of each cluster
    is looked up at its row + U.

    Errors: with γ = factor·(m_a - min m), three correctly rounded operations give a relative error of
    3·2^-53, so exp(-γ) is off by at most (3γ + 4)·exp(-γ)·2^-53 < 2^-50. A running sum of C of them is off
    by C·2^-50 + C²·2^-53, a boundary by that and 2^-53 for the division; U by 2^-53 for the bits that were cut. The first
    margin is more than the sum of all, eightfold; the second covers two roundings of numbers up to the number of rows.
    """
    rows, categories = scores.shape
    with np.errstate(over="ignore"):  # an exponent beyond all doubles means a weight of 0, as it should
        sums = np.exp(-factor * (scores - scores.min(axis=1, keepdims=True)))
    np.cumsum(sums, axis=1, out=sums)
    # U < 1: nothing lies above the last boundary.
    boundaries = (sums[:, :-1] / sums[:, -1:] + np.arange(rows)[:, None]).ravel()
    target = (words >> np.uint64(11)).astype(np.float64)
    target *= 2.0**-53
    target += line
    passed = np.searchsorted(boundaries, target, side="right")
    margin = categories**2 * 2.0**-45 + (rows + 2) * 2.0**-51
    doubtful = target - boundaries[np.maximum(passed - 1, 0)] <= margin
    doubtful &= passed > 0
    doubtful |= np.abs(boundaries[np.minimum(passed, len(boundaries) - 1)] - target) <= margin
    return (passed - line * (categories - 1)).astype(np.int32), doubtful


def _words(sampler: Sampler, clusters: int, stream: str, depth: int) -> Words:
    """The bits 64·depth … 64·depth+63 of every cluster's U; the name keeps depths and other draws apart."""
    return sampler.uniform_words(clusters, f"{stream}: exponential mechanism, word {depth}")


def _bits(
    sampler: Sampler, clusters: int, stream: str, place: tuple[Any, ...], first: int
) -> Iterator[tuple[int, int]]:
    """U of one cluster as (R, b): R/2^b ≤ U < (R+1)/2^b, ever finer."""
    value, length, depth = first, 64, 0
    while True:
        depth += 1
        value = value << 64 | int(_words(sampler, clusters, stream, depth)[place])
        length += 64
        yield value, length


def _exactly(scores: Floats, factor: Fraction, bits: Iterator[tuple[int, int]]) -> int:
    """The choice by integer arithmetic with an error bound, at growing precision until it is certain."""
    listed = scores.tolist()
    least = Fraction(min(listed))
    exponents = {score: factor * (Fraction(score) - least) for score in set(listed)}  # many are equal
    for value, length in bits:
        weight_of = {score: scaled_exp(exponent, length) for score, exponent in exponents.items()}
        weights = [weight_of[score] for score in listed]
        slack = 2 * len(weights)  # each weight is off by less than 2
        total, running, low, high = sum(weights), 0, 0, 0
        for weight in weights[:-1]:
            running += weight
            # The boundary lies in running ± slack, and U·W in [value, value + 1]·(total ± slack)/2^length.
            low += (running + slack) << length <= value * (total - slack)
            high += (running - slack) << length <= (value + 1) * (total + slack)
        if low == high:
            return low
    raise AssertionError("the stream of bits never ends")


def scaled_exp(exponent: Fraction, bits: int) -> int:
    """exp(-exponent)·2^bits, off by less than 2."""
    if exponent > bits:
        return 0  # below 1 already
    # 2^bits has fewer than bits/3 digits; 20 more swallow the rounding.
    context = Context(prec=bits // 3 + 20)
    gamma = context.divide(Decimal(exponent.numerator), Decimal(exponent.denominator))
    return int(context.multiply(context.exp(-gamma), Decimal(2**bits)))


@dataclass
class LazyUniform:
    """A uniform number in [0, 1) of which as many bits are drawn as questions about it need: `value`/2^`bits` and more.

    Known to begin with zeros, it has more bits than were drawn. `more` gives 64 bits at a time.
    """

    value: int
    bits: int
    more: Iterator[int]

    def extend(self) -> None:
        self.value = self.value << 64 | next(self.more)
        self.bits += 64

    def below(self, other: LazyUniform) -> bool:
        while True:
            bits = max(self.bits, other.bits)
            mine, its = (number.value << bits - number.bits for number in (self, other))
            if mine + (1 << bits - self.bits) <= its:
                return True
            if its + (1 << bits - other.bits) <= mine:
                return False
            min(self, other, key=lambda number: number.bits).extend()

    def below_exp(self, exponent: Fraction) -> bool:
        """Less than exp(-exponent)."""
        while True:
            edge = scaled_exp(exponent, self.bits)  # off by less than 2
            if self.value + 1 <= edge - 2:
                return True
            if self.value >= edge + 2:
                return False
            self.extend()
