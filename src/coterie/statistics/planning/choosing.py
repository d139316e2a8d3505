"""plan(): one of four ways of splitting a budget: by a rule, by tolerances, by hand, or as the paper does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from coterie.errors import ParameterError
from coterie.schema.exact import Number
from coterie.statistics.allocators import DEFAULT
from coterie.statistics.planning.as_in_paper import plan_as_in_paper
from coterie.statistics.planning.by_hand import resplit
from coterie.statistics.planning.plan import Plan, read_split
from coterie.statistics.planning.planner import plan as split_by_rule
from coterie.statistics.planning.solving import solve_budget
from coterie.statistics.releasing.records import open_records
from coterie.statistics.specification.reading import read_specification
from coterie.statistics.specification.specification import Specification


def plan(
    specification: Specification | str | Path | Mapping[str, Any],
    allocator: str = DEFAULT,
    compare: str | Sequence[str] | None = (),
    report_losses: bool | None = None,
    *,
    solve: bool = False,
    split: Mapping[str, Number] | str | Path | None = None,
    as_in_paper: bool = False,
    data: Any = None,
    table: str | None = None,
) -> Plan:
    """Split the budget for the smallest errors of the statistics and equations. Never looks at the data.

    Parameters
    ----------
    specification : Specification, str, Path or dict
        What goes out and what analysts will compute from it: a specification file, or its content.
    allocator : str
        The rule for the split (`allocators()` lists them).
    compare : str or sequence of str, optional
        Further allocators to compare with; None: all.
    report_losses : bool, optional
        Whether to say what wrong expected values cost. Default: for specifications of moderate size.
    solve : bool, default False
        Find the smallest budget that meets all tolerances.
    split : dict, str or Path, optional
        Budgets by hand: the name of what is measured, and its budget; or a file that holds them.
    as_in_paper : bool, default False
        As the paper does it, from the `data`. Not differentially private.
    data, table : optional
        Only with `as_in_paper`: the data it looks at.

    Returns
    -------
    Plan
        `budgets` and `errors`; `to_frame` has the expected error of each target.

    Raises
    ------
    ParameterError
        For a specification that cannot be read or planned, or choices that exclude each other.

    Examples
    --------
    >>> import coterie
    >>> specification = {
    ...     "release": "wages",
    ...     "population": "people",
    ...     "schema": {
    ...         "attributes": {"wage": {"role": "protect", "domain": {"lower": 0, "upper": 100}}}
    ...     },
    ...     "records": 1000,
    ...     "neighbours": "replace-one",
    ...     "budget": {"epsilon": 1},
    ...     "statistics": {"average": {"kind": "mean", "of": "wage", "expected": 20}},
    ... }
    >>> chosen = coterie.statistics.plan(specification)
    >>> chosen
    <Plan of wages: ε = 1, 1 measurement by gradient>
    >>> chosen.to_frame().column_names
    ['target', 'mean_error', 'standard_error', 'median', 'p95']
    """
    if split is not None and (solve or as_in_paper):
        raise ParameterError(
            "A split by hand fixes the budgets already.",
            "Solve for no budget, and do not plan as in the paper.",
        )
    if as_in_paper != (data is not None):
        raise ParameterError(
            "A plan as in the paper and its data belong together.",
            "A plan looks at data only to repeat the paper.",
        )
    if not isinstance(specification, Specification):
        specification = read_specification(specification)
    if as_in_paper:
        return plan_as_in_paper(specification, open_records(data, table), allocator)
    if solve:
        return solve_budget(specification)
    if split is not None:
        parts = read_split(Path(split)) if isinstance(split, str | Path) else split
        return resplit(split_by_rule(specification, allocator, report_losses=False), parts)
    others = [compare] if isinstance(compare, str) else compare
    return split_by_rule(specification, allocator, others, report_losses)
