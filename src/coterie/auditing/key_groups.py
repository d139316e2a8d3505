"""Groups of records that share the values of their keys: how small they are, and which keys make people unique.

A missing cell is a value of its own. Records are first reduced to distinct combinations, so that 2^m subsets of m keys stay
affordable: a record that is unique by some keys is unique by all of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coterie.schema.arrays import Flags, Floats, Whole

_MOST_SUBSETS = 400
_LARGEST_CODE = 2**62
_FEW = 40  # members of a group


@dataclass(frozen=True, slots=True)
class KeyGroups:
    """The distinct combinations of all keys: their codes, sizes, and the combination of every record."""

    keys: tuple[str, ...]
    codes: tuple[Whole, ...]  # for each key, one code per combination
    values: tuple[int, ...]  # for each key, how many codes there are
    sizes: Whole
    of_record: Whole

    @classmethod
    def of(cls, keys: Sequence[str], codes: Sequence[Whole]) -> KeyGroups:
        """`codes`: for each key, the code of every record."""
        values = tuple(int(one.max(initial=0)) + 1 for one in codes)
        of_record = _dense(_joined(codes, values), math.prod(values))
        number = int(of_record.max(initial=-1)) + 1
        first = np.zeros(number, dtype=np.int64)
        first[of_record[::-1]] = np.arange(len(of_record))[::-1]
        sizes = np.bincount(of_record, minlength=number).astype(np.int64)
        return cls(tuple(keys), tuple(one[first] for one in codes), values, sizes, of_record)

    def sizes_by(self, subset: Sequence[int]) -> Floats:
        """For every combination of all keys, how many records share its values of these keys alone."""
        codes, values = [self.codes[key] for key in subset], [self.values[key] for key in subset]
        space = math.prod(values)
        group = _joined(codes, values)
        if space > 4 * len(group) + 1024:
            group = _dense(group, space)
        return np.asarray(np.bincount(group, weights=self.sizes)[group], dtype=np.float64)


def _joined(codes: Sequence[Whole], values: Sequence[int]) -> Whole:
    """One number per row that is the same where all codes are."""
    joined, space = np.zeros(len(codes[0]), dtype=np.int64), 1
    for one, count in zip(codes, values, strict=True):
        if space * count > _LARGEST_CODE:
            joined = _dense(joined, space)
            space = int(joined.max(initial=0)) + 1
        joined, space = joined * count + one, space * count
    return joined


def _dense(codes: Whole, space: int) -> Whole:
    """0, 1, 2 … for codes that leave gaps; `space` is how many there might be."""
    if space <= 4 * len(codes) + 1024:
        present = np.flatnonzero(np.bincount(codes, minlength=space))
        place = np.zeros(space, dtype=np.int64)
        place[present] = np.arange(len(present))
        return place[codes]
    indices = pc.dictionary_encode(pa.array(codes)).indices
    return np.asarray(indices.to_numpy(zero_copy_only=False), dtype=np.int64)


# Which keys make people unique: minimal sample uniques, as SUDA finds them (Elliot, Manning and Ford 2002).


@dataclass(frozen=True, slots=True)
class SubsetRisk:
    """What an intruder can do who knows these keys and no others."""

    keys: tuple[str, ...]
    smallest: int  # group
    uniques: int
    below_3: int


@dataclass(frozen=True, slots=True)
class UniqueBy:
    """Why records are unique: the smallest sets of keys that are enough, and the part that each key plays.

    `by_size[s]` counts records that s keys single out while no fewer do. `contribution` is the share of all scores in which
    a key takes part; a minimal set of s among m keys scores (m − s)!, as in SUDA. `deepest`: larger sets were not searched.
    """

    by_size: dict[int, int]
    contribution: dict[str, float]
    subsets: tuple[SubsetRisk, ...]
    deepest: int


def deepest_search(keys: int) -> int:
    """The largest number of keys at a time for which all subsets are still looked at."""
    depth, subsets = 0, 0
    while depth < keys and subsets + math.comb(keys, depth + 1) <= _MOST_SUBSETS:
        depth += 1
        subsets += math.comb(keys, depth)
    return max(depth, 1)


def unique_by(groups: KeyGroups) -> UniqueBy:
    """All subsets of the keys, from one key up."""
    keys, unique = len(groups.keys), groups.sizes == 1
    deepest = deepest_search(keys)
    found = np.zeros(int(unique.sum()), dtype=np.int64)  # smallest set so far, of every unique combination
    score, scores = 0.0, np.zeros(keys)
    subsets: list[SubsetRisk] = []
    below: dict[tuple[int, ...], Flags] = {(): np.zeros(len(found), dtype=np.bool_)}
    for size in range(1, deepest + 1):
        here: dict[tuple[int, ...], Flags] = {}
        for subset in combinations(range(keys), size):
            shared = groups.sizes_by(subset)
            subsets.append(_subset(groups, subset, shared))
            alone = shared[unique] == 1
            here[subset] = alone
            minimal = alone.copy()
            for smaller in combinations(subset, size - 1):
                minimal &= ~below[smaller]
            found[minimal & (found == 0)] = size
            worth = float(minimal.sum()) * math.factorial(keys - size)
            score += worth
            scores[list(subset)] += worth
        below = here
    counts = np.bincount(found, minlength=deepest + 1)
    by_size = {size: int(counts[size]) for size in range(1, deepest + 1)}
    if counts[0]:
        by_size[deepest + 1] = int(counts[0])
    shares = {
        name: float(part / score) if score else 0.0 for name, part in zip(groups.keys, scores, strict=True)
    }
    return UniqueBy(by_size, shares, tuple(subsets), deepest)


def _subset(groups: KeyGroups, subset: tuple[int, ...], shared: Floats) -> SubsetRisk:
    sizes = groups.sizes
    return SubsetRisk(
        tuple(groups.keys[key] for key in subset),
        int(shared.min(initial=math.inf)) if len(shared) else 0,
        int(sizes[shared < 2].sum()),
        int(sizes[shared < 3].sum()),
    )


# The risk of one record: E[1 / F | f], F people in the population with this combination, f of them in the sample.


def individual_risk(sizes: Floats | Whole, population: Floats) -> Floats:
    """Benedetti and Franconi 1998: F given f is negative binomial with p = f / F̂, as in µ-Argus and sdcMicro.

    (p^f / f) · ₂F₁(f, f; f+1; 1−p) = (p / f) · ₂F₁(1, 1; f+1; 1−p), by Euler's transformation, which is stable for large f.
    For f = 1 this is p/(1−p) · ln(1/p). A group that is all of its population (p = 1) has the risk 1/f.
    """
    from scipy.special import hyp2f1  # here: commands that show no risk start without it

    share = np.minimum(sizes / population, 1.0)
    found = hyp2f1(1.0, 1.0, np.minimum(sizes, _FEW) + 1.0, 1.0 - share)
    many = np.flatnonzero(sizes > _FEW)
    if len(many):  # SciPy's function is inaccurate there; the 30th term of the series is below 10⁻¹⁸
        term = series = np.ones(len(many))
        for place in range(1, 30):
            term = term * (1.0 - share[many]) * place / (sizes[many] + place)
            series = series + term
        found[many] = series
    return np.asarray(share / sizes * found, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class UnitRisk:
    """Whole households: the probability that at least one member is re-identified."""

    units: int
    expected: float  # number of units with at least one re-identified member
    highest: float


@dataclass(frozen=True, slots=True)
class Diversity:
    """How many values of a sensitive column the members of a group have (l-diversity)."""

    column: str
    smallest: int
    alike: int  # records in groups in which everybody has the same value


@dataclass(frozen=True, slots=True)
class KeyRisk:
    """The risk by all keys together. `population_*` rests on weights or a declared population, else on the table alone."""

    records: int
    combinations: int
    smallest: int
    uniques: int
    below: dict[int, int]  # k → records in groups of fewer than k
    sizes: dict[str, int]  # size of the group → records
    highest: float  # an attacker who knows that the person is in the table ("prosecutor")
    mean: float
    population_highest: float  # one who does not know it ("journalist")
    # Re-identifications if everybody were looked up ("marketer"); divided by the records: the global risk.
    expected: float
    unique_by: UniqueBy
    without: dict[str, int]  # key → unique records that are left without it
    units: UnitRisk | None = None
    diversity: Diversity | None = None

    @property
    def population_mean(self) -> float:
        """The global risk: the share of records that would be re-identified."""
        return self.expected / self.records

    @property
    def figures(self) -> dict[str, float]:
        """Each figure by its name."""
        found: dict[str, float] = {
            name: getattr(self, name)
            for name in ("records", "combinations", "smallest", "uniques", "highest", "mean")
        }
        found |= {f"in groups below {k}": count for k, count in self.below.items()}
        found |= {
            "population_highest": self.population_highest,
            "population_mean": self.population_mean,
            "expected": self.expected,
        }
        if self.units is not None:
            found |= {"units_expected": self.units.expected, "units_highest": self.units.highest}
        if self.diversity is not None:
            found |= {"diversity_smallest": self.diversity.smallest, "diversity_alike": self.diversity.alike}
        return found | {f"unique without {key}": count for key, count in self.without.items()}

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "population_mean": self.population_mean}
