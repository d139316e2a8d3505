"""The engine in memory. Each verb takes one column and holds no lock: columns can run in threads."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.errors import ParameterError
from coterie.memory import room_for
from coterie.partition.clustering import Clustering
from coterie.partition.individual_ranking import individual_ranking
from coterie.partition.summary import Summary

DEPTHS = (0, 1, 3)
_PLAIN_BELOW = 50_000  # up to here NumPy alone is quick enough, and loading compiled code would take longer


def rank(values: NDArray[np.float64], k: int) -> Clustering:
    """Individual ranking of one finite column."""
    return individual_ranking(values, k)


def summarise(values: NDArray[np.float64], clustering: Clustering, depth: int) -> Summary:
    """Sum of each cluster, and its `depth` smallest and largest values (0, 1 or 3)."""
    if depth not in DEPTHS:
        raise ParameterError(f"A summary of depth {depth} does not exist.", "Choose depth 0, 1 or 3.")
    if clustering.sizes.min() < depth:
        raise ParameterError(
            f"The {depth} smallest values of a cluster need {depth} records in every cluster.",
            f"Choose k of at least {depth}.",
        )
    if len(values) != len(clustering.labels):
        raise ParameterError(
            f"{len(values)} values do not fit a clustering of {len(clustering.labels)} records.",
            "Summarise the column with a clustering of the same table.",
        )
    if len(values) < _PLAIN_BELOW:
        return _summarise_plainly(values, clustering, depth)
    from coterie.engines import _loops
    from coterie.partition._compiled import for_reading

    q = clustering.count
    total = np.zeros(q)
    column, labels = for_reading(values), for_reading(clustering.labels)
    if not depth:
        _loops.add_up(column, labels, total)
        none = np.empty((q, 0))
        return Summary(clustering.sizes, total, none, none, clustering.whole)
    ends = np.cumsum(clustering.sizes, dtype=np.int32)
    together = room_for(len(values), np.float64)
    _loops.bring_together(column, labels, ends - clustering.sizes.astype(np.int32), together)
    outermost = np.empty((2 * depth, q))
    (_loops.keep_one if depth == 1 else _loops.keep_three)(together, ends, total, outermost)
    return Summary(clustering.sizes, total, outermost[:depth].T, outermost[depth:].T, clustering.whole)


def attach(
    cluster_values: NDArray[np.float64], clustering: Clustering, out: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Give every record the value of its cluster; into `out` when there is one."""
    if len(cluster_values) != clustering.count:
        raise ParameterError(
            f"{len(cluster_values)} values do not fit {clustering.count} clusters.",
            "Give one value for every cluster.",
        )
    labels = clustering.labels
    if out is None:
        out = room_for(len(labels), np.float64)
    elif out.shape != labels.shape or out.dtype != np.float64:
        raise ParameterError(
            "The column to write into has another length or type.",
            f"Give a float64 column of {len(labels)} records.",
        )
    if len(labels) < _PLAIN_BELOW:
        out[:] = cluster_values[labels]
        return out
    from coterie.engines import _loops
    from coterie.partition._compiled import for_reading

    _loops.give_back(for_reading(cluster_values), for_reading(labels), out)
    return out


def _summarise_plainly(values: NDArray[np.float64], clustering: Clustering, depth: int) -> Summary:
    labels, sizes, q = clustering.labels, clustering.sizes, clustering.count
    # bincount adds in record order, one double at a time: the same bits as the compiled loop.
    total: NDArray[np.float64] = np.bincount(labels, weights=values, minlength=q).astype(np.float64)
    ordered = values[np.lexsort((values, labels))] + 0.0 if depth else values
    ends = np.cumsum(sizes)
    low = np.empty((q, depth))
    high = np.empty((q, depth))
    for d in range(depth):
        low[:, d] = ordered[ends - sizes + d]
        high[:, d] = ordered[ends - 1 - d]
    return Summary(sizes, total, low, high, clustering.whole)
