"""protect_table(): the kernel over a table in memory, from the frame to its release and certificate."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from coterie.chain.kernel import Grouped, Noisy, record_values, released_table
from coterie.chain.noise.sampler import Sampler, shuffled_order
from coterie.chain.noise.secure import SecureSampler
from coterie.chain.noise.seeded import SeededSampler
from coterie.chain.private_bounds import pay_for_bounds
from coterie.chain.synthesis import raking
from coterie.chain.synthesis.enforcement import RowRules
from coterie.engines.internal_figures import InternalFigures, NoiseFigures, internal_figures, noise_figures
from coterie.engines.whole_table import (
    Synthesised,
    check_room,
    known_records,
    measurements_of,
    synthesised,
)
from coterie.errors import ParameterError
from coterie.methods import get_method
from coterie.methods.recipe import Method
from coterie.promise.certificate import Certificate, Digest
from coterie.promise.terms import Budget, Promise, promise, whole_seed
from coterie.schema.arrays import Floats
from coterie.schema.attributes import AttributeType, Schema
from coterie.schema.document import as_schema
from coterie.schema.exact import Number
from coterie.table.checked import Checked, as_arrow, check
from coterie.table.columns.column import (
    NumericColumn,
    released_field,
)
from coterie.table.digest import table_digest
from coterie.table.frames import to_arrow
from coterie.table.units import KEY_WORDS, bounded_units

Progress = Callable[[str], None]


@dataclass(frozen=True)
class MemoryRelease(Promise):
    """What goes out (`data`, `certificate`) and what must not (`internal`)."""

    data: Any
    table: pa.Table
    _figures: Callable[[], InternalFigures] | None = field(repr=False, default=None)  # None: forgotten
    _synthesised: Synthesised | None = field(repr=False, default=None)

    @cached_property
    def certificate(self) -> Certificate:
        """The certificate over the canonical form of the table. `certify` makes one over the bytes of a file."""
        return self.certify(Digest(over="canonical table", value=table_digest(self.table)))

    @property
    def measurements(self) -> pa.Table:
        """The noisy counts that synthetic rows were drawn from: published with them, they cost nothing more."""
        return measurements_of(self._synthesised, self.method)

    @cached_property
    def internal(self) -> InternalFigures:
        """What the release cost, from the original data: computed only when asked for, never to be published."""
        if self._figures is None:
            raise ParameterError(
                "The original columns were forgotten, so nothing can be compared with them.",
                "Protect the table without forget=True.",
            )
        return self._figures()


def protect_table(
    data: Any,
    schema: Schema | str | Path | Mapping[str, Any],
    *,
    method: str | Method,
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
) -> MemoryRelease:
    """Protect a table (pandas, polars, pyarrow): the released frame is of the same kind.

    The schema may also be a path or a mapping. A pandas index does not pass: released rows are numbered anew.

    ε is the total, split over the protected attributes by their weights. `grouping="optimal"` replaces ranked groups of
    equal size by optimal ones of k to 2k−1 records. `clip=False` releases numbers as the noise left them (Sánchez et
    al. 2016's and Sánchez et al. (univariate)'s algorithms do not mention clipping; their experiments, and Soria-Comas
    et al., clip). `delta`, `rows` and `target` are for methods that model the whole table. Without `seed` the noise is
    secure; with it the release can be repeated and protects nobody, which the certificate says. `forget=True` lets go
    of each original column once it is protected, and so of the figures in `internal`: half of the memory, if the caller
    lets go of the table.
    """
    recipe = get_method(method).grouped(grouping)
    schema = as_schema(schema)
    budget = Budget.of(epsilon, schema, recipe, delta)
    recipe.check_rows(schema, rows, target)
    if rows is not None:
        check_room(recipe, schema, rows)
    sampler = SecureSampler() if seed is None else SeededSampler(whole_seed(seed))
    table, restore = to_arrow(data, schema)
    if schema.unit is not None:
        key = sampler.uniform_words(KEY_WORDS, "coterie: rows kept of each unit")
        table = bounded_units(table, schema, key)
    checked = check(table, schema) if clip else _uncut(check(table, schema))
    del data, table
    records = checked.records
    if schema.unit is not None:
        records = known_records(records, budget, sampler, rows)
    k = recipe.check_k(k, records, budget.mean)
    rules = RowRules.of(schema, checked.columns) if recipe.whole_table is not None else None
    spent: dict[str, Fraction] = {}
    if schema.searched:
        noisy = None if schema.unit is None else records
        paid = pay_for_bounds(checked, schema, budget.shares, sampler, noisy, budget.rows_per_unit)
        checked, schema, spent = paid.checked, paid.schema, paid.spent
        budget = replace(budget, shares=paid.left)
        del paid
    margins = raking.margins_of(schema, checked.columns) if schema.totals is not None else []
    figures: dict[str, NoiseFigures] = {}
    found: Synthesised | None = None
    if recipe.whole_table is not None:
        measured = {name: checked.columns[name] for name in budget.shares}
        found, budget = synthesised(
            recipe.whole_table, measured, records, budget, sampler, rows, target, progress, rules
        )
        records = found.records
        figures = dict.fromkeys(checked.columns, NoiseFigures(0.0, None))
        results = {n: (values, checked.columns[n].restore(values)) for n, values in found.values.items()}
    else:
        results = _by_column(recipe, checked, k, budget, sampler, figures, forget, progress)
    if forget and not recipe.synthetic:
        checked = checked.without_records()
    arrays = {name: (array, checked.columns[name].field) for name, (_, array) in results.items()}
    values = {name: codes for name, (codes, _) in results.items()}
    del results
    rows_out = len(next(iter(arrays.values()))[0])
    weights: Floats | None = None
    said: tuple[str, ...] = ()
    if schema.raked is not None:
        raked = raking.RakedWeights.of(schema, margins, [raking.Combinations.of(margins, values, rows_out)])
        weights, said = raked.rows(values, rows_out), raked.said
        arrays[schema.raked.name] = pa.array(weights), released_field(schema.raked)
    kept = dict(checked.kept)
    order = shuffled_order(sampler, rows_out) if shuffle else None
    if order is not None:
        _put_in_order(as_arrow(order), arrays, kept)
    released = released_table(schema, arrays, kept)
    promised = promise(
        schema,
        recipe,
        budget,
        records,
        k,
        sampler,
        checked.columns.values(),
        paid=spent,
        shuffled=shuffle,
        clipped=clip,
        rows=rows,
        raking=said,
    )
    return MemoryRelease(
        **vars(promised),
        data=restore(released, checked.kept),
        table=released,
        _synthesised=found,
        _figures=None
        if forget
        else partial(
            internal_figures,
            checked,
            values,
            figures,
            schema.edit_rules,
            synthetic=recipe.synthetic,
            order=order,
            weight=None if schema.weight is None else schema.weight.name,
            raked=weights,
        ),
    )


def _by_column(
    recipe: Method,
    checked: Checked,
    k: int,
    budget: Budget,
    sampler: Sampler,
    figures: dict[str, NoiseFigures],
    forget: bool,
    progress: Progress | None,
) -> dict[str, tuple[Any, pa.Array]]:
    """Group each attribute, add noise and attach it to rows. Returns its values (None if forgotten) and released array."""
    clustering_of = recipe.grouping.prepare(list(checked.columns.values()), k)
    waiting, names = dict(checked.columns), list(checked.columns)
    forget = forget and not recipe.lists  # which are as long as their columns
    if forget:
        checked = checked.without_records()

    def noisy(name: str) -> Noisy:
        column = waiting.pop(name)
        grouped = Grouped.of(column, recipe.mechanism(column), clustering_of(column), k)
        if not forget:
            figures[name] = noise_figures(grouped)
        result = grouped.noisy(budget.shares[name], sampler)
        if progress:
            progress(name)
        return replace(result, column=checked.columns[name])

    def attached(name: str) -> tuple[Any, pa.Array]:
        column = noisy(name)
        values = column.attached()
        return None if forget else values, column.column.restore(values)

    # Columns are independent: each has its own share of ε and its own stream of noise.
    with ThreadPoolExecutor(max_workers=min(os.cpu_count() or 1, len(names))) as pool:
        if not recipe.lists:
            return dict(zip(names, pool.map(attached, names), strict=True))
        lists = dict(zip(names, pool.map(noisy, names), strict=True))
    drawn = record_values(lists, lists=True, sampler=sampler)
    return {name: (values, checked.columns[name].restore(values)) for name, values in drawn.items()}


def _put_in_order(
    order: pa.Array, arrays: dict[str, tuple[pa.Array, pa.Field]], kept: dict[str, pa.ChunkedArray]
) -> None:
    """Reorder one column after the other, so that each reuses the memory of the one before."""

    def move(name: str) -> None:
        if name in kept:
            kept[name] = kept[name].take(order)
        else:
            array, field = arrays[name]
            arrays[name] = array.take(order), field

    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        list(pool.map(move, [*arrays, *kept]))


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


# A release again and again on one table, for those who attack a method: what does not depend on the noise is done once.


def repeated(
    table: pa.Table,
    schema: Schema,
    *,
    method: str | Method,
    epsilon: Number,
    k: int | None,
    shuffle: bool = False,
    clip: bool = True,
) -> Callable[[int], pa.Table]:
    """A function that gives, for a seed, the table that protect_table() releases with it, to the last bit."""
    checked, recipe = check(table, schema), get_method(method)
    checked = checked if clip else _uncut(checked)
    if recipe.whole_table is not None or schema.searched:
        # Private bounds are drawn first, or noise decides what is read next: there is nothing to do once.
        options: dict[str, Any] = {
            "method": method,
            "epsilon": epsilon,
            "k": k,
            "shuffle": shuffle,
            "clip": clip,
        }
        return lambda seed: protect_table(table, schema, seed=seed, **options).table
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
        drawn = record_values(noisy, lists=recipe.lists, sampler=sampler)
        arrays = {name: (c.restore(drawn[name]), c.field) for name, c in checked.columns.items()}
        released = released_table(schema, arrays, checked.kept)
        return released.take(pa.array(shuffled_order(sampler, checked.records))) if shuffle else released

    return release
