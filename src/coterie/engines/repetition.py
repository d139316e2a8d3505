"""A release again and again on one table, for those who attack a method: what does not depend on the noise is done once."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from coterie.chain.kernel import Grouped, record_values, released_table
from coterie.chain.noise.sampler import shuffled_order
from coterie.chain.noise.seeded import SeededSampler
from coterie.engines.in_memory import protect_table
from coterie.methods import get_method
from coterie.promise.terms import Budget
from coterie.schema.attributes import Schema, Source
from coterie.schema.exact import Number
from coterie.table.checked import check
from coterie.table.columns.column import NumericColumn


def repeated(
    table: pa.Table, schema: Schema, *, method: str, epsilon: Number, k: int | None, shuffle: bool = False
) -> Callable[[int], pa.Table]:
    """For a seed, the table that protect_table() releases with it, to the last bit."""
    checked = check(table, schema)
    if any(isinstance(c, NumericColumn) and c.domain.source is Source.DP for c in checked.columns.values()):
        # Private bounds are drawn first, and everything rests on them.
        return lambda seed: (
            protect_table(
                table, schema, method=method, epsilon=epsilon, k=k, seed=seed, shuffle=shuffle
            ).table
        )
    recipe = get_method(method)
    if recipe.whole_table is not None:  # noise decides what is read next: there is nothing to do once
        return lambda seed: (
            protect_table(
                table, schema, method=method, epsilon=epsilon, k=k, seed=seed, shuffle=shuffle
            ).table
        )
    budget = Budget.of(epsilon, schema, recipe)
    k = recipe.check_k(k, checked.records, budget.mean)
    clustering_of = recipe.grouping.prepare(list(checked.columns.values()), k)
    grouped = {
        name: Grouped.of(column, recipe.mechanism(column), clustering_of(column), k)
        for name, column in checked.columns.items()
    }

    def release(seed: int) -> pa.Table:
        sampler = SeededSampler(seed)
        noisy = {name: one.noisy(budget.shares[name], sampler) for name, one in grouped.items()}
        drawn = record_values(noisy, checked.columns, recipe.synthesis, budget.dependence, sampler)
        arrays = {name: (c.restore(drawn[name]), c.field) for name, c in checked.columns.items()}
        released = released_table(schema, arrays, checked.kept)
        return released.take(pa.array(shuffled_order(sampler, checked.records))) if shuffle else released

    return release
