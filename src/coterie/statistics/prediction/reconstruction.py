"""From what is measured to what is asked: one table of cells that everything is a function of.

Counts and sums are sums over cells. The table is the one nearest to all that was measured (weighted least squares), with no
negative counts and with the public number of records where there is one. Whatever is then added up agrees with everything
else. Post-processing of released values: free, and it lowers the error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from coterie.schema.arrays import Floats
from coterie.statistics.prediction.bounding import Limits, Terms, inside, onto_box
from coterie.statistics.prediction.joint import JointMeasurement, inverse_of
from coterie.statistics.prediction.linking import Links, SharedMargin, sums_of
from coterie.statistics.specification.cells import Cells

MOST_WEIGHTS = 10_000_000  # rows × cells of what is fitted
_ROUNDS = 400
_FITTINGS = 100
_MOST_SOLVED = 400  # cells of guesses that are fitted exactly
_SELDOM = 1e-3  # how likely a record lies in a cell that is not listed, against one that is


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


@dataclass(frozen=True)
class Fit:
    """The table nearest to what was measured."""

    weights: Floats | None  # measured × cells; None: every cell
    sds: Floats
    records: float | None
    counts: bool
    size: int

    @classmethod
    def of(
        cls, weights: Floats | None, sds: Floats, records: float | None, counts: bool, size: int = 0
    ) -> Fit:
        return cls(weights, sds, records, counts, size if weights is None else weights.shape[1])

    @cached_property
    def _solved(self) -> tuple[Floats, Floats]:
        """(rows → cells, offset)."""
        assert self.weights is not None
        scaled = self.weights / self.sds[:, None]
        if self.records is None:
            return inverse_of(scaled) / self.sds, np.zeros(self.size)
        # x = even + z, where z adds up to 0: rows without their mean see z alone, and one more row keeps it so.
        even = np.full(self.size, self.records / self.size)
        seen = scaled - scaled.mean(axis=1, keepdims=True)
        rows = np.vstack([seen, np.full(self.size, max(float(np.abs(seen).max()), 1e-300))])
        solve = inverse_of(rows)[:, :-1] / self.sds
        return solve, even - solve @ (self.weights @ even)

    def linear(self, measured: Floats) -> Floats:
        """Draws × cells, as least squares has them: without a bias, and perhaps negative."""
        if self.weights is None:
            if self.records is None:
                return measured
            share = self.sds**2 / float((self.sds**2).sum())
            return np.asarray(measured + (self.records - measured.sum(axis=1))[:, None] * share)
        solve, offset = self._solved
        return np.asarray(measured @ solve.T + offset)

    @cached_property
    def total_sd(self) -> float | None:
        """How far off the number of all records is when it is added up from this table; None where it is not known."""
        if self.records is not None:
            return 0.0
        if self.weights is None:
            return math.sqrt(float((self.sds**2).sum()))
        into_rows = np.ones(self.size) @ self._solved[0]
        if float(np.abs(into_rows @ self.weights - 1.0).max()) > 1e-6:
            return None
        return math.sqrt(float((into_rows * self.sds) @ (into_rows * self.sds)))

    @cached_property
    def unseen(self) -> NDArray[np.bool_]:
        """Cells that nothing measured holds."""
        if self.weights is None:
            return np.zeros(self.size, dtype=np.bool_)
        return np.asarray(~self.weights.any(axis=0))

    def trust(self, classes: NDArray[np.int64], count: int) -> float:
        """How well the sums over classes of cells are known, as 1/variance; 0: not all of them are."""
        if self.weights is None:
            return count / float((self.sds**2).sum())
        into = sums_of(np.ascontiguousarray(self._solved[0].T), classes, count)  # rows × classes
        off = into.T @ self.weights - (classes == np.arange(count)[:, None])
        if self.records is not None:  # the total of all cells is known without a measurement
            off = off - off.mean(axis=1, keepdims=True)
        if float(np.abs(off).max()) > 1e-6:
            return 0.0
        return count / max(float(((into * self.sds[:, None]) ** 2).sum()), 1e-12)

    def total(self, measured: Floats) -> Floats | None:
        """How many records there are, as far as this group tells."""
        if not self.counts or self.total_sd is None:
            return None
        if self.records is not None:
            return np.full(len(measured), self.records)
        return np.asarray(np.maximum(self.linear(measured).sum(axis=1), 0.0))

    def cells(self, measured: Floats, total: Floats | None) -> Floats:
        """Draws × cells: the nearest table; counts are not negative, and add up to the total."""
        found = self.linear(measured)
        if not self.counts:
            return found
        if self.weights is None:
            return np.maximum(found, 0.0) if total is None else onto_simplex(found, total)
        bad = (found < 0.0).any(axis=1)
        if total is not None:
            more = found.sum(axis=1) - total
            # Where the total is not measured here, some cells are not measured either: they take what is left.
            bad |= (more if self.total_sd is None else np.abs(more)) > 1e-6 * np.maximum(total, 1.0)
        if bad.any():
            found = found.copy()
            chosen = None if total is None else total[bad]
            found[bad] = self._nearest(
                found[bad], lambda x: np.maximum(x, 0.0) if chosen is None else onto_simplex(x, chosen)
            )
        return found

    def bounded(self, found: Floats, low: Floats, high: Floats) -> Floats:
        """Draws × cells of sums: the nearest between the limits, with the same total where that is measured and possible."""
        low, high = np.broadcast_to(low, found.shape), np.broadcast_to(high, found.shape)
        width = 1e-9 * np.maximum(np.abs(found), 1.0)
        bad = ((found < low - width) | (found > high + width)).any(axis=1)
        if not bad.any():
            return found
        total: Floats | None = None
        if not self.unseen.any():
            total = np.clip(found.sum(axis=1), low.sum(axis=1), high.sum(axis=1))[bad]
        found, low, high = found.copy(), low[bad], high[bad]

        def onto(points: Floats) -> Floats:
            return onto_box(points, low, high, total)

        found[bad] = onto(found[bad]) if self.weights is None else self._nearest(found[bad], onto)
        return found

    def _nearest(self, start: Floats, onto: Callable[[Floats], Floats]) -> Floats:
        """argmin (x − start)ᵀ P (x − start), P = AᵀA in units of noise, among what `onto` leads to (Boyd et al. 2011)."""
        scaled, step, inner = self._splitting
        found = onto(start)
        dual = np.zeros_like(found)
        pulled = (start @ scaled.T) @ scaled
        size = max(float(np.abs(start).max()), 1.0)
        for _ in range(_ROUNDS):
            ahead = pulled / step + found - dual
            free = ahead - ((ahead @ scaled.T) @ inner) @ scaled  # (P + step)⁻¹, by Woodbury
            before = found
            found = onto(free + dual)
            dual = dual + free - found
            if max(float(np.abs(free - found).max()), float(np.abs(found - before).max())) < 1e-7 * size:
                break
        return found

    @cached_property
    def _splitting(self) -> tuple[Floats, float, Floats]:
        """A in units of noise, the step, and (step + AAᵀ)⁻¹."""
        assert self.weights is not None
        scaled = self.weights / self.sds[:, None]
        sizes = (scaled**2).sum(axis=0)
        step = float(np.sqrt(np.median(sizes) * sizes.max())) or 1.0
        inner = np.linalg.inv(step * np.eye(len(scaled)) + scaled @ scaled.T)
        return scaled, step, np.asarray(inner, dtype=np.float64)


def onto_simplex(points: Floats, totals: Floats) -> Floats:
    """The nearest points with no negative part that add up to the totals (Held, Wolfe & Crowder 1974)."""
    falling = -np.sort(-points, axis=1)
    above = np.cumsum(falling, axis=1) - totals[:, None]
    places = np.arange(1, points.shape[1] + 1)
    last = np.maximum((falling * places > above).sum(axis=1), 1)
    level = above[np.arange(len(points)), last - 1] / last
    return np.asarray(np.maximum(points - level[:, None], 0.0))


def _mixed(group: Group) -> bool:
    """Whether it adds up products of two columns, not squares."""
    return len(set(group.terms)) > 1


def _raised(cells: Floats, group: Group, *, exactly: bool) -> Floats:
    """Counts of at least what is known in public; taken from elsewhere where the number of records is known."""
    cells = cells.copy()
    draws = np.arange(len(cells))
    for row, least in group.least:
        inside = group.held[row]
        short = np.maximum(least - cells @ inside, 0.0)
        if not short.any() or not inside.any():
            continue
        if exactly and not inside.all():
            most = np.where(inside, -1.0, cells).argmax(axis=1)
            short = np.minimum(short, cells[draws, most])
            cells[draws, most] -= short
        cells[draws, np.where(inside, cells, -1.0).argmax(axis=1)] += short
    return cells


def whole(tables: Floats) -> Floats:
    """Whole counts: every sum over the first cells is rounded to the nearest, so that no sum is off by much."""
    sums = np.rint(np.cumsum(tables, axis=1))
    return np.diff(sums, axis=1, prepend=0.0)


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """All groups of a design under given noise: what was measured → what is asked."""

    groups: tuple[Group, ...]
    fits: tuple[Fit, ...]
    places: tuple[NDArray[np.int64], ...]  # of each group's rows among all numbers that are measured
    links: tuple[Links, ...]  # groups that share something
    alone: NDArray[np.int64]  # quantities of no group …
    alone_at: NDArray[np.int64]  # … and where they are measured
    count: int  # of quantities

    @classmethod
    def of(
        cls,
        groups: Sequence[Group],
        starts: Sequence[int],
        sds: Sequence[float],
        source_of: NDArray[np.int64],
        shared: Iterable[tuple[tuple[int, ...], tuple[SharedMargin, ...]]] = (),
    ) -> Reconstruction:
        """`starts[i]`: where measurement i begins among all numbers; `sds[i]`: the spread of its noise.

        `shared`: of groups of one kind, the margins that they share.
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
        return cls(tuple(groups), tuple(fits), tuple(places), tuple(links), alone, at, len(source_of))

    def linear(self, measured: Floats) -> Floats:
        """Draws × quantities without a bias: the law of the error is the law of the noise."""
        return self.asked(measured, self._linear(measured))

    def fitted(self, measured: Floats) -> Floats:
        """Draws × quantities as they are published: functions of one table in whole counts."""
        return self.asked(measured, self.tables(measured))

    def tables(self, measured: Floats) -> list[Floats]:
        """Of each group draws × cells as they are published."""
        found = self._linear(measured)
        shared = self._records(measured)
        linked = {place for links in self.links if links.linked for place in links.tables}
        for place, (group, fit, at) in enumerate(zip(self.groups, self.fits, self.places, strict=True)):
            if group.counts and place not in linked:
                found[place] = whole(fit.cells(measured[:, at], shared))
        for links in self.links:
            if links.linked and self.groups[links.tables[0]].counts:
                drawn = [
                    links.fixed(
                        [found[place][[draw]] for place in links.tables],
                        None if shared is None else float(shared[draw]),
                    )
                    for draw in range(len(measured))
                ]
                for number, place in enumerate(links.tables):
                    found[place] = np.concatenate([one[number] for one in drawn])
        for place, group in enumerate(self.groups):
            if group.least:
                found[place] = _raised(found[place], group, exactly=shared is not None)
        return self._within_limits(found)

    def _within_limits(self, found: list[Floats]) -> list[Floats]:
        """Sums of one factor first: what products can be depends on them."""
        unseen = [fit.unseen for fit in self.fits]
        link_of = {place: links for links in self.links if links.linked for place in links.tables}
        order = sorted(
            range(len(found)), key=lambda place: (len(self.groups[place].terms), _mixed(self.groups[place]))
        )
        for place in order:
            limits, links = self.groups[place].limits, link_of.get(place)
            if limits is None or (links is not None and place != links.tables[0]):
                continue
            if links is None:
                ends = limits.of(found, unseen)
                if ends is not None:
                    found[place] = self.fits[place].bounded(found[place], *ends)
                continue
            together = [self.groups[table].limits for table in links.tables]
            every = [one if one is None else one.of(found, unseen) for one in together]
            drawn = [
                links.bounded(
                    [found[table][[draw]] for table in links.tables],
                    [one if one is None else (one[0][[draw]], one[1][[draw]]) for one in every],
                )
                for draw in range(len(found[place]))
            ]
            for number, table in enumerate(links.tables):
                found[table] = np.concatenate([one[number] for one in drawn])
        return found

    def _linear(self, measured: Floats) -> list[Floats]:
        """Of each group draws × cells, without a bias."""
        found = [fit.linear(measured[:, at]) for fit, at in zip(self.fits, self.places, strict=True)]
        for links in self.links:
            if links.linked or not self.groups[links.tables[0]].counts:
                even = links.even([found[place] for place in links.tables])
                for place, cells in zip(links.tables, even, strict=True):
                    found[place] = cells
        return found

    def asked(self, measured: Floats, tables: Sequence[Floats]) -> Floats:
        """Draws × quantities, from what was measured and the cells of every group."""
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
