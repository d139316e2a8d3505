"""Rows of one unit, found together in a table that does not fit into memory: by a keyed pseudonym, bucket by bucket."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from coterie.chain.noise.sampler import Sampler
from coterie.engines.out_of_core.columns import StreamedTable
from coterie.engines.out_of_core.scratch import Scratch
from coterie.table.units import KEY_WORDS, surplus_rows, unit_digests, unit_labels

_ENTRY = np.dtype([("high", "<u8"), ("low", "<u8"), ("row", "<i8")])
_SORTING = 160  # bytes of memory per record of a bucket


def bounded_rows(table: StreamedTable, scratch: Scratch, room: int, sampler: Sampler) -> StreamedTable:
    """The table without the rows that `coterie.table.units.bounded_units` leaves out in memory."""
    unit = table.schema.unit
    if unit is None or not table.records:
        return table
    key = sampler.uniform_words(KEY_WORDS, "coterie: rows kept of each unit").tobytes()
    buckets = -(-table.records * _SORTING // room)
    for first, batch in table.batches([unit.column]):
        labels, of_row = unit_labels(batch, table.schema)
        entries = np.empty(len(of_row), dtype=_ENTRY)
        entries["high"], entries["low"] = unit_digests(labels, key)[of_row].T
        entries["row"] = np.arange(first, first + len(of_row))
        bucket = (entries["high"] >> np.uint64(32)) * np.uint64(buckets) >> np.uint64(32)
        for number in np.unique(bucket):
            scratch.append(f"bucket-{number}", entries[bucket == number])
    counts = np.full(-(-table.records // 8), 255, dtype=np.uint8)  # a bit per row
    counts[-1] >>= -table.records % 8
    for number in range(buckets):
        entries = scratch.read(f"bucket-{number}", _ENTRY)
        scratch.remove(f"bucket-{number}")
        order = np.lexsort((entries["low"], entries["high"]))
        high, low = entries["high"][order], entries["low"][order]
        new = np.ones(len(order), dtype=np.bool_)
        new[1:] = (high[1:] != high[:-1]) | (low[1:] != low[:-1])
        of_row = np.empty(len(order), dtype=np.int64)
        of_row[order] = np.cumsum(new) - 1
        digests = np.stack([high[new], low[new]], axis=1)
        left_out = entries["row"][surplus_rows(of_row, unit, key, digests.__getitem__)]
        np.bitwise_and.at(counts, left_out >> 3, ~(1 << (left_out & 7)).astype(np.uint8))
    return replace(table, counts=counts)
