"""Insensitive MDAV: groups of consecutive records in a total order that no other record can change.

Ordinary MDAV may regroup everything when one record changes. Insensitive microaggregation (001 §2.4, after
its reference [17]) orders the records by a rule of the public domain alone, so one changed record moves at
most one record out of each group and one in. The order is the distance to the domain's lower corner, each
attribute scaled by the width of its domain; record order breaks ties.

For a category column the coordinate is δ to the most marginal label of its domain, given as numbers by the
caller (001 §3.4 orders categories so), with lower bound 0 and δ's largest value as upper bound.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.chain.partition._mdav_places import check_group_size, check_points
from coterie.chain.partition.clustering import Clustering
from coterie.errors import DataError, SchemaError


def insensitive_mdav_order(points: NDArray[np.float64], corner: NDArray[np.float64]) -> NDArray[np.int64]:
    """Record numbers by rising Euclidean distance to `corner`, in the coordinates given."""
    matrix = check_points(points)
    anchor = np.asarray(corner, dtype=np.float64)
    if anchor.shape != (matrix.shape[1],) or not np.isfinite(anchor).all():
        raise DataError("The corner does not fit the points.", "Give one finite number for each attribute.")
    return np.argsort(squared_distances(matrix, anchor), kind="stable")


def squared_distances(matrix: NDArray[np.float64], anchor: NDArray[np.float64]) -> NDArray[np.float64]:
    """Column by column, as in mdav: one order of summation, whatever NumPy's pairwise sums would do."""
    squared = np.zeros(len(matrix))
    for j in range(matrix.shape[1]):
        squared += (matrix[:, j] - anchor[j]) ** 2
    return squared


def insensitive_mdav(
    points: NDArray[np.float64], lower: NDArray[np.float64], upper: NDArray[np.float64], k: int
) -> Clustering:
    """⌊n/k⌋ groups of k consecutive records by distance to the corner `lower`; the last takes the rest."""
    matrix = check_points(points)
    k = check_group_size(k, len(matrix))
    low, high = np.asarray(lower, dtype=np.float64), np.asarray(upper, dtype=np.float64)
    attributes = matrix.shape[1]
    if low.shape != (attributes,) or high.shape != (attributes,):
        raise SchemaError(
            "The bounds do not fit the points.", "Give a lower and an upper bound per attribute."
        )
    width = high - low
    if not (np.isfinite(width).all() and (width > 0).all()):
        raise SchemaError(
            "A domain is empty or unbounded.", "Declare finite bounds, the lower below the upper one."
        )
    outside = np.count_nonzero(((matrix < low) | (matrix > high)).any(axis=1))
    if outside:
        raise DataError(
            f"{outside} records lie outside the declared bounds.",
            "Clip them to the bounds first, or widen the bounds.",
        )
    order = insensitive_mdav_order((matrix - low) / width, np.zeros(attributes))
    groups = len(matrix) // k
    labels = np.empty(len(matrix), np.int32)
    labels[order] = np.minimum(np.arange(len(matrix)) // k, groups - 1)
    return Clustering(labels, np.bincount(labels, minlength=groups).astype(np.int64))
