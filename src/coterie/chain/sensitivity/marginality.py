"""How far one record can move the marginality of categories: for one cluster, and for the ordered list.

Neighbours replace one record; n, the taxonomy and the order of categories are public.

**One cluster.** If one value u of S becomes v, then m(S', a) - m(S, a) = δ(v, a) - δ(u, a). Both terms lie
in [0, δ_max], so the change is at most δ_max ≤ 1 for every candidate a: not k times that, nor 1/k. This is
Δ(m) of Sánchez et al. 2016, eq. (6), and with it each cluster *alone* is ε-DP. But a replacement shifts records across every
cluster between the old and the new place, so a release of all clusters by Sánchez et al. 2016, Algorithm 2 costs up to
min(q, C-1)·ε (q clusters, C categories): a cluster changes only if its lost and gained values differ.

**The ordered list.** Sort the records by a public order c_1 … c_C and cut clusters of fixed sizes. Let a
record move from category x up to category y (the other way is the mirror image). The first cluster touched
loses x and gains the first value v_1 of the next; that one loses v_1 and gains v_2; …; the last loses v_r and
gains y. Let cluster j lose u_j and gain w_j. By the triangle inequality
|m(S'_j, a) - m(S_j, a)| ≤ δ(u_j, w_j)
for every candidate a. The pairs (u_j, w_j) are the links of a chain x ≤ v_1 ≤ … ≤ y along the order, and by
the triangle inequality again each link is at most the walk between its ends; the walks do not overlap. Hence

    Σ_j max_a |m(S'_j, a) - m(S_j, a)| ≤ Σ_i δ(c_i, c_{i+1}) = P.

The exponential mechanism with Pr(a) ∝ exp(-ε m/(2s)) changes a probability by a factor of at most
exp(ε·max_a|Δm|/s) (numerator and normalisation, half each). Clusters draw independently, so s = P makes the
whole list ε-DP. There are at most q links, each at most δ_max, so s = min(P, q·δ_max) is enough.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.errors import ParameterError
from coterie.schema.taxonomy.semantics import path_length


def cluster_sensitivity(distance: NDArray[np.float64]) -> float:
    """Δ(m) = δ_max: one replacement inside one cluster (as Sánchez et al. 2016, Algorithm 2 uses it)."""
    return float(distance.max())


def list_sensitivity(distance: NDArray[np.float64], order: NDArray[np.integer], cluster_count: int) -> float:
    """min(P, q·δ_max): all clusters of the ordered list together (the proved variant)."""
    if cluster_count < 1:
        raise ParameterError("There is no cluster.", "Give at least one record.")
    return min(path_length(distance, order), cluster_count * cluster_sensitivity(distance))
