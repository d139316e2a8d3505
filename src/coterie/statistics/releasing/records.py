"""Where the records are, and how their cells become values: by the schema alone, through the readers that rows go through.

Only the columns that a specification uses are typed: numbers as doubles, labels as codes of the declared labels. No cell
decides how another cell is read. Messages name columns; never a value, and never how many records are concerned."""

from __future__ import annotations

import gzip
import hashlib
import itertools
import math
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from coterie.errors import DataError, ParameterError, nearest
from coterie.schema.attributes import Attribute, Domain, Missing, Outside, Schema
from coterie.schema.codebook import canonical_number
from coterie.schema.exact import number_text
from coterie.statistics.prediction.value_grid import Places, ValueGrid
from coterie.statistics.specification.asked_values import (
    MISSING,
    as_label,
    asked_labels,
    is_labelled,
    resolved,
)
from coterie.statistics.specification.cells import Cells, Points, around, cuts_of
from coterie.statistics.specification.filters import Condition, Filter, Value
from coterie.table.address import Address, TableName, is_database, quoted
from coterie.table.checked import absent_in, column_of, filled
from coterie.table.columns import cells
from coterie.table.columns.column import Column, NumericColumn
from coterie.table.database import connected, fetch
from coterie.table.digest import table_digest
from coterie.table.frames import to_arrow
from coterie.table.reading import read_table

_WIDEST = Domain(lower=-9e289, upper=9e289)  # for a column without bounds, which is only compared


@dataclass(frozen=True)
class LabelCodes:
    """Codes of labels; -1 for a missing one, and for a label that nobody declared and nobody asks for."""

    codes: NDArray[np.int32]
    labels: tuple[str, ...]
    missing: NDArray[np.bool_]


Typed = NDArray[np.float64] | LabelCodes  # NaN where a kept column of numbers has a gap


@dataclass(frozen=True)
class People:
    """The typed columns after the schema's policies."""

    columns: dict[str, Typed]
    records: int
    keys: dict[str, LabelCodes] = field(default_factory=dict)  # columns of which all values are told apart

    def numbers(self, name: str) -> NDArray[np.float64]:
        column = self.columns[name]
        assert not isinstance(column, LabelCodes)
        return column


@dataclass(frozen=True)
class RecordSource:
    """A source that can be read; `identity` names the data for the ledger, which the steward keeps; never published."""

    data: Any
    table: str | None
    identity: str

    def read(self, schema: Schema, columns: Iterable[str]) -> pa.Table:
        """These columns as they are stored, read by the schema."""
        wanted = sorted(set(columns))
        described = [attribute for attribute in schema.attributes if attribute.name in wanted]
        narrow = schema.model_copy(update={"attributes": tuple(described)}) if described else schema
        if isinstance(self.data, str | Path) and is_database(self.data):
            return self._from_database(narrow, wanted)
        if isinstance(self.data, str | Path):
            found = read_table(self.data, table=self.table, schema=narrow)
        else:
            found = to_arrow(self.data)[0]
        _require(found.column_names, wanted)
        # Nothing but counts may be asked for: then one column says how many records there are.
        return found.select(wanted or found.column_names[:1])

    def _from_database(self, schema: Schema, wanted: list[str]) -> pa.Table:
        address = Address.parse(str(self.data))
        name = TableName.parse(str(self.table), address.kind)
        with connected(address) as connection:
            everything = fetch(connection, address, f"SELECT * FROM {name.sql} WHERE 1 = 0", name)
        _require(everything.column_names, wanted)
        listed = ", ".join(quoted(column) for column in wanted or everything.column_names[:1])
        return read_table(str(self.data), query=f"SELECT {listed} FROM {name.sql}", schema=schema)


def open_records(data: Any, table: str | None = None) -> RecordSource:
    """A file, a database URL with a table, or a data frame. Nothing but what names the data is read yet."""
    if isinstance(data, str | Path) and is_database(data):
        address = Address.parse(str(data))
        if not table:
            raise ParameterError("The source is a database, but no table was named.", "Give --table NAME.")
        if address.path is not None and not address.path.is_file():  # SQLite would make an empty one
            raise DataError(f"There is no database file {address.path}.", "Check the path in the address.")
        return RecordSource(data, table, f"{address.shown} {TableName.parse(table, address.kind)}")
    if isinstance(data, str | Path):
        path = Path(data)
        if not path.is_file():
            raise DataError(f"There is no file {path}.", "Check the path of the data.")
        return RecordSource(data, table, f"file {_digest(path)}")
    if table is not None:
        raise ParameterError("A table was named, but the source is a data frame.", "Leave out the table.")
    frame = to_arrow(data)[0]
    return RecordSource(frame, None, f"frame {table_digest(frame)}")


