"""How far a category lies from the centre (001 eq. 4), and the total order that follows from it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.errors import ParameterError
from coterie.taxonomy.distance import GRID

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
    """m(S_j, a) = Σ_{s ∈ S_j} δ(s, a) for every cluster j and category a (001 eq. 4; δ(a, a) = 0).

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


def marginality_order(
    distance: NDArray[np.float64], present: NDArray[np.bool_] | None = None
) -> NDArray[np.int32]:
    """Codes by rising distance to the most marginal category (001 §3.4); ties keep the order of the tree.

    Without `present` the order is of the domain alone, hence public. 001 sorts "values present in the data
    set": with `present` (does any record hold this code?) the most marginal of those comes first and only
    those are listed. That order is a function of the data, and a release that uses it must say so.
    """
    score = domain_marginality(distance)
    codes = np.arange(len(distance)) if present is None else np.flatnonzero(present)
    if not len(codes):
        raise ParameterError("There is no category to order.", "Give at least one record.")
    most_marginal = codes[np.argmax(score[codes])]
    order = codes[np.argsort(distance[most_marginal, codes], kind="stable")]
    return order.astype(np.int32)
