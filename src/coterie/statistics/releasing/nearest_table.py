"""The nearest table without negative counts that has given totals.

Totals are fitted from the top: first the whole, then the totals by fewer columns, then those by more, each nearest to its
noisy value among those that add up to what is fixed already; the cells last. Long columns are cut into blocks of 64 values,
whose sums are totals too, so that also sums over many neighbouring cells are right.

One such step is: minimise Σ(x − z)² with x ≥ 0 and given sums over several families of groups. Its solution is
x = max(z − Σ cuts, 0), one cut per group. The cuts of one family are exact if the others stand, and all are gone through
until sums agree (block coordinate ascent on the dual).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence

import numpy as np

from coterie.schema.arrays import Floats, Whole

Axes = tuple[int, ...]
_BLOCK = 64
_SWEEPS = 30
_MET = 0.25  # of one record: how far sums may be off


def nearest_counts(noisy: Whole, totals: Iterable[Axes], whole: int | None) -> Whole:
    """`totals` are the sets of axes that are kept in a total; `whole`: the public number of records, where there is one."""
    inner, parts = _in_blocks(noisy.shape)
    table = np.full(math.prod(inner), np.nan)  # blocks at the end of an axis may be shorter
    held = np.ones(inner, dtype=np.bool_)
    for axis, mine in enumerate(parts):
        places = np.arange(math.prod(inner[i] for i in mine)) < noisy.shape[axis]
        held &= places.reshape([inner[i] if i in mine else 1 for i in range(len(inner))])
    table[held.ravel()] = noisy.ravel()
    cube = table.reshape(inner)
    wanted: dict[Axes, Floats] = {
        (): np.array(max(float(noisy.sum()), 0.0) if whole is None else float(whole))
    }
    for kept in _kept_sets(totals, parts):
        others = tuple(axis for axis in range(cube.ndim) if axis not in kept)
        summed = np.where(held.any(axis=others), np.nansum(cube, axis=others), np.nan) if others else cube
        below = [other for other in wanted if set(other) < set(kept)]
        largest = [one for one in below if not any(set(one) < set(other) for other in below)]
        places = {axis: place for place, axis in enumerate(kept)}
        wanted[kept] = _fitted(summed, {tuple(places[a] for a in one): wanted[one] for one in largest})
    cells = wanted[tuple(range(cube.ndim))][held]
    # Rounded along the order of cells: a sum over neighbouring cells moves by less than one.
    ends = np.rint(np.cumsum(cells))
    return np.asarray(np.diff(ends, prepend=0.0).reshape(noisy.shape), dtype=np.int64)


def _in_blocks(shape: Sequence[int]) -> tuple[tuple[int, ...], list[Axes]]:
    """Each long axis as several short ones, the first the coarsest; and which of them belong to each axis."""
    inner: list[int] = []
    parts: list[Axes] = []
    for size in shape:
        sides: list[int] = []
        while size > 2 * _BLOCK:
            sides.insert(0, _BLOCK)
            size = math.ceil(size / _BLOCK)
        sides.insert(0, size)
        parts.append(tuple(range(len(inner), len(inner) + len(sides))))
        inner += sides
    return tuple(inner), parts


def _kept_sets(totals: Iterable[Axes], parts: Sequence[Axes]) -> list[Axes]:
    """The totals that are fitted, smaller ones first: of every column, those asked for, and what these have in common."""
    asked = {(axis,) for axis in range(len(parts))} | set(totals) | {tuple(range(len(parts)))}
    asked |= {tuple(sorted(set(a) & set(b))) for a, b in itertools.product(asked, asked)}
    found = set()
    for kept in asked:
        # Coarser blocks first: of each axis 1, 2, … of its parts.
        for many in itertools.product(*(range(1, len(parts[axis]) + 1) for axis in kept)):
            chosen = [parts[axis][:number] for axis, number in zip(kept, many, strict=True)]
            if len(kept) == 1 or all(n == len(parts[a]) for a, n in zip(kept[:-1], many, strict=False)):
                found.add(tuple(sorted(itertools.chain.from_iterable(chosen))))
    return sorted(found - {()}, key=len)


def _fitted(noisy: Floats, families: dict[Axes, Floats]) -> Floats:
    """The nearest to `noisy` (nan: no cell) with these sums over the other axes, none negative."""
    held = ~np.isnan(noisy)
    cuts = {kept: np.zeros(_beside(noisy.shape, kept)) for kept in families}
    found = noisy
    for _ in range(_SWEEPS if len(families) > 1 else 1):
        for kept, sums in families.items():
            rest = noisy - sum(cuts[other] for other in families if other != kept)
            order = (*kept, *(axis for axis in range(noisy.ndim) if axis not in kept))
            rows = np.where(held, rest, -np.inf).transpose(order).reshape(math.prod(sums.shape), -1)
            cuts[kept] = _cuts(rows, np.nan_to_num(sums).ravel()).reshape(_beside(noisy.shape, kept))
        found = np.where(held, np.maximum(noisy - sum(cuts.values()), 0.0), 0.0)
        off = (
            np.abs(
                found.sum(axis=tuple(a for a in range(noisy.ndim) if a not in kept)) - np.nan_to_num(sums)
            ).max()
            for kept, sums in families.items()
        )
        if max(off) < _MET:
            break
    return np.where(held, found, np.nan)


def _beside(shape: Sequence[int], kept: Axes) -> tuple[int, ...]:
    return tuple(size if axis in kept else 1 for axis, size in enumerate(shape))


def _cuts(rows: Floats, sums: Floats) -> Floats:
    """Of each row the c with Σ max(row − c, 0) = its sum: the largest j for which the j-th value is still above its c."""
    falling = -np.sort(-rows, axis=1)
    with np.errstate(invalid="ignore"):
        tried = (np.cumsum(falling, axis=1) - sums[:, None]) / np.arange(1, rows.shape[1] + 1)
        above = (falling > tried).sum(axis=1)
    cuts = np.take_along_axis(tried, np.maximum(above - 1, 0)[:, None], axis=1)[:, 0]
    largest = np.where(np.isfinite(falling[:, 0]), falling[:, 0], 0.0)
    return np.where(above > 0, cuts, largest)
