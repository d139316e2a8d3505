"""Internal figures: what the release cost, computed from the original data. Never to be published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from coterie.methods.recipe import Recipe
from coterie.partition.summary import Summary
from coterie.sensitivity.cluster_based import CLUSTER_BASED, fall, rise
from coterie.table import Checked, Floats

WARNING = "DO NOT PUBLISH: these figures are computed from the original data."


@dataclass(frozen=True, slots=True)
class NoiseFigures:
    """What is known once the noise is drawn, at no cost."""

    zero_noise_share: float  # clusters whose noise has scale 0
    effective_multiplier: float | None  # idp-cbls only: how many ε_a the replaced minimum or maximum costs


@dataclass(frozen=True, slots=True)
class AttributeFigures:
    mean_squared_error: float  # in units of the original variance
    variance_change: float  # 001 §4.2: |σ² − σ'²|/σ²
    zero_noise_share: float
    effective_multiplier: float | None


@dataclass(frozen=True, slots=True)
class InternalFigures:
    rows_dropped: int
    values_clipped: dict[str, int]
    attributes: dict[str, AttributeFigures]

    def to_dict(self) -> dict[str, Any]:
        return {"warning": WARNING, **asdict(self)}


def noise_figures(summary: Summary, scales: Floats, recipe: Recipe) -> NoiseFigures:
    return NoiseFigures(
        zero_noise_share=float(np.mean(scales == 0)),
        effective_multiplier=effective_multiplier(summary) if recipe.bound is CLUSTER_BASED else None,
    )


def internal_figures(checked: Checked, linked: Mapping[str, tuple[Floats, NoiseFigures]]) -> InternalFigures:
    attributes = {
        name: _attribute(checked.columns[name], released, noise) for name, (released, noise) in linked.items()
    }
    return InternalFigures(checked.rows_dropped, checked.values_clipped, attributes)


def _attribute(original: Floats, released: Floats, noise: NoiseFigures) -> AttributeFigures:
    variance = float(original.var())
    error = float(np.mean((released - original) ** 2))
    return AttributeFigures(
        # A constant attribute has no variance to measure by: any error counts as 1.
        mean_squared_error=error / variance if variance > 0 else float(error > 0),
        variance_change=abs(variance - float(released.var())) / variance if variance > 0 else 0.0,
        **asdict(noise),
    )


def effective_multiplier(summary: Summary) -> float:
    """How many times ε_a the worse of two neighbours costs: minimum moved above the maximum, or the reverse.

    The first shifts every cluster's trimmed sum by expression (2), the second by expression (3), while each
    cluster's noise covers the larger of the two once (000 Prop. 3).
    """
    up, down = rise(summary), fall(summary)
    covered = np.maximum(up, down)
    noisy = covered > 0
    return float(max(np.sum(up[noisy] / covered[noisy]), np.sum(down[noisy] / covered[noisy])))
