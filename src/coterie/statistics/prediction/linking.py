"""Groups of cells that share columns agree on what they share: every table of men holds the same number of them.

A group is a table over some columns. Of the columns that several tables have, each knows the same margin, cut where all of
them can tell. In `even` every margin becomes the mean of what the tables say of it, weighed by how well they know it, the
smallest sets of columns first: a larger set then changes no margin that is fixed already (Qardaji, Yang & Li 2014). In
`fixed` margins are whole counts, none negative, and tables the nearest that have them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.schema.arrays import Flags, Floats
from coterie.statistics.prediction.fixed_sums import (
    CellClasses,
    FixedSums,
    connected,
    nearest,
    rounded,
    sums_of,
    within,
)
from coterie.statistics.specification.cells import Axis, Cells, representatives
from coterie.statistics.specification.large_table import ListedAxis

_ROUNDS = 40  # of fitting tables in a circle until all agree
_MOST_TOGETHER = 10_000  # cells of tables that one program makes agree
_NODES = 100  # of its search; not a time: what is published must not depend on how busy the machine is


@dataclass(frozen=True, eq=False)
class SharedMargin:
    """What the tables `classes` (by their number) all have: of each cell its class."""

    columns: frozenset[str]
    classes: Mapping[int, CellClasses]
    count: int

    def of(self, table: int, cells: Floats) -> Floats:
        """The margin of a table (draws × cells)."""
        return sums_of(cells, self.classes[table], self.count)


def shared_margins(tables: Sequence[Cells]) -> tuple[SharedMargin, ...]:
    """Find every margin that some tables of one kind share; those over fewer columns first."""
    sets = [frozenset(axis.column for axis in table.axes) for table in tables]
    wanted = {a & b for a, b in itertools.combinations(sets, 2)}
    while True:
        more = wanted | {a & b for a, b in itertools.product(wanted, sets)}
        if more == wanted:
            break
        wanted = more
    found = []
    for columns in sorted(wanted, key=lambda chosen: (len(chosen), sorted(chosen))):
        members = [place for place, held in enumerate(sets) if columns <= held]
        if len(members) > 1:
            found.append(margin_over(columns, {place: tables[place] for place in members}))
    return tuple(found)


def margin_over(columns: frozenset[str], tables: Mapping[int, Cells]) -> SharedMargin:
    along = {place: np.zeros(len(cells), dtype=np.int64) for place, cells in tables.items()}
    for column in sorted(columns):
        classes = _classes(column, tables)
        size = 1 + max(int(found.max(initial=0)) for found in classes)
        for place, found in zip(tables, classes, strict=True):
            along[place] = along[place] * size + found
    used = np.unique(np.concatenate(list(along.values())))
    return SharedMargin(
        columns, {place: np.searchsorted(used, found) for place, found in along.items()}, len(used)
    )


def _classes(column: str, tables: Mapping[int, Cells]) -> list[CellClasses]:
    """The piece of a column that each table's cells lie in, where it is cut only where every table cuts it."""
    axes = [cells.axes[cells.axis_of[column]] for cells in tables.values()]
    atom_of = [cells.places()[:, cells.axis_of[column]] for cells in tables.values()]
    present = [np.isin(np.arange(len(axis)), found) for axis, found in zip(axes, atom_of, strict=True)]
    parts = common_pieces(axes, present)
    return [part[found] for part, found in zip(parts, atom_of, strict=True)]


def common_pieces(
    axes: Sequence[Axis | ListedAxis], present: Sequence[Flags] | None = None
) -> list[CellClasses]:
    """Map each atom of a column that several tables cut to the piece that all cut alike; numbered as in the first.

    `present`: of each axis the atoms in which there may be records.
    """
    conditions = list(dict.fromkeys(itertools.chain.from_iterable(axis.conditions for axis in axes)))
    points = representatives(conditions, axes[0].possible)
    places = np.stack([axis.places(points) for axis in axes])
    met = (places >= 0).all(axis=0)
    for seen, at in zip(present or (), places, strict=False):
        met &= seen[at]
    starts = np.cumsum([0, *map(len, axes)])
    places = np.unique(places[:, met] + starts[:-1, None], axis=1)
    part = connected(int(starts[-1]), np.concatenate([places[at : at + 2].T for at in range(len(axes) - 1)]))
    return [part[start:end] for start, end in itertools.pairwise(starts.tolist())]