def _digest(path: Path) -> str:
    """Digest what is in the file: compressed or not, one table is the same data."""
    if path.suffix.lower() == ".gz":
        try:
            with gzip.open(path) as stream:
                return hashlib.file_digest(stream, "sha256").hexdigest()
        except (OSError, EOFError, zlib.error):
            pass  # damaged: the reader will say so
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def typed(
    found: pa.Table,
    schema: Schema,
    numeric: set[str],
    asked: dict[str, set[Value]],
    keyed: Iterable[str] = (),
) -> People:
    """Columns by the schema: missing values and values outside the domain treated as it says.

    `numeric` names the columns that are added up; `asked` the values that filters ask for, by column; `keyed` those of
    which all values are told apart.
    """
    columns: dict[str, Typed] = {}
    keys = {name: _keys(found.column(name), schema[name], schema) for name in keyed}
    for name, key in keys.items():
        if schema[name].is_protected and key.missing.any():
            raise _gaps(name)
    for name in found.column_names:
        if name not in numeric and name not in asked:
            continue
        attribute = schema[name]
        column, absent = _typed(
            found.column(name), attribute, schema, name in numeric, asked.get(name, set())
        )
        if (name in numeric or attribute.is_protected) and absent.any() and not attribute.gaps:
            raise _gaps(name)
        columns[name] = column
    return People(columns, found.num_rows, keys)


def _gaps(name: str) -> DataError:
    return DataError(
        f"Column '{name}' has missing values.",
        "Fill them, or write `missing: impute` or `missing: own category` for it in the schema.",
    )


def _keys(stored: pa.ChunkedArray, attribute: Attribute, schema: Schema) -> LabelCodes:
    """Every value of a column with its own code: declared labels, numbers of a bounded column, else texts."""
    if asked_labels(attribute, schema.folder) is not None:
        return _labels(stored, attribute, schema, set())[0]
    if attribute.domain is not None:
        numbers, absent = _typed(stored, attribute, schema, True, set())
        assert not isinstance(numbers, LabelCodes)
        grid = ValueGrid.of_attribute(attribute)
        present, place = np.unique(grid.places(np.where(absent, grid.lower, numbers)), return_inverse=True)
        texts = tuple(number_text(float((grid.low + int(at)) * grid.step)) for at in present)
        return LabelCodes(np.where(absent, -1, place).astype(np.int32), texts, absent)
    return _coded(stored, attribute, None)


def _coded(stored: pa.ChunkedArray, attribute: Attribute, told_apart: set[str] | None) -> LabelCodes:
    """A column of which nobody declared the labels: these are told apart, or all that there are."""
    texts, places = cells.distinct(stored, attribute)
    spelled = [None if text is None else canonical_number(text) for text in texts]
    labels = tuple(
        sorted({text for text in spelled if text is not None} if told_apart is None else told_apart)
    )
    known: dict[str | None, int] = {label: code for code, label in enumerate(labels)}
    # The last entry is for place -1: a cell without any value.
    codes = np.array([*(known.get(text, -1) for text in spelled), -1], dtype=np.int32)[places]
    missing = np.array([*(text is None for text in texts), True])[places]
    return LabelCodes(codes, labels, missing)


