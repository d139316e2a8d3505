"""Internal figures: what the release cost, computed from the original data. Never to be published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from coterie.chain.mechanism.mechanism import Mechanism
from coterie.chain.mechanism.numeric import LaplaceOnCentroids
from coterie.chain.partition.clustering import Summary
from coterie.chain.sensitivity.local_bounds import CLUSTER_BASED, fall, rise
from coterie.schema.taxonomy.orders import encode
from coterie.table.checked import Checked
from coterie.table.columns.column import CategoryColumn, Column

WARNING = "DO NOT PUBLISH: these figures are computed from the original data."


@dataclass(frozen=True, slots=True)
class NoiseFigures:
    """What is known once the noise is drawn."""

    zero_noise_share: float  # clusters whose noise has scale 0
    effective_multiplier: float | None  # idp-cbls only: how many ε_a the replaced minimum or maximum costs


@dataclass(frozen=True, slots=True)
class Protected:
    """One column after the chain: numbers or codes in record order, the column that goes out, and figures."""

    values: NDArray[Any]
    array: pa.Array
    noise: NoiseFigures | None  # None: not asked for
    linked: bool = True  # False: synthetic, so row i has nothing to do with record i

    def without_values(self) -> Protected:
        return replace(self, values=self.values[:0].copy())


@dataclass(frozen=True, slots=True)
class AttributeFigures:
    """Numbers have an error in variances; categories a mean semantic distance (001 eq. 3).

    Synthetic columns are compared in sorted order.
    """

    mean_squared_error: float | None
    variance_change: float | None  # 001 §4.2: |σ² − σ'²|/σ²
    mean_semantic_distance: float | None
    zero_noise_share: float
    effective_multiplier: float | None


@dataclass(frozen=True, slots=True)
class InternalFigures:
    rows_dropped: int
    values_clipped: dict[str, int]
    attributes: dict[str, AttributeFigures]
    row_order: list[int] | None = None  # of a shuffled release: which record (from 0) each released row is of

    def to_dict(self) -> dict[str, Any]:
        return {"warning": WARNING, **asdict(self)}


def noise_figures(centroids: Any, sensitivity: NDArray[np.float64], mechanism: Mechanism) -> NoiseFigures:
    cluster_based = isinstance(mechanism, LaplaceOnCentroids) and mechanism.bound is CLUSTER_BASED
    return NoiseFigures(
        zero_noise_share=float(np.mean(sensitivity == 0)),
        effective_multiplier=effective_multiplier(centroids.summary) if cluster_based else None,
    )


def internal_figures(
    checked: Checked, released: Mapping[str, Protected], order: NDArray[np.int64] | None = None
) -> InternalFigures:
    attributes = {name: _attribute(checked.columns[name], protected) for name, protected in released.items()}
    row_order = None if order is None else order.tolist()
    return InternalFigures(checked.rows_dropped, checked.values_clipped, attributes, row_order)


def _attribute(column: Column, released: Protected) -> AttributeFigures:
    assert released.noise is not None
    noise = asdict(released.noise)
    if isinstance(column, CategoryColumn):
        before, after = column.codes, released.values
        if not released.linked:
            before, after = (codes[np.argsort(encode(codes, column.order))] for codes in (before, after))
        return AttributeFigures(None, None, float(column.distance[before, after].mean()), **noise)
    original, values = column.values, released.values
    if not released.linked:
        original, values = np.sort(original), np.sort(values)
    variance, error = float(original.var()), float(np.mean((values - original) ** 2))
    if variance == 0:  # a constant attribute has no variance to measure by: any error counts as 1
        return AttributeFigures(float(error > 0), float(values.var() > 0), None, **noise)
    change = abs(variance - float(values.var())) / variance
    return AttributeFigures(error / variance, change, None, **noise)


def effective_multiplier(summary: Summary) -> float:
    """How many times ε_a the worse of two neighbours costs: minimum moved above the maximum, or the reverse.

    The first shifts every cluster's trimmed sum by expression (2), the second by expression (3), while each
    cluster's noise covers the larger of the two once (000 Prop. 3).
    """
    up, down = rise(summary), fall(summary)
    covered = np.maximum(up, down)
    noisy = covered > 0
    return float(max(np.sum(up[noisy] / covered[noisy]), np.sum(down[noisy] / covered[noisy])))
