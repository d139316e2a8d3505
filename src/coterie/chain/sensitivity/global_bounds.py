"""Bounds on how far one record moves centroids, from the declared domain alone. Each cites its proposition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from coterie.chain.partition.clustering import Summary
from coterie.schema.arrays import Floats
from coterie.schema.attributes import Domain
from coterie.schema.exact import float_up, quotient_up

# The frozen value a recipe names: a bound, what it is called, and how many order statistics it reads.


@dataclass(frozen=True, slots=True)
class Bound:
    formula: str
    citation: str
    depth: int
    compute: Callable[[Summary, Domain, int], Floats]
    # n, k → scale times ε in units of the domain's width: at least so wide, whatever the data. None: it may be 0.
    reach: Callable[[int, int], Fraction] | None = None
    needs_all_clusters: bool = False  # it adds up over clusters: a piece of them would give too small a bound
    # How many times ε_a the worst neighbour costs, where the bound covers each cluster by itself.
    multiplier: Callable[[Summary], float] | None = None


# Δ/k: how far one replacement moves the whole list of centroids (Sánchez et al. 2016, Lemma 1).
#
# Clusters hold consecutive sorted values. Moving one record shifts each cluster between its old and its new place by one
# neighbouring value; the shifts telescope to |x' - x| ≤ Δ, and every cluster has at least k members.


def _compute(summary: Summary, domain: Domain, k: int) -> Floats:
    numerator, denominator = domain.width.as_integer_ratio()
    return np.full(len(summary.size), quotient_up(numerator, denominator * k))


DOMAIN_OVER_K = Bound(
    formula="Δ/k",
    citation="Sánchez et al. 2016, Lemma 1",
    depth=0,
    compute=_compute,
    reach=lambda n, k: Fraction(1, k),
)


# (n/k)·Δ/k: every centroid may move by Δ/k at once (Sánchez et al. 2016, §2.4 and §3.1, for multivariate groups).
#
# Insensitive MDAV changes each group by at most one record, but nothing telescopes: the order is not that of the
# attribute, so each of the n/k means may move by Δ/k.
#
# Means are computed in double precision. A sum of s values up to M is off by at most s·u per value (u = 2^-53), so two
# neighbouring means differ by at most 2·s·u·M more than exact ones; s < 2k. That slack is added, because this bound backs a
# promise that is called proved.


def _domain_over_k_each_compute(summary: Summary, domain: Domain, k: int) -> Floats:
    records = summary.shape.records
    largest = max(abs(Fraction(domain.lower)), abs(Fraction(domain.upper)))
    each = domain.width / k + 4 * k * largest / 2**53
    return np.full(len(summary.size), float_up(Fraction(records, k) * each))


DOMAIN_OVER_K_EACH = Bound(
    formula="(n/k)·Δ/k",
    citation="Sánchez et al. 2016, §2.4",
    depth=0,
    compute=_domain_over_k_each_compute,
    reach=lambda n, k: Fraction(n, k * k),
)


# Δ/|C|: how far one record of a cluster moves its mean when membership is fixed (Soria-Comas et al., §3.1).


def _domain_over_size_compute(summary: Summary, domain: Domain, k: int) -> Floats:
    sizes = np.bincount(summary.size).nonzero()[0]
    each = np.zeros(sizes[-1] + 1)
    numerator, denominator = domain.width.as_integer_ratio()
    each[sizes] = [quotient_up(numerator, denominator * size) for size in sizes.tolist()]
    return each.take(summary.size)


DOMAIN_OVER_SIZE = Bound(
    formula="Δ/|C|",
    citation="Soria-Comas et al., §3.1",
    depth=0,
    compute=_domain_over_size_compute,
    reach=lambda n, k: Fraction(1, 2 * k),
)


# Δ/|C| for the sorted list of means *as computed*: Sánchez et al. 2016, Lemma 1 with room for rounding.
#
# Lemma 1: clusters hold consecutive sorted values, and their sizes do not depend on the data. Replacing x by x' shifts each
# cluster between the two places by one neighbouring value; the shifts of the sums telescope: Σ|ΔS_j| = |x' - x|
# ≤ Δ. Noise of
# scale Δ/(|C_j|ε) on mean j loses Σ (|ΔS_j|/|C_j|)·(|C_j|ε/Δ) ≤ ε. (With groups of k: Δ/k, but for the larger last one.)
# Ties do not matter: the sorted values, hence the sums, are the same however they are broken.
#
# Rounding: values are counted from the lower bound, so they lie in [0, Δ]. A sum of s of them in double
# precision, divided by
# s, is off by at most 1.01·s·u·Δ (u = 2^-53), and by another amount under the neighbour, because the order of
# addition is the
# order of records. In units of Δ/s that is 2.02·s²·u; 1 + 4·u·Σ|C_j|² times the scale covers all clusters together.


def _sorted_list_compute(summary: Summary, domain: Domain, k: int) -> Floats:
    sizes, which = np.unique(summary.size, return_inverse=True)
    squares = sum(int(size) ** 2 for size in summary.size)
    width = Fraction(domain.upper - domain.lower)  # as computed: no shifted value is larger
    reach = width * (1 + Fraction(4 * squares, 2**53))
    return np.array([float_up(reach / int(size)) for size in sizes])[which]


SORTED_LIST = Bound(
    formula="Δ/|C| (with room for rounding)",
    citation="Sánchez et al. 2016, Lemma 1",
    depth=0,
    compute=_sorted_list_compute,
    reach=lambda n, k: Fraction(1, 2 * k),
)
