"""Raking: weights for synthetic rows that add up to public totals (iterative proportional fitting).

It reads released rows and declared totals only, so it is post-processing and costs nothing. Rows with the same labels get
the same weight: what is fitted is one number per combination of labels that occurs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.schema.arrays import Floats, Whole
from coterie.schema.attributes import Schema
from coterie.schema.exact import number
from coterie.table.columns.column import CategoryColumn, Column
from coterie.table.columns.labels import MISSING_LABEL

CAP = 20  # no weight is more than so many times the mean, or less than that part of it
_SWEEPS = 500
_MET = 1e-9  # relative difference at which totals are met …
_CLOSE = 1e-4  # … and up to which nobody is told of it
_DIGITS = 7  # of the mean weight


@dataclass(frozen=True, slots=True)
class Margin:
    """The public totals of one attribute, by the codes of its labels; 0 for the code that stands for a gap."""

    name: str
    labels: tuple[str, ...]
    totals: Floats

    def codes(self, values: NDArray[Any]) -> Whole:
        """The label of every row; a gap is one more, behind them all."""
        gaps = np.isnan(values) | (values < 0)
        codes = np.where(gaps, 0, values).astype(np.int64)
        return np.where(gaps | (self.totals[codes] == 0), len(self.labels), codes)


@dataclass(frozen=True, slots=True)
class Combinations:
    """Which labels rows have together, and how many rows do: all that raking reads of them."""

    cells: Whole  # a line per margin, a column per combination
    counts: Whole

    @classmethod
    def of(cls, margins: Sequence[Margin], values: Mapping[str, NDArray[Any]], rows: int) -> Combinations:
        return cls(*np.unique(_codes(margins, values, rows), axis=1, return_counts=True))

    @classmethod
    def together(cls, parts: Sequence[Combinations]) -> Combinations:
        cells, place = np.unique(np.hstack([part.cells for part in parts]), axis=1, return_inverse=True)
        counts = np.zeros(cells.shape[1], dtype=np.int64)
        np.add.at(counts, place.ravel(), np.concatenate([part.counts for part in parts]))
        return cls(cells, counts)


def _codes(margins: Sequence[Margin], values: Mapping[str, NDArray[Any]], rows: int) -> Whole:
    """The codes of each row, one line per margin. Without margins, all rows are alike."""
    lines = [margin.codes(values[margin.name]) for margin in margins]
    return np.stack(lines or [np.zeros(rows, dtype=np.int64)])


@dataclass(frozen=True, slots=True)
class Raked:
    weights: Floats  # of each combination
    difference: float  # the largest one from a total, relative to it
    absent: tuple[tuple[str, str], ...]  # attribute and label that no row has


@dataclass(frozen=True, slots=True)
class RakedWeights:
    """The weights of released rows, and how they met the totals, in words."""

    margins: tuple[Margin, ...]
    by_cell: dict[bytes, float]
    said: tuple[str, ...]

    @classmethod
    def of(cls, schema: Schema, margins: Sequence[Margin], parts: Sequence[Combinations]) -> RakedWeights:
        """`parts`: the combinations in all released rows, piece by piece."""
        assert schema.raked is not None
        assert schema.totals is not None
        found = Combinations.together(parts)
        raked = rake(margins, found, schema.totals.population)
        released = rounded(raked.weights, found.counts, schema.raked.decimals)
        cells = (cell.tobytes() for cell in np.ascontiguousarray(found.cells.T))
        by_cell = dict(zip(cells, released.tolist(), strict=True))
        return cls(tuple(margins), by_cell, in_words(raked, margins, found, released))

    def rows(self, values: Mapping[str, NDArray[Any]], rows: int) -> Floats:
        cells, of_row = np.unique(_codes(self.margins, values, rows), axis=1, return_inverse=True)
        found = [self.by_cell[cell.tobytes()] for cell in np.ascontiguousarray(cells.T)]
        return np.array(found, dtype=np.float64)[of_row.ravel()]


def margins_of(schema: Schema, columns: Mapping[str, Column]) -> list[Margin]:
    """The totals by code. A label without a total is refused here, before anything is drawn."""
    assert schema.totals is not None
    found = []
    for name in schema.totals.attributes:
        column = columns[name]
        if isinstance(column, CategoryColumn):
            labels = column.taxonomy.categories
        else:
            categories = column.attribute.categories
            labels = (categories.labels if categories else None) or ()
        named = [label for label in labels if label != MISSING_LABEL]
        counts = dict(zip(named, schema.totals.of(schema[name], named), strict=True))
        found.append(Margin(name, tuple(labels), np.array([counts.get(label, 0.0) for label in labels])))
    return found


def rake(margins: Sequence[Margin], found: Combinations, population: float) -> Raked:
    """One weight per combination of labels.

    The whole adds up to `population` always. Totals of labels that no row has go to the other labels of the attribute, in
    proportion; rows without a label keep the weight that the other attributes give them.
    """
    count, mean = found.counts, population / found.counts.sum()
    if not margins:
        return Raked(np.array([mean]), 0.0, ())
    cells = found.cells
    aims = []  # the share of each label among the rows that have one
    for margin, line in zip(margins, cells, strict=True):
        there = np.bincount(line, minlength=len(margin.labels) + 1)[:-1] > 0
        shares = np.where(there, margin.totals, 0.0)
        aims.append(np.append(shares / max(shares.sum(), 1e-300), 0.0))
    weight = np.full(len(count), mean)
    difference = math.inf
    for _ in range(_SWEEPS):
        for line, aim in zip(cells, aims, strict=True):
            weight = weight * _factors(line, aim, weight * count, population)[line]
        weight = _capped(weight, count, mean)
        before, difference = difference, _difference(cells, aims, weight * count, population)
        if difference < _MET or (difference > _CLOSE and abs(before - difference) < _MET):
            break
    absent = tuple(
        (margin.name, label)
        for margin, aim in zip(margins, aims, strict=True)
        for label, total, share in zip(margin.labels, margin.totals, aim[:-1], strict=True)
        if total > 0 and share == 0
    )
    return Raked(weight, difference, absent)


def _capped(weight: Floats, count: Whole, mean: float) -> Floats:
    """Scale the weights in proportion, so that their mean is right and none is too far from it."""
    low, high = mean / CAP, mean * CAP
    scale = mean * count.sum() / (weight @ count)
    if low <= weight.min() * scale and weight.max() * scale <= high:
        return np.asarray(weight * scale)
    least, most = low / weight.max(), high / weight.min()
    for _ in range(100):  # the sum rises with the scale
        scale = math.sqrt(least * most)
        enough = np.clip(weight * scale, low, high) @ count >= mean * count.sum()
        least, most = (least, scale) if enough else (scale, most)
    return np.asarray(np.clip(weight * most, low, high))


def _factors(line: Whole, aim: Floats, mass: Floats, population: float) -> Floats:
    """The factor for the weights of each label. Those of a gap are not changed."""
    found = np.bincount(line, mass, len(aim))
    wanted = aim * (population - found[-1])
    return np.where(wanted > 0, wanted / np.maximum(found, 1e-300), 1.0)


def _difference(cells: Whole, aims: Sequence[Floats], mass: Floats, population: float) -> float:
    factors = [
        _factors(line, aim, mass, population)[:-1][aim[:-1] > 0]
        for line, aim in zip(cells, aims, strict=True)
    ]
    return max((float(np.abs(1 / factor - 1).max(initial=0.0)) for factor in factors), default=0.0)


def rounded(weights: Floats, counts: Whole, decimals: int | None) -> Floats:
    """Round to the decimals of the schema, or to so many that no total changes."""
    mean = float(weights @ counts) / counts.sum()
    places = _DIGITS - 1 - math.floor(math.log10(mean)) if decimals is None else decimals
    return np.round(weights, max(places, 0))


def in_words(
    raked: Raked, margins: Sequence[Margin], rows: Combinations, released: Floats
) -> tuple[str, ...]:
    """How well the released weights meet the totals, as the certificate states it."""
    to = f"public totals by {', '.join(margin.name for margin in margins)}" if margins else "a public total"
    said = [
        f"weights were raked to {to}, known without this table: the weight column was not read, and raking costs no ε"
    ]
    said += [
        f"no synthetic row has the label '{label}' of {name}: its total is spread over the other labels"
        for name, label in raked.absent
    ]
    population, mass = float(raked.weights @ rows.counts), released * rows.counts
    off, gaps = abs(float(mass.sum()) / population - 1), []
    for margin, line in zip(margins, rows.cells, strict=False):
        summed = np.bincount(line, mass, len(margin.labels) + 1)
        if summed[-1] > 0:
            gaps.append(margin.name)
        there = (margin.totals > 0) & (summed[:-1] > 0)
        share = summed[:-1][there] * (population / max(population - summed[-1], 1e-300))
        off = max(off, float(np.abs(share / margin.totals[there] - 1).max(initial=0.0)))
    if gaps:
        said.append(
            f"rows without a label in {', '.join(gaps)} have weights too, so its labels add up to less than their totals: "
            "they are met in proportion only"
        )
    if off <= _CLOSE and not raked.absent and not gaps:
        said[0] += "; all totals are met"
    elif raked.difference <= _CLOSE < off and not raked.absent:
        said.append(
            f"weights are rounded to the schema's decimals, so totals are missed by up to {number(off, 2)} of a total; "
            "allow more `decimals` for the weight"
        )
    elif raked.difference > _CLOSE:
        said.append(
            f"not all totals are met: the largest difference is {number(raked.difference, 2)} of a total, as no weight may "
            f"be more than {CAP} times the mean or less than 1/{CAP} of it"
        )
    return tuple(said)
