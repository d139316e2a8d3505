"""Semantic distance between categories, marginality, the category that stands for a cluster (Sánchez et al. 2016, eq. 3
to 5), and public orders of categories."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.errors import DataError, ParameterError
from coterie.schema.taxonomy.tree import Taxonomy

# Semantic distance between categories (Sánchez et al. 2016, eq. 3), computed once for the whole domain.

# Distances are multiples of this. Sums of up to 2^23 of them are then exact doubles, whatever the order of
# addition, so scores of neighbouring tables differ by what the proofs say and not by rounding as well.
GRID = 2.0**-30


def distance_matrix(taxonomy: Taxonomy) -> NDArray[np.float64]:
    """δ(a, b) = log2(1 + (|φ(a) ∪ φ(b)| - |φ(a) ∩ φ(b)|) / |φ(a) ∪ φ(b)|) for all pairs of categories.

    Notes: each value is rounded to the nearest multiple of 2^-30 (an error below 5e-10; the paper does not
    round). The metric laws still hold exactly. With the Jaccard distances x = J(a,b), y = J(b,c) and
    z = J(a,c) ≤ x + y, the slack of the triangle inequality is log2((1+x)(1+y)/(1+z)) ≥ log2(1 + xy/2)
    since 1 + z ≤ 2. Where a, b, c are distinct, x and y are at least 1/(2·DEEPEST) = 1/400, so the slack is
    above 4e-6, far more than the three roundings can take; where two of them are equal the law is trivial.
    Distinct categories stay apart: δ ≥ log2(1 + 1/400) > 0.
    """
    member = taxonomy.ancestry().astype(np.float64)  # counts up to 200 are exact, and BLAS multiplies them
    common = member @ member.T
    sizes = np.diagonal(common)
    union = sizes[:, None] + sizes[None, :] - common
    distance: NDArray[np.float64] = np.rint(np.log2(1.0 + (union - common) / union) / GRID) * GRID
    distance.setflags(write=False)
    return distance


# How far a category lies from the centre (Sánchez et al. 2016, eq. 4), and the total order that follows from it.

# Beyond this many records a sum of distances could leave the grid of exact doubles (2^53 · GRID = 2^23).
LARGEST_CLUSTER = int(2**53 * GRID)


def cluster_counts(
    clusters: NDArray[np.integer], codes: NDArray[np.integer], cluster_count: int, categories: int
) -> NDArray[np.float64]:
    """Row j, column c: how many records of cluster j hold category c."""
    cell = clusters.astype(np.int64) * categories + codes
    counts = np.bincount(cell, minlength=cluster_count * categories)
    return counts.reshape(cluster_count, categories).astype(np.float64)


def marginality(counts: NDArray[np.float64], distance: NDArray[np.float64]) -> NDArray[np.float64]:
    """m(S_j, a) = Σ_{s ∈ S_j} δ(s, a) for every cluster j and category a (Sánchez et al. 2016, eq. 4; δ(a, a) = 0).

    Exact: counts are whole numbers, distances lie on a grid, and clusters are small enough.
    """
    if counts.size and counts.sum(axis=1).max() > LARGEST_CLUSTER:
        raise ParameterError(
            f"A cluster holds more than {LARGEST_CLUSTER:,} records of a category attribute.",
            "Choose a smaller k.",
        )
    scores: NDArray[np.float64] = counts @ distance
    return scores


def domain_marginality(distance: NDArray[np.float64]) -> NDArray[np.float64]:
    """m(Dom, a): each category of the domain counted once, whatever the data hold."""
    return marginality(np.ones((1, len(distance))), distance).ravel()


def marginality_order(distance: NDArray[np.float64]) -> NDArray[np.int32]:
    """Codes by rising distance to the most marginal category (Sánchez et al. 2016, §3.4); ties keep the order of the tree.

    The order is of the domain alone, hence public. (Sánchez et al. 2016 sorts "values present in the data set": that order
    is a function of the data.)
    """
    most_marginal = int(np.argmax(domain_marginality(distance)))
    return np.argsort(distance[most_marginal], kind="stable").astype(np.int32)


# The category that stands for a cluster (Sánchez et al. 2016, eq. 5), for all clusters at once.

# Rows of the (clusters × nodes) work matrices that are held at a time.
_BLOCK = 1 << 15


def marginality_centroids(
    counts: NDArray[np.float64], taxonomy: Taxonomy, distance: NDArray[np.float64]
) -> NDArray[np.int32]:
    """Per cluster the category of its minimum taxonomy with the least marginality; ties: the lowest code.

    Notes: Sánchez et al. 2016 lets any node of the minimum taxonomy τ(S) be the centroid. A released value must be one
    that a record may hold, so candidates here are the categories inside τ(S): for a domain of leaves these
    are the values in the cluster, and inner concepts join in where the domain lists them.
    """
    chosen = np.empty(len(counts), dtype=np.int32)
    for start in range(0, len(counts), _BLOCK):
        block = counts[start : start + _BLOCK]
        scores = marginality(block, distance)
        scores[~minimum_taxonomy(block, taxonomy)] = np.inf
        chosen[start : start + _BLOCK] = np.argmin(scores, axis=1)
    return chosen


def minimum_taxonomy(counts: NDArray[np.float64], taxonomy: Taxonomy) -> NDArray[np.bool_]:
    """Row j, column a: is category a a node of τ(S_j), the least subtree that holds all values of S_j?

    τ(S) is made of the paths from the values up to their lowest common ancestor, which is the deepest node
    that has all records of S at or below it.
    """
    ancestry = taxonomy.ancestry()
    below = counts @ ancestry.astype(np.float64)  # records at or below each node
    size = counts.sum(axis=1, keepdims=True)
    covers_all = below == size
    # Nodes that cover all form a chain from the root, and depth-first order numbers a chain downwards.
    lowest = len(taxonomy.nodes) - 1 - np.argmax(covers_all[:, ::-1], axis=1)
    inside = (below > 0) & ~covers_all
    inside[np.arange(len(counts)), lowest] = True
    places = {label: place for place, label in enumerate(taxonomy.nodes)}
    candidates: NDArray[np.bool_] = inside[:, [places[label] for label in taxonomy.categories]]
    return candidates


# Public orders of categories, and how long a walk along them is.

# An improvement must exceed rounding of four additions of distances, else the search could run in circles.
_GAIN = 1e-12
_STARTS = 64  # of a larger domain every other, third … category is a start: a thousand labels take a second


def path_length(distance: NDArray[np.float64], order: NDArray[np.integer]) -> float:
    """P = Σ δ(c_i, c_{i+1}) along the order: what the proved categorical mechanism is scaled to."""
    if sorted(order.tolist()) != list(range(len(distance))):
        raise ParameterError(
            "The order does not name every category exactly once.", "Give a permutation of all codes."
        )
    return float(distance[order[:-1], order[1:]].sum())


def short_order(distance: NDArray[np.float64]) -> NDArray[np.int32]:
    """A public order with a short path: nearest neighbour from many starts, the best improved by 2-opt.

    It reads only the taxonomy, so it is public, and it has no random choice. Shortest paths through all
    categories are NP-hard in general; the tree's own order is among the starts, so the result is never
    longer than that.
    """
    chosen = range(0, len(distance), 1 + len(distance) // _STARTS)
    starts = [np.arange(len(distance)), *(_nearest_neighbour(distance, at) for at in chosen)]
    lengths = [path_length(distance, order) for order in starts]
    return _two_opt(distance, starts[int(np.argmin(lengths))]).astype(np.int32)


def _nearest_neighbour(distance: NDArray[np.float64], start: int) -> NDArray[np.intp]:
    order = np.empty(len(distance), dtype=np.intp)
    open_ = np.ones(len(distance), dtype=np.bool_)
    at = start
    for step in range(len(distance)):
        order[step] = at
        open_[at] = False
        at = int(np.argmin(np.where(open_, distance[at], np.inf)))
    return order


def _two_opt(distance: NDArray[np.float64], order: NDArray[np.intp]) -> NDArray[np.intp]:
    """Reverse the stretch i…j that shortens the open path most, until none does."""
    while len(order) > 2:
        step = distance[order[:-1], order[1:]]
        before = np.concatenate([[0.0], step])  # link into i; none before the first
        after = np.concatenate([step, [0.0]])  # link out of j; none after the last
        # New links join order[i-1] to order[j], and order[i] to order[j+1].
        along = distance[np.ix_(order, order)]
        into = np.vstack([np.zeros(len(order)), along[:-1]])
        out = np.hstack([along[:, 1:], np.zeros((len(order), 1))])
        gain = np.triu(before[:, None] + after[None, :] - into - out, k=1)
        i, j = np.unravel_index(np.argmax(gain), gain.shape)
        if gain[i, j] <= _GAIN:
            break
        order = np.concatenate([order[:i], order[i : j + 1][::-1], order[j + 1 :]])
    return order


# Categories as ranks: encode by an order, work with numbers, decode by rounding (Del Vasto-Terrientes et al., §5.1).


def frequency_order(codes: NDArray[np.integer], categories: int) -> NDArray[np.int32]:
    """The order of Del Vasto-Terrientes et al., §5.1: most frequent category first, ties by code.

    It is a function of the data: the table that decodes rank 1 tells which label is the most frequent, at
    every ε. A release that uses it is not differentially private. The honest twin gives `encode` and
    `decode` a public order (`marginality_order` without `present`, `short_order`, or one from the schema).
    """
    counts = np.bincount(codes, minlength=categories)
    return np.argsort(-counts, kind="stable").astype(np.int32)


def encode(codes: NDArray[np.integer], order: NDArray[np.integer]) -> NDArray[np.float64]:
    """The rank of each code, 0 … len(order)-1. (Del Vasto-Terrientes et al. counts from 1; a shift changes nothing.)"""
    if len(set(order.tolist())) < len(order):
        raise ParameterError("The order names a category twice.", "List each code once.")
    size = 1 + max(int(codes.max(initial=-1)), int(order.max(initial=-1)))
    ranks = np.full(size, -1.0)
    ranks[order] = np.arange(len(order))
    encoded: NDArray[np.float64] = ranks[codes]
    if (encoded < 0).any():
        raise DataError(
            "Some records hold a category that the order does not name.", "Use an order of the whole domain."
        )
    return encoded


def decode(ranks: NDArray[np.float64], order: NDArray[np.integer]) -> NDArray[np.int32]:
    """The code at the nearest rank, halves upwards; ranks outside go to the first or last category."""
    nearest = np.clip(np.floor(ranks + 0.5), 0, len(order) - 1).astype(np.intp)
    return order[nearest].astype(np.int32)
