"""The chain, written once. Read this first.

    table + Schema → Clustering → Centroids → Sensitivity → Noise → Rows

A method names the part for each stage. A driver says where the records wait and what is shared between releases: it hands
over a column (all of it, or the records of some clusters), the clustering of those records and a sampler, and takes what is
released. `engines/in_memory` holds the whole table, and for audits groups once and draws noise many times (`repeated`);
`engines/out_of_core` and `engines/spark` hand over some whole clusters at a time; `comparison` does it for many methods and
ε, and gives one row of draws per run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from coterie.chain.mechanism import Mechanism
from coterie.chain.noise.sampler import Sampler, shuffled_order
from coterie.chain.partition.clustering import Clustering, attach
from coterie.schema.arrays import Floats, Whole
from coterie.schema.attributes import Role, Schema
from coterie.table.columns.column import Column, NumericColumn


@dataclass(frozen=True, slots=True)
class Grouped:
    """One column just before its noise. All that follows from it and an ε is what randomness adds."""

    column: Column
    mechanism: Mechanism
    clustering: Clustering
    centroids: Any
    sensitivity: Floats

    @classmethod
    def of(cls, column: Column, mechanism: Mechanism, clustering: Clustering, k: int) -> Grouped:
        centroids = mechanism.centroids(column, clustering)
        return cls(column, mechanism, clustering, centroids, mechanism.sensitivity(column, centroids, k))

    def noisy(self, epsilon: Fraction, sampler: Sampler) -> Noisy:
        released = self.mechanism.noise(self.column, self.centroids, self.sensitivity, epsilon, sampler)
        return Noisy(self.column, self.clustering, released)


@dataclass(frozen=True, slots=True)
class Noisy:
    """One column after its noise: a number or code per cluster, or the distribution that synthetic rows read."""

    column: Column
    clustering: Clustering
    released: Any

    def attached(self) -> NDArray[Any]:
        """Every record gets the value of its cluster: one draw, shared by its members."""
        if isinstance(self.column, NumericColumn):
            return attach(np.asarray(self.released, dtype=np.float64), self.clustering)
        return np.asarray(self.released)[self.clustering.labels]

    def at_ranks(self, ranks: Whole) -> NDArray[Any]:
        """Rank r of n reads the distribution at (r + ½)/n: every list entry appears as often as its weight says."""
        values: NDArray[Any] = self.released.at((ranks + 0.5) / len(ranks))
        if isinstance(self.column, NumericColumn):
            values = np.clip(values, *self.column.limits)
        return values


def record_values(noisy: Mapping[str, Noisy], *, lists: bool, sampler: Sampler) -> dict[str, NDArray[Any]]:
    """Every row's number or code: of its cluster, or, for lists, each attribute in a random order of its own."""
    if not lists:
        return {name: one.attached() for name, one in noisy.items()}
    return {
        name: one.at_ranks(
            shuffled_order(sampler, len(one.column.position), f"{name}: order of the synthetic rows")
        )
        for name, one in noisy.items()
    }


def released_table(
    schema: Schema, released: Mapping[str, tuple[pa.Array, pa.Field]], kept: Mapping[str, Any]
) -> pa.Table:
    """The columns in the schema's order, identifiers dropped; protected ones as the schema types them."""
    arrays: list[Any] = []
    fields: list[pa.Field] = []
    for attribute in schema.attributes:
        name = attribute.name
        if name in released:
            array, field = released[name]
            arrays.append(array)
            fields.append(field)
        elif attribute.role is Role.KEEP:
            arrays.append(kept[name])
            fields.append(pa.field(name, kept[name].type))
    # One chunk: the pieces in which a reader hands over a table follow from the length of its cells.
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields)).combine_chunks()
