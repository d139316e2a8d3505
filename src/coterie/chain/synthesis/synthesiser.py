"""dp-synthetic, end to end: counts of public cells → noisy distributions, correlations and tables → rows.

    aggregate over chunks → combine → draw noise (accountant) → model → rows

`Measures` is what an engine must be able to do: add up counts over its records, twice. Everything else reads noisy numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from coterie.chain.noise.sampler import Sampler
from coterie.chain.synthesis import tables
from coterie.chain.synthesis.accountant import Accountant, Reading
from coterie.chain.synthesis.cells import Cells
from coterie.chain.synthesis.distributions import Distribution, Part, read, refined
from coterie.chain.synthesis.plan import MeasurementPlan
from coterie.chain.synthesis.scores import Scores, copula_ranks, noisy_correlation, scores_of
from coterie.chain.synthesis.tables import Binning, Pair
from coterie.schema.arrays import Codes, Floats, Whole

_COPIED = 0.5  # of the rows that move, by copying a row that is there already
_POOL_PER_ROW = 32  # rows that are drawn and repaired, for each one that is chosen from them …
_POOL = 1 << 15  # … unless there are that many
_EMPTY = 0.2  # rows that an empty cell is treated as if it had
_BALANCED = 12  # bins per attribute in which the chosen rows are like all
_TRIES = 60  # swaps that are tried per value …
_MOST_LOOKS = 40_000_000  # … and pairs of attributes that are looked at for it, at most


class Measures(Protocol):
    """Sums over all records. An engine adds them up chunk by chunk."""

    def histograms(self) -> list[Whole]:
        """How many records lie in each fine cell of each attribute."""
        ...

    def dependence(self, scores: Scores, binning: Binning) -> tuple[Whole, list[Whole]]:
        """Σ u·uᵀ of the scores, and the two-way tables of all pairs."""
        ...


class Summed:
    """Scores and tables of records that come in chunks."""

    def __init__(self, scores: Scores, binning: Binning) -> None:
        self.scores, self.binning = scores, binning
        self.gram = np.zeros((len(scores.tables), len(scores.tables)), dtype=np.int64)
        self.tables = [
            np.zeros((binning.sizes[a], binning.sizes[b]), dtype=np.int64) for a, b in binning.pairs
        ]

    def add(self, codes: NDArray[np.integer]) -> None:
        """`codes` has one line per attribute."""
        self.gram += self.scores.gram(codes.T)
        for table, more in zip(self.tables, self.binning.counted(self.binning.binned(codes)), strict=True):
            table += more


@dataclass(frozen=True, slots=True)
class CodedRecords:
    """All records in memory, as codes: one line per attribute."""

    codes: NDArray[np.integer]
    sizes: tuple[int, ...]
    chunk: int = 1 << 16

    def histograms(self) -> list[Whole]:
        return [np.bincount(line, minlength=size) for line, size in zip(self.codes, self.sizes, strict=True)]

    def dependence(self, scores: Scores, binning: Binning) -> tuple[Whole, list[Whole]]:
        summed = Summed(scores, binning)
        for start in range(0, self.codes.shape[1], self.chunk):
            summed.add(self.codes[:, start : start + self.chunk])
        return summed.gram, summed.tables


@dataclass(slots=True)
class Model:
    """Rows of fine codes that agree with everything that was measured, and the measurements."""

    rows: Codes  # one line per attribute
    distributions: list[Distribution]
    binning: Binning
    readings: dict[Pair, Reading]  # of the tables that were chosen
    correlations: Reading | None = None  # of the scores of all pairs of these attributes:
    scored: tuple[int, ...] = ()


def synthesise(
    measures: Measures,
    cells: Sequence[Cells],
    n: int,
    rows: int,
    plan: MeasurementPlan,
    accountant: Accountant,
    *,
    target: int | None = None,
    built: Callable[[float], None] = lambda share: None,
) -> Model:
    """`rows` model rows. `plan` is public; the records are read through `measures` and `accountant` alone.

    `built` hears how much of the model is there: about a quarter by distributions, the rest round by round.
    """
    sampler = accountant.sampler
    exact = measures.histograms()
    distributions = [
        read(
            counts,
            cell,
            float(n),
            plan.attributes[number],
            plan.levels[number],
            accountant,
            f"attribute {number}",
        )
        for number, (counts, cell) in enumerate(zip(exact, cells, strict=True))
    ]
    scores = scores_of(cells, distributions)
    bins = tables.binning(cells, distributions, plan.bins)
    gram, counts = (
        measures.dependence(scores, bins) if len(cells) > 1 else (np.zeros((0, 0), dtype=np.int64), [])
    )
    correlation, correlations = (
        noisy_correlation(gram, scores, float(n), plan.matrix, accountant)
        if plan.matrix > 0
        else (np.eye(len(scores.tables)), None)
    )
    pool = max(rows, min(_POOL, _POOL_PER_ROW * rows)) if len(cells) > 1 else rows
    state = _Rows(cells, distributions, bins, n, pool, sampler)
    state.draw(scores, correlation)
    measured: dict[Pair, Floats] = {}
    readings: dict[Pair, Reading] = {}
    exact_tables = dict(zip(bins.pairs, counts, strict=True))
    built(0.25)
    price = _price(plan, accountant, len(cells) - 1 if target is not None else 0)
    for number, size in enumerate(plan.rounds):
        model = state.tables()
        chosen = _chosen(exact_tables, measured, model, plan, size, accountant, number, target, float(n))
        for pair in chosen:
            reading = accountant.noisy_histogram(
                exact_tables[pair].ravel(), price, f"table {pair[0]}×{pair[1]}"
            )
            readings[pair] = reading
            noisy = reading.values.reshape(exact_tables[pair].shape)
            measured[pair] = tables.shrunk(noisy, model[pair], reading.deviation)
        last = number + 1 == len(plan.rounds)
        if last:
            state.release(_with_margins(cells, distributions, bins, readings, float(n)))
        state.repair(measured, 2 * plan.sweeps if last else plan.sweeps)
        built(0.25 + 0.75 * (number + 1) / (len(plan.rounds) + 1))
    state.quotas()
    return Model(_thinned(state, rows), state.distributions, bins, readings, correlations, scores.columns)


def _price(plan: MeasurementPlan, accountant: Accountant, given: int) -> Fraction:
    """The budget of each table: its part of what is left once choices are paid. `given` tables are not chosen."""
    tables = sum(plan.rounds)
    return (accountant.left - plan.choice * (tables - given)) / tables if tables else Fraction(0)


def _with_margins(
    cells: Sequence[Cells],
    distributions: Sequence[Distribution],
    bins: Binning,
    readings: dict[Pair, Reading],
    n: float,
) -> list[Distribution]:
    """Every table that was read says something about the distributions of both its attributes."""
    more: list[list[Part]] = [[] for _ in cells]
    for pair, reading in readings.items():
        table = reading.values.reshape(bins.sizes[list(pair)])
        for side, attribute in enumerate(pair):
            noise = reading.deviation * math.sqrt(table.shape[1 - side])
            more[attribute].append(Part(bins.bin_of[attribute], Reading(table.sum(axis=1 - side), noise)))
    return [
        refined(released, cell, n, parts)
        for released, cell, parts in zip(distributions, cells, more, strict=True)
    ]


def _thinned(pool: _Rows, count: int) -> Codes:
    """`count` of many rows, chosen so that all pairs of attributes are as they are among the many: chance adds little."""
    if count >= pool.count:
        return pool.rows
    bins = tables.binning(pool.cells, pool.distributions, _BALANCED)
    few = _Rows(pool.cells, pool.distributions, bins, count, count, pool.sampler)
    few.rows = pool.rows[:, :count].copy()
    few.quotas()
    few.balance(bins.counted(bins.binned(pool.rows)), pool.count)
    return few.rows


def _chosen(
    exact: dict[Pair, Whole],
    measured: dict[Pair, Floats],
    model: dict[Pair, Floats],
    plan: MeasurementPlan,
    size: int,
    accountant: Accountant,
    number: int,
    target: int | None,
    n: float,
) -> list[Pair]:
    """The next pairs: those of a declared target first and for nothing, then where the rows so far are farthest off."""
    if target is not None and number == 0:
        return [pair for pair in exact if target in pair]
    noise = min(accountant.deviation(plan.table) * np.sqrt(2 / np.pi), n)  # public
    open_ = [pair for pair in exact if pair not in measured]
    if plan.choice == 0:
        return open_[:size]
    scores = {
        pair: int(np.abs(exact[pair] - np.rint(model[pair]).astype(np.int64)).sum())
        - int(noise * exact[pair].size)
        for pair in open_
    }
    chosen: list[Pair] = []
    for place in range(size):
        what = f"choice {number}.{place}"
        found = accountant.noisy_choice([scores[pair] for pair in open_], 2, plan.choice, what)
        chosen.append(open_.pop(found))
    return chosen


class _Rows:
    """The rows so far: drawn from the copula, then repaired table by table."""

    def __init__(
        self,
        cells: Sequence[Cells],
        distributions: Sequence[Distribution],
        bins: Binning,
        n: int,
        count: int,
        sampler: Sampler,
    ) -> None:
        self.cells, self.binning = cells, bins
        self.n, self.count, self.sampler = n, count, sampler
        self.rows = np.empty((len(cells), count), dtype=np.int32)
        self.bins = np.empty((len(cells), count), dtype=np.uint16)
        words = sampler.uniform_words(1, "coterie: row repair")
        self.state = np.array([int(words[0]) | 1], dtype=np.uint64)
        self.release(distributions)

    def release(self, distributions: Sequence[Distribution]) -> None:
        """Make the values of each attribute follow these released distributions."""
        self.distributions = list(distributions)
        self.quota = [tables.whole_counts(released.counts, self.count) for released in distributions]
        self._pools()

    def draw(self, scores: Scores, correlation: Floats) -> None:
        """Attributes with scores by the copula, the others in an order of their own; each exactly by its quota."""
        from scipy.special import ndtri

        places: dict[int, Floats] = {}
        if len(scores.tables) > 1:
            deviates = np.column_stack(
                [ndtri(self._uniform(f"copula {number}")) for number in range(len(scores.tables))]
            )
            ranks = copula_ranks(correlation, deviates)
            places = {column: ranks[:, number] for number, column in enumerate(scores.columns)}
        for number in range(len(self.cells)):
            place = places.get(number)
            order = np.argsort(
                place if place is not None else self._uniform(f"order {number}"), kind="stable"
            )
            self.rows[number, order] = np.repeat(np.arange(len(self.quota[number])), self.quota[number])
        self.bins = self.binning.binned(self.rows)

    def tables(self) -> dict[Pair, Floats]:
        """The two-way tables of the rows, scaled to n records."""
        found = self.binning.counted(self.bins)
        scale = self.n / self.count
        return {
            pair: np.asarray(table * scale, dtype=np.float64)
            for pair, table in zip(self.binning.pairs, found, strict=True)
        }

    def repair(self, measured: dict[Pair, Floats], sweeps: int) -> None:
        from coterie.chain.synthesis._row_loops import repair

        margins = [
            np.bincount(bins, weights=quota, minlength=size).astype(float)
            for bins, quota, size in zip(self.binning.bin_of, self.quota, self.binning.sizes, strict=True)
        ]
        wanted = {
            (a, b): tables.whole_counts(tables.fitted(table, margins[a], margins[b]), self.count).ravel()
            for (a, b), table in measured.items()
        }
        pairs = list(wanted)
        for sweep in range(sweeps):
            share = 1.0 if sweep < 2 else max(0.15, 0.84**sweep)
            turn = sweep % max(len(pairs), 1)
            for a, b in pairs[turn:] + pairs[:turn]:
                repair(
                    self.rows,
                    self.bins,
                    a,
                    b,
                    self.binning.sizes,
                    wanted[a, b],
                    self.pools,
                    self.pool_starts,
                    self.bin_lines,
                    share,
                    _COPIED,
                    self.state,
                )

    def balance(self, wanted: list[Whole], count: int) -> None:
        """Swaps within attributes, until the tables of all pairs are as `wanted`, which hold `count` rows."""
        from coterie.chain.synthesis._row_loops import balance

        m, sizes = len(self.cells), self.binning.sizes
        if m < 2:
            return
        starts, own, other = (np.zeros((m, m), dtype=np.int64) for _ in range(3))
        at = 0
        for a, b in self.binning.pairs:
            starts[a, b] = starts[b, a] = at
            own[a, b] = other[b, a] = sizes[b]
            other[a, b] = own[b, a] = 1
            at += int(sizes[a] * sizes[b])
        bins = self.binning.binned(self.rows)
        aim = np.concatenate([table.ravel() for table in wanted]) * (self.count / count)
        off = np.concatenate([table.ravel() for table in self.binning.counted(bins)]) - aim
        rows = np.ascontiguousarray(self.rows.T)
        tries = min(_TRIES * self.count * m, _MOST_LOOKS // m)
        balance(
            rows, np.ascontiguousarray(bins.T), starts, own, other, off, 1 / (_EMPTY + aim), tries, self.state
        )
        self.rows = np.ascontiguousarray(rows.T)

    def quotas(self) -> None:
        """Exactly the released distribution again: ordered attributes move as little as possible, labels at random."""
        for number, cell in enumerate(self.cells):
            line, quota = self.rows[number], self.quota[number]
            counts = np.bincount(line, minlength=len(quota))
            values = len(quota) - cell.missing
            noise = self._uniform(f"quota {number}")
            if cell.ordered and values > 2:
                self._move_gap(number, counts)
                present = np.flatnonzero(line < values)
                order = present[np.lexsort((noise[present], line[present]))]
                line[order] = np.repeat(np.arange(values), quota[:values])[: len(order)]
            else:
                over = np.maximum(counts - quota, 0)
                order = np.lexsort((noise, line))
                starts = np.concatenate([[0], np.cumsum(counts)])
                movers = np.concatenate([order[starts[i] : starts[i] + over[i]] for i in range(len(quota))])
                places = np.repeat(np.arange(len(quota)), np.maximum(quota - counts, 0))
                line[movers] = places[np.argsort(noise[movers])]

    def _move_gap(self, number: int, counts: Whole) -> None:
        """Give the rows as many missing values as were released."""
        cell, line, quota = self.cells[number], self.rows[number], self.quota[number]
        if not cell.missing:
            return
        gap = len(quota) - 1
        noise = self._uniform(f"gap {number}")
        off = int(counts[gap] - quota[gap])
        if off > 0:
            rows = np.flatnonzero(line == gap)
            rows = rows[np.argsort(noise[rows])][:off]
            start, pool = 0, np.repeat(np.arange(gap), quota[:gap])
            line[rows] = pool[(noise[rows] * len(pool)).astype(np.int64)] if len(pool) else start
        elif off < 0:
            rows = np.flatnonzero(line != gap)
            line[rows[np.argsort(noise[rows])][:-off]] = gap

    def _pools(self) -> None:
        """Fine codes of each bin, as often as released: where repaired rows take their values from."""
        longest = max(len(quota) for quota in self.quota)
        self.bin_lines = np.zeros((len(self.cells), longest), dtype=np.uint16)
        self.pool_starts = np.zeros((len(self.cells), int(self.binning.sizes.max()) + 1), dtype=np.int64)
        self.pools = np.zeros((len(self.cells), self.count), dtype=np.int32)
        for number, (bins, quota) in enumerate(zip(self.binning.bin_of, self.quota, strict=True)):
            self.bin_lines[number, : len(bins)] = bins
            order = np.argsort(bins, kind="stable")
            self.pools[number] = np.repeat(order, quota[order])
            sizes = np.bincount(bins, weights=quota, minlength=int(self.binning.sizes.max())).astype(np.int64)
            self.pool_starts[number, 1:] = np.cumsum(sizes)

    def _uniform(self, stream: str) -> Floats:
        words = self.sampler.uniform_words(self.count, f"coterie: {stream}")
        return ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
