"""Insensitive MDAV: groups of consecutive records in a total order that no other record can change.

Ordinary MDAV may regroup everything when one record changes. Insensitive microaggregation (Sánchez et al. 2016, §2.4, after
its reference [17]) orders the records by a rule of the public domain alone, so one changed record moves at
most one record out of each group and one in. The order is the distance to the domain's lower corner, each
attribute scaled by the width of its domain; record order breaks ties.

For a category column the coordinate is δ to the most marginal label of its domain, given as numbers by the
caller (Sánchez et al. 2016, §3.4 orders categories so), with lower bound 0 and δ's largest value as upper bound.
"""

from __future__ import annotations

import numpy as np

from coterie.chain.partition._mdav_index import check_points
from coterie.errors import DataError, SchemaError
from coterie.schema.arrays import Floats


def distance_from_corner(points: Floats, lower: Floats, upper: Floats) -> Floats:
    """Squared, to the corner `lower`, in units of the domain: groups are cut from the order of it."""
    matrix = check_points(points)
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
    squared = np.zeros(len(matrix))
    for j in range(attributes):  # one order of summation, whatever NumPy's pairwise sums would do
        squared += ((matrix[:, j] - low[j]) / width[j]) ** 2
    return squared
