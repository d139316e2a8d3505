"""resplit(): the publisher moves budget by hand and sees at once what it does to every error.

Only the prediction is computed anew, some milliseconds for ten statistics: what is measured, the noise and
the rows that bound the cost are the plan's. The data are no part of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import numpy as np

from coterie.budget import Number, parse_epsilon
from coterie.errors import ParameterError, nearest
from coterie.statistics.composition import Feasible, within_rows
from coterie.statistics.plan import Plan
from coterie.statistics.planning import predict, warnings_on

BY_HAND = "by hand"
_GRID = 10**12


def resplit(chosen: Plan, split: Mapping[str, Number]) -> Plan:
    """The same plan with these budgets, by the names of `Plan.split`.

    Measurements that are not named share what is left, in the proportion they have now.
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
                f"The budget of '{name}' is below the floor of {float(floor):g}.",
                "Give it more, or lower `floor` in the specification.",
            )
    lowest = np.array([float(wanted.get(name, floor)) for name in now])
    need = float((design.feasible.rows @ lowest).max())
    if need > design.feasible.total * (1 + 1e-9):
        raise ParameterError(
            f"These budgets cost {need:.6g}, and {design.feasible.total:.6g} is there to be split.",
            "Lower some of them: what a record of one group can touch must fit into the total.",
        )
    feasible = Feasible(design.feasible.rows, max(design.feasible.total, need), lowest)
    if len(wanted) < len(now):
        weights = np.array([0.0 if name in wanted else float(budget) for name, budget in now.items()])
        filled = feasible.fill(weights)
        for name, budget in zip(now, filled, strict=True):
            wanted.setdefault(name, max(Fraction(int(budget * _GRID), _GRID), floor))
    budgets = within_rows([wanted[name] for name in now], feasible.rows, design.total)
    errors = predict(design, np.array([float(budget) for budget in budgets]))
    score, standard_error = design.metric.score_of(errors)
    return replace(
        chosen,
        allocator=BY_HAND,
        budgets=budgets,
        score=score,
        standard_error=standard_error,
        errors=errors,
        rows=(),
        guess_losses=(),
        warnings=warnings_on(design, errors),
    )
