"""protect(): the whole chain. Read this first.

    table + Schema → Clustering → Centroids → Sensitivity → Noise → Rows → Certificate

Each stage is a frozen value and reads only the one before it; the method names the part for each stage.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from coterie.chain.mechanism.mechanism import Mechanism
from coterie.chain.noise.sampler import Sampler, shuffled_order
from coterie.chain.noise.secure import SecureSampler
from coterie.chain.noise.seeded import SeededSampler
from coterie.chain.partition.clustering import Clustering
from coterie.chain.private_bounds import pay_for_bounds
from coterie.chain.synthesis.synthesis import Ranks, Synthesis
from coterie.engines.internal_figures import (
    InternalFigures,
    NoiseFigures,
    Protected,
    internal_figures,
    noise_figures,
)
from coterie.engines.whole_table import Synthesised, check_options, synthesised
from coterie.errors import ParameterError
from coterie.methods import get_method
from coterie.methods.grouping import Find
from coterie.methods.recipe import Method
from coterie.promise.certificate import Certificate, Digest
from coterie.promise.terms import Budget, Promise, promise, whole_seed
from coterie.schema.attributes import AttributeType, Role, Schema
from coterie.schema.document import as_schema
from coterie.schema.exact import Number
from coterie.table.checked import Checked, check
from coterie.table.columns.column import Column, NumericColumn
from coterie.table.digest import table_digest
from coterie.table.frames import to_arrow

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Release(Promise):
    """What goes out (`data`, `certificate`) and what must not (`internal`)."""

    data: Any
    table: pa.Table
    _checked: Checked | None = field(repr=False)  # None: forgotten
    _linked: dict[str, Protected] = field(repr=False)
    _order: NDArray[np.int64] | None = field(repr=False, default=None)
    _found: Synthesised | None = field(repr=False, default=None)

    @cached_property
    def certificate(self) -> Certificate:
        """Over the canonical form of the table; a file that is written gets one over its bytes (`certify`)."""
        return self.certify(Digest(over="canonical table", value=table_digest(self.table)))

    @property
    def measurements(self) -> pa.Table:
        """The noisy counts that synthetic rows were drawn from: published with them, they cost nothing more."""
        if self._found is None:
            raise ParameterError(
                f"Method '{self.method}' does not draw rows from noisy counts.", "Choose dp-synthetic."
            )
        return self._found.measurements

    @cached_property
    def internal(self) -> InternalFigures:
        """What the release cost, from the original data: computed only when asked for, never to be published."""
        if self._checked is None:
            raise ParameterError(
                "The original columns were forgotten, so nothing can be compared with them.",
                "Protect the table without forget=True.",
            )
        return internal_figures(self._checked, self._linked, self._order)


def protect(
    data: Any,
    schema: Schema | str | Path | Mapping[str, Any],
    *,
    method: str,
    epsilon: Number | None = None,
    k: int | None = None,
    grouping: str = "equal",
    seed: int | None = None,
    shuffle: bool = False,
    clip: bool = True,
    forget: bool = False,
    progress: Progress | None = None,
    delta: Number | None = None,
    rows: int | None = None,
    target: str | None = None,
) -> Release:
    """Protect a table (pandas, polars, pyarrow, Spark): the released frame is of the same kind.

    The schema may also be a path or a mapping. A pandas index does not pass: released rows are numbered anew.

    ε is the total, split over the protected attributes by their weights. `grouping="optimal"` replaces ranked groups of
    equal size by optimal ones of k to 2k−1 records. `clip=False` releases numbers as the noise left them (001's and 004's
    algorithms do not mention clipping; their experiments, and 000, clip). Without `seed` the noise is secure; with it
    the release can be repeated and protects nobody, which the certificate says. Methods that model the whole table
    (`dp-synthetic`) take `delta` for (ε, δ)-DP, `rows` for any number of rows, and `target`, the name of an attribute that
    others will be used to predict: it is measured first. `forget=True` lets go of each original
    column once it is protected, and so of the figures in `internal`: half of the memory, if the caller lets go of the table.
    """
    recipe = get_method(method).grouped(grouping)
    schema = as_schema(schema)
    if type(data).__module__.startswith("pyspark."):
        from coterie.engines.spark.release import protect_frame  # which imports this module

        if shuffle or grouping != "equal" or not clip:
            raise ParameterError(
                "On Spark, rows are not shuffled, groups are of equal size, and numbers are clipped.",
                "Leave out shuffle, grouping and clip.",
            )
        # A SparkRelease: the same members, but `table`, `internal` and `certificate`, which need all rows here.
        return cast(Release, protect_frame(data, schema, method=method, epsilon=epsilon, k=k, seed=seed))
    budget = Budget.of(epsilon, schema, recipe, delta)
    check_options(recipe, schema, rows, target)
    table, restore = to_arrow(data, schema)
    checked = check(table, schema) if clip else _uncut(check(table, schema))
    del data, table
    k = recipe.check_k(k, checked.records, budget.mean)
    sampler = SecureSampler() if seed is None else SeededSampler(whole_seed(seed))
    paid = pay_for_bounds(checked, schema, budget.shares, sampler)
    checked, schema, budget, spent = paid.checked, paid.schema, replace(budget, shares=paid.left), paid.spent
    del paid
    if recipe.whole_table is not None:
        found = synthesised(
            recipe.whole_table,
            checked.columns,
            checked.records,
            budget,
            sampler,
            rows=rows,
            target=target,
            progress=progress,
        )
        results = {
            name: Protected(
                values, checked.columns[name].restore(values), NoiseFigures(0.0, None), linked=False
            )
            for name, values in found.values.items()
        }
        return _release(
            schema,
            recipe,
            found.budget,
            checked,
            results,
            sampler,
            restore,
            k,
            spent,
            shuffle,
            clip,
            forget,
            rows,
            found,
        )
    clustering_of = recipe.grouping.prepare(list(checked.columns.values()), k)
    waiting, names = dict(checked.columns), list(checked.columns)
    forget = forget and recipe.synthesis is None  # which reads all columns again
    if forget:
        checked = checked.without_records()

    def noisy(name: str) -> Noisy:
        grouped = Grouped.of(waiting.pop(name), recipe, clustering_of, k)
        result = grouped.noisy(budget.shares[name], sampler, measured=not forget)
        if progress:
            progress(name)
        return replace(result, column=checked.columns[name])

    def attached(name: str) -> Protected:
        result = noisy(name).attached()
        return result.without_values() if forget else result

    # Columns are independent: each has its own share of ε and its own stream of noise.
    with ThreadPoolExecutor(max_workers=min(os.cpu_count() or 1, len(names))) as pool:
        if recipe.synthesis is None:
            results = dict(zip(names, pool.map(attached, names), strict=True))
        else:
            lists = dict(zip(names, pool.map(noisy, names), strict=True))
            results = synthetic(recipe.synthesis, checked, lists, budget.dependence, sampler)

    return _release(
        schema, recipe, budget, checked, results, sampler, restore, k, spent, shuffle, clip, forget
    )


def _release(
    schema: Schema,
    recipe: Method,
    budget: Budget,
    checked: Checked,
    results: dict[str, Protected],
    sampler: Sampler,
    restore: Callable[[pa.Table, Any], Any],
    k: int,
    spent: Mapping[str, Fraction],
    shuffle: bool,
    clip: bool,
    forget: bool,
    asked: int | None = None,
    found: Synthesised | None = None,
) -> Release:
    order = shuffled_order(sampler, asked or checked.records) if shuffle else None
    released = rows(schema, checked, results, order)
    promised = promise(
        schema,
        recipe,
        budget,
        checked.records,
        k,
        sampler,
        checked.columns.values(),
        paid=spent,
        shuffled=shuffle,
        clipped=clip,
        rows=asked,
    )
    return Release(
        **vars(promised),
        data=restore(released, checked.kept),
        table=released,
        _checked=None if forget else checked,
        _linked=results,
        _order=order,
        _found=found,
    )


@dataclass(frozen=True, slots=True)
class Grouped:
    """One column just before its noise. The mechanism is that of the column's type."""

    column: Column
    mechanism: Mechanism
    clustering: Clustering
    centroids: Any
    sensitivity: NDArray[np.float64]

    @classmethod
    def of(cls, column: Column, method: Method, clustering_of: Find, k: int) -> Grouped:
        mechanism = method.mechanism(column)
        clustering = clustering_of(column)
        centroids = mechanism.centroids(column, clustering)
        return cls(column, mechanism, clustering, centroids, mechanism.sensitivity(column, centroids, k))

    def noisy(self, epsilon: Fraction, sampler: Sampler, *, measured: bool = True) -> Noisy:
        released = self.mechanism.noise(self.column, self.centroids, self.sensitivity, epsilon, sampler)
        figures = noise_figures(self.centroids, self.sensitivity, self.mechanism) if measured else None
        return Noisy(self.column, self.mechanism, self.clustering, released, figures)


