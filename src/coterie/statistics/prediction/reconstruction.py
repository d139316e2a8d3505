"""From what is measured to what is asked: one table of cells that everything is a function of.

Counts and sums are sums over cells. The table is the one nearest to all that was measured (weighted least squares), with no
negative counts and with the public number of records where there is one. Whatever is then added up agrees with everything
else. Post-processing of released values: free, and it lowers the error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from coterie.schema.arrays import Floats
from coterie.statistics.prediction.fitting import Fit
from coterie.statistics.prediction.fixed_sums import onto_rows, whole
from coterie.statistics.prediction.joint import JointMeasurement
from coterie.statistics.prediction.least_counts import with_least_counts
from coterie.statistics.prediction.linking import Links, SharedMargin, margin_over
from coterie.statistics.specification.cells import Cells

MOST_WEIGHTS = 10_000_000  # rows × cells of what is fitted
_FITTINGS = 100
_MOST_SOLVED = 400  # cells of guesses that are fitted exactly
_SELDOM = 1e-6  # how likely a record lies in a cell that is not listed, against one that is


# Sums as they can be, given how many records there are: a mean lies in its domain, a variance is not negative.
#
# Of n records whose terms lie in [l, u] the sum lies in [n·l, n·u]; Σx² is at least (Σx)²/n, and |Σxy − ΣxΣy/n| at most the
# root of the product of what is left of Σx² and Σy². Fitted cells keep these limits, and unions of cells then keep them as
# well: so no published mean, variance or correlation has to be cut by itself, and all follow from the same sums and counts.

Terms = tuple[tuple[str, float], ...]


@dataclass(frozen=True, eq=False)
class Inside:
    """The cells of one group as parts of the cells of another: `into[i]` is the cell that holds cell i (−1: none)."""

    group: int
    into: NDArray[np.int64]
    count: int

    def added(self, cells: Floats) -> Floats:
        """Draws × cells of this group, added up to the cells of the other."""
        member = np.zeros((len(self.into), self.count))
        kept = np.flatnonzero(self.into >= 0)
        member[kept, self.into[kept]] = 1.0
        return np.asarray(cells @ member)


def inside(group: int, finer: Cells, coarser: Cells) -> Inside | None:
    """None where `finer` does not tell the other's cells apart."""
    columns = frozenset(axis.column for axis in coarser.axes)
    if not columns <= {axis.column for axis in finer.axes}:
        return None
    margin = margin_over(columns, {0: finer, 1: coarser})
    place = np.full(margin.count, -1, dtype=np.int64)
    place[margin.classes[1]] = np.arange(len(coarser))
    if np.count_nonzero(place >= 0) < len(coarser):
        return None
    return Inside(group, place[margin.classes[0]], len(coarser))


@dataclass(frozen=True, eq=False)
class Limits:
    """What keeps the sums of a group: `counts` has the records of its cells, `sums` other sums over the same cells."""

    terms: Terms
    ends: tuple[float, float]  # of one record's term
    last: tuple[float, float]  # of its last factor
    counts: Inside | None
    records: float | None  # of its only cell, where that is everybody
    sums: Mapping[Terms, Inside]

    def of(
        self, tables: Sequence[Floats], fits: Sequence[Fit], held: NDArray[np.bool_] | None = None
    ) -> tuple[Floats, Floats] | None:
        """Lower and upper limits, draws × cells, or × the sums over cells that are `held`; ±∞ where no measurement tells."""
        known = np.ones(1, dtype=np.bool_)

        def fitted(place: Inside) -> Floats:
            nonlocal known

            def added(cells: Floats) -> Floats:
                parts = place.added(cells)
                return parts if held is None else np.asarray(parts @ held.T)

            known = known & fits[place.group].tells(added)
            return added(tables[place.group])

        if self.counts is not None:
            size = fitted(self.counts)
        elif self.records is not None:
            size = np.array([[self.records]])
        else:
            return None
        low, high = size * self.ends[0], size * self.ends[1]
        if len(self.terms) == 2:
            found = {terms: fitted(place) for terms, place in self.sums.items()}
            low, high = self._of_products(np.maximum(size, 1.0), low, high, found)
        low = np.where(known, low, 0.0 if self.ends[0] >= 0 else -np.inf)
        return low, np.maximum(np.where(known, high, np.inf), low)

    def _of_products(
        self, size: Floats, low: Floats, high: Floats, fitted: Mapping[Terms, Floats]
    ) -> tuple[Floats, Floats]:
        x, y = self.terms
        one, other = fitted.get((x,)), fitted.get((y,))
        if one is None:
            return low, high
        if x == y:
            return np.maximum(low, np.minimum(one**2 / size, high)), high
        squares = fitted.get((x, x)), fitted.get((y, y))
        if other is not None and squares[0] is not None and squares[1] is not None:
            middle = one * other / size
            left = np.maximum(squares[0] - one**2 / size, 0.0) * np.maximum(squares[1] - other**2 / size, 0.0)
            return np.maximum(low, middle - np.sqrt(left)), np.minimum(high, middle + np.sqrt(left))
        if x[1] == 0.0 and self.last[0] < 0.0 < self.last[1]:  # weights, and values around their middle
            return np.maximum(low, one * self.last[0]), np.minimum(high, one * self.last[1])
        return low, high


