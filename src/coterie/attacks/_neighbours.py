"""Neighbouring tables for the empirical ε: the same people but for one, who becomes as different as the domain allows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from coterie.attacks.evidence import MethodEvidence
from coterie.columns.column import CategoryColumn, NumericColumn
from coterie.schema import Role
from coterie.table import check

Pair = tuple[pa.Table, pa.Table]
_MOST_PEOPLE = 200
_GROUPS = 10  # so many groups are enough for one record to move several


def candidate_neighbours(evidence: MethodEvidence) -> Iterator[tuple[str, Pair]]:
    """A small part of the population, in which one record moves from one end of the domain to the other.

    Small, because one record weighs most among few, and because the method must run thousands of times.
    """
    draws = evidence.draws("neighbours")
    people = evidence.population
    size = min(
        people.num_rows, max(_GROUPS * (evidence.k or 1), 20), max(_MOST_PEOPLE, 2 * (evidence.k or 1))
    )
    table = people.take(pa.array(np.sort(draws.choice(people.num_rows, size, replace=False))))
    for first in [a.name for a in evidence.schema.protected][:2]:
        for story, smallest, top in (
            ("smallest record to the top of the domain", True, True),
            ("largest record to the bottom of the domain", False, False),
        ):
            place = _extreme(table, evidence, first, smallest=smallest)
            yield f"{story} ('{first}')", (table, _replaced(table, evidence, place, top=top))
    middle = size // 2
    bottom = _replaced(table, evidence, middle, top=False)
    yield (
        "one record at the bottom or the top of the domain",
        (bottom, _replaced(table, evidence, middle, top=True)),
    )


def _extreme(table: pa.Table, evidence: MethodEvidence, name: str, *, smallest: bool) -> int:
    position = check(table, evidence.schema).columns[name].position
    return int(np.argmin(position) if smallest else np.argmax(position))


def _replaced(table: pa.Table, evidence: MethodEvidence, place: int, *, top: bool) -> pa.Table:
    """Record `place` at one end of every protected attribute's domain."""
    checked = check(table, evidence.schema)
    columns = {}
    for name in table.column_names:
        column = table.column(name)
        if evidence.schema[name].role is Role.PROTECT:
            end = _end(checked.columns[name], top=top).cast(column.type, safe=False)
            column = pa.chunked_array(
                [column.slice(0, place).combine_chunks(), end, column.slice(place + 1).combine_chunks()]
            )
        columns[name] = column
    return pa.table(columns)


def _end(column: NumericColumn | CategoryColumn, *, top: bool) -> pa.Array:
    if isinstance(column, CategoryColumn):
        return column.restore(np.array([column.order[-1 if top else 0]], dtype=np.int32))
    return column.restore(np.array([column.domain.upper if top else column.domain.lower]))
