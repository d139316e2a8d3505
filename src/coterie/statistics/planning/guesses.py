"""Guesses about counts and sums, made to fit one table: what contradicts is replaced by the nearest that does not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from coterie.schema.arrays import Floats
from coterie.statistics.prediction.fixed_sums import whole
from coterie.statistics.prediction.reconstruction import Group, expected_cells
from coterie.statistics.prediction.target_error import Quantity
from coterie.statistics.specification.expectations import Expectations
from coterie.statistics.specification.specification import Statistic, StatisticKind

_ADDED_UP = (StatisticKind.COUNT, StatisticKind.SUM)
_APART = 0.02  # of a guess: by how much it is changed without a word


def repaired(
    directly: Mapping[str, Statistic], quantities: Sequence[Quantity], expectations: Expectations
) -> Iterator[tuple[str, float, float]]:
    """Name each count and sum that is planned with another value than was stated, with both values."""
    planned = {quantity.name: quantity.value for quantity in quantities}
    for name, statistic in directly.items():
        stated = expectations.given.get(statistic.name)
        if stated is None or name not in planned or statistic.kind not in _ADDED_UP:
            continue
        if abs(planned[name] - stated) > max(_APART * abs(stated), 1.0):
            yield statistic.name, stated, planned[name]


_SURE, _ASSUMED = 1.0, 10.0  # how much further off than a stated guess an assumed one may be


def fit_guesses(
    groups: Sequence[Group], quantities: list[Quantity], expectations: Expectations
) -> tuple[Floats, ...]:
    """Guesses that contradict one another are replaced by the nearest that do not: no table holds the others."""
    tables = []
    for group in groups:
        here = [quantities[i] for i in group.quantities]
        guesses = np.array([q.value for q in here])
        trust = np.array([_ASSUMED if q.unstated else _SURE for q in here])
        if group.names not in expectations.tables:  # designs that are compared ask for the same ones
            expectations.tables[group.names] = expected_cells(group, guesses, trust)
        tables.append(expectations.tables[group.names])
    tables = _of_one_size(groups, tables, expectations)
    for group, table in zip(groups, tables, strict=True):
        for place, value in zip(group.quantities, (group.held @ table).tolist(), strict=True):
            guess = quantities[place].value
            if abs(value - guess) > 1e-6 * max(abs(guess), 1.0):
                quantities[place] = replace(quantities[place], value=value)
    return tuple(tables)


def _of_one_size(
    groups: Sequence[Group], tables: Sequence[Floats], expectations: Expectations
) -> list[Floats]:
    """Guesses about different columns are about the same records: their tables get the same total.

    Cells that nobody asks for take what is missing; else all cells grow or shrink in proportion.
    """
    asked = [group.held.any(axis=0) for group in groups]
    counted = [place for place, group in enumerate(groups) if group.counts]
    whole_ones = [float(tables[place].sum()) for place in counted if asked[place].all()]
    known = expectations.specification.records
    if not whole_ones:
        return list(tables)
    total = float(known) if known is not None else float(np.mean(whole_ones))
    found = list(tables)
    for place in counted:
        table, free = tables[place], ~asked[place]
        short = total - float(table.sum())
        if abs(short) <= _APART * total or not table.sum() or (free.any() and short < 0):
            continue
        if free.any():
            table = table.copy()
            table[free] += short / free.sum()
        else:
            table = whole((table * total / table.sum())[None, :])[0]
        found[place] = table
    return found