@dataclass(frozen=True, eq=False)
class Group:
    """Counts, or sums of the same terms, over the same cells; measured one by one, or together."""

    cells: Cells
    held: NDArray[np.bool_]  # asked × cells
    quantities: tuple[int, ...]  # asked: places among the quantities
    measured: tuple[int, ...]  # places among the measurements: one for each quantity, or the joint one
    joint: JointMeasurement | None
    counts: bool
    records: float | None  # the public number of records, which all cells together hold
    names: tuple[str, ...]  # of what is asked
    terms: Terms = ()  # what is added up; of counts nothing
    limits: Limits | None = None  # of sums
    least: tuple[tuple[int, int], ...] = ()  # of what is asked, public lower bounds of counts

    @cached_property
    def rows(self) -> Floats | None:
        """What is measured, as weights over cells; None: every cell."""
        if self.joint is None:
            return self.held.astype(np.float64)
        return None if self.joint.rows is None else self.joint.weights


def with_limits(
    groups: Sequence[Group], ends: Mapping[Terms, tuple[tuple[float, float], tuple[float, float]]]
) -> list[Group]:
    """Groups of sums know what limits them; `ends` of one record's term, and of its last factor."""
    found = []
    for group in groups:
        if not group.terms:
            found.append(group)
            continue
        inner = [
            (place, other.terms, part)
            for place, other in enumerate(groups)
            if len(other.terms) < len(group.terms) or (_mixed(group) and not _mixed(other))
            if (part := inside(place, other.cells, group.cells)) is not None
        ]
        counts = next((part for _, terms, part in inner if not terms), None)
        everyone = len(group.cells) == 1 and not group.cells.axes
        sums = {terms: part for _, terms, part in inner if terms}
        records = group.records if everyone else None
        limits = Limits(group.terms, *ends[group.terms], counts, records, sums)
        found.append(replace(group, limits=limits))
    return found


def expected_cells(group: Group, guesses: Floats, trust: Floats) -> Floats:
    """A table that comes nearest to the guesses: `trust` says how far each may be off, as a part of itself.

    Where the guesses leave it open, columns of counts are independent and records are in cells that are listed.
    """
    sds = trust * np.maximum(np.abs(guesses), 1.0)
    likely = np.where(group.cells.unlisted(), _SELDOM, 1.0)
    rows = group.held.astype(np.float64) * likely
    if group.counts and group.records is not None:
        rows, guesses = np.vstack([rows, likely]), np.append(guesses, group.records)
        sds = np.append(sds, 1e-3 * float(sds.min()))
    if not group.counts:
        return np.asarray(Fit.of(rows, sds, None, False).linear(guesses[None, :])[0] * likely)
    if rows.shape[1] <= _MOST_SOLVED:
        from scipy.optimize import nnls

        found = nnls(rows / sds[:, None], guesses / sds, maxiter=30 * rows.shape[1])[0] * likely
    else:
        found = Fit.of(rows, sds, None, True).cells(guesses[None, :], None)[0] * likely
    everywhere = np.ones((1 if group.records is not None else 0, len(found)), dtype=np.bool_)
    held = np.vstack([group.held, everywhere])
    sums = np.append(group.held @ found, [] if group.records is None else group.records)
    return np.asarray(whole(_most_even(likely, held, sums)[None, :])[0])


