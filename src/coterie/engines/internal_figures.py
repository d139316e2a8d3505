"""Internal figures: what the release cost, computed from the original data. Never to be published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.chain.kernel import Grouped
from coterie.table.checked import Checked
from coterie.table.columns.column import (
    CategoryColumn,
    Column,
    in_label_order,
    semantic_distance,
    squared_error,
    variance_change,
)

WARNING = "DO NOT PUBLISH: these figures are computed from the original data."


@dataclass(frozen=True, slots=True)
class NoiseFigures:
    """What is known once the noise is drawn."""

    zero_noise_share: float  # clusters whose noise has scale 0
    effective_multiplier: float | None  # idp-cbls only: how many ε_a the replaced minimum or maximum costs


@dataclass(frozen=True, slots=True)
class AttributeFigures:
    """Numbers have an error in variances; categories a mean semantic distance (Sánchez et al. 2016, eq. 3).

    Synthetic columns are compared in sorted order.
    """

    mean_squared_error: float | None
    variance_change: float | None  # Sánchez et al. 2016, §4.2: |σ² − σ'²|/σ²
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


def noise_figures(grouped: Grouped) -> NoiseFigures:
    return NoiseFigures(
        zero_noise_share=float(np.mean(grouped.sensitivity == 0)),
        effective_multiplier=grouped.mechanism.multiplier(grouped.centroids),
    )


def internal_figures(
    checked: Checked,
    released: Mapping[str, NDArray[Any]],
    noise: Mapping[str, NoiseFigures],
    *,
    synthetic: bool,
    order: NDArray[np.int64] | None,
) -> InternalFigures:
    """`released` holds numbers or codes in record order. The figures are those of `coterie evaluate`."""
    attributes = {
        name: _attribute(checked.as_they_were(name), values, noise[name], synthetic=synthetic)
        for name, values in released.items()
    }
    row_order = None if order is None else order.tolist()
    return InternalFigures(checked.rows_dropped, checked.values_clipped, attributes, row_order)


def _attribute(
    column: Column, released: NDArray[Any], noise: NoiseFigures, *, synthetic: bool
) -> AttributeFigures:
    if isinstance(column, CategoryColumn):
        if synthetic:
            column = replace(column, codes=in_label_order(column, column.codes))
            released = in_label_order(column, released)
        return AttributeFigures(None, None, semantic_distance(column, released), **asdict(noise))
    original = column.values
    if synthetic:
        original, released = np.sort(original), np.sort(released)
    figures = squared_error(original, released), variance_change(original, released), None
    return AttributeFigures(*figures, **asdict(noise))
