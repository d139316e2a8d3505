"""A method as 001 publishes it: noisy values that leave the domain are released as they are.

Coterie cuts them at the domain's ends (000 §4.1 does too), which is post-processing and costs no ε. At a very small ε most
group values then fall on one of the two ends, and groups that were different look alike: cutting hides ties.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import pyarrow as pa

from coterie.budget import split
from coterie.columns.column import Floats, NumericColumn
from coterie.errors import ParameterError
from coterie.mechanism.numeric import Centroids, LaplaceOnCentroids
from coterie.methods import get_method
from coterie.noise.sampler import Sampler, laplace_scales
from coterie.noise.seeded import SeededSampler
from coterie.release import protect_column
from coterie.schema import Schema
from coterie.table import check


@dataclass(frozen=True, slots=True)
class Unclipped(LaplaceOnCentroids):
    def noise(
        self,
        column: NumericColumn,
        centroids: Centroids,
        sensitivity: Floats,
        epsilon: Fraction,
        sampler: Sampler,
    ) -> Floats:
        scales = laplace_scales(sensitivity, epsilon)
        return sampler.laplace(centroids.values, scales, column.attribute.name)


def can_be_unclipped(method: str, schema: Schema) -> bool:
    mechanism = get_method(method).numeric
    laplace = isinstance(mechanism, LaplaceOnCentroids) and mechanism.bound is not None
    return laplace and all(attribute.type.ranged for attribute in schema.protected)


def release_unclipped(
    table: pa.Table, schema: Schema, *, method: str, epsilon: Fraction, k: int | None, seed: int
) -> pa.Table:
    """protect() for numeric attributes and a seed, without the cut; rows in their order."""
    recipe = get_method(method)
    mechanism = recipe.numeric
    if not isinstance(mechanism, LaplaceOnCentroids) or not can_be_unclipped(method, schema):
        raise ParameterError(
            f"Method '{method}' on these attributes is more than Laplace noise on group values.",
            "Choose a method that adds Laplace noise, and numeric attributes.",
        )
    recipe = replace(recipe, numeric=Unclipped(mechanism.centroid, mechanism.bound, mechanism.caution))
    checked = check(table, schema)
    size = recipe.check_k(k, checked.records)
    weights = {attribute.name: attribute.weight for attribute in schema.protected}
    shares = split(epsilon, weights) if recipe.splits_budget else dict.fromkeys(weights, epsilon)
    find = recipe.grouping.prepare(list(checked.columns.values()), size)
    sampler = SeededSampler(seed)
    columns: dict[str, Any] = dict(checked.kept)
    for name, column in checked.columns.items():
        columns[name] = pa.array(protect_column(column, recipe, find, size, shares[name], sampler).values)
    return pa.table({a.name: columns[a.name] for a in schema.attributes if a.name in columns})
