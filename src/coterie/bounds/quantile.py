"""A bound beyond which about t values lie, by the exponential mechanism over the intervals between public candidates.

For the upper bound let N_i be the number of values above candidate i. The interval from candidate i to i+1 holds the t-th
largest value if N_{i+1} ≤ t ≤ N_i, and its score is how far it is from that: max(0, t - N_i, N_{i+1} - t). Replacing
one record changes every N by at most 1, so every score by at most 1, and the choice is ε-DP. The chosen interval's outer end
is the bound. Intervals outside all data have score t; with t = 2(ln(candidates) + 4)/ε they are chosen with
probability below e^-4. The lower bound is the mirror image.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from coterie.bounds.grid import Floats, candidates
from coterie.errors import ParameterError
from coterie.noise.exponential import exponential_mechanism
from coterie.noise.sampler import Sampler
from coterie.schema import Attribute, Domain, Search

_SENSITIVITY = 1.0


def private_domain(
    values: Floats, attribute: Attribute, widest: Domain, epsilon: Fraction, sampler: Sampler
) -> Domain:
    """The range that all but about t values on each searched side lie in; each side costs its part of ε."""
    grid, each = candidates(attribute, widest), _a_side(widest, epsilon)
    beyond = values_beyond(attribute, widest, epsilon, len(values), len(grid))
    ordered = np.sort(values)
    lower, upper = widest.lower, widest.upper
    if widest.search is not Search.LOWER:
        above = len(ordered) - np.searchsorted(ordered, grid, side="right")
        above[0] = len(
            ordered
        )  # the first interval holds its lower end too: records may share the public bound
        scores = interval_scores(above[:-1], above[1:], beyond)
        upper = float(grid[1:][_chosen(scores, each, sampler, f"{attribute.name}: upper bound")])
    if widest.search is not Search.UPPER:
        below = np.searchsorted(ordered, grid, side="left")
        below[-1] = len(ordered)
        scores = interval_scores(below[1:], below[:-1], beyond)
        lower = float(grid[:-1][_chosen(scores, each, sampler, f"{attribute.name}: lower bound")])
    if lower >= upper:  # the two draws crossed: only the public range is left to say
        lower, upper = widest.lower, widest.upper
    return widest.model_copy(update={"lower": lower, "upper": upper})


def _a_side(widest: Domain, epsilon: Fraction) -> Fraction:
    return epsilon if widest.search in (Search.LOWER, Search.UPPER) else epsilon / 2


def values_beyond(attribute: Attribute, widest: Domain, epsilon: Fraction, records: int, places: int) -> int:
    """t, from public numbers alone: `places` is how many candidates there are. Refused where it is a quarter of all."""
    beyond = math.ceil(2 * (math.log(places) + 4) / float(_a_side(widest, epsilon)))
    if beyond > records // 4:
        cut = "a quarter or more of all" if beyond < records else "all"
        raise ParameterError(
            f"ε is too small to find bounds for '{attribute.name}': {cut} values would be cut.",
            "Write public bounds in the schema, give the attribute a larger weight or share, or search one side only.",
        )
    return beyond


def interval_scores(inner: NDArray[np.int64], outer: NDArray[np.int64], beyond: int) -> Floats:
    """`inner` and `outer`: how many values lie beyond the two ends of each interval."""
    return np.maximum(0, np.maximum(beyond - inner, outer - beyond)).astype(np.float64)


def _chosen(scores: Floats, epsilon: Fraction, sampler: Sampler, stream: str) -> int:
    return int(exponential_mechanism(scores[None, :], epsilon, _SENSITIVITY, sampler, stream)[0])
