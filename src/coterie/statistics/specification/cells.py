"""The cells into which filters cut the records: a product of columns, each cut where some condition changes its answer.

All counts and sums that filters ask for are sums over cells, and one record lies in one cell: that is all that
composition and reconstruction need to know.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from coterie.statistics.specification.filters import Condition, Filter, OneOf, atoms, conditions_of

MOST_CELLS = 1 << 20


@dataclass(frozen=True)
class Axis:
    """One column: its conditions, and for each atom which of them it satisfies."""

    column: str
    conditions: tuple[Condition, ...]
    atoms: tuple[tuple[bool, ...], ...]

    @cached_property
    def place(self) -> Mapping[tuple[bool, ...], int]:
        return {accepted: index for index, accepted in enumerate(self.atoms)}

    def accepted(self, condition: Condition) -> NDArray[np.bool_]:
        return self._accepted[:, self._numbered[condition]]

    @cached_property
    def _accepted(self) -> NDArray[np.bool_]:
        return np.array(self.atoms, dtype=np.bool_)

    @cached_property
    def _numbered(self) -> Mapping[Condition, int]:
        return {condition: index for index, condition in enumerate(self.conditions)}


@dataclass(frozen=True)
class Cells:
    """`shape` atoms along each axis; cells are numbered with the last axis fastest, impossible ones left out."""

    axes: tuple[Axis, ...]
    possible: NDArray[np.int64]  # numbers of the possible cells in the whole product, rising

    @classmethod
    def of(
        cls,
        filters: Sequence[Filter],
        disjoint: Sequence[Sequence[Filter]] = (),
        complete: Sequence[tuple[Filter, Sequence[Filter]]] = (),
        closed: Mapping[str, frozenset[str]] | None = None,
    ) -> Cells | None:
        """None where the product is too large.

        A record is in at most one filter of a `disjoint` group, and in one of the parts of a `complete` one if it is
        in the base. `closed`: columns of which every record has one of these labels.
        """
        axes = tuple(
            Axis(column, tuple(conditions), tuple(atoms(conditions)))
            for column, conditions in conditions_of(filters).items()
        )
        size = math.prod(len(axis.atoms) for axis in axes)
        if size > MOST_CELLS:
            return None
        everything = cls(axes, np.arange(size))
        known = {(axis.column, condition) for axis in axes for condition in axis.conditions}
        allowed = np.ones(size, dtype=np.bool_)
        for group in disjoint:
            inside = [f for f in group if f in set(filters)]
            if len(inside) > 1:
                allowed &= np.sum([everything.holds(f) for f in inside], axis=0) <= 1
        for base, parts in complete:
            if all(set(f.conditions) <= known for f in (base, *parts)):
                inside = np.any([everything.holds(f) for f in parts], axis=0)
                allowed &= ~everything.holds(base) | inside
        for axis, at in zip(axes, everything.places().T if closed else (), strict=False):
            labels = (closed or {}).get(axis.column)
            listed = {v for c in axis.conditions if isinstance(c, OneOf) for v in c.values}
            if labels is not None and labels <= listed:
                allowed &= np.array([any(atom) for atom in axis.atoms])[at]
        return cls(axes, np.flatnonzero(allowed))

    def __len__(self) -> int:
        return len(self.possible)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(axis.atoms) for axis in self.axes)

    def holds(self, chosen: Filter) -> NDArray[np.bool_]:
        """Which cells satisfy the filter."""
        held = np.ones(self.shape, dtype=np.bool_)
        places = {axis.column: index for index, axis in enumerate(self.axes)}
        for column, condition in chosen.conditions:
            along = [1] * len(self.axes)
            axis = places[column]
            along[axis] = -1
            held = held & self.axes[axis].accepted(condition).reshape(along)
        return held.ravel()[self.possible]

    def unlisted(self) -> NDArray[np.bool_]:
        """Cells beside the values of a column of which several are asked for: records are seldom there."""
        found = np.zeros(len(self), dtype=np.bool_)
        for axis, at in zip(self.axes, self.places().T, strict=True):
            listed = np.array([sum(atom) for atom in axis.atoms])
            if np.count_nonzero(listed) > 1:
                found |= listed[at] == 0
        return found

    def places(self) -> NDArray[np.int64]:
        """For each possible cell its atom along each axis (cells × axes)."""
        if not self.axes:
            return np.zeros((len(self), 0), dtype=np.int64)
        return np.stack(np.unravel_index(self.possible, self.shape), axis=1).astype(np.int64)
