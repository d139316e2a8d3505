"""What to measure, so that all that is asked can be computed from it with the least error (the matrix mechanism).

The records are counted in cells. What is asked are rows W of weights over cells; what is measured are rows A. With unit
noise on each row the least-squares answers have the variances diag(W (AᵀA)⁻¹ Wᵀ), and the noise that ε buys grows with the
largest column of A: in L1 for Laplace noise, in L2 for Gaussian noise. So a strategy costs tr((AᵀA)⁻¹ G)·‖A‖², G = WᵀDW.

The families are those of HDMM (McKenna, Miklau, Hay & Machanavajjhala 2018): p-identity matrices (their Def. 7, OPT_0),
Kronecker products of them (OPT_⊗) and weighted marginals (Def. 9, OPT_M); beside them every cell, and trees.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from coterie.schema.arrays import Floats
from coterie.statistics.prediction.joint import JointMeasurement
from coterie.statistics.prediction.measurement import Kind, Measurement
from coterie.statistics.prediction.reconstruction import MOST_WEIGHTS
from coterie.statistics.specification.asked_values import only_values
from coterie.statistics.specification.cells import Cells
from coterie.statistics.specification.specification import Specification

MOST_DENSE = 2048  # cells of a strategy that is not one row per cell: its normal equations are solved densely
MOST_OPTIMISED = 512  # atoms of an axis that p-identity is searched for
MOST_MARGINALS = 8  # columns: 2^8 marginals
GRID = 1 << 12  # weights are whole multiples of 1/GRID
_LARGEST = 1e4  # weight of a marginal that is searched for
_SMALLEST = 0.01  # a marginal with a smaller part of the budget is not measured
_ROUNDS = 300
_SEED = 7


@dataclass(frozen=True)
class Strategy:
    """`rows` (measured × cells) in whole numbers, of which `grid` make 1; None: one row per cell."""

    name: str
    rows: NDArray[np.int64] | None
    grid: int = 1
    tried: Mapping[str, float] = field(default_factory=dict)  # how many times its errors each candidate has


EVERY_CELL = Strategy("every cell", None)


def columns_of(rows: Floats, gaussian: bool) -> Floats:
    """How much one record in each cell moves all that is measured: in L1, or in L2 squared under Gaussian noise."""
    return np.asarray((rows**2).sum(axis=0) if gaussian else np.abs(rows).sum(axis=0))


def strategies(cells: Cells, wanted: Floats, weights: Floats, gaussian: bool) -> Iterator[Strategy]:
    """Candidates for what is wanted (targets × cells, each with its weight), without the one that measures as asked."""
    yield EVERY_CELL
    places = cells.places()
    busy = [axis for axis in range(places.shape[1]) if len(np.unique(places[:, axis])) > 1]
    small = 2 < len(cells) <= MOST_DENSE
    gram = wanted.T @ (wanted * weights[:, None]) if small else np.eye(0)
    if len(busy) == 1 and small:
        for branches in (2, 4, 8):
            if branches * 2 <= len(cells):
                yield Strategy(f"tree of {branches} branches", tree(len(cells), branches))
        if len(cells) <= MOST_OPTIMISED:
            yield on_grid("optimised rows", _best_p_identity(gram, gaussian))
    sizes = [len(np.unique(places[:, axis])) for axis in busy]
    if len(busy) < 2 or math.prod(sizes) != len(cells):
        return
    if len(busy) <= MOST_MARGINALS:
        found = marginals(sizes, wanted, weights, gaussian)
        if found is not None:
            yield on_grid("optimised marginals", found)
    if small and max(sizes) <= MOST_OPTIMISED:
        yield on_grid("optimised product", _product(sizes, gram, gaussian))


def on_grid(name: str, rows: Floats) -> Strategy:
    whole = np.rint(rows * GRID).astype(np.int64)
    return Strategy(name, whole[(whole != 0).any(axis=1)], GRID)


def tree(size: int, branches: int) -> NDArray[np.int64]:
    """All nodes of a tree over cells in their order, the root included (Hay et al. 2010)."""
    levels = [np.eye(size, dtype=np.int64)]
    width = branches
    while width < size * branches:
        level = np.zeros((math.ceil(size / width), size), dtype=np.int64)
        level[np.arange(size) // width, np.arange(size)] = 1
        levels.append(level)
        width *= branches
    return np.concatenate(levels)


# --- p-identity -------------------------------------------------------------------------------------------------


def p_identity(gram: Floats, extra: int, gaussian: bool, seed: int) -> tuple[float, Floats]:
    """[I; Θ]·D with Θ ≥ 0 (`extra` rows) found by descent and D so that every column has size 1; and its cost."""
    from scipy.optimize import minimize

    size = len(gram)
    start = np.random.Generator(np.random.PCG64([_SEED, seed])).uniform(0.0, 1.0, extra * size)
    scale = float(np.trace(gram))
    found = minimize(
        _p_identity_cost,
        start,
        args=(gram / scale, extra, gaussian),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * len(start),
        options={"maxiter": _ROUNDS, "maxcor": 20},
    )
    rows = np.concatenate([np.eye(size), found.x.reshape(extra, size)])
    sizes = columns_of(rows, gaussian)
    return float(found.fun) * scale, rows / (np.sqrt(sizes) if gaussian else sizes)


def _p_identity_cost(parameters: Floats, gram: Floats, extra: int, gaussian: bool) -> tuple[float, Floats]:
    """tr((AᵀA)⁻¹ G) and its derivative by Θ.

    With M = I + ΘᵀΘ and s the columns' sizes, (AᵀA)⁻¹ = S M⁻¹ S, S = diag(s). By Woodbury M⁻¹ = I − Θᵀ(I + ΘΘᵀ)⁻¹Θ.
    """
    theta = parameters.reshape(extra, len(gram))
    if gaussian:
        sizes = np.sqrt(1.0 + (theta**2).sum(axis=0))
        by_theta = theta / sizes
    else:
        sizes, by_theta = 1.0 + theta.sum(axis=0), np.ones_like(theta)
    solved = np.linalg.solve(np.eye(extra) + theta @ theta.T, theta)  # Θ M⁻¹
    seen = solved @ (gram * np.outer(sizes, sizes))
    error = float(np.diag(gram) @ sizes**2 - (seen * theta).sum())
    by_sizes = 2.0 * (np.diag(gram) * sizes - ((theta.T @ solved) * gram) @ sizes)
    slope = -2.0 * (seen - (seen @ theta.T) @ solved) + by_theta * by_sizes
    return error, slope.ravel()


def _best_p_identity(gram: Floats, gaussian: bool) -> Floats:
    size = len(gram)
    tries = 2 if size <= 128 else 1
    found = [
        p_identity(gram, extra, gaussian, seed)
        for extra in sorted({1, max(size // 16, 2), max(size // 8, 2)})
        for seed in range(tries)
    ]
    return min(found, key=lambda pair: pair[0])[1]


def _product(sizes: Sequence[int], gram: Floats, gaussian: bool) -> Floats:
    """One matrix for each axis, the others held: each is the best for what the workload asks along its axis."""
    parts = [np.eye(size) for size in sizes]
    count = len(sizes)
    shaped = gram.reshape(*sizes, *sizes)
    for _ in range(3):
        inverses = [np.linalg.inv(part.T @ part) for part in parts]
        for axis, size in enumerate(sizes):
            if size < 3:
                continue
            # What the other axes leave: the trace of (AᵀA)⁻¹ G over them.
            operands: list[object] = [shaped, [*range(2 * count)]]
            for other in range(count):
                if other != axis:
                    operands += [inverses[other], [count + other, other]]
            left = np.einsum(*operands, [axis, count + axis], optimize=True)  # type: ignore[call-overload]
            parts[axis] = _best_p_identity(np.asarray(left), gaussian)
            inverses[axis] = np.linalg.inv(parts[axis].T @ parts[axis])
    return reduce(lambda left, right: np.asarray(np.kron(left, right)), parts)


# --- marginals --------------------------------------------------------------------------------------------------


def marginals(sizes: Sequence[int], wanted: Floats, shares: Floats, gaussian: bool) -> Floats | None:
    """Every marginal with its best weight (OPT_M); weights that buy nothing are left out.

    AᵀA = Σ θ_a² C(a), C(a) = ⊗ (I where the subset a has the axis, else 11ᵀ). These matrices multiply among themselves:
    C(a)C(b) = out(a ∪ b)·C(a ∩ b), out the product of the sizes outside; so all is done with 2^axes numbers.
    """
    from scipy.optimize import minimize

    count = len(sizes)
    masks = np.arange(1 << count)
    outside = np.ones(len(masks))
    for axis, size in enumerate(sizes):
        outside *= np.where(masks >> axis & 1, 1.0, float(size))
    shaped = wanted.reshape(-1, *sizes)
    traces = np.array(
        [
            shares
            @ (shaped.sum(axis=tuple(1 + axis for axis in range(count) if not mask >> axis & 1)) ** 2)
            .reshape(len(wanted), -1)
            .sum(axis=1)
            for mask in masks.tolist()
        ]
    )
    scale = float(traces[-1])
    whole = np.zeros(len(masks))
    whole[-1] = 1.0  # C(all) = I
    joined, shared = masks[:, None] | masks, masks[:, None] & masks

    def objective(weights: Floats) -> tuple[float, Floats]:
        times = np.zeros((len(masks), len(masks)))  # u·: what Σ u_a C(a) does to the coefficients of a sum
        np.add.at(
            times, (shared, np.broadcast_to(masks, shared.shape)), (weights**2)[:, None] * outside[joined]
        )
        inverse = np.linalg.solve(times, whole)
        error = float(traces @ inverse) / scale
        dual = np.linalg.solve(times.T, traces) / scale
        by_square = -(dual[shared] * outside[joined] * inverse).sum(axis=1)
        size = float((weights**2).sum()) if gaussian else float(weights.sum()) ** 2
        by_size = 2.0 * weights if gaussian else np.full(len(weights), 2.0 * float(weights.sum()))
        return error * size, 2.0 * weights * by_square * size + error * by_size

    best: tuple[float, Floats] = math.inf, np.ones(len(masks))
    for seed in range(2):
        start = np.random.Generator(np.random.PCG64([_SEED, seed])).uniform(0.2, 1.0, len(masks))
        found = minimize(
            objective,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=[(1e-3 if mask == masks[-1] else 0.0, _LARGEST) for mask in masks],  # only ratios matter
            options={"maxiter": _ROUNDS},
        )
        if found.fun < best[0]:
            best = float(found.fun), found.x
    weights = best[1] / (math.sqrt(float((best[1] ** 2).sum())) if gaussian else float(best[1].sum()))
    kept = [mask for mask in masks.tolist() if weights[mask] > _SMALLEST]
    rows = sum(math.prod(s for axis, s in enumerate(sizes) if mask >> axis & 1) for mask in kept)
    if rows * math.prod(sizes) > MOST_WEIGHTS:
        return None
    every = np.indices(sizes).reshape(count, -1).T
    return np.concatenate(
        [
            weights[mask] * _indicator(every, tuple(axis for axis in range(count) if mask >> axis & 1))
            for mask in kept
        ]
    )


def _indicator(places: NDArray[np.int64], subset: tuple[int, ...]) -> Floats:
    """The marginal over these axes: one row for each combination of atoms that occurs."""
    if not subset:
        return np.ones((1, len(places)))
    _, group = np.unique(places[:, list(subset)], axis=0, return_inverse=True)
    table = np.zeros((int(group.max()) + 1, len(places)))
    table[group.ravel(), np.arange(len(places))] = 1.0
    return table


# What is asked of the same cells: counts, and sums of the same terms, whose filters share columns.

Key = tuple[Kind, tuple[tuple[str, float], ...], tuple[str, ...]]


def group_asked(
    specification: Specification, asked: Sequence[Measurement]
) -> dict[Key, tuple[list[int], Cells | None]]:
    """Places among what is asked, and the cells; no cells where there would be too many."""
    kinds: dict[tuple[Kind, tuple[tuple[str, float], ...]], list[int]] = {}
    for index, m in enumerate(asked):
        if m.kind in (Kind.COUNT, Kind.SUM):
            kinds.setdefault((m.kind, m.terms), []).append(index)
    used = {column for m in asked for column, _ in m.where.conditions}
    closed = {
        column: values
        for column in used
        if (values := only_values(specification.schema[column], specification.schema))
    }

    def cells_of(members: Sequence[int]) -> Cells | None:
        filters = [asked[i].where for i in members]
        return Cells.of(filters, specification.disjoint, specification.complete, closed)

    found: dict[Key, tuple[list[int], Cells | None]] = {}
    for (kind, terms), places in kinds.items():
        everyone = [i for i in places if asked[i].where.everyone]
        parts = _sharing(places, asked)
        if everyone:  # all records belong to the table that is asked most
            if parts:
                largest = max(parts, key=lambda part: len(part[1]))
                largest[1].extend(everyone)
            else:
                parts = [(set(), everyone)]
        for columns, members in parts:
            cells = cells_of(members)
            if cells is not None and len(cells) * len(members) <= MOST_WEIGHTS:
                found[kind, terms, tuple(sorted(columns))] = sorted(members), cells
                continue
            for table, asked_of_it in _by_table(members, asked):
                found[kind, terms, tuple(sorted(table))] = sorted(asked_of_it), cells_of(asked_of_it)
    return found


def _by_columns(places: Sequence[int], asked: Sequence[Measurement]) -> dict[frozenset[str], list[int]]:
    """Places whose filters have the same columns."""
    alike: dict[frozenset[str], list[int]] = {}
    for i in places:
        alike.setdefault(frozenset(column for column, _ in asked[i].where.conditions), []).append(i)
    return alike


def _by_table(places: Sequence[int], asked: Sequence[Measurement]) -> list[tuple[frozenset[str], list[int]]]:
    """One part for each set of columns that no other set holds: tables that are linked where they share columns."""
    alike = _by_columns(places, asked)
    parts: dict[frozenset[str], list[int]] = {}
    for columns in sorted(alike, key=lambda one: (-len(one), sorted(one))):
        holding = next((table for table in parts if columns <= table), columns)
        parts.setdefault(holding, []).extend(alike[columns])
    return list(parts.items())


def _sharing(places: Sequence[int], asked: Sequence[Measurement]) -> list[tuple[set[str], list[int]]]:
    """Places whose filters share a column, directly or through others; filters of everyone are left out."""
    parts: list[tuple[set[str], list[int]]] = []
    for columns, members in _by_columns(places, asked).items():
        if not columns:
            continue
        touching = [part for part in parts if part[0] & columns]
        parts = [part for part in parts if not part[0] & columns]
        joined = set(columns).union(*(part[0] for part in touching))
        parts.append((joined, sorted([*members, *(i for part in touching for i in part[1])])))
    return parts


def make_joint(
    key: Key, asked: Sequence[Measurement], cells: Cells, strategy: Strategy, gaussian: bool
) -> JointMeasurement:
    kind, _, columns = key
    what = "counts" if kind is Kind.COUNT else f"sums of {asked[0].summed}"
    over = f" over {' × '.join(columns)}" if columns else ""
    return JointMeasurement(
        f"{what}{over} ({strategy.name})",
        strategy.name,
        cells,
        tuple(asked),
        strategy.rows,
        strategy.grid,
        gaussian,
        strategy.tried,
    )