def _typed(
    stored: pa.ChunkedArray, attribute: Attribute, schema: Schema, added_up: bool, asked: set[Value]
) -> tuple[Typed, NDArray[np.bool_]]:
    """The column, imputed and cut to its domain where the schema says so, and which of its cells are missing still."""
    if not added_up and is_labelled(attribute, asked):
        return _labels(stored, attribute, schema, asked)
    bounded = attribute.domain is not None
    if not bounded:
        attribute = attribute.model_copy(update={"domain": _WIDEST})
    column, absent = _imputed(stored, attribute, schema)
    assert isinstance(column, NumericColumn)
    values, domain = column.values, column.domain
    if bounded and (added_up or attribute.is_protected):
        outside = (values < domain.lower) | (values > domain.upper)
        if attribute.outside is Outside.ERROR and outside.any():
            raise DataError(
                f"Column '{attribute.name}' has values outside its declared domain.",
                "Widen the domain, or set `outside: clip` for it in the schema.",
            )
        values = np.clip(values, domain.lower, domain.upper)
    return values, absent


def _imputed(
    stored: pa.ChunkedArray, attribute: Attribute, schema: Schema
) -> tuple[Column, NDArray[np.bool_]]:
    column = column_of(stored, attribute, schema)
    absent = absent_in(column)
    if attribute.missing is Missing.IMPUTE and absent.any():
        return filled(column, absent), np.zeros_like(absent)
    return column, absent


def _labels(
    stored: pa.ChunkedArray, attribute: Attribute, schema: Schema, asked: set[Value]
) -> tuple[LabelCodes, NDArray[np.bool_]]:
    labels = asked_labels(attribute, schema.folder)
    if labels is None:  # nobody declared its labels: those that are asked for are told apart, no others
        found = _coded(stored, attribute, {as_label(value) for value in asked})
        return found, np.zeros_like(found.missing)
    column, absent = _imputed(stored, attribute, schema)
    if isinstance(column, NumericColumn):  # ranks of ordered labels
        ranks = np.where(np.isnan(column.values), -1, column.values).astype(np.int32)
        return LabelCodes(ranks, labels, absent), absent
    return LabelCodes(column.codes, tuple(column.taxonomy.categories), absent), absent


def _require(present: Iterable[str], wanted: Iterable[str]) -> None:
    present = list(present)
    for name in wanted:
        if name not in present:
            raise DataError(f"The data have no column '{name}'.", nearest(name, present))


# Records sorted into kinds: two records of one kind satisfy the same filters. Every count and sum is taken once a kind.
#
# All arithmetic is on whole numbers. `np.bincount` adds doubles, so numbers are cut into pieces so small that no sum of
# pieces reaches 2^53: each partial sum is exact, and Python's integers put them together.

_HALF = 27  # bits: columns on their grid have at most 54
_MOST_CODES = 1 << 22  # codes that are counted into a table; more are sorted


