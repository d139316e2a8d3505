"""Public orders of categories: short walks through a domain, and categories as ranks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.errors import DataError, ParameterError

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