@dataclass(frozen=True, eq=False)
class Links:
    """The tables of one kind, what they share, and how well each knows it (0: not at all)."""

    tables: tuple[int, ...]  # places among the groups
    margins: tuple[SharedMargin, ...]
    trust: tuple[Mapping[int, float], ...]
    open: Mapping[int, NDArray[np.bool_]]  # cells that nothing measured tells

    @property
    def linked(self) -> bool:
        """Whether some share columns; all share the number of records."""
        return any(margin.columns for margin in self.margins)

    def even(self, cells: Sequence[Floats]) -> list[Floats]:
        """Draws × cells of every table, moved to the margins they share: linear, and without a bias."""
        moved = list(cells)
        for margin, trust in zip(self.margins, self.trust, strict=True):
            total = sum(trust.values())
            if not total:
                continue
            said = {table: margin.of(table, moved[table]) for table, known in trust.items() if known}
            mean = sum(trust[table] / total * one for table, one in said.items())
            for table, one in said.items():
                classes = margin.classes[table]
                sizes = np.bincount(classes, minlength=margin.count)
                moved[table] = moved[table] + ((mean - one) / sizes)[:, classes]
        return moved

    def fixed(self, cells: Sequence[Floats], total: float | None) -> list[Floats]:
        """One draw: whole counts, none negative, that agree on everything they share."""
        known: list[tuple[SharedMargin, Floats]] = []
        for margin, trust in zip(self.margins, self.trust, strict=True):
            table = max(trust, key=lambda one: trust[one])
            if not margin.columns:
                if total is not None:
                    known.append((margin, np.array([total])))
            elif trust[table]:
                families = self._families(table, known, margin)
                noisy = margin.of(table, cells[table])[0]
                known.append((margin, rounded(nearest(noisy, families), families)))
        found: list[Floats | None] = [None] * len(cells)
        for _ in range(_ROUNDS):
            before = known
            for table, one in enumerate(cells):
                families, seen = self._families(table, known, None), ~self.open[table]
                made = found[table]
                if made is not None and all(np.array_equal(f.of(made[0]), f.sums) for f in families):
                    continue
                held = np.zeros((1, one.shape[1]))
                inner = [family.only(seen) for family in families]
                held[0, seen] = rounded(nearest(one[0, seen], inner), inner)
                found[table] = held
                # What no table without negative counts has, the others take over.
                if seen.all() and len(families) > 2:
                    known = [(m, m.of(table, held)[0] if table in m.classes else sums) for m, sums in known]
            if known is before:
                break
        fitted = [one for one in found if one is not None]
        return self._agreed(fitted) if self.apart(fitted) else fitted

    def _agreed(self, cells: Sequence[Floats]) -> list[Floats]:
        """The nearest whole tables that agree, by one program over all of them; those given if it finds none.

        Fitting one table after the other may go round for ever: each has whole counts next to its neighbours', and none
        fits them all.
        """
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csr_array, hstack, vstack

        sizes = [one.shape[1] for one in cells]
        starts, now = np.cumsum([0, *sizes]), np.concatenate([one[0] for one in cells])
        if len(now) > _MOST_TOGETHER:
            return list(cells)
        rows = []
        for margin, trust in zip(self.margins, self.trust, strict=True):
            sides = []
            for table in (table for table, known in trust.items() if known):
                places = margin.classes[table], starts[table] + np.arange(sizes[table])
                sides.append(csr_array((np.ones(sizes[table]), places), shape=(margin.count, len(now))))
            rows += [one - other for one, other in itertools.pairwise(sides)]
        different = vstack(rows)
        left = -different @ now
        every = csr_array((np.arange(len(now)) < sizes[0])[None, :].astype(float))  # the total stays
        table = vstack([different, every])
        solved = milp(
            np.ones(2 * len(now)),
            integrality=np.ones(2 * len(now)),
            bounds=Bounds(np.zeros(2 * len(now)), np.concatenate([np.full(len(now), np.inf), now])),
            constraints=LinearConstraint(
                hstack([table, -table]).tocsc(), np.append(left, 0.0), np.append(left, 0.0)
            ),
            options={"node_limit": _NODES},
        )
        if solved.x is None:
            return list(cells)
        up, down = np.rint(solved.x).reshape(2, -1)
        return [one[None, :] for one in np.split(now + up - down, starts[1:-1])]

    def apart(self, cells: Sequence[Floats]) -> float:
        """How far tables differ in what they share and know, at most."""
        said = (
            np.array([margin.of(table, cells[table]) for table, known in trust.items() if known])
            for margin, trust in zip(self.margins, self.trust, strict=True)
        )
        return max((float(np.ptp(one, axis=0).max()) for one in said if len(one) > 1), default=0.0)

    def bounded(self, cells: Sequence[Floats], ends: Sequence[tuple[Floats, Floats] | None]) -> list[Floats]:
        """One draw of sums: between their limits, with margins that stay the same in all tables."""
        known: list[tuple[SharedMargin, Floats]] = []
        for margin, trust in zip(self.margins, self.trust, strict=True):
            table = max(trust, key=lambda one: trust[one])
            limits = ends[table]
            if trust[table]:
                found = margin.of(table, cells[table])[0]
                if limits is not None:
                    low, high = (margin.of(table, end)[0] for end in limits)
                    found = within(found, low, high, self._families(table, known, margin))
                known.append((margin, found))
        return [
            one
            if limits is None
            else within(one[0], limits[0][0], limits[1][0], self._families(table, known, None))[None, :]
            for table, (one, limits) in enumerate(zip(cells, ends, strict=True))
        ]

    def _families(
        self, table: int, known: Iterable[tuple[SharedMargin, Floats]], within: SharedMargin | None
    ) -> list[FixedSums]:
        """The margins that are fixed already, as sums over a table's cells, or over the classes of a margin of it."""
        chosen = [
            (margin, sums)
            for margin, sums in known
            if table in margin.classes and (within is None or margin.columns < within.columns)
        ]
        finest = [
            (margin, sums)
            for margin, sums in chosen
            if not any(margin.columns < other.columns for other, _ in chosen)
        ]
        found = []
        for margin, sums in finest:
            classes = margin.classes[table]
            if within is not None:
                above = np.zeros(within.count, dtype=np.int64)
                for member, mine in within.classes.items():
                    above[mine] = margin.classes[member]
                classes = above
            found.append(FixedSums(classes, sums))
        return found
