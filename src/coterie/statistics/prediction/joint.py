"""Many numbers measured together under one budget: rows of weights over cells, and what is asked of them.

One record lies in one cell, so it moves the rows by that cell's column: the noise is scaled to the largest column. What is
asked is reconstructed by least squares, and its error is a mix of the rows' noises.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from coterie.schema.arrays import Floats
from coterie.schema.exact import float_up
from coterie.statistics.prediction.measurement import Kind, Measurement, SensitivityBound
from coterie.statistics.prediction.noise_model import SEED, Family, from_uniform
from coterie.statistics.specification.cells import Cells
from coterie.statistics.specification.filters import EVERYONE, Filter
from coterie.statistics.specification.specification import Neighbours

MOST_PAIRS = 1024  # cells whose moves are tried pair by pair; beyond, a move counts as leaving and entering
_COUNTS = (
    "A record is counted in one cell: entering or leaving moves the numbers by that cell's column of weights."
)


@dataclass(frozen=True, eq=False)
class JointMeasurement:
    """`rows` (measured × cells) are whole weights of which `grid` make 1; None: one row per cell.

    `asked[i]` are measurements of one kind and the same terms, each the sum over the cells of its filter.
    """

    name: str
    strategy: str
    cells: Cells
    asked: tuple[Measurement, ...]
    rows: NDArray[np.int64] | None
    grid: int
    gaussian: bool
    tried: Mapping[str, float] = field(
        default_factory=dict
    )  # strategies: how many times the errors of this one

    @property
    def kind(self) -> Kind:
        return self.asked[0].kind

    @property
    def where(self) -> Filter:
        return EVERYONE

    @property
    def of_one(self) -> Measurement:
        """What is added up in each cell."""
        return self.asked[0]

    @property
    def unit(self) -> Fraction:
        """The step of every number that is measured."""
        return self.of_one.unit / self.grid

    def value(self, steps: int) -> float:
        return float(steps * self.unit)

    @property
    def count(self) -> int:
        return len(self.cells) if self.rows is None else len(self.rows)

    def moved(self, neighbours: Neighbours, power: int) -> int:
        """How far one record moves all rows together, in units: Δ in L1 (power 1), or Δ² in L2 (Gaussian noise, power 2)."""
        assert power == (2 if self.gaussian else 1)
        return self._moved[neighbours]

    @cached_property
    def _moved(self) -> dict[Neighbours, int]:
        bound, power = self.of_one.bound, 2 if self.gaussian else 1
        enter, swap = (math.ceil(Fraction(size) / self.of_one.unit) for size in (bound.enter, bound.swap))
        largest, apart = self._columns
        # A sum: a value changes within its cell, or a record leaves one cell with one value and enters another.
        counted = enter**power * apart  # `enter` is 1, or a unit's rows
        replaced = counted if self.kind is Kind.COUNT else max(swap, 2 * enter) ** power * largest
        entered = enter**power * largest
        return {
            Neighbours.ADD_REMOVE: entered,
            Neighbours.REPLACE_ONE: replaced,
            Neighbours.EXCHANGE: max(entered, replaced),
        }

    @cached_property
    def _columns(self) -> tuple[int, int]:
        """The largest column, and the largest difference of two columns: in L1, or in L2 squared."""
        if self.rows is None:
            return self.grid, 2 * self.grid if len(self.cells) > 1 else 0
        rows = self.rows.astype(np.float64)  # whole numbers far below 2^53
        sizes = (rows**2).sum(axis=0) if self.gaussian else np.abs(rows).sum(axis=0)
        largest = int(sizes.max())
        if rows.shape[1] > MOST_PAIRS:
            return largest, 2 * largest  # weights are not negative, so ‖a − b‖² ≤ ‖a‖² + ‖b‖²
        apart = 0.0
        for column in rows.T:
            gap = rows - column[:, None]
            found = (gap**2).sum(axis=0) if self.gaussian else np.abs(gap).sum(axis=0)
            apart = max(apart, float(found.max()))
        return largest, int(apart)

    @cached_property
    def bound(self) -> SensitivityBound:
        largest, apart = (
            float_up((_root_up(moved) if self.gaussian else moved) * self.unit)
            for moved in (self._moved[Neighbours.ADD_REMOVE], self._moved[Neighbours.REPLACE_ONE])
        )
        norm = "L2" if self.gaussian else "L1"
        formula = f"Δ = the largest column of weights ({norm}), or the largest difference of two on a change"
        return SensitivityBound(largest, apart, f"{formula}; times {self.of_one.bound.formula}", _COUNTS)

    @cached_property
    def weights(self) -> Floats:
        """The rows in doubles."""
        assert self.rows is not None
        return self.rows / float(self.grid)

    @cached_property
    def held(self) -> NDArray[np.bool_]:
        """asked × cells: which cells each filter holds."""
        return np.array([self.cells.holds(m.where) for m in self.asked])

    @cached_property
    def mix(self) -> Floats:
        """asked × rows: how least squares puts together what is asked from what is measured."""
        held = self.held.astype(np.float64)
        return held if self.rows is None else held @ inverse_of(self.weights)

    def draws(self, exponent: int) -> Floats:
        """Unit noise of what is asked (2^exponent × asked)."""
        return _unit_draws(self, exponent)

    def noise(self, family: Family, scale: float, draws: int) -> Floats:
        """The rows' noise as it is really drawn (draws × rows), at points that are the same for every budget."""
        steps = float(self.unit)
        return from_uniform(family, _uniform(self.name, self.count, draws), scale / steps) * steps

    def __hash__(self) -> int:
        return id(self)


