"""Columns that are the sum of those beside them, or sum up to one number in every row: a hint for a draft."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

_SAMPLE = 400  # rows looked at before all of them are
_MOST_PARTS = 12


def constant_sums(table: pa.Table) -> dict[str, str]:
    """Map the last column of such a group to a sentence that says so."""
    found: dict[str, str] = {}
    run: list[str] = []
    for field_ in [*table.schema, None]:
        if field_ is not None and (pa.types.is_integer(field_.type) or pa.types.is_floating(field_.type)):
            run.append(field_.name)
            continue
        if len(run) > 2:
            found |= _sums_of(table.select(run))
        run = []
    return found


def _sums_of(table: pa.Table) -> dict[str, str]:
    names = table.column_names
    sample = _matrix(table.slice(0, _SAMPLE))
    rows = sample[~np.isnan(sample).any(axis=1)]
    found: dict[str, str] = {}
    if len(rows) < 20:
        return found
    sums = np.concatenate([np.zeros((len(rows), 1)), np.cumsum(rows, axis=1)], axis=1)
    varies = rows.std(axis=0) > 0
    for first in range(len(names) - 2):
        for last in range(first + 2, min(first + _MOST_PARTS, len(names)) + 1):
            if names[last - 1] in found or not varies[first:last].all():
                continue
            total = sums[:, last] - sums[:, first]
            if np.ptp(total) <= 1e-9 * max(1.0, abs(total[0])) and last - first > 2:
                shown = f"{names[first]} to {names[last - 1]} have one sum in every row"
            elif (
                last < len(names) and varies[last] and np.allclose(total, rows[:, last], rtol=1e-9, atol=1e-9)
            ):
                shown = f"{' + '.join(names[first:last])} = {names[last]} in every row"
                last += 1
            else:
                continue
            if names[last - 1] not in found and _holds(table.select(names[first:last]), "=" in shown):
                found[names[last - 1]] = (
                    f"{shown}: from the data, confirm. Drop one of them, or write it under `rules:`, the total first."
                    if "=" in shown
                    else f"{shown}: from the data, confirm. Drop one of them."
                )
    return found


def _holds(table: pa.Table, is_total: bool) -> bool:
    values = _matrix(table)
    values = values[~np.isnan(values).any(axis=1)]
    if is_total:
        return bool(np.allclose(values[:, :-1].sum(axis=1), values[:, -1], rtol=1e-9, atol=1e-9))
    total = values.sum(axis=1)
    return bool(np.ptp(total) <= 1e-9 * max(1.0, abs(total[0])))


def _matrix(table: pa.Table) -> Any:
    columns = [column.cast(pa.float64(), safe=False).to_numpy() for column in table.columns]
    return np.column_stack(columns)
