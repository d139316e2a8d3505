"""Rows that belong to one privacy unit: at most as many of each as the schema says.

Of a unit with more, those rows are kept whose PRF(key, unit, rank of the row within the unit) is smallest. Each unit is
mapped alone: what is kept of one depends on its own rows and their order, never on where they stand among the rows of
others. So two tables that differ in one unit, of any size, become tables that differ in one unit of at most `at_most` rows,
whatever the key is.
"""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from coterie.errors import DataError, SchemaError, nearest
from coterie.schema.arrays import Whole, Words
from coterie.schema.attributes import Schema
from coterie.schema.codebook import canonical_number
from coterie.schema.unit import Above
from coterie.table.columns.cells import distinct

KEY_WORDS = 4  # 64-bit words of a key


def bounded_units(table: pa.Table, schema: Schema, key: Words) -> pa.Table:
    """The rows that count: all of them where the schema names no unit."""
    unit = schema.unit
    if unit is None:
        return table
    labels, of_row = unit_labels(table, schema)
    sizes = np.bincount(of_row, minlength=len(labels))
    if sizes.max(initial=0) <= unit.at_most:
        return table
    if unit.above is Above.REFUSE:
        raise DataError(
            f"A unit of '{unit.column}' has more rows than `at_most` allows.",
            "Raise `at_most` from public knowledge, or write `above: truncate`: then rows of larger units are left out.",
        )
    return table.filter(pa.array(_kept(labels, of_row, sizes, unit.at_most, key.tobytes())))


def unit_labels(table: pa.Table, schema: Schema) -> tuple[list[str], Whole]:
    """The labels of all units, and for every row which of them it has."""
    unit = schema.unit
    assert unit is not None
    if unit.column not in table.column_names:
        raise SchemaError(
            f"The column of the unit, '{unit.column}', is not in the table.",
            nearest(unit.column, table.column_names),
        )
    texts, places = distinct(table.column(unit.column), schema[unit.column])
    # Cells that differ in blanks or zeros alone (1, 1.0) are one unit.
    numbers: dict[str, int] = {}
    same = np.array(
        [-1 if text is None else numbers.setdefault(canonical_number(text), len(numbers)) for text in texts]
        or [-1],
        dtype=np.int64,
    )
    of_row = np.where(places < 0, -1, same[places])
    if (of_row < 0).any():
        raise DataError(
            f"The column of the unit, '{unit.column}', has gaps.",
            "Give every row the label of its unit; a row that belongs to nobody else gets a label of its own.",
        )
    return list(numbers), of_row


def _kept(labels: list[str], of_row: Whole, sizes: Whole, at_most: int, key: bytes) -> NDArray[np.bool_]:
    large = np.flatnonzero(sizes > at_most)
    number = np.full(len(sizes), -1)
    number[large] = np.arange(len(large))
    rows = np.flatnonzero(number[of_row] >= 0)
    rows = rows[np.argsort(of_row[rows], kind="stable")]  # unit after unit, each in its own order
    unit = number[of_row[rows]]
    starts = np.concatenate([[0], np.cumsum(sizes[large])[:-1]])
    rank = np.arange(len(rows)) - starts[unit]
    names = b"".join(
        hashlib.blake2b(labels[one].encode(), key=key, person=b"coterie units", digest_size=8).digest()
        for one in large
    )
    blocks = np.empty((len(rows), 2), dtype=">u8")
    blocks[:, 0] = np.frombuffer(names, dtype=">u8")[unit]
    blocks[:, 1] = rank
    encryptor = Cipher(algorithms.AES256(key), modes.ECB()).encryptor()
    chance = np.frombuffer(encryptor.update(blocks.tobytes()), dtype=">u8")[::2].astype(np.uint64)
    order = np.lexsort((rank, chance, unit))
    keep = np.ones(len(of_row), dtype=np.bool_)
    keep[rows[order]] = rank < at_most  # after sorting, place i of a unit has the i-th smallest value
    return keep