@dataclass(frozen=True)
class Kinds:
    """`of_record[i]`: the kind of record i; `members[f]`: which kinds satisfy filter f; `accepted`: which a condition."""

    of_record: NDArray[np.int64]
    sizes: list[int]
    members: dict[Filter, NDArray[np.bool_]]
    accepted: dict[tuple[str, Condition], NDArray[np.bool_]]

    @classmethod
    def of(cls, people: People, filters: Sequence[Filter], schema: Schema) -> Kinds:
        kinds = np.zeros(people.records, dtype=np.int64)
        conditions: dict[str, list[Condition]] = {}
        for chosen in filters:
            for column, condition in chosen.conditions:
                conditions.setdefault(column, []).append(condition)
        accepted: dict[tuple[str, Condition], NDArray[np.bool_]] = {}
        pieces: list[tuple[str, NDArray[np.int64]]] = []  # of each kind so far, its piece of each column
        for column, listed in conditions.items():
            meant = {c: resolved(c, schema[column], schema) for c in dict.fromkeys(listed)}
            codes, cells = _pieces(people.columns[column], list(meant.values()))
            for condition, meaning in meant.items():
                accepted[column, condition] = cells.accepted(meaning)
            present, kinds = _compact(kinds * len(cells) + codes, len(cells) * _count(pieces))
            earlier, here = np.divmod(present, len(cells))
            pieces = [(name, piece[earlier]) for name, piece in pieces] + [(column, here)]
        number = _count(pieces)
        piece_of = dict(pieces)
        by_kind = {key: answers[piece_of[key[0]]] for key, answers in accepted.items()}
        members = {}
        for chosen in filters:
            mask = np.ones(number, dtype=np.bool_)
            for column, condition in chosen.conditions:
                mask &= by_kind[column, condition]
            members[chosen] = mask
        return cls(kinds, np.bincount(kinds, minlength=number).tolist(), members, by_kind)

    def cells(self, cells: Cells) -> NDArray[np.int64]:
        """The cell that each kind lies in."""
        number = np.zeros(len(self.sizes), dtype=np.int64)
        for axis in cells.axes:
            answers = np.stack([self.accepted[axis.column, c] for c in axis.conditions], axis=1)
            patterns, which = np.unique(answers, axis=0, return_inverse=True)
            atoms = np.array([axis.place[tuple(pattern)] for pattern in patterns.tolist()], dtype=np.int64)
            number = number * len(axis) + atoms[which.ravel()]
        found = np.searchsorted(cells.possible, number)
        if not (cells.possible[np.minimum(found, len(cells) - 1)] == number).all():
            raise AssertionError("a record lies in a cell that was declared impossible")
        return found

    def count(self, chosen: Filter) -> int:
        return _chosen(self.sizes, self.members[chosen])

    def mask(self, chosen: Filter) -> NDArray[np.bool_]:
        """Which records satisfy the filter."""
        return self.members[chosen][self.of_record]

    def sums(self, numbers: Places) -> list[int]:
        """The exact sum of whole numbers ≥ 0 in each kind."""
        bits = 53 - len(numbers).bit_length()
        totals, shift = [0] * len(self.sizes), 0
        while True:
            part = np.bincount(self.of_record, numbers & ((1 << bits) - 1), len(self.sizes))
            totals = [total + (int(value) << shift) for total, value in zip(totals, part, strict=True)]
            numbers, shift = numbers >> bits, shift + bits
            if not numbers.any():
                return totals

    def product_sums(self, first: Places, second: Places) -> list[int]:
        """The exact sum of products of whole numbers from 0 to 2^54 in each kind."""
        totals = [0] * len(self.sizes)
        for (i, a), (j, b) in itertools.product(enumerate(_halves(first)), enumerate(_halves(second))):
            part = self.sums(a * b)
            totals = [total + (value << _HALF * (i + j)) for total, value in zip(totals, part, strict=True)]
        return totals

    def total(self, sums: list[int], chosen: Filter) -> int:
        return _chosen(sums, self.members[chosen])


def _halves(numbers: Places) -> list[Places]:
    upper = numbers >> _HALF
    return [numbers & ((1 << _HALF) - 1), upper] if upper.any() else [numbers]


def _chosen(values: list[int], members: NDArray[np.bool_]) -> int:
    return sum(itertools.compress(values, members.tolist()))


def _count(pieces: list[tuple[str, NDArray[np.int64]]]) -> int:
    return len(pieces[-1][1]) if pieces else 1


def _compact(codes: NDArray[np.int64], limit: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The codes that occur, rising, and each record's place among them."""
    if limit > _MOST_CODES:
        return np.unique(codes, return_inverse=True)
    present = np.flatnonzero(np.bincount(codes, minlength=limit))
    place = np.zeros(limit, dtype=np.int64)
    place[present] = np.arange(len(present))
    return present, place[codes]


def _pieces(column: Typed, conditions: Sequence[Condition]) -> tuple[NDArray[np.int64], Points]:
    """The column cut into pieces in which no condition changes its answer, and a point of each."""
    if isinstance(column, LabelCodes):
        return label_points(column)
    cuts = cuts_of(conditions)
    count = 2 * len(cuts) + 1
    numbers = np.full(count + 1, np.nan)  # the last one is for missing values
    numbers[0:count:2], numbers[1:count:2] = around(cuts), cuts
    codes = np.searchsorted(cuts, column, "left") + np.searchsorted(cuts, column, "right")
    return np.where(np.isnan(column), count, codes), Points([*([None] * count), MISSING], numbers)


def label_points(column: LabelCodes) -> tuple[NDArray[np.int64], Points]:
    """Every label is a piece; so are all other labels, and what is missing."""
    count = len(column.labels)
    codes = np.where(column.codes < 0, count, column.codes)
    numbers = np.array([*map(_number, column.labels), math.nan, math.nan])
    points = Points([*column.labels, None, MISSING], numbers)
    return np.where(column.missing, count + 1, codes).astype(np.int64), points


def _number(label: str) -> float:
    try:
        return float(label)
    except ValueError:
        return math.nan
