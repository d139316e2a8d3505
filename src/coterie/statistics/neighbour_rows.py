"""From filters to budget rows: what one record can touch, and so what the measurements cost together.

Add/remove: a record satisfies some set of filters; the measurements of that set are the ones it touches.
Replace-one: a record goes from one set to another; a measurement in both is touched by a change of value, a
measurement in one of them by leaving or entering. Each possible move is one row Σ share·budget ≤ total,
share = (Δ of that move)/(Δ the budget pays for), squared for Gaussian noise, because ε adds up in Δ/b and ρ
in Δ²/(2σ²).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from coterie.statistics.filters import Filter, reachable
from coterie.statistics.sensitivity import Neighbours, SensitivityBound

# Pairs of kinds are listed one by one up to here; beyond, a replacement is counted as remove + add.
MOST_PAIRED_KINDS = 64


def neighbour_rows(
    filters: Sequence[Filter],
    bounds: Sequence[SensitivityBound],
    neighbours: Neighbours,
    zcdp: bool,
    disjoint: Sequence[frozenset[Filter]] = (),
) -> NDArray[np.float64]:
    """Rows × measurements. `filters[i]` and `bounds[i]` belong to measurement i."""
    distinct = list(dict.fromkeys(filters))
    place = {chosen: index for index, chosen in enumerate(distinct)}
    declared = [frozenset(place[f] for f in group if f in place) for group in disjoint]
    kinds = reachable(distinct, declared)
    if kinds is None:
        return np.ones((1, len(filters)))
    member = np.array([[bool(kind >> place[f] & 1) for f in filters] for kind in kinds])
    nominal = np.array([b.nominal(neighbours, f.everyone) for b, f in zip(bounds, filters, strict=True)])
    enter = np.array([bound.enter for bound in bounds])
    swap = np.array([bound.swap for bound in bounds])
    enter, swap = enter / nominal, swap / nominal
    power = 2 if zcdp else 1
    enter, swap = enter**power, swap**power
    if neighbours is Neighbours.ADD_REMOVE:
        rows = member * enter
    elif len(member) <= MOST_PAIRED_KINDS:
        first, second = np.triu_indices(len(member))
        both = member[first] & member[second]
        one = member[first] ^ member[second]
        rows = both * swap + one * enter
    else:
        # The move A → B costs at most h(A) + h(B), h = Σ max(enter, swap/2): so h ≤ total/2 is enough.
        everywhere = member.all(axis=0)
        rows = np.where(everywhere, swap, 2.0 * np.maximum(enter, swap / 2.0) * member)
    return _maximal(rows)


def _maximal(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Without the rows that another row implies."""
    rows = np.unique(np.ceil(rows * 1e12 - 1e-3) / 1e12, axis=0)  # equal up to the last digits, and upwards
    if len(rows) > 1500:
        return rows
    order = np.argsort(-rows.sum(axis=1), kind="stable")
    kept = np.empty_like(rows)
    count = 0
    for row in rows[order]:
        if not (kept[:count] >= row).all(axis=1).any():
            kept[count] = row
            count += 1
    return kept[:count].copy()
