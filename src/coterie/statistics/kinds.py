"""Records sorted into kinds: two records of one kind satisfy the same filters. Every count and sum is taken once a kind.

All arithmetic is on whole numbers. `np.bincount` adds doubles, so numbers are cut into pieces so small that no sum of
pieces reaches 2^53: each partial sum is exact, and Python's integers put them together.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.schema import Schema
from coterie.statistics.asked_values import MISSING, resolved
from coterie.statistics.filters import Between, Condition, Filter
from coterie.statistics.records import Labels, Numbers, People, Typed
from coterie.statistics.value_grid import Places

Cell = tuple[str | None, float | None]
_HALF = 27  # bits: columns on their grid have at most 54
_MOST_CODES = 1 << 22  # codes that are counted into a table; more are sorted


@dataclass(frozen=True)
class Kinds:
    """`of_record[i]`: the kind of record i; `members[f]`: which kinds satisfy filter f."""

    of_record: NDArray[np.int64]
    sizes: list[int]
    members: dict[Filter, NDArray[np.bool_]]

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
                accepted[column, condition] = np.array([meaning.accepts(*cell) for cell in cells])
            present, kinds = _compact(kinds * len(cells) + codes, len(cells) * _count(pieces))
            earlier, here = np.divmod(present, len(cells))
            pieces = [(name, piece[earlier]) for name, piece in pieces] + [(column, here)]
        number = _count(pieces)
        members = {}
        for chosen in filters:
            mask = np.ones(number, dtype=np.bool_)
            for column, condition in chosen.conditions:
                mask &= accepted[column, condition][dict(pieces)[column]]
            members[chosen] = mask
        return cls(kinds, np.bincount(kinds, minlength=number).tolist(), members)

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


def _pieces(column: Typed, conditions: Sequence[Condition]) -> tuple[NDArray[np.int64], list[Cell]]:
    """The column cut into pieces in which no condition changes its answer, and a cell (text, number) of each."""
    if isinstance(column, Labels):
        cells: list[Cell] = [(label, _number(label)) for label in column.labels]
        codes = np.where(column.codes < 0, len(cells), column.codes).astype(np.int64)
        return np.where(column.missing, len(cells) + 1, codes), [*cells, (None, None), (MISSING, None)]
    assert isinstance(column, Numbers)
    cuts: set[float] = set()
    for condition in conditions:
        if isinstance(condition, Between):
            cuts |= {end for end in (condition.start, condition.below) if np.isfinite(end)}
        else:
            cuts |= {value for value in condition.values if isinstance(value, float)}
    ordered = sorted(cuts)
    middles = [a / 2 + b / 2 for a, b in itertools.pairwise(ordered)]
    around = (
        [ordered[0] - 1 - abs(ordered[0]), *middles, ordered[-1] + 1 + abs(ordered[-1])] if ordered else [0.0]
    )
    cells = [(None, around[0])]
    for cut, after in zip(ordered, around[1:], strict=True):
        cells += [(None, cut), (None, after)]
    bounds = np.array(ordered)
    codes = np.searchsorted(bounds, column.values, "left") + np.searchsorted(bounds, column.values, "right")
    return np.where(np.isnan(column.values), len(cells), codes), [*cells, (MISSING, None)]


def _number(label: str) -> float | None:
    try:
        return float(label)
    except ValueError:
        return None
