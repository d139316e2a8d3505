"""Internal figures: what the release cost, computed from the original data. Never to be published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.chain.kernel import Grouped
from coterie.errors import counted
from coterie.schema.arrays import Floats, Whole
from coterie.schema.rules import EditRules, NotApplicableRule
from coterie.table.checked import Checked
from coterie.table.columns.column import (
    CategoryColumn,
    Column,
    in_label_order,
    semantic_distance,
    squared_error,
    variance_change,
)
from coterie.table.columns.places import as_rows, rows_like
from coterie.table.estimates import EstimatePair, compared

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
class RuleFigures:
    """How many rows violate a rule of the schema."""

    before: int  # in the original; of what is not applicable, cells that held something
    after: int  # in the release


@dataclass(frozen=True, slots=True, repr=False)
class InternalFigures:
    """What the steward may know and nobody else: computed from the original data."""

    values_clipped: dict[str, int]
    attributes: dict[str, AttributeFigures]
    rules: dict[str, RuleFigures]
    row_order: list[int] | None = None  # of a shuffled release: which record (from 0) each released row is of
    estimates: list[EstimatePair] | None = None  # by the weight and without, where there is one

    def __repr__(self) -> str:
        return f"<InternalFigures: {counted(len(self.attributes), 'attribute')}; do not publish>"

    def to_dict(self) -> dict[str, Any]:
        content = {"warning": WARNING, **asdict(self)}
        return {name: value for name, value in content.items() if name != "estimates" or value is not None}


def noise_figures(grouped: Grouped) -> NoiseFigures:
    return NoiseFigures(
        zero_noise_share=float(np.mean(grouped.sensitivity == 0)),
        effective_multiplier=grouped.mechanism.multiplier(grouped.centroids),
    )


def internal_figures(
    checked: Checked,
    released: Mapping[str, NDArray[Any]],
    noise: Mapping[str, NoiseFigures],
    rules: EditRules,
    *,
    synthetic: bool,
    order: Whole | None,
    weight: str | None = None,
    raked: Floats | None = None,
) -> InternalFigures:
    """`released` holds numbers or codes in record order. The figures are those of `coterie evaluate`.

    `raked`: the weights of the release, where they were made from public totals.
    """
    attributes = {
        name: _attribute(checked.as_they_were(name), values, noise[name], synthetic=synthetic)
        for name, values in released.items()
    }
    row_order = None if order is None else order.tolist()
    estimates = None
    if weight is not None:
        before = {name: checked.as_they_were(name) for name in released}
        after = {name: _with_values(before[name], values) for name, values in released.items()}
        weights = (None, raked) if raked is not None else (before[weight].position, released[weight])
        estimates = compared(before, after, weights, weight)
    return InternalFigures(
        checked.values_clipped, attributes, _rules(checked, released, rules), row_order, estimates
    )


def _with_values(column: Column, values: NDArray[Any]) -> Column:
    if isinstance(column, CategoryColumn):
        return replace(column, codes=values)
    return replace(column, values=values)


def _rules(
    checked: Checked, released: Mapping[str, NDArray[Any]], rules: EditRules
) -> dict[str, RuleFigures]:
    named = {name: checked.as_they_were(name) for name in released if name in rules.columns}
    before, after = as_rows(named), rows_like(named, released)
    return {
        rule.text: RuleFigures(
            checked.emptied[rule.column]
            if isinstance(rule, NotApplicableRule)
            else int(rule.violated(before).sum()),
            int(rule.violated(after).sum()),
        )
        for rule in rules.all
    }


def _attribute(
    column: Column, released: NDArray[Any], noise: NoiseFigures, *, synthetic: bool
) -> AttributeFigures:
    if isinstance(column, CategoryColumn):
        if not len(column.codes):
            return AttributeFigures(None, None, None, **asdict(noise))
        if synthetic:
            column = replace(column, codes=in_label_order(column, column.codes))
            released = _as_many(in_label_order(column, released), len(column.codes))
        return AttributeFigures(None, None, semantic_distance(column, released), **asdict(noise))
    original = column.values
    if not len(original):
        return AttributeFigures(None, None, None, **asdict(noise))
    if synthetic:
        original, released = np.sort(original), _as_many(np.sort(released), len(original))
    figures = squared_error(original, released), variance_change(original, released), None
    return AttributeFigures(*figures, **asdict(noise))


def _as_many(ordered: NDArray[Any], count: int) -> NDArray[Any]:
    """Take `count` values at even distances from an ordered column: synthetic rows may be more or fewer than records."""
    if len(ordered) == count:
        return ordered
    return np.asarray(ordered[(np.arange(count) * 2 + 1) * len(ordered) // (2 * count)])
