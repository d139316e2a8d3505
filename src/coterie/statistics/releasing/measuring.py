"""The exact measurements of the records, in whole numbers, and the noise of a release.

A measurement is a whole number of public steps, and its noise is drawn on the same steps: discrete Laplace under pure
DP, discrete Gaussian under zCDP. A quantile is chosen by the exponential mechanism. `Noise` uses exact samplers, or a
seeded stand-in for experiments.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from coterie.chain.noise import keystream
from coterie.chain.noise.discrete_gaussian import ExactSampler, whole_gaussian, whole_laplace
from coterie.chain.noise.exponential import exponential_mechanism
from coterie.chain.noise.keystream import Keystream
from coterie.chain.noise.sampler import Sampler
from coterie.chain.noise.secure import SecureSampler
from coterie.chain.noise.seeded import SeededSampler
from coterie.errors import DataError
from coterie.schema.arrays import Floats, Whole
from coterie.schema.attributes import Schema
from coterie.schema.exact import float_up
from coterie.statistics.planning.design import Design
from coterie.statistics.prediction.joint import JointMeasurement, exact_rows
from coterie.statistics.prediction.measurement import Kind, Measurement, exact_level
from coterie.statistics.prediction.noise_model import Family, KeyThreshold, from_uniform, key_threshold
from coterie.statistics.prediction.value_grid import Places, ValueGrid, distances
from coterie.statistics.releasing.cell_counts import count_cells
from coterie.statistics.releasing.records import (
    Kinds,
    People,
    RecordSource,
    typed,
)
from coterie.statistics.specification.asked_values import asked_values
from coterie.statistics.specification.filters import Filter, Value
from coterie.statistics.specification.specification import Neighbours, Specification
from coterie.table.units import KEY_WORDS, bounded_units

# One number, the rows of a joint measurement, the counts of candidates or of a large table, the counts of private keys.
Exact = int | list[int] | NDArray[np.int64] | dict[str, int]


def compute(design: Design, records: RecordSource, sampler: Sampler | None = None) -> dict[str, Exact]:
    """Every measurement by name, in its units; a quantile is returned as the counts of its candidates."""
    people, kinds = read_people(design.specification, records, design.asked, sampler)
    sums = _Sums(people, kinds, design.specification.schema)
    found: dict[str, Exact] = {}
    for m in design.measurements:
        if isinstance(m, JointMeasurement):
            totals = [0] * len(m.cells)
            for cell, value in zip(
                kinds.cells(m.cells).tolist(), _by_kind(m.of_one, kinds, sums), strict=True
            ):
                totals[cell] += value
            found[m.name] = exact_rows(m, totals)
        else:
            found[m.name] = _measured(m, kinds, sums)
    return found


def read_people(
    specification: Specification,
    records: RecordSource,
    measurements: Iterable[Measurement] = (),
    sampler: Sampler | None = None,
) -> tuple[People, Kinds]:
    """The records as values, sorted into kinds; refused if they are not what the specification declares.

    `sampler` chooses which records of a large unit count.
    """
    if records.identity in specification.samples:
        raise DataError(
            "The file that `shape` calls a public sample holds these very data.",
            "Give a sample that is public, for instance last year's release, or state `quantiles`.",
        )
    schema = specification.schema
    numeric, filters = set(specification.added_up), specification.filters
    filters += [f for m in measurements for f in (m.where, m.where & (m.indicator or Filter()))]
    filters = list(dict.fromkeys([Filter(), *filters]))
    asked: dict[str, set[Value]] = {}
    of_measurements = itertools.chain.from_iterable(chosen.conditions for chosen in filters)
    for column, condition in itertools.chain(of_measurements, specification.conditions):
        asked.setdefault(column, set()).update(asked_values(condition))
    keyed, unit = specification.keyed, set() if schema.unit is None else {schema.unit.column}
    found = records.read(schema, numeric | set(asked) | keyed | unit)
    if unit:
        words = (sampler or SecureSampler()).uniform_words(KEY_WORDS, "coterie: rows kept of each unit")
        found = bounded_units(found, schema, words)
    people = typed(found, schema, numeric, asked, keyed)
    kinds = Kinds.of(people, filters, schema)
    _check(specification, kinds)
    return people, kinds


def _check(specification: Specification, kinds: Kinds) -> None:
    """Refuse data that do not keep what the specification declares."""
    present = np.array(kinds.sizes) > 0
    for group in specification.disjoint:
        if (np.sum([kinds.members[f] & present for f in group], axis=0) > 1).any():
            raise DataError(
                "Groups declared disjoint share records.",
                "Remove them from `disjoint`, or correct their filters: the budget would be understated.",
            )
    for base, parts in specification.complete:
        inside = np.any([kinds.members[part] for part in parts], axis=0)
        if (kinds.members[base] & ~inside & present).any():
            raise DataError(
                "Groups declared complete miss some records.",
                "Add the missing values to `by` or `bins`, or drop `complete`.",
            )
    if specification.size is not None and kinds.count(Filter()) != specification.size:
        raise DataError(
            "The data have another number of records than the specification says.", "Correct `records`."
        )


@dataclass
class _Sums:
    """Sums of places and of their products in each kind, each taken once."""

    people: People
    kinds: Kinds
    schema: Schema
    places: dict[tuple[str, ValueGrid], Places] = field(default_factory=dict)
    found: dict[tuple[tuple[str, ValueGrid], ...], list[int]] = field(default_factory=dict)

    def place(self, column: str, grid: ValueGrid) -> Places:
        key = column, grid
        if key not in self.places:
            numbers = self.people.numbers(column)
            # What is missing is in no group that is added up (coterie.statistics.specification.entries).
            self.places[key] = grid.places(np.where(np.isnan(numbers), grid.lower, numbers))
        return self.places[key]

    def by_kind(self, *columns: tuple[str, ValueGrid]) -> list[int]:
        key = tuple(sorted(columns, key=lambda entry: entry[0]))
        if key not in self.found:
            listed = [self.place(*entry) for entry in key]
            self.found[key] = (
                self.kinds.sums(listed[0]) if len(listed) == 1 else self.kinds.product_sums(*listed)
            )
        return self.found[key]

    def over(self, where: Filter, *columns: tuple[str, ValueGrid]) -> int:
        return self.kinds.total(self.by_kind(*columns), where)


def _by_kind(m: Measurement, kinds: Kinds, sums: _Sums) -> list[int]:
    """What the records of each kind add to a count or a sum, in its units."""
    if m.kind is Kind.COUNT:
        return kinds.sizes
    # x − centre is 2·place + shift half steps.
    entries = [(column, grid) for (column, _), grid in zip(m.terms, m.domains, strict=True)]
    shifts = [
        2 * grid.low - grid.half_steps(centre) for (_, centre), grid in zip(m.terms, m.domains, strict=True)
    ]
    finer = int(math.prod((grid.step / 2 for grid in m.domains), start=Fraction(1)) / m.unit)
    first = sums.by_kind(entries[0])
    if len(entries) == 1:
        return [(2 * a + n * shifts[0]) * finer for n, a in zip(kinds.sizes, first, strict=True)]
    s, t = shifts
    second, both = sums.by_kind(entries[1]), sums.by_kind(*entries)
    return [
        (4 * ab + 2 * (t * a + s * b) + n * s * t) * finer
        for n, a, b, ab in zip(kinds.sizes, first, second, both, strict=True)
    ]


def _measured(m: Measurement, kinds: Kinds, sums: _Sums) -> Exact:
    if m.table is not None:
        return count_cells(m.table, sums.people, kinds.mask(m.where), sums.schema)
    if m.kind in (Kind.COUNT, Kind.SUM):
        return kinds.total(_by_kind(m, kinds, sums), m.where)
    count = kinds.count(m.where)
    if m.kind in (Kind.DISTINCT, Kind.KEYS):
        keys = sums.people.keys[m.terms[0][0]]
        codes = keys.codes[kinds.mask(m.where)]
        found: list[int] = np.bincount(codes[codes >= 0], minlength=len(keys.labels)).tolist()
        if m.kind is Kind.DISTINCT:
            return sum(number > 0 for number in found)
        return {label: number for label, number in zip(keys.labels, found, strict=True) if number > 0}
    if m.kind is Kind.QUANTILE:
        places = sums.place(m.terms[0][0], m.domains[0])
        return m.candidates.counts(places[kinds.mask(m.where)])
    if m.kind is Kind.TRIMMED:
        return trimmed(m, sums.place(m.terms[0][0], m.domains[0])[kinds.mask(m.where)])
    if m.indicator is not None:
        return finish(m, count, kinds.count(m.where & m.indicator))
    entries = [(column, grid) for (column, _), grid in zip(m.terms, m.domains, strict=True)]
    first = sums.over(m.where, entries[0])
    squares = sums.over(m.where, entries[0], entries[0]) if m.kind is not Kind.MEAN else 0
    return finish(m, count, first, squares)


def finish(m: Measurement, count: int, first: int, squares: int = 0) -> int:
    """A mean, share, variance or standard deviation, rounded down to its unit.

    `first` and `squares` are Σp and Σp² of the places p; for a share, `first` is how many count. Padded with the middle
    value up to `at_least` records: see coterie.statistics.prediction.measurement.
    """
    size = max(count, m.at_least)
    if m.indicator is not None:
        return math.floor(Fraction(2 * first + size - count, 2 * size) / m.unit)
    grid = m.domains[0]
    half, shift = grid.step / 2, -grid.steps  # x − middle is 2p + shift half steps
    total = 2 * first + count * shift
    if m.kind is Kind.MEAN:
        return math.floor(total * half / size / m.unit)
    squared = 4 * squares + 4 * shift * first + count * shift**2
    variance = (squared - Fraction(total**2, size)) * half**2 / (size - 1)
    if m.kind is Kind.VARIANCE:
        return math.floor(variance / m.unit)
    return math.isqrt(math.floor(variance / m.unit**2))


def trimmed(m: Measurement, places: Places) -> int:
    """A trimmed mean, rounded down to its unit; of a value that the cut goes through, its part counts."""
    grid, padding = m.domains[0], max(m.at_least - len(places), 0)
    # x − middle is 2p − steps half steps: 0 for the padding.
    values = np.sort(np.concatenate([2 * places - grid.steps, np.zeros(padding, dtype=places.dtype)]))
    cut = exact_level(m.trim) * len(values)
    first = math.floor(cut)
    kept = values[first : len(values) - first]
    total = (int((kept >> 27).sum()) << 27) + int((kept & ((1 << 27) - 1)).sum())
    edges = (cut - first) * (int(kept[0]) + int(kept[-1]))
    return math.floor((total - edges) * (grid.step / 2) / (len(values) - 2 * cut) / m.unit)


NAME = (
    "exact discrete Laplace and discrete Gaussian on public steps, exact exponential mechanism; "
    "AES-256-CTR keyed by the operating system"
)
# More than the rows of a plan may be off by: they are doubles, and a quotient rounded down to steps of 2^-32 of its
# sensitivity may move by one step more than a record that enters its group, at least half as far, moves it.
SLACK = 1 + Fraction(1, 2**28)


@dataclass(frozen=True)
class Noise:
    """Adds noise to exact measurements; `sampler` says whether it is the real one."""

    sampler: Sampler

    @classmethod
    def secure(cls) -> Noise:
        return cls(SecureSampler())

    @classmethod
    def seeded(cls, seed: int) -> Noise:
        return cls(SeededSampler(seed))

    @property
    def name(self) -> str:
        return NAME if self.sampler.private else self.sampler.name

    def add(
        self,
        exact: Sequence[int],
        m: Measurement | JointMeasurement,
        family: Family,
        budget: Fraction,
        neighbours: Neighbours,
        stream: str,
        times: int = 1,
    ) -> Floats:
        """All numbers of a measurement with noise (times × numbers), each scaled to what one record moves them together."""
        size, shape = _size(m, family, budget, neighbours), (times, len(exact))
        if self.sampler.private:
            noise = self._exact(family, size * SLACK, times * len(exact), stream)
            values = [m.value(k + e) for k, e in zip(itertools.cycle(exact), noise, strict=False)]
            return np.array(values).reshape(shape)
        scale = math.sqrt(size) if family.gaussian else float(size)
        drawn = from_uniform(family, self._uniform(times * len(exact), stream), scale)
        return np.array([m.value(k) for k in exact]) + drawn.reshape(shape) * float(m.unit)

    def add_to_cells(
        self,
        exact: Whole,
        m: Measurement,
        family: Family,
        budget: Fraction,
        neighbours: Neighbours,
        stream: str,
    ) -> Whole:
        """All cells of a large table with noise, as one array."""
        draw = whole_gaussian if family.gaussian else whole_laplace
        size = _size(m, family, budget, neighbours) * SLACK
        return np.asarray(exact + draw(len(exact), size, self.sampler, stream))

    def _exact(self, family: Family, size: Fraction, count: int, stream: str) -> list[int]:
        """Independent draws in whole steps: of a scale, or of a variance."""
        draw = ExactSampler(Keystream.named(keystream.fresh_key(), "statistics", stream))
        one = draw.gaussian if family.gaussian else draw.laplace
        return [one(size) for _ in range(count)]

    def show_keys(self, exact: Mapping[str, int], threshold: KeyThreshold, stream: str) -> dict[str, int]:
        """The keys whose noisy count reaches the threshold, in the order of their texts. Nothing is told of the others."""
        keys = sorted(exact)
        if self.sampler.private:
            noise = self._exact(Family.DISCRETE_GAUSSIAN, threshold.variance, len(keys), stream)
        else:
            spread = math.sqrt(float(threshold.variance))
            drawn = from_uniform(Family.DISCRETE_GAUSSIAN, self._uniform(len(keys), stream), spread)
            noise = [int(value) for value in drawn]
        noisy = {key: exact[key] + value for key, value in zip(keys, noise, strict=True)}
        return {key: value for key, value in noisy.items() if value >= threshold.least}

    def choose(
        self,
        counts: NDArray[np.int64],
        m: Measurement,
        budget: Fraction,
        zcdp: bool,
        neighbours: Neighbours,
        stream: str,
        times: int = 1,
    ) -> Floats:
        """Candidates, each with probability ∝ exp(ε·u/(2Δu)); `counts` says how many records lie in each."""
        p, q = exact_level(m.quantile).as_integer_ratio()
        scores = np.asarray(distances(counts, p, q), dtype=np.float64)  # q times the distance: whole numbers
        epsilon = _root(8 * budget) if zcdp else budget
        reach = m.bound.rows_per_unit * (max(p, q - p) if neighbours is Neighbours.ADD_REMOVE else q)
        released = m.candidates.released
        if self.sampler.private:
            chosen = [
                int(exponential_mechanism(scores[None, :], epsilon, float(reach), self.sampler, stream)[0])
                for _ in range(times)
            ]
            return np.asarray(released[chosen])
        weights = np.cumsum(np.exp(-float(epsilon) / (2.0 * reach) * (scores - scores.min())))
        places = np.searchsorted(weights, self._uniform(times, stream) * weights[-1], side="right")
        return np.asarray(released[np.minimum(places, len(released) - 1)])

    def _uniform(self, count: int, stream: str) -> NDArray[np.float64]:
        words = self.sampler.uniform_words(count, stream)
        return ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


def _size(
    m: Measurement | JointMeasurement, family: Family, budget: Fraction, neighbours: Neighbours
) -> Fraction:
    """The variance of Gaussian noise, or the scale of Laplace noise, in units."""
    if family.gaussian:
        return m.moved(neighbours, 2) / (2 * budget)
    return m.moved(neighbours, 1) / budget


def threshold_of(budget: Fraction, specification: Specification) -> KeyThreshold:
    """What a count by private keys with this budget shows; its noise is the discrete Gaussian that ρ pays for."""
    return key_threshold(1 / (2 * budget) * SLACK, specification.budget.key_delta)


def release_scale(family: Family, sensitivity: float, budget: Fraction, zcdp: bool) -> float:
    """The scale of the noise as a certificate states it, rounded up."""
    if family.gaussian:
        return math.nextafter(sensitivity / math.sqrt(2.0 * float(budget)), math.inf)
    epsilon = _root(8 * budget) if zcdp else budget
    return float_up((2 if family is Family.RANK else 1) * Fraction(sensitivity) / epsilon)


def _root(value: Fraction) -> Fraction:
    """√value, rounded down: a smaller ε, and never a larger one."""
    wide = 2**200
    return Fraction(math.isqrt(value.numerator * wide**2 // value.denominator), wide)
