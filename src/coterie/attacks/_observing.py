"""Released tables as an attacker on ε sees them: numbers on a public grid, and patterns of ties."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from itertools import combinations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from coterie.attacks._events import Matrix, Runs
from coterie.columns.column import CategoryColumn
from coterie.schema import Role, Schema
from coterie.table import check

_GRID = 1000  # cells that a domain is rounded to
_MOST_PAIRS = 10  # pairs of attributes whose joint ties are counted
Groups = NDArray[np.intp]


def observe(tables: Iterable[pa.Table], schema: Schema, changed: NDArray[np.intp] | None) -> Runs:
    """All runs. `changed` holds the places of the records that differ; None for shuffled rows, never seen in order."""
    ordered: list[Matrix] = []
    at_ends: list[Matrix] = []
    theirs: list[Matrix] = []
    counts: list[Matrix] = []
    ties: list[np.uint64] = []
    crossed: list[np.uint64] = []
    visible = tuple(a for a in schema.attributes if a.role is Role.PROTECT)
    narrowed = schema.model_copy(update={"attributes": visible})
    names = [attribute.name for attribute in visible]
    for table in tables:
        cells = _cells(table.select(names), narrowed)
        rounded = np.rint(cells * _GRID) / _GRID
        groups = np.column_stack([np.unique(column, return_inverse=True)[1] for column in cells.T])
        joint = _crossings(groups)
        at_ends.append(np.sort(rounded, axis=0).ravel())
        crossed.append(_code(np.concatenate([np.sort(counted) for counted in joint])))
        counts.append(np.array([*groups.max(axis=0), *(len(counted) for counted in joint)], dtype=np.float64))
        if changed is not None:
            ordered.append(rounded.ravel())
            theirs.append(rounded[changed].ravel())
            ties.append(_code(np.column_stack([_by_appearance(column) for column in groups.T])))
    views = {"sorted values": np.array(at_ends), "numbers of ties": np.array(counts)}
    patterns = {"how ties of two attributes cross": np.array(crossed, dtype=np.uint64)}
    if changed is not None:
        views |= {"values in row order": np.array(ordered), "the changed record": np.array(theirs)}
        patterns["which rows share values"] = np.array(ties, dtype=np.uint64)
    return Runs(views, patterns)


def changed_records(first: pa.Table, second: pa.Table, schema: Schema) -> NDArray[np.intp]:
    """Where two tables of one length differ."""
    different = np.zeros(first.num_rows, dtype=np.bool_)
    for attribute in schema.protected:
        left, right = first.column(attribute.name).to_pylist(), second.column(attribute.name).to_pylist()
        different |= np.array([a != b for a, b in zip(left, right, strict=True)], dtype=np.bool_)
    return np.flatnonzero(different)


def _cells(table: pa.Table, schema: Schema) -> Matrix:
    """Rows × attributes, every domain scaled to 0 … 1."""
    columns = []
    for column in check(table, schema).columns.values():
        if isinstance(column, CategoryColumn):
            columns.append(column.position / max(len(column.order) - 1, 1))
        else:
            columns.append((column.values - column.domain.lower) / float(column.domain.width))
    return np.column_stack(columns)


def _crossings(groups: Groups) -> list[Groups]:
    """For pairs of attributes, how many rows share a value in both: neither noise nor shuffling changes it."""
    pairs = list(combinations(range(groups.shape[1]), 2))[:_MOST_PAIRS] or [(0, 0)]
    found = []
    for left, right in pairs:
        joint = groups[:, left] * (groups[:, right].max() + 1) + groups[:, right]
        found.append(np.unique(joint, return_counts=True)[1])
    return found


def _by_appearance(groups: Groups) -> Groups:
    """Groups numbered by their first row: a pattern that does not depend on the values."""
    _, first, which = np.unique(groups, return_index=True, return_inverse=True)
    return np.asarray(first[which])


def _code(pattern: Groups) -> np.uint64:
    digest = hashlib.blake2b(np.ascontiguousarray(pattern).tobytes(), digest_size=8).digest()
    return np.uint64(int.from_bytes(digest, "little"))
