"""protect(): the whole chain. Read this first.

    table + Schema → Clustering → Centroids → Sensitivity → Noise → Rows → Certificate

Each stage is a frozen value and reads only the one before it; the method names the part for each stage.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction
from functools import cached_property, partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from coterie.bounds.paid import pay_for_bounds
from coterie.budget import Number, parse_epsilon, split
from coterie.certificate import Certificate, Digest, certify
from coterie.columns.column import CategoryColumn, Column, NumericColumn
from coterie.errors import ParameterError
from coterie.figures import InternalFigures, NoiseFigures, Protected, internal_figures, noise_figures
from coterie.guarantee import Facts, Guarantee, settle
from coterie.io.digest import table_digest
from coterie.io.frames import to_arrow
from coterie.mechanism.mechanism import Mechanism
from coterie.methods import get_method
from coterie.methods.grouping import Find
from coterie.methods.recipe import Method
from coterie.noise.sampler import Sampler, shuffled_order
from coterie.noise.secure import SecureSampler
from coterie.noise.seeded import SeededSampler
from coterie.partition.clustering import Clustering
from coterie.schema import AttributeType, Missing, Role, Schema, Source
from coterie.schema_file import as_schema
from coterie.synthesis.synthesis import Ranks, Synthesis
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
    _order: NDArray[np.int64] | None = field(repr=False, default=None)

    @cached_property
    def certificate(self) -> Certificate:
        """Over the canonical form of the table; a file that is written gets one over its bytes (`certify`)."""
        return self.certify(Digest(over="canonical table", value=table_digest(self.table)))

    @cached_property
    def internal(self) -> InternalFigures:
        """What the release cost, from the original data: computed only when asked for, never to be published."""
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
    progress: Progress | None = None,
) -> Release:
    """Protect a table (pandas, polars, pyarrow, Spark): the released frame is of the same kind.

    The schema may also be a path or a mapping. A pandas index does not pass: released rows are numbered anew.

    ε is the total, split over the protected attributes by their weights. `grouping="optimal"` replaces ranked groups of
    equal size by optimal ones of k to 2k−1 records. `clip=False` releases numbers as the noise left them (001's and 004's
    algorithms do not mention clipping; their experiments, and 000, clip). Without `seed` the noise is secure; with it
    the release can be repeated and protects nobody, which the certificate says.
    """
    recipe = get_method(method).grouped(grouping)
    schema = as_schema(schema)
    if type(data).__module__.startswith("pyspark."):
        from coterie.spark_release import protect_frame  # which imports this module

        if shuffle or grouping != "equal" or not clip:
            raise ParameterError(
                "On Spark, rows are not shuffled, groups are of equal size, and numbers are clipped.",
                "Leave out shuffle, grouping and clip.",
            )
        # A SparkRelease: the same members, but `table`, `internal` and `certificate`, which need all rows here.
        return cast(Release, protect_frame(data, schema, method=method, epsilon=epsilon, k=k, seed=seed))
    total = total_epsilon(epsilon, recipe)
    table, restore = to_arrow(data)
    checked = check(table, schema) if clip else _uncut(check(table, schema))
    shares, dependence = shares_of(total, schema, recipe)
    k = recipe.check_k(k, checked.records, sum(shares.values(), Fraction(0)) / len(shares))
    sampler = SecureSampler() if seed is None else SeededSampler(whole_seed(seed))
    paid = pay_for_bounds(checked, schema, shares, sampler)
    checked, schema, shares = paid.checked, paid.schema, paid.left
    clustering_of = recipe.grouping.prepare(list(checked.columns.values()), k)

    def noisy(column: Column) -> Noisy:
        result = noisy_column(column, recipe, clustering_of, k, shares[column.attribute.name], sampler)
        if progress:
            progress(column.attribute.name)
        return result

    # Columns are independent: each has its own share of ε and its own stream of noise.
    names, columns = checked.columns.keys(), checked.columns.values()
    with ThreadPoolExecutor(max_workers=min(os.cpu_count() or 1, len(columns))) as pool:
        if recipe.synthesis is None:
            attached = pool.map(lambda column: noisy(column).attached(), columns)
            results = dict(zip(names, attached, strict=True))
        else:
            lists = dict(zip(names, pool.map(noisy, columns), strict=True))
            results = _synthetic(recipe.synthesis, checked, lists, dependence, sampler)

    order = shuffled_order(sampler, checked.records) if shuffle else None
    released = _rows(schema, results, checked.kept, order)
    facts = replace(
        facts_of(schema, recipe, total, checked.records, k, sampler, shuffled=shuffle),
        taxonomies=digests_of(checked.columns.values()),
        clipped=clip,
    )
    guarantee = settle(recipe.promise, facts)
    promise = partial(
        certify,
        guarantee,
        facts,
        schema,
        recipe,
        shares,
        paid.spent,
        dependence,
        sampler,
        tuple(released.column_names),
        datetime.now(UTC),
    )
    cost = recipe.cost(total, len(schema.protected))
    return Release(restore(released), released, method, cost, guarantee, promise, checked, results, order)


@dataclass(frozen=True, slots=True)
class Noisy:
    """One column after its noise."""

    column: Column
    mechanism: Mechanism
    clustering: Clustering
    released: Any
    figures: NoiseFigures

    def attached(self) -> Protected:
        """One draw a cluster, shared by its members."""
        values, array = self.mechanism.rows(self.column, self.released, self.clustering)
        return Protected(values, array, self.figures)

    def synthetic(self, ranks: Ranks) -> Protected:
        values, array = self.mechanism.rows(self.column, self.released, ranks)
        return Protected(values, array, self.figures, linked=False)


def noisy_column(
    column: Column, method: Method, clustering_of: Find, k: int, epsilon: Fraction, sampler: Sampler
) -> Noisy:
    """One column through the chain. The mechanism is that of the column's type."""
    mechanism = method.mechanism(column)
    clustering = clustering_of(column)
    centroids = mechanism.centroids(column, clustering)
    sensitivity = mechanism.sensitivity(column, centroids, k)
    released = mechanism.noise(column, centroids, sensitivity, epsilon, sampler)
    return Noisy(column, mechanism, clustering, released, noise_figures(centroids, sensitivity, mechanism))


