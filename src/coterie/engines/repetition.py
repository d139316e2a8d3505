"""protect() again and again on one table, for those who attack a method: what does not depend on the noise is done once."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from coterie.chain.noise.sampler import shuffled_order
from coterie.chain.noise.seeded import SeededSampler
from coterie.engines.in_memory import Grouped, protect, rows, synthetic
from coterie.methods import get_method
from coterie.promise.terms import Budget
from coterie.schema.attributes import Schema, Source
from coterie.schema.exact import Number
from coterie.table.checked import check
from coterie.table.columns.column import NumericColumn


def repeated(
    table: pa.Table, schema: Schema, *, method: str, epsilon: Number, k: int | None, shuffle: bool = False
) -> Callable[[int], pa.Table]:
    """For a seed, the table that protect() releases with it, to the last bit."""
    checked = check(table, schema)
    if any(isinstance(c, NumericColumn) and c.domain.source is Source.DP for c in checked.columns.values()):
        # Private bounds are drawn first, and everything rests on them.
        return lambda seed: (
            protect(table, schema, method=method, epsilon=epsilon, k=k, seed=seed, shuffle=shuffle).table
        )
    recipe = get_method(method)
    budget = Budget.of(epsilon, schema, recipe)
    k = recipe.check_k(k, checked.records, budget.mean)
    clustering_of = recipe.grouping.prepare(list(checked.columns.values()), k)
    grouped = {name: Grouped.of(c, recipe, clustering_of, k) for name, c in checked.columns.items()}

    def release(seed: int) -> pa.Table:
        sampler = SeededSampler(seed)
        noisy = {
            name: one.noisy(budget.shares[name], sampler, measured=False) for name, one in grouped.items()
        }
        if recipe.synthesis is None:
            results = {name: column.attached() for name, column in noisy.items()}
        else:
            results = synthetic(recipe.synthesis, checked, noisy, budget.dependence, sampler)
        order = shuffled_order(sampler, checked.records) if shuffle else None
        return rows(schema, checked, results, order)

    return release