@dataclass(frozen=True, slots=True)
class Noisy:
    """One column after its noise."""

    column: Column
    mechanism: Mechanism
    clustering: Clustering
    released: Any
    figures: NoiseFigures | None

    def attached(self) -> Protected:
        """One draw a cluster, shared by its members."""
        values, array = self.mechanism.rows(self.column, self.released, self.clustering)
        return Protected(values, array, self.figures)

    def synthetic(self, ranks: Ranks) -> Protected:
        values, array = self.mechanism.rows(self.column, self.released, ranks)
        return Protected(values, array, self.figures, linked=False)


def synthetic(
    synthesis: Synthesis, checked: Checked, noisy: Mapping[str, Noisy], epsilon: Fraction, sampler: Sampler
) -> dict[str, Protected]:
    """Rows drawn from the noisy distributions, and from the dependence between attributes that ε pays for."""
    marginals = {name: column.released for name, column in noisy.items()}
    ranks = synthesis.ranks(checked.columns, marginals, epsilon, sampler)
    return {name: column.synthetic(ranks[name]) for name, column in noisy.items()}


def rows(
    schema: Schema, checked: Checked, released: Mapping[str, Protected], order: NDArray[np.int64] | None
) -> pa.Table:
    """The released table in the schema's order, identifiers dropped; protected columns as the schema types them."""
    arrays: list[Any] = []
    fields = []
    for attribute in schema.attributes:
        name = attribute.name
        if attribute.role is Role.PROTECT:
            arrays.append(released[name].array)
            fields.append(checked.columns[name].field)
        elif attribute.role is Role.KEEP:
            arrays.append(checked.kept[name])
            fields.append(pa.field(name, checked.kept[name].type))
    # One chunk: the pieces in which a reader hands over a table follow from the length of its cells.
    table = pa.Table.from_arrays(arrays, schema=pa.schema(fields)).combine_chunks()
    return table if order is None else table.take(pa.array(order))


def _uncut(checked: Checked) -> Checked:
    """Numbers as the noise left them. Dates, ranks and labels have no values beyond their domain."""
    plain = (AttributeType.CONTINUOUS, AttributeType.INTEGER)
    columns = {
        name: replace(column, clip=False)
        if isinstance(column, NumericColumn) and column.attribute.type in plain
        else column
        for name, column in checked.columns.items()
    }
    return replace(checked, columns=columns)
