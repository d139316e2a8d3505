"""Public orders of categories, and how long a walk along them is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.errors import ParameterError

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
