"""Clusters → how far one record can move a centroid, or the marginality of categories. Each bound cites its proposition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from coterie.chain.partition.clustering import ClusterSummary
from coterie.errors import ParameterError
from coterie.schema.arrays import Floats
from coterie.schema.attributes import Domain
from coterie.schema.exact import float_up, quotient_up
from coterie.schema.taxonomy.semantics import path_length

# The frozen value a recipe names: a bound, what it is called, and how many order statistics it reads.


@dataclass(frozen=True, slots=True)
class Bound:
    """How far one record can move the centroid of each cluster: what the noise is scaled to."""

    formula: str
    compute: Callable[[ClusterSummary, Domain, int], Floats]
    depth: int = 0  # how many of a cluster's outermost values it reads
    # n, k → scale times ε in units of the domain's width: at least so wide, whatever the data. None: it may be 0.
    reach: Callable[[int, int], Fraction] | None = None
    needs_all_clusters: bool = False  # it adds up over clusters: a piece of them would give too small a bound
    # How many times ε_a the worst neighbour costs, where the bound covers each cluster by itself.
    multiplier: Callable[[ClusterSummary], float] | None = None


# Δ/k: how far one replacement moves the whole list of centroids (Sánchez et al. 2016, Lemma 1).
#
# Clusters hold consecutive sorted values. Moving one record shifts each cluster between its old and its new place by one
# neighbouring value; the shifts telescope to |x' - x| ≤ Δ, and every cluster has at least k members.


def _domain_over_k(summary: ClusterSummary, domain: Domain, k: int) -> Floats:
    numerator, denominator = domain.width.as_integer_ratio()
    return np.broadcast_to(quotient_up(numerator, denominator * k), len(summary.size))


DOMAIN_OVER_K = Bound("Δ/k", _domain_over_k, reach=lambda n, k: Fraction(1, k))


# (n/k)·Δ/k: every centroid may move by Δ/k at once (Sánchez et al. 2016, §2.4 and §3.1, for multivariate groups).
#
# Insensitive MDAV changes each group by at most one record, but nothing telescopes: the order is not that of the
# attribute, so each of the n/k means may move by Δ/k.
#
# Means are computed in double precision. A sum of s values up to M is off by at most s·u per value (u = 2^-53), so two
# neighbouring means differ by at most 2·s·u·M more than exact ones; s < 2k. That slack is added, because this bound backs a
# promise that is called proved.


def _domain_over_k_each(summary: ClusterSummary, domain: Domain, k: int) -> Floats:
    records = summary.shape.records
    largest = max(abs(Fraction(domain.lower)), abs(Fraction(domain.upper)))
    each = domain.width / k + 4 * k * largest / 2**53
    return np.broadcast_to(float_up(Fraction(records, k) * each), len(summary.size))


DOMAIN_OVER_K_EACH = Bound("(n/k)·Δ/k", _domain_over_k_each, reach=lambda n, k: Fraction(n, k * k))


# Δ/|C|: how far one record of a cluster moves its mean when membership is fixed (Soria-Comas et al., §3.1).


def _domain_over_size(summary: ClusterSummary, domain: Domain, k: int) -> Floats:
    sizes = np.bincount(summary.size).nonzero()[0]
    each = np.zeros(sizes[-1] + 1)
    numerator, denominator = domain.width.as_integer_ratio()
    each[sizes] = [quotient_up(numerator, denominator * size) for size in sizes.tolist()]
    return each.take(summary.size)


DOMAIN_OVER_SIZE = Bound("Δ/|C|", _domain_over_size, reach=lambda n, k: Fraction(1, 2 * k))


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


def _sorted_list(summary: ClusterSummary, domain: Domain, k: int) -> Floats:
    sizes, which = np.unique(summary.size, return_inverse=True)
    squares = sum(int(size) ** 2 for size in summary.size)
    width = Fraction(domain.upper - domain.lower)  # as computed: no shifted value is larger
    reach = width * (1 + Fraction(4 * squares, 2**53))
    return np.array([float_up(reach / int(size)) for size in sizes])[which]


SORTED_LIST = Bound("Δ/|C| (with room for rounding)", _sorted_list, reach=lambda n, k: Fraction(1, 2 * k))


# Bounds that read the data: local and cluster-based sensitivity (Soria-Comas et al., Prop. 2 and 3).

# Local sensitivity of a mean, membership fixed (Soria-Comas et al., Prop. 2).
#
# The worst replacement takes the cluster's smallest value to the top of the domain or its largest to the bottom.


def _local(summary: ClusterSummary, domain: Domain, k: int) -> Floats:
    upward = domain.upper - summary.low[:, 0]
    downward = summary.high[:, 0] - domain.lower
    return np.maximum(upward, downward) / summary.size


LOCAL = Bound("max(max A − min C, max C − min A)/|C|", _local, depth=1, reach=lambda n, k: Fraction(1, 4 * k))


# Cluster-based local sensitivity of the trimmed mean, membership fixed (Soria-Comas et al., Prop. 3, expressions (1)–(3)).
#
# Expression (2): the smallest value moves above the largest. Its trimmed value goes from x_min' to x_max, the second
# smallest is now trimmed to the third, and the former largest is no longer trimmed. Expression (3) mirrors it.


def rise(summary: ClusterSummary) -> Floats:
    """Expression (2): the change of the trimmed sum when the minimum moves above the maximum."""
    smallest, largest = summary.low, summary.high
    return (
        (largest[:, 0] - smallest[:, 1]) + (smallest[:, 2] - smallest[:, 1]) + (largest[:, 0] - largest[:, 1])
    )


def fall(summary: ClusterSummary) -> Floats:
    """Expression (3): the change of the trimmed sum when the maximum moves below the minimum."""
    smallest, largest = summary.low, summary.high
    return (
        (largest[:, 1] - smallest[:, 0]) + (largest[:, 1] - largest[:, 2]) + (smallest[:, 1] - smallest[:, 0])
    )


def _cluster_based(summary: ClusterSummary, domain: Domain, k: int) -> Floats:
    return np.maximum(rise(summary), fall(summary)) / summary.size


def effective_multiplier(summary: ClusterSummary) -> float:
    """How many times ε_a the worse of two neighbours costs: minimum moved above the maximum, or the reverse.

    The first shifts every cluster's trimmed sum by expression (2), the second by expression (3), while each
    cluster's noise covers the larger of the two once (Soria-Comas et al., Prop. 3).
    """
    up, down = rise(summary), fall(summary)
    covered = np.maximum(up, down)
    noisy = covered > 0
    return float(max(np.sum(up[noisy] / covered[noisy]), np.sum(down[noisy] / covered[noisy])))


CLUSTER_BASED = Bound(
    "max(expression (2), expression (3))/|C|", _cluster_based, depth=3, multiplier=effective_multiplier
)


# max(Σ expression (2), Σ expression (3))/|C|: the whole list of trimmed centroids at once, scale frozen at the data (ours).
#
# Let one value rise from x to x'. Every cluster strictly between loses its smallest value and gains a new largest: its
# trimmed sum changes by exactly expression (2) of Soria-Comas et al., Prop. 3. The first cluster touched loses some
# value instead of its smallest, the last gains some value instead of a new largest; trimmed sums rise with every
# value, so there the change lies between 0 and expression (2). In total at most Σ expression (2); for a falling value,
# Σ expression (3). With noise of scale max(Σ(2), Σ(3))/(|C_j|ε) on centroid j the list loses Σ_j |Δc_j|·|C_j|·ε/max(…)
# ≤ ε. Values beyond the data's range are trimmed, so no bound of the domain enters.
#
# Rounding: a trimmed sum of s values up to M in double precision is off by at most 1.01·(s + 4)·s·u·M (u = 2^-53), twice for
# two neighbours, and dividing adds as much as one more addition: below 8·(s + 4)·s·u·M a cluster. That is added to the sums.


def _cluster_based_joint(summary: ClusterSummary, domain: Domain, k: int) -> Floats:
    size = summary.size.astype(np.float64)
    largest = max(abs(domain.lower), abs(domain.upper))
    slack = 8 * 2.0**-53 * largest * float(np.sum((size + 4) * size))
    reach = max(float(rise(summary).sum()), float(fall(summary).sum()))
    # The sums above are rounded too: n·2^-52 is more than their relative error.
    return np.asarray((reach * (1 + 2.0**-52 * size.sum()) + slack) * (1 + 2.0**-50) / size)


CLUSTER_BASED_JOINT = Bound(
    "max(Σ expression (2), Σ expression (3))/|C|", _cluster_based_joint, depth=3, needs_all_clusters=True
)


# How far one record can move the marginality of categories: for one cluster, and for the ordered list.
#
# Neighbours replace one record; n, the taxonomy and the order of categories are public.
#
# **One cluster.** If one value u of S becomes v, then m(S', a) - m(S, a) = δ(v, a) - δ(u, a). Both terms lie in [0, δ_max],
# so the change is at most δ_max ≤ 1 for every candidate a: not k times that, nor 1/k. This is Δ(m) of Sánchez et al. 2016,
# eq. (6), and with it each cluster *alone* is ε-DP. But a replacement shifts records across every cluster between the old
# and the new place, so a release of all clusters by Sánchez et al. 2016, Algorithm 2 costs up to min(q, C-1)·ε (q clusters,
# C categories): a cluster changes only if its lost and gained values differ.
#
# **The ordered list.** Sort the records by a public order c_1 … c_C and cut clusters of fixed sizes. Let a record move from
# category x up to category y (the other way is the mirror image). The first cluster touched loses x and gains the first
# value v_1 of the next; that one loses v_1 and gains v_2; …; the last loses v_r and gains y. Let cluster j lose u_j and gain
# w_j. By the triangle inequality |m(S'_j, a) - m(S_j, a)| ≤ δ(u_j, w_j) for every candidate a. The pairs (u_j, w_j) are the
# links of a chain x ≤ v_1 ≤ … ≤ y along the order, and by the triangle inequality again each link is at most the walk
# between its ends; the walks do not overlap. Hence
#
#     Σ_j max_a |m(S'_j, a) - m(S_j, a)| ≤ Σ_i δ(c_i, c_{i+1}) = P.
#
# The exponential mechanism with Pr(a) ∝ exp(-ε m/(2s)) changes a probability by a factor of at most exp(ε·max_a|Δm|/s)
# (numerator and normalisation, half each). Clusters draw independently, so s = P makes the whole list ε-DP. There are at
# most q links, each at most δ_max, so s = min(P, q·δ_max) is enough.


def cluster_sensitivity(distance: Floats) -> float:
    """Δ(m) = δ_max: one replacement inside one cluster (as Sánchez et al. 2016, Algorithm 2 uses it)."""
    return float(distance.max())


def list_sensitivity(distance: Floats, order: NDArray[np.integer], cluster_count: int) -> float:
    """min(P, q·δ_max): all clusters of the ordered list together (the proved variant)."""
    if cluster_count < 1:
        raise ParameterError("There is no cluster.", "Give at least one record.")
    return min(path_length(distance, order), cluster_count * cluster_sensitivity(distance))
