"""Neighbouring tables for the empirical ε: the same people but for one, who becomes as different as the domain allows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from coterie.attacks.evidence import MethodEvidence
from coterie.columns.column import CategoryColumn, NumericColumn
from coterie.table import check

Pair = tuple[pa.Table, pa.Table]
_MOST_PEOPLE = 200
_GROUPS = 10  # so many groups are enough for one record to move several


def candidate_neighbours(evidence: MethodEvidence) -> Iterator[tuple[str, Pair]]:
    """Two made-up tables, and a small part of the population in which one record moves across the domain.

    Small, because one record weighs most among few, and because the method must run thousands of times.
    """
    yield "all records alike in every attribute, but for one", _aligned(evidence)
    draws = evidence.draws("neighbours")
    people, k = evidence.population, evidence.k or 1
    size = min(people.num_rows, max(_GROUPS * k, 20), max(_MOST_PEOPLE, 2 * k))
    table = people.take(pa.array(np.sort(draws.choice(people.num_rows, size, replace=False))))
    ends = len(evidence.schema.protected)
    position = check(table, evidence.schema).columns[evidence.schema.protected[0].name].position
    for story, place, end in (
        ("smallest record to the top of the domain", int(np.argmin(position)), 1.0),
        ("largest record to the bottom of the domain", int(np.argmax(position)), 0.0),
    ):
        yield story, (table, _placed(table, evidence, [place], [[end]] * ends))
    bottom, top = (_placed(table, evidence, [size // 2], [[end]] * ends) for end in (0.0, 1.0))
    yield "one record at the bottom or the top of the domain", (bottom, top)


def _aligned(evidence: MethodEvidence) -> Pair:
    """Records at equal distances along every domain; then the lowest is at the top of the first attribute only.

    Groups of two attributes coincide in the first table and cross in the second: shuffling does not hide that.
    """
    size, ends = max(2 * (evidence.k or 1), 4), len(evidence.schema.protected)
    table = evidence.population.take(pa.array(np.arange(size) % evidence.population.num_rows))
    spread = np.linspace(0, 1, size).tolist()
    table = _placed(table, evidence, range(size), [spread] * ends)
    return table, _placed(table, evidence, [0], [[1.0], *([[0.0]] * (ends - 1))])


def _placed(
    table: pa.Table, evidence: MethodEvidence, places: Sequence[int], at: Sequence[Sequence[float]]
) -> pa.Table:
    """The records at `places` moved, in each protected attribute, to shares 0 … 1 of the way through its domain."""
    checked = check(table, evidence.schema)
    wanted = dict(zip((a.name for a in evidence.schema.protected), at, strict=True))
    columns = {}
    for name in table.column_names:
        column = table.column(name)
        if name in wanted:
            if pa.types.is_dictionary(column.type):
                column = column.cast(column.type.value_type)
            moved = _values(checked.columns[name], np.array(wanted[name])).cast(column.type, safe=False)
            chosen = np.zeros(table.num_rows, dtype=np.bool_)
            chosen[list(places)] = True
            column = pc.replace_with_mask(column.combine_chunks(), pa.array(chosen), moved)
        columns[name] = column
    return pa.table(columns)


def _values(column: NumericColumn | CategoryColumn, shares: NDArray[np.float64]) -> pa.Array:
    if isinstance(column, CategoryColumn):
        return column.restore(column.order[np.rint(shares * (len(column.order) - 1)).astype(np.intp)])
    values = column.domain.lower + shares * (column.domain.upper - column.domain.lower)
    if column.step is not None:
        values = np.rint(values / column.step) * column.step
    return column.restore(np.clip(values, column.domain.lower, column.domain.upper))
