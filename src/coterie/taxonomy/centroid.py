"""The category that stands for a cluster (001 eq. 5), for all clusters at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.taxonomy.marginality import marginality
from coterie.taxonomy.tree import Taxonomy

# Rows of the (clusters × nodes) work matrices that are held at a time.
_BLOCK = 1 << 15


def marginality_centroids(
    counts: NDArray[np.float64], taxonomy: Taxonomy, distance: NDArray[np.float64]
) -> NDArray[np.int32]:
    """Per cluster the category of its minimum taxonomy with the least marginality; ties: the lowest code.

    Notes: 001 lets any node of the minimum taxonomy τ(S) be the centroid. A released value must be one
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
