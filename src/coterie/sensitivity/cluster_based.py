"""Cluster-based local sensitivity of the trimmed mean, membership fixed (000 Prop. 3, expressions (1)–(3)).

Expression (2): the smallest value moves above the largest. Its trimmed value goes from x_min' to x_max, the second
smallest is now trimmed to the third, and the former largest is no longer trimmed. Expression (3) mirrors it.
"""

from __future__ import annotations

import numpy as np

from coterie.partition.summary import Floats, Summary
from coterie.schema import Domain
from coterie.sensitivity.bound import Bound


def rise(summary: Summary) -> Floats:
    """Expression (2): the change of the trimmed sum when the minimum moves above the maximum."""
    smallest, largest = summary.low, summary.high
    return (
        (largest[:, 0] - smallest[:, 1]) + (smallest[:, 2] - smallest[:, 1]) + (largest[:, 0] - largest[:, 1])
    )


def fall(summary: Summary) -> Floats:
    """Expression (3): the change of the trimmed sum when the maximum moves below the minimum."""
    smallest, largest = summary.low, summary.high
    return (
        (largest[:, 1] - smallest[:, 0]) + (largest[:, 1] - largest[:, 2]) + (smallest[:, 1] - smallest[:, 0])
    )


def _compute(summary: Summary, domain: Domain, k: int) -> Floats:
    return np.maximum(rise(summary), fall(summary)) / summary.size


CLUSTER_BASED = Bound(
    formula="max(expression (2), expression (3))/|C|",
    citation="000 Prop. 3",
    depth=3,
    needs_domain=False,
    compute=_compute,
)
