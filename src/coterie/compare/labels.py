"""The exponential mechanism for many ε and runs at once: the same labels as one by one, most of the work shared.

Ranked by category, most clusters hold one label only, so few score rows are distinct: their distribution functions are
computed once for all runs and clusters, and all stand in one list that is searched once. A draw too near a boundary for
double precision to decide sends its run through `exponential_mechanism` itself, so the label is always the one that
exact arithmetic chooses.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from coterie.noise.exponential import exponential_mechanism
from coterie.noise.seeded import SeededSampler, Words

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]
Whole = NDArray[np.int64]


def stream_of(name: str) -> str:
    """Where `exponential_mechanism` takes the first word of every cluster from."""
    return f"{name}: exponential mechanism, word 0"


def uniform(words: Words) -> Floats:
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53


def draw_labels(
    scores: Floats,
    distinct: tuple[Whole, Whole],
    budgets: Sequence[tuple[Fraction, float]],
    draws: Floats,
    seed: int,
    name: str,
) -> Codes:
    """Labels with the axes (ε, sensitivity), run, cluster. Run r has row r of `draws`, and the seed `seed` + r."""
    first, group = distinct
    categories = scores.shape[1]
    if categories == 1:
        return np.zeros((len(budgets), *draws.shape), dtype=np.int32)
    few = scores[first] - scores[first].min(axis=1, keepdims=True)
    factors = np.array([float(epsilon / (2 * Fraction(spread))) for epsilon, spread in budgets])
    with np.errstate(over="ignore"):  # an exponent beyond all doubles means a weight of 0, as it should
        sums = np.cumsum(np.exp(-factors[:, None, None] * few), axis=2)
    # Every distribution function lies in a unit of its own: number 3 between 3 and 4.
    number = np.arange(len(budgets))[:, None] * len(first) + np.arange(len(first))
    inner = (sums[:, :, :-1] / sums[:, :, -1:] + number[:, :, None]).ravel()
    number = number[:, group]
    target = number[:, None] + draws
    found = np.searchsorted(inner, target, side="right")
    # As derived in coterie.noise.exponential, and two roundings of numbers up to that of the last unit.
    margin = categories**2 * 2.0**-45 + (len(budgets) * len(first) + 2) * 2.0**-51
    below = np.abs(inner[np.maximum(found - 1, 0)] - target) <= margin
    beyond = np.abs(inner[np.minimum(found, len(inner) - 1)] - target) <= margin
    chosen: Codes = (found - number[:, None] * (categories - 1)).astype(np.int32)
    for place, run in np.argwhere((below | beyond).any(axis=2)):
        epsilon, spread = budgets[place]
        sampler = SeededSampler(seed + int(run))
        chosen[place, run] = exponential_mechanism(scores, epsilon, spread, sampler, name)
    return chosen


def distinct_rows(scores: Floats) -> tuple[Whole, Whole]:
    """The first cluster with each distinct row, and which distinct row each cluster has."""
    bits = np.ascontiguousarray(scores).view(np.uint64)
    mixer = np.random.Generator(np.random.PCG64(1)).integers(0, 2**64, bits.shape[1], dtype=np.uint64)
    keys = (bits * (mixer | np.uint64(1))).sum(axis=1, dtype=np.uint64)
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    if not np.array_equal(scores[first][group], scores):  # two rows share a key: treat every row as its own
        everyone = np.arange(len(scores))
        return everyone, everyone
    return first, group
