"""Bounds that read the data: local and cluster-based sensitivity (Soria-Comas et al., Prop. 2 and 3)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from coterie.chain.partition.clustering import Summary
from coterie.chain.sensitivity.global_bounds import Bound
from coterie.schema.arrays import Floats
from coterie.schema.attributes import Domain

# Local sensitivity of a mean, membership fixed (Soria-Comas et al., Prop. 2).
#
# The worst replacement takes the cluster's smallest value to the top of the domain or its largest to the bottom.


def _compute(summary: Summary, domain: Domain, k: int) -> Floats:
    upward = domain.upper - summary.low[:, 0]
    downward = summary.high[:, 0] - domain.lower
    return np.maximum(upward, downward) / summary.size


LOCAL = Bound(
    formula="max(max A − min C, max C − min A)/|C|",
    citation="Soria-Comas et al., Prop. 2",
    depth=1,
    compute=_compute,
    reach=lambda n, k: Fraction(1, 4 * k),
)


# Cluster-based local sensitivity of the trimmed mean, membership fixed (Soria-Comas et al., Prop. 3, expressions (1)–(3)).
#
# Expression (2): the smallest value moves above the largest. Its trimmed value goes from x_min' to x_max, the second
# smallest is now trimmed to the third, and the former largest is no longer trimmed. Expression (3) mirrors it.


def rise(summary: Summary) -> Floats:
    """Expression (2): the change of the trimmed sum when the minimum moves above the maximum."""
    smallest, largest = summary.low, summary.high
    return (
        (largest[:, 0] - smallest[:, 1]) + (smallest[:, 2] - smallest[:, 1]) + (largest[:, 0] - largest[:, 1])
    )


def fall(summary: Summary) -> Floats:
    """Expression (3): the change of the trimmed sum when the maximum moves below the minimum."""
    smallest, largest = summary.low, summary.high
    return (
        (largest[:, 1] - smallest[:, 0]) + (largest[:, 1] - largest[:, 2]) + (smallest[:, 1] - smallest[:, 0])
    )


def _cluster_based_compute(summary: Summary, domain: Domain, k: int) -> Floats:
    return np.maximum(rise(summary), fall(summary)) / summary.size


def effective_multiplier(summary: Summary) -> float:
    """How many times ε_a the worse of two neighbours costs: minimum moved above the maximum, or the reverse.

    The first shifts every cluster's trimmed sum by expression (2), the second by expression (3), while each
    cluster's noise covers the larger of the two once (Soria-Comas et al., Prop. 3).
    """
    up, down = rise(summary), fall(summary)
    covered = np.maximum(up, down)
    noisy = covered > 0
    return float(max(np.sum(up[noisy] / covered[noisy]), np.sum(down[noisy] / covered[noisy])))


CLUSTER_BASED = Bound(
    formula="max(expression (2), expression (3))/|C|",
    citation="Soria-Comas et al., Prop. 3",
    depth=3,
    compute=_cluster_based_compute,
    multiplier=effective_multiplier,
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


def _cluster_based_joint_compute(summary: Summary, domain: Domain, k: int) -> Floats:
    size = summary.size.astype(np.float64)
    largest = max(abs(domain.lower), abs(domain.upper))
    slack = 8 * 2.0**-53 * largest * float(np.sum((size + 4) * size))
    reach = max(float(rise(summary).sum()), float(fall(summary).sum()))
    # The sums above are rounded too: n·2^-52 is more than their relative error.
    return np.asarray((reach * (1 + 2.0**-52 * size.sum()) + slack) * (1 + 2.0**-50) / size)


CLUSTER_BASED_JOINT = Bound(
    formula="max(Σ expression (2), Σ expression (3))/|C|",
    citation="Soria-Comas et al., Prop. 3, summed",
    depth=3,
    needs_all_clusters=True,
    compute=_cluster_based_joint_compute,
)
