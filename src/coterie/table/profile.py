"""A first look at a column: how many values it has, how they spread, what is odd about it. Internal: it counts the data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coterie.schema.codebook import Variable
from coterie.schema.exact import number
from coterie.schema.guessing import special_codes

BINS = 16
_FEW = 24  # values that get a bar of their own
_LONG = 40  # letters: longer on average is free text
_ENOUGH = 20  # rows, from which on "no two alike" says something


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """`counts` are the bars of a small histogram; `words` says what they show; `flags` what somebody should look at."""

    distinct: int
    missing: int
    counts: tuple[int, ...]
    words: str
    flags: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def profile_column(column: pa.ChunkedArray, labels: Mapping[str, str] | None = None) -> ColumnProfile:
    """Profile a column of any type, in a few passes over it. `labels`: what codes mean, in words."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind, filled = column.type, len(column) - column.null_count
    if not filled:
        return ColumnProfile(0, column.null_count, (), "empty", ("Every cell is empty",))
    if pa.types.is_nested(kind):
        return ColumnProfile(0, column.null_count, (), "lists or records", ())
    distinct = int(pc.count_distinct(column).as_py())
    numeric = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    flags = []
    if filled >= _ENOUGH and distinct == filled:
        flags.append(
            "No two alike: an exact value points at one person"
            if numeric
            else "No two alike: looks like an id"
        )
    if numeric:
        counts, words, codes = _numbers(column.drop_null(), distinct, labels or {})
        flags += codes
    elif distinct <= max(_FEW, 200):
        counts, words = _values(column.drop_null(), filled)
    else:
        counts, words = (), f"{distinct:,} different values"
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        length = pc.mean(pc.utf8_length(column)).as_py() or 0
        if length > _LONG:
            flags.append("Free text: it may name people")
    if distinct == 1:
        flags.append("Always the same value")
    return ColumnProfile(distinct, column.null_count, counts, words, tuple(flags))


def _values(column: pa.ChunkedArray, filled: int) -> tuple[tuple[int, ...], str]:
    found = sorted(column.value_counts().to_pylist(), key=lambda one: -one["counts"])
    first = found[0]
    words = f"{str(first['values'])[:24]} {100 * first['counts'] / filled:.0f} %"
    return tuple(one["counts"] for one in found[:BINS]), words


def _numbers(
    column: pa.ChunkedArray, distinct: int, labels: Mapping[str, str]
) -> tuple[tuple[int, ...], str, list[str]]:
    values = column.cast(pa.float64(), safe=False).to_numpy()
    values = values[np.isfinite(values)]
    if not len(values):
        return (), "no finite number", []
    low, high = float(values.min()), float(values.max())
    words = f"{number(low)} to {number(high)}" if high > low else number(low)
    if distinct > _FEW:
        edge = (
            np.quantile(values[:: max(1, len(values) // 50_000)], (0.005, 0.995))
            if len(values) > _ENOUGH
            else (low, high)
        )
        first, last = (float(edge[0]), float(edge[1])) if edge[1] > edge[0] else (low, high)
        return (
            tuple(int(n) for n in np.histogram(np.clip(values, first, last), BINS, (first, last))[0]),
            words,
            [],
        )
    tallied = pc.value_counts(pa.array(values))
    found, counts = (tallied.field(place).to_numpy() for place in (0, 1))
    order = np.argsort(found)
    found, counts = found[order], counts[order]
    marks = special_codes(found, counts, (), Variable(), whole=bool((found == np.rint(found)).all()))
    rows = {str(int(value)): int(count) for value, count in zip(found, counts, strict=True)}
    flags = [f"Code {mark} in {rows[mark]:,} rows: “not stated”?" for mark in marks]
    if labels:
        most = int(np.argmax(counts))
        usual = labels.get(f"{found[most]:.0f}", number(found[most], 12))
        words = f"{usual[:24]} {100 * counts[most] / counts.sum():.0f} %"
    return tuple(int(n) for n in counts), words, flags