_RANK = 1e-11  # of normal equations: a smaller part of the largest counts as nothing


def inverse_of(rows: Floats) -> Floats:
    """The pseudo-inverse, by the smaller of the normal equations: ten times faster than by singular values."""
    from scipy.linalg import cho_solve, eigh

    wide = rows.shape[0] < rows.shape[1]
    gram = rows @ rows.T if wide else rows.T @ rows
    lower = _root_of(gram)
    if lower is not None:
        solved = np.asarray(cho_solve((lower, True), rows if wide else rows.T, check_finite=False))
        return solved.T if wide else solved
    values, vectors = eigh(gram, check_finite=False)
    kept = values > _RANK * max(values[-1], 1e-300)
    inverse = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
    return np.asarray(rows.T @ inverse if wide else inverse @ rows.T)


def spread_of(rows: Floats, wanted: Floats) -> Floats | None:
    """How far unit noise on the rows takes what is wanted (both × cells), by least squares; None: rows do not tell it."""
    from scipy.linalg import solve_triangular

    lower = _root_of(rows.T @ rows) if rows.shape[0] >= rows.shape[1] else None
    if lower is not None:
        return np.asarray(np.sqrt((solve_triangular(lower, wanted.T, lower=True) ** 2).sum(axis=0)))
    mixed = wanted @ inverse_of(rows)
    told = float(np.abs(mixed @ rows - wanted).max()) <= 1e-6 * float(np.abs(wanted).max())
    return np.asarray(np.sqrt((mixed**2).sum(axis=1))) if told else None


def _root_of(gram: Floats) -> Floats | None:
    """L with LLᵀ = gram; None where it has fewer dimensions than rows."""
    from scipy.linalg import cholesky

    try:
        lower = np.asarray(cholesky(gram, lower=True, check_finite=False))
    except np.linalg.LinAlgError:
        return None
    sizes = np.diag(lower) ** 2
    return lower if sizes.min() > _RANK * sizes.max() else None


def _root_up(value: int) -> Fraction:
    """√value, rounded up by less than 2^-60."""
    root = math.isqrt(value << 120)
    return Fraction(root + (root * root < value << 120), 1 << 60)


@lru_cache(maxsize=16)
def _uniform(name: str, count: int, draws: int) -> Floats:
    """Independent points, others for each measurement: with hundreds of rows evenly spread ones would gain nothing."""
    generator = np.random.Generator(np.random.PCG64([SEED, zlib.crc32(name.encode()), count, draws]))
    return generator.uniform(2.0**-40, 1.0 - 2.0**-40, (draws, count))


@lru_cache(maxsize=16)
def _unit_draws(joint: JointMeasurement, exponent: int) -> Floats:
    family = Family.GAUSSIAN if joint.gaussian else Family.LAPLACE
    return np.asarray(
        from_uniform(family, _uniform(joint.name, joint.count, 1 << exponent), 1.0) @ joint.mix.T
    )


def exact_rows(joint: JointMeasurement, cells: Sequence[int]) -> list[int]:
    """What is measured, in units, from the exact total of each cell (in units of one record's)."""
    if joint.rows is None:
        return [joint.grid * total for total in cells]
    found = []
    for row in joint.rows:
        places = np.flatnonzero(row).tolist()
        found.append(sum(int(row[place]) * cells[place] for place in places))
    return found
