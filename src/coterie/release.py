"""protect(): the whole chain. Read this first.

    table + Schema → Clustering → Centroids → Sensitivity → Noise → Rows → Certificate

Each stage is a frozen value and reads only the one before it; the method names the part for each stage.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, cast

import pyarrow as pa

from coterie.budget import Number, parse_epsilon, split
from coterie.certificate import Certificate, Digest, certify
from coterie.columns.column import Column
from coterie.errors import ParameterError
from coterie.figures import InternalFigures, Protected, internal_figures, noise_figures
from coterie.guarantee import Facts, Guarantee, settle
from coterie.io.digest import table_digest
from coterie.io.frames import to_arrow
from coterie.methods import get_method
from coterie.methods.grouping import Find
from coterie.methods.recipe import Method
from coterie.noise.sampler import Sampler, shuffled_order
from coterie.noise.secure import SecureSampler
from coterie.noise.seeded import SeededSampler
from coterie.schema import Missing, Role, Schema
from coterie.table import Checked, check

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Release:
    """What goes out (`data`, `certificate`) and what must not (`internal`)."""

    data: Any
    table: pa.Table
    method: str
    cost: Fraction  # what a ledger is charged
    guarantee: Guarantee
    certify: Callable[[Digest], Certificate] = field(repr=False)
    _checked: Checked = field(repr=False)
    _linked: dict[str, Protected] = field(repr=False)

    @cached_property
    def certificate(self) -> Certificate:
        """Over the canonical form of the table; a file that is written gets one over its bytes (`certify`)."""
        return self.certify(Digest(over="canonical table", value=table_digest(self.table)))

    @cached_property
    def internal(self) -> InternalFigures:
        """What the release cost, from the original data: computed only when asked for, never to be published."""
        return internal_figures(self._checked, self._linked)


def protect(
    data: Any,
    schema: Schema,
    *,
    method: str,
    epsilon: Number,
    k: int | None = None,
    grouping: str = "equal",
    seed: int | None = None,
    shuffle: bool = False,
    progress: Progress | None = None,
) -> Release:
    """Protect a table (pandas, polars, pyarrow, Spark): the released frame is of the same kind.

    ε is the total, split over the protected attributes by their weights. `grouping="optimal"` replaces ranked groups of
    equal size by optimal ones of k to 2k−1 records. Without `seed` the noise is secure; with it
    the release can be repeated and protects nobody, which the certificate says.
    """
    recipe = get_method(method).grouped(grouping)
    if type(data).__module__.startswith("pyspark."):
        from coterie.spark_release import protect_frame  # which imports this module

        if shuffle or grouping != "equal":
            raise ParameterError(
                "On Spark, rows are not shuffled and groups are of equal size.",
                "Leave out shuffle and grouping.",
            )
        # A SparkRelease: the same members, but `table`, `internal` and `certificate`, which need all rows here.
        return cast(Release, protect_frame(data, schema, method=method, epsilon=epsilon, k=k, seed=seed))
    total = parse_epsilon(epsilon)
    table, restore = to_arrow(data)
    checked = check(table, schema)
    k = recipe.check_k(k, checked.records)
    sampler = SecureSampler() if seed is None else SeededSampler(whole_seed(seed))
    shares = shares_of(total, schema, recipe)
    clustering_of = recipe.grouping.prepare(list(checked.columns.values()), k)

    def one(column: Column) -> Protected:
        result = protect_column(column, recipe, clustering_of, k, shares[column.attribute.name], sampler)
        if progress:
            progress(column.attribute.name)
        return result

    # Columns are independent: each has its own share of ε and its own stream of noise.
    with ThreadPoolExecutor(max_workers=min(os.cpu_count() or 1, len(checked.columns))) as pool:
        results = dict(zip(checked.columns, pool.map(one, checked.columns.values()), strict=True))

    order = shuffled_order(sampler, checked.records) if shuffle else None
    released = _rows(schema, results, checked.kept, order)
    facts = facts_of(schema, recipe, total, checked.records, k, sampler, shuffled=shuffle)
    guarantee = settle(recipe.promise, facts)
    promise = partial(
        certify,
        guarantee,
        facts,
        schema,
        recipe,
        shares,
        sampler,
        tuple(released.column_names),
        datetime.now(UTC),
    )
    cost = recipe.cost(total, len(schema.protected))
    return Release(restore(released), released, method, cost, guarantee, promise, checked, results)


def protect_column(
    column: Column, method: Method, clustering_of: Find, k: int, epsilon: Fraction, sampler: Sampler
) -> Protected:
    """One column through the chain. The mechanism is that of the column's type."""
    mechanism = method.mechanism(column)
    clustering = clustering_of(column)
    centroids = mechanism.centroids(column, clustering)
    sensitivity = mechanism.sensitivity(column, centroids, k)
    released = mechanism.noise(column, centroids, sensitivity, epsilon, sampler)
    # One draw a cluster, shared by its members.
    values, array = mechanism.rows(column, released, clustering)
    return Protected(values, array, noise_figures(centroids, sensitivity, mechanism))


def shares_of(epsilon: Fraction, schema: Schema, method: Method) -> dict[str, Fraction]:
    weights = {attribute.name: attribute.weight for attribute in schema.protected}
    return split(epsilon, weights) if method.splits_budget else dict.fromkeys(weights, epsilon)


def facts_of(
    schema: Schema,
    method: Method,
    epsilon: Fraction,
    records: int,
    k: int,
    sampler: Sampler,
    *,
    shuffled: bool,
) -> Facts:
    """What the promise may depend on: all of it declared, or visible in the release."""
    return Facts(
        epsilon=epsilon,
        records=records,
        k=k,
        clusters=records // k,
        protected=tuple(a.name for a in schema.protected),
        kept=tuple(a.name for a in schema.with_role(Role.KEEP)),
        bounds_from_data=tuple(a.name for a in schema.protected if a.domain_from_data),
        order_from_data=tuple(a.name for a in schema.protected if a.order_from_data),
        sizes_from_data=method.grouping.sizes is None,
        rows_may_drop=tuple(
            a.name
            for a in schema.attributes
            if a.missing is Missing.DROP_ROW and a.role is not Role.IDENTIFIER
        ),
        shuffled=shuffled,
        private_noise=sampler.private,
    )


def _rows(
    schema: Schema, released: Mapping[str, Protected], kept: Mapping[str, pa.ChunkedArray], order: Any
) -> pa.Table:
    """The released table in the schema's order, identifiers dropped."""
    columns: dict[str, Any] = {}
    for attribute in schema.attributes:
        if attribute.role is Role.PROTECT:
            columns[attribute.name] = released[attribute.name].array
        elif attribute.role is Role.KEEP:
            columns[attribute.name] = kept[attribute.name]
    table = pa.table(columns)
    return table if order is None else table.take(pa.array(order))


def whole_seed(seed: object) -> int:
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ParameterError("The seed is not a whole number from 0 up.", "Give for example seed=1.")
    return seed
