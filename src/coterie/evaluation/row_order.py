"""Whose row is whose in a shuffled release: only its internal figures tell."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from coterie.errors import DataError, reading


def row_order(source: str | Path | Sequence[int]) -> list[int]:
    """Read the record number of each released row, from 0: from a list, a file with one per line, or internal figures."""
    if not isinstance(source, str | Path):
        return list(source)
    with reading("The order of rows", DataError):
        text = Path(source).read_text(encoding="utf-8")
    try:
        if text.lstrip().startswith("{"):
            return [int(place) for place in json.loads(text)["row_order"]]
        return [int(line) for line in text.split()]
    except (ValueError, KeyError, TypeError):
        raise DataError(
            "The order of rows is not a list of whole numbers.",
            "Give the internal figures of a release in random order, or write one number per line.",
        ) from None


def in_record_order(released: pa.Table, order: Sequence[int]) -> pa.Table:
    """The released rows where their records stood."""
    places = np.asarray(order, dtype=np.int64)
    if not np.array_equal(np.sort(places), np.arange(released.num_rows)):
        raise DataError(
            "The order of rows does not fit the release.",
            "It has one number per released row: that of its record, counted from 0.",
        )
    return released.take(pa.array(np.argsort(places)))
