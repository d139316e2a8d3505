"""Budgets set by hand: one is moved, the others make room, exactly, and what is locked stays.

Whoever drags one share up takes from the shares that are not locked, in the proportion they have now; whoever drags
it down gives to them. In plain composition the parts always add up to the total, to the last digit. Groups that
share no record are paid for in parallel: a share then takes from those only that one record could touch with it."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from coterie.errors import ParameterError, nearest
from coterie.schema.arrays import Floats
from coterie.schema.exact import Number, number, parse_epsilon
from coterie.statistics.planning.composition import Feasible, as_floats, decimal_of, raised, within_rows
from coterie.statistics.planning.design import Design
from coterie.statistics.planning.plan import Plan
from coterie.statistics.planning.planner import planned

_STEPS = 1000  # of an even share: fine enough for a hand, coarse enough to read


def moved(
    design: Design,
    split: Mapping[str, Fraction],
    name: str | None = None,
    value: Fraction | None = None,
    locked: Collection[str] = (),
) -> dict[str, Fraction]:
    """`split` with `name` at `value`, or as near to it as the total and the floors allow.

    Without a name: the same proportions, made to fit the total of this design.
    """
    names = [measurement.name for measurement in design.measurements]
    for known in [*locked, *([] if name is None else [name])]:
        if known not in names:
            raise ParameterError(f"Nothing measured is called '{known}'.", nearest(known, names))
    floors = [min(decimal_of(f), split[n]) for n, f in zip(names, design.feasible.floors, strict=True)]
    fixed = {n: split[n] for n in locked if n != name}
    free = [n not in fixed and n != name for n in names]
    if name is not None:
        lowest = [fixed.get(n, floor) for n, floor in zip(names, floors, strict=True)]
        most = _most(design, names.index(name), lowest)
        wanted = split[name] if value is None else value
        # Where nobody may give or take, the share is what the others leave.
        fixed[name] = max(min(wanted, most), lowest[names.index(name)]) if any(free) else most
    start = np.array([float(fixed.get(n, floor)) for n, floor in zip(names, floors, strict=True)])
    weights = np.array([float(split[n]) if f else 0.0 for n, f in zip(names, free, strict=True)])
    filled = _fill(design.feasible.rows, design.feasible.total, start, weights, np.array(free))
    grid = grid_of(design)
    parts = {
        n: fixed[n] if n in fixed else max(Fraction(math.floor(x * (1 - 1e-12) / float(grid))) * grid, floor)
        for n, x, floor in zip(names, filled, floors, strict=True)
    }
    open_to_crumbs = [n for n, f in zip(names, free, strict=True) if f]
    if not design.parallel and open_to_crumbs:
        largest = max(open_to_crumbs, key=lambda n: parts[n])
        parts[largest] += design.total - sum(parts.values(), Fraction(0))
    return parts


def grid_of(design: Design) -> Fraction:
    """The step of a hand-made budget: a power of ten, at most a thousandth of an even share."""
    count = len(design.measurements)
    return Fraction(10) ** -math.ceil(math.log10(_STEPS * count / float(design.total)))


def _most(design: Design, index: int, lowest: list[Fraction]) -> Fraction:
    """What is left for one budget when all others are as low as they may be."""
    tightest = design.total * len(lowest)
    rows = design.feasible.rows
    floats = as_floats(lowest)
    others = rows @ floats - rows[:, index] * floats[index]
    reach = np.divide(
        float(design.total) - others, rows[:, index], out=np.full(len(rows), np.inf), where=rows[:, index] > 0
    )
    for row in rows[reach <= reach.min() * (1 + 1e-9)]:  # exact, for the rows that can be the tightest
        taken = sum(
            (
                Fraction(float(share)) * part
                for i, (share, part) in enumerate(zip(row, lowest, strict=True))
                if i != index
            ),
            Fraction(0),
        )
        tightest = min(tightest, (design.total - taken) / Fraction(float(row[index])))
    return tightest


def _fill(rows: Floats, total: float, start: Floats, weights: Floats, free: NDArray[np.bool_]) -> Floats:
    """Raise all free budgets together, in proportion to their weights, each until a row that it is in is full."""
    budgets, rising = start.copy(), free.copy()
    while rising.any():
        touched = rows[(rows[:, rising] > 0).any(axis=1)]
        if len(touched):
            budgets = raised(touched, total, np.where(rising, start, budgets), np.where(rising, weights, 0.0))
        full = rows @ budgets >= total * (1 - 1e-12)
        stopped = rising & (rows[full] > 0).any(axis=0)
        if not stopped.any():  # nothing bounds what still rises
            break
        rising &= ~stopped
    return budgets


# resplit(): the publisher moves budget by hand and sees at once what it does to every error.
#
# Only the prediction is computed anew, some milliseconds for ten statistics: what is measured, the noise and
# the rows that bound the cost are the plan's. The data are no part of it.

BY_HAND = "by hand"
_GRID = 10**12


def resplit(chosen: Plan, split: Mapping[str, Number]) -> Plan:
    """The same plan with these budgets.

    Parameters
    ----------
    chosen : Plan
        The plan to change.
    split : dict
        Budgets by the names of `Plan.split`. Measurements that are not named share what is left, in the proportion
        they have now.

    Returns
    -------
    Plan

    Raises
    ------
    ParameterError
        For an unknown name, a budget below the floor, or more than there is.

    Examples
    --------
    >>> import coterie
    >>> asked = coterie.statistics.from_sql("SELECT AVG(rent) FROM people", coterie.demo_schema())
    >>> chosen = coterie.statistics.plan(asked)
    >>> first, second = chosen.split
    >>> [float(budget) for budget in coterie.statistics.resplit(chosen, {second: "0.25"}).split.values()]
    [0.75, 0.25]
    """
    design, now = chosen.design, chosen.split
    for name in split:
        if name not in now:
            raise ParameterError(f"Nothing measured is called '{name}'.", nearest(name, now))
    wanted = {name: parse_epsilon(value, f"the budget of '{name}'") for name, value in split.items()}
    floor = design.specification.floor
    for name, budget in wanted.items():
        if budget < floor:
            raise ParameterError(
                f"The budget of '{name}' is below the floor of {number(float(floor), 12)}.",
                "Give it more, or lower `floor` in the specification.",
            )
    lowest = np.array([float(wanted.get(name, floor)) for name in now])
    need = float((design.feasible.rows @ lowest).max())
    if need > design.feasible.total * (1 + 1e-9):
        raise ParameterError(
            f"These budgets cost {number(need, 6)}, and {number(design.feasible.total, 6)} is there to be split.",
            "Lower some of them: what a record of one group can touch must fit into the total.",
        )
    feasible = Feasible(design.feasible.rows, max(design.feasible.total, need), lowest)
    if len(wanted) < len(now):
        weights = np.array([0.0 if name in wanted else float(budget) for name, budget in now.items()])
        filled = feasible.fill(weights)
        for name, budget in zip(now, filled, strict=True):
            wanted.setdefault(name, max(Fraction(int(budget * _GRID), _GRID), floor))
    budgets = within_rows([wanted[name] for name in now], feasible.rows, design.total)
    made = planned(design, BY_HAND, budgets)
    return replace(made, as_in_paper=chosen.as_in_paper, expected=chosen.expected)