def _most_even(start: Floats, held: NDArray[np.bool_], sums: Floats) -> Floats:
    """The table of these sums that is nearest to the start in proportion (iterative fitting, Deming & Stephan 1940)."""
    places = [np.flatnonzero(row) for row in held]
    table = start * (float(sums.max()) / float(start.sum()))
    for _ in range(_FITTINGS):
        before = table.copy()
        for place, wanted in zip(places, sums.tolist(), strict=True):
            here = float(table[place].sum())
            if here > 0:
                table[place] *= wanted / here
        if float(np.abs(table - before).max()) <= 1e-3:
            break
    return table


def _mixed(group: Group) -> bool:
    """Whether it adds up products of two columns, not squares."""
    return len(set(group.terms)) > 1


def _each_draw(found: Sequence[Floats], tables: Sequence[int]) -> list[list[Floats]]:
    """Split tables that are fitted together into one list per draw."""
    return [[found[table][[draw]] for table in tables] for draw in range(len(found[tables[0]]))]


def _put(found: list[Floats], tables: Sequence[int], drawn: Sequence[Sequence[Floats]]) -> None:
    for table, fitted in zip(tables, zip(*drawn, strict=True), strict=True):
        found[table] = np.concatenate(fitted)


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """All groups of a design under given noise: what was measured → what is asked."""

    groups: tuple[Group, ...]
    fits: tuple[Fit, ...]
    places: tuple[NDArray[np.int64], ...]  # of each group's rows among all numbers that are measured
    links: tuple[Links, ...]  # groups that share something
    alone: NDArray[np.int64]  # quantities of no group …
    alone_at: NDArray[np.int64]  # … and where they are measured
    rising: tuple[tuple[int, ...], ...]  # quantiles of the same values, lower ones first
    count: int  # of quantities

    @classmethod
    def of(
        cls,
        groups: Sequence[Group],
        starts: Sequence[int],
        sds: Sequence[float],
        source_of: NDArray[np.int64],
        shared: Iterable[tuple[tuple[int, ...], tuple[SharedMargin, ...]]] = (),
        rising: tuple[tuple[int, ...], ...] = (),
    ) -> Reconstruction:
        """`starts[i]`: where measurement i begins among all numbers; `sds[i]`: the spread of its noise.

        `shared`: of groups of one kind, the margins that they share; `rising`: quantities that are published in this order.
        """
        fits, places = [], []
        for group in groups:
            if group.joint is not None:
                (only,) = group.measured
                here = np.arange(group.joint.count) + starts[only]
                spread = np.full(group.joint.count, sds[only])
            else:
                here = np.array([starts[i] for i in group.measured], dtype=np.int64)
                spread = np.array([sds[i] for i in group.measured])
            records = group.records if group.counts else None
            fits.append(Fit.of(group.rows, spread, records, group.counts, len(group.cells)))
            places.append(here)
        grouped = {q for group in groups for q in group.quantities}
        alone = np.array([q for q in range(len(source_of)) if q not in grouped], dtype=np.int64)
        at = np.array([starts[source_of[q]] for q in alone], dtype=np.int64)
        links = [
            Links(
                members,
                margins,
                tuple({t: fits[members[t]].trust(m.classes[t], m.count) for t in m.classes} for m in margins),
                {t: fits[g].unseen for t, g in enumerate(members)},
            )
            for members, margins in shared
        ]
        return cls(tuple(groups), tuple(fits), tuple(places), tuple(links), alone, at, rising, len(source_of))

    def linear(self, measured: Floats) -> Floats:
        """Draws × quantities without a bias: the law of the error is the law of the noise."""
        return self._asked(measured, self._linear(measured))

    def fitted(self, measured: Floats) -> Floats:
        """Draws × quantities as they are published: functions of one table in whole counts."""
        return self.published(measured, self.tables(measured))

    def tables(self, measured: Floats) -> list[Floats]:
        """The cells of each group as they are published (draws × cells)."""
        found = self._linear(measured)
        shared = self._records(measured)
        linked = {place for links in self.links if links.linked for place in links.tables}
        for place, (group, fit, at) in enumerate(zip(self.groups, self.fits, self.places, strict=True)):
            if group.counts and place not in linked:
                found[place] = whole(fit.cells(measured[:, at], shared))
        for links in self.links:
            if links.linked and self.groups[links.tables[0]].counts:
                totals = [None] * len(measured) if shared is None else shared.tolist()
                each = zip(_each_draw(found, links.tables), totals, strict=True)
                _put(found, links.tables, [links.fixed(cells, total) for cells, total in each])
        counts = [place for place, group in enumerate(self.groups) if group.counts]
        bounds = [[(self.groups[p].held[row], least) for row, least in self.groups[p].least] for p in counts]
        if any(bounds):
            margins = next((links.margins for links in self.links if list(links.tables) == counts), ())
            kept = with_least_counts([found[p] for p in counts], bounds, margins, exactly=shared is not None)
            for place, cells in zip(counts, kept, strict=True):
                found[place] = cells
        return self._within_limits(found)

    def _within_limits(self, found: list[Floats]) -> list[Floats]:
        """Sums of one factor first: what products can be depends on them."""
        link_of = {place: links for links in self.links if links.linked for place in links.tables}
        order = sorted(
            range(len(found)), key=lambda place: (len(self.groups[place].terms), _mixed(self.groups[place]))
        )
        for place in order:
            limits, links = self.groups[place].limits, link_of.get(place)
            if limits is None or (links is not None and place != links.tables[0]):
                continue
            if links is None:
                ends, held = limits.of(found, self.fits), self.groups[place].held
                if ends is not None and np.isinf(ends[1]).any():
                    rows = limits.of(found, self.fits, held)
                    assert rows is not None
                    found[place] = onto_rows(found[place], held, rows, ends)
                elif ends is not None:
                    found[place] = self.fits[place].bounded(found[place], *ends)
                continue
            together = [self.groups[table].limits for table in links.tables]
            every = [one if one is None else one.of(found, self.fits) for one in together]
            each = [
                links.bounded(cells, [one and (one[0][[draw]], one[1][[draw]]) for one in every])
                for draw, cells in enumerate(_each_draw(found, links.tables))
            ]
            _put(found, links.tables, each)
        return found

    def _linear(self, measured: Floats) -> list[Floats]:
        """The cells of each group without a bias (draws × cells)."""
        found = [fit.linear(measured[:, at]) for fit, at in zip(self.fits, self.places, strict=True)]
        for links in self.links:
            if links.linked or not self.groups[links.tables[0]].counts:
                even = links.even([found[place] for place in links.tables])
                for place, cells in zip(links.tables, even, strict=True):
                    found[place] = cells
        return found

    def published(self, measured: Floats, tables: Sequence[Floats]) -> Floats:
        """Draws × quantities, from what was measured and the cells of every group."""
        return self.in_order(self._asked(measured, tables))

    def in_order(self, asked: Floats) -> Floats:
        """Draws × quantities: no quantile above a higher one of the same values."""
        for places in self.rising:
            asked[:, places] = np.sort(asked[:, places], axis=1)
        return asked

    def _asked(self, measured: Floats, tables: Sequence[Floats]) -> Floats:
        found = np.full((len(measured), self.count), np.nan)
        found[:, self.alone] = measured[:, self.alone_at]
        for group, cells in zip(self.groups, tables, strict=True):
            found[:, group.quantities] = cells @ group.held.T
        return found

    def _records(self, measured: Floats) -> Floats | None:
        """The number of records on which all tables of counts agree, each heard as far as it knows."""
        heard = [
            (fit.total(measured[:, places]), fit.total_sd)
            for fit, places in zip(self.fits, self.places, strict=True)
            if fit.counts and fit.total_sd is not None
        ]
        if not heard:
            return None
        weights = np.array([1.0 / max(sd or 0.0, 1e-9) ** 2 for _, sd in heard])
        sums = np.sum(
            [w * total for w, (total, _) in zip(weights, heard, strict=True) if total is not None], axis=0
        )
        return np.asarray(np.rint(sums / weights.sum()))
