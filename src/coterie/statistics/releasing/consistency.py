"""Make noisy numbers fit together: no negative counts, and parts that add up to their whole.

Post-processing of released values: free, and it lowers the error. The gap between the parts and their whole
is shared in proportion to the noise each carries (weighted least squares)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.schema.arrays import Floats
from coterie.statistics.planning.design import Design
from coterie.statistics.prediction.measurement import Kind
from coterie.statistics.specification.equations import names_in

_ROUNDS = 60


@dataclass(frozen=True)
class Constraint:
    """Σ parts = whole: indices of measurements; without a `whole`, the public number of records, `most`."""

    parts: NDArray[np.int64]
    whole: int | None
    most: float  # the number of records where it is public, else infinite
    nonnegative: bool


def constraints_of(design: Design) -> tuple[Constraint, ...]:
    place = {m.name: index for index, m in enumerate(design.measurements)}
    found = []
    for total in design.specification.totals:
        parts = [names_in(design.statistics[name]) for name in total.parts]
        whole = names_in(design.statistics[total.whole]) if total.whole is not None else ()
        # Sums that are derived from (n, Σ(y−c)) are no single measurement; they are left as they are.
        if any(len(part) != 1 for part in parts) or len(whole) > 1:
            continue
        indices = np.array([place[part[0]] for part in parts], dtype=np.int64)
        counts = all(design.measurements[index].kind is Kind.COUNT for index in indices)
        found.append(
            Constraint(
                indices,
                place[whole[0]] if whole else None,
                math.inf if design.specification.size is None else float(design.specification.size),
                counts,
            )
        )
    return tuple(found)


def reconcile(noisy: Floats, scales: Floats, constraints: Sequence[Constraint]) -> Floats:
    """Draws × measurements in, consistent ones out. Constraints that overlap are met in turn, repeatedly."""
    values = noisy.copy()
    variance = scales**2
    for _ in range(_ROUNDS if len(constraints) > 1 else 1):
        before = values.copy() if len(constraints) > 1 else values
        for constraint in constraints:
            _meet(values, variance, constraint)
        if len(constraints) > 1 and bool(np.allclose(before, values, rtol=0, atol=1e-9)):
            break
    return values


def _meet(values: Floats, variance: Floats, constraint: Constraint) -> None:
    parts = constraint.parts
    if constraint.whole is None:
        whole = np.full(len(values), constraint.most)
    else:
        gap = values[:, constraint.whole] - values[:, parts].sum(axis=1)
        spread = variance[parts].sum() + variance[constraint.whole]
        values[:, constraint.whole] -= gap * variance[constraint.whole] / spread
        if constraint.nonnegative:
            # A count of more than all records would be cut when it is shown, and the parts would no longer add up to it.
            values[:, constraint.whole] = np.clip(values[:, constraint.whole], 0.0, constraint.most)
        whole = values[:, constraint.whole]
    _share_gap(values, variance, constraint, whole)


def _share_gap(values: Floats, variance: Floats, constraint: Constraint, whole: Floats) -> None:
    """Move the parts onto the plane Σ = whole; with counts, parts that would go below zero stay at zero."""
    parts = constraint.parts
    current = values[:, parts]
    active = np.ones(current.shape, dtype=bool)
    for _ in range(len(parts)):
        weights = np.where(active, variance[parts], 0.0)
        spread = weights.sum(axis=1, keepdims=True)
        gap = whole[:, None] - np.where(active, current, 0.0).sum(axis=1, keepdims=True)
        moved = np.where(active, current + gap * weights / np.where(spread > 0, spread, 1.0), 0.0)
        if not constraint.nonnegative or not bool((moved < 0).any()):
            break
        active &= moved >= 0
    values[:, parts] = moved
