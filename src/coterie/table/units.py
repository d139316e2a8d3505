"""Rows that belong to one privacy unit: at most as many of each as the schema says.

Of a unit with more, those rows are kept whose PRF(key, unit, rank of the row within the unit) is smallest. Each unit is
mapped alone: what is kept of one depends on its own rows and their order, never on where they stand among the rows of
others. So two tables that differ in one unit, of any size, become tables that differ in one unit of at most `at_most` rows,
whatever the key is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable

import numpy as np
import pyarrow as pa
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from coterie.errors import DataError, SchemaError, nearest
from coterie.schema.arrays import Whole, Words
from coterie.schema.attributes import Schema
from coterie.schema.codebook import canonical_number
from coterie.schema.unit import Above, PrivacyUnit
from coterie.table.columns.cells import distinct

KEY_WORDS = 4  # 64-bit words of a key


def bounded_units(table: pa.Table, schema: Schema, key: Words) -> pa.Table:
    """The rows that count, of a schema with a unit."""
    labels, of_row = unit_labels(table, schema)
    assert schema.unit is not None  # unit_labels has asked
    left_out = surplus_rows(
        of_row,
        schema.unit,
        key.tobytes(),
        lambda large: unit_digests([labels[one] for one in large], key.tobytes()),
    )
    if not len(left_out):
        return table
    keep = np.ones(len(of_row), dtype=np.bool_)
    keep[left_out] = False
    return table.filter(pa.array(keep))


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


def unit_digests(labels: Iterable[str], key: bytes) -> Words:
    """Two words for each unit, its pseudonym under this key: together they name it, the first leads its choice of rows."""
    digests = (
        hashlib.blake2b(label.encode(), key=key, person=b"coterie units", digest_size=16).digest()
        for label in labels
    )
    return np.frombuffer(b"".join(digests), dtype=">u8").astype(np.uint64).reshape(-1, 2)


def surplus_rows(of_row: Whole, unit: PrivacyUnit, key: bytes, digests_of: Callable[[Whole], Words]) -> Whole:
    """Which rows do not count, rising. `of_row` is the unit of each row, in the order of the rows."""
    sizes = np.bincount(of_row)
    large = np.flatnonzero(sizes > unit.at_most)
    if not len(large):
        return large
    if unit.above is Above.REFUSE:
        raise DataError(
            f"A unit of '{unit.column}' has more rows than `at_most` allows.",
            "Raise `at_most` from public knowledge, or write `above: truncate`: then rows of larger units are left out.",
        )
    number = np.full(len(sizes), -1)
    number[large] = np.arange(len(large))
    rows = np.flatnonzero(number[of_row] >= 0)
    rows = rows[np.argsort(of_row[rows], kind="stable")]  # unit after unit, each in its own order
    one = number[of_row[rows]]
    starts = np.concatenate([[0], np.cumsum(sizes[large])[:-1]])
    rank = np.arange(len(rows)) - starts[one]
    blocks = np.empty((len(rows), 2), dtype=">u8")
    blocks[:, 0] = digests_of(large)[one, 0]
    blocks[:, 1] = rank
    encryptor = Cipher(algorithms.AES256(key), modes.ECB()).encryptor()
    chance = np.frombuffer(encryptor.update(blocks.tobytes()), dtype=">u8")[::2].astype(np.uint64)
    order = np.lexsort((rank, chance, one))
    # After sorting, place i of a unit has the i-th smallest value.
    return np.sort(rows[order][rank >= unit.at_most])
