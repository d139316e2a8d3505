"""protect(): the whole chain. Read this first.

    table + Schema → Clustering → Centroids → Sensitivity → Noise → Rows → Certificate

Each stage is a frozen value and reads only the one before it; the method names the part for each stage.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow as pa

from coterie.budget import Number, parse_epsilon, split
from coterie.certificate import Certificate, Digest, certify
from coterie.engines import local
from coterie.errors import ParameterError
from coterie.figures import InternalFigures, NoiseFigures, internal_figures, noise_figures
from coterie.guarantee import Facts, Guarantee, settle
from coterie.io.digest import table_digest
from coterie.io.frames import to_arrow
from coterie.methods import get_method
from coterie.methods.recipe import Recipe
from coterie.noise.sampler import Sampler, laplace_scales, shuffled_order
from coterie.noise.secure import SecureSampler
from coterie.noise.seeded import SeededSampler
from coterie.schema import Attribute, AttributeType, Missing, Role, Schema, Source
from coterie.table import Checked, Floats, check

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Release:
    """What goes out (`data`, `certificate`) and what must not (`internal`)."""

    data: Any
    table: pa.Table
    method: str
    guarantee: Guarantee
    certify: Callable[[Digest], Certificate] = field(repr=False)
    _checked: Checked = field(repr=False)
    _linked: dict[str, tuple[Floats, NoiseFigures]] = field(repr=False)

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
    seed: int | None = None,
    shuffle: bool = False,
    progress: Progress | None = None,
) -> Release:
    """Protect a table (pandas, polars, pyarrow): the released frame is of the same kind.

    ε is the total, split over the protected attributes by their weights. Without `seed` the noise is secure; with it
    the release can be repeated and protects nobody, which the certificate says.
    """
    recipe = get_method(method)
    total = parse_epsilon(epsilon)
    table, restore = to_arrow(data)
    checked = check(table, schema)
    k = recipe.check_k(k, checked.records)
    sampler = SecureSampler() if seed is None else SeededSampler(_whole(seed))
    shares = split(total, {attribute.name: attribute.weight for attribute in schema.protected})

    def one(attribute: Attribute) -> tuple[Floats, NoiseFigures]:
        values = checked.columns[attribute.name]
        result = protect_attribute(values, attribute, recipe.numeric, k, shares[attribute.name], sampler)
        if progress:
            progress(attribute.name)
        return result

    # Columns are independent: each has its own clusters, its own share of ε and its own stream of noise.
    with ThreadPoolExecutor(max_workers=min(os.cpu_count() or 1, len(schema.protected))) as pool:
        results = dict(zip((a.name for a in schema.protected), pool.map(one, schema.protected), strict=True))

    order = shuffled_order(sampler, checked.records) if shuffle else None
    released = _rows(schema, {name: values for name, (values, _) in results.items()}, checked.kept, order)
    facts = _facts(schema, total, checked.records, k, sampler, shuffled=shuffle)
    guarantee = settle(recipe.promise, facts)
    promise = partial(
        certify, guarantee, facts, schema, recipe, shares, sampler, tuple(released.column_names), datetime.now(UTC)
    )
    return Release(restore(released), released, method, guarantee, promise, checked, results)


def protect_attribute(
    values: Floats, attribute: Attribute, recipe: Recipe, k: int, epsilon: Fraction, sampler: Sampler
) -> tuple[Floats, NoiseFigures]:
    """One attribute through the chain; what it cost goes to the internal figures."""
    domain = attribute.bounds()
    clustering = recipe.partition.compute(values, k)
    summary = local.summarise(values, clustering, recipe.depth)
    centroids = recipe.centroid.compute(summary)
    scales = np.zeros(clustering.count)
    if recipe.bound is not None:
        scales = laplace_scales(recipe.bound.compute(summary, domain, k), epsilon)
    noisy = sampler.laplace(centroids, scales, attribute.name)
    # One draw a cluster, shared by its members; clipping and rounding are post-processing, so they cost no ε.
    noisy = np.clip(noisy, domain.lower, domain.upper)
    if attribute.type is AttributeType.INTEGER:
        noisy = np.rint(noisy)
    return local.attach(noisy, clustering), noise_figures(summary, scales, recipe)


def _facts(
    schema: Schema, epsilon: Fraction, records: int, k: int, sampler: Sampler, *, shuffled: bool
) -> Facts:
    """What the promise may depend on: all of it declared, or visible in the release."""
    return Facts(
        epsilon=epsilon,
        records=records,
        k=k,
        clusters=records // k,
        protected=tuple(a.name for a in schema.protected),
        kept=tuple(a.name for a in schema.with_role(Role.KEEP)),
        bounds_from_data=tuple(a.name for a in schema.protected if a.bounds().source is Source.DATA),
        rows_may_drop=tuple(
            a.name for a in schema.attributes if a.missing is Missing.DROP_ROW and a.role is not Role.IDENTIFIER
        ),
        shuffled=shuffled,
        private_noise=sampler.private,
    )


def _rows(
    schema: Schema, released: dict[str, Floats], kept: dict[str, pa.ChunkedArray], order: Any
) -> pa.Table:
    """The released table in the schema's order, identifiers dropped."""
    columns: dict[str, Any] = {}
    for attribute in schema.attributes:
        if attribute.role is Role.PROTECT:
            values = released[attribute.name]
            whole = attribute.type is AttributeType.INTEGER
            columns[attribute.name] = pa.array(values.astype(np.int64) if whole else values)
        elif attribute.role is Role.KEEP:
            columns[attribute.name] = kept[attribute.name]
    table = pa.table(columns)
    return table if order is None else table.take(pa.array(order))


def _whole(seed: object) -> int:
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ParameterError("The seed is not a whole number from 0 up.", "Give for example seed=1.")
    return seed