def _synthetic(
    synthesis: Synthesis, checked: Checked, noisy: Mapping[str, Noisy], epsilon: Fraction, sampler: Sampler
) -> dict[str, Protected]:
    """Rows drawn from the noisy distributions, and from the dependence between attributes that ε pays for."""
    marginals = {name: column.released for name, column in noisy.items()}
    ranks = synthesis.ranks(checked.columns, marginals, epsilon, sampler)
    return {name: column.synthetic(ranks[name]) for name, column in noisy.items()}


def shares_of(epsilon: Fraction, schema: Schema, method: Method) -> tuple[dict[str, Fraction], Fraction]:
    """ε of every attribute, and of the dependence between them; together exactly ε (or m·ε, where not split)."""
    weights = {attribute.name: attribute.weight for attribute in schema.protected}
    dependence = method.dependence(epsilon, len(weights))
    if not method.splits_budget:
        return dict.fromkeys(weights, epsilon), dependence
    return split(epsilon - dependence, weights), dependence


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
        bounds_paid=tuple(a.name for a in schema.protected if a.domain and a.domain.source is Source.DP),
        order_from_data=tuple(a.name for a in schema.protected if a.order_from_data),
        sizes_from_data=method.grouping.sizes is None,
        rows_may_drop=tuple(
            a.name
            for a in schema.attributes
            if a.missing is Missing.DROP_ROW and a.role is not Role.IDENTIFIER
        ),
        shuffled=shuffled,
        synthetic=method.synthesis is not None,
        private_noise=sampler.private or not method.adds_noise,
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


def digests_of(columns: Iterable[Column]) -> tuple[tuple[str, str], ...]:
    """By which a certificate names the trees of labels that were used."""
    labelled = [column for column in columns if isinstance(column, CategoryColumn)]
    return tuple((column.attribute.name, column.taxonomy.digest()) for column in labelled)


def total_epsilon(epsilon: Number | None, method: Method) -> Fraction:
    """ε as given. A method without noise needs none; one that was given is checked all the same."""
    if epsilon is not None:
        return parse_epsilon(epsilon)
    if method.adds_noise:
        raise ParameterError(
            f"Method '{method.name}' needs a privacy budget.", "Give epsilon, for example 1."
        )
    return Fraction(1)


def whole_seed(seed: object) -> int:
    if isinstance(seed, bool) or not hasattr(seed, "__index__") or operator.index(seed) < 0:
        raise ParameterError("The seed is not a whole number from 0 up.", "Give for example seed=1.")
    return operator.index(seed)
