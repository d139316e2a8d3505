"""plan(), and the request for a release: a budget is split by a rule, by tolerances, by hand, or as the paper does."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from coterie.errors import ParameterError
from coterie.schema.exact import Number, as_text, parse_epsilon
from coterie.statistics.allocators import DEFAULT
from coterie.statistics.planning.as_in_paper import plan_as_in_paper
from coterie.statistics.planning.by_hand import resplit
from coterie.statistics.planning.plan import Plan, read_split
from coterie.statistics.planning.planner import split_by_rule
from coterie.statistics.planning.solving import solve_budget
from coterie.statistics.releasing.measuring import Noise
from coterie.statistics.releasing.records import RecordSource, open_records
from coterie.statistics.releasing.releasing import plan_with_pilot
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
    >>> asked = coterie.statistics.from_sql("SELECT AVG(rent) FROM people", coterie.demo_schema())
    >>> chosen = coterie.statistics.plan(asked)
    >>> chosen
    <Plan of statistics: ε = 1, 2 measurements by gradient>
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


# What the publisher asks for: which plan, by which rule, with which noise. The data are no part of it.


@dataclass(frozen=True)
class ReleaseRequest:
    """The split follows the allocator, the tolerances (`solve`), the paper, or the publisher's hand (`split`)."""

    specification: Specification
    allocator: str = DEFAULT
    seed: int | None = None
    as_in_paper: bool = False
    solve: bool = False
    split: Mapping[str, Number] = field(default_factory=dict)

    def __post_init__(self) -> None:
        fixed = self.solve or bool(self.split)
        if fixed and self.specification.pilot:
            raise ParameterError(
                "The split cannot be fixed beforehand when a pilot is to find the expected values.",
                "Leave out `pilot` and state `expected`, or release without a solved or hand-made split.",
            )
        if self.solve and (self.as_in_paper or self.split or self.allocator != DEFAULT):
            raise ParameterError(
                "Solving for the budget also fixes its split, so no other allocator can be chosen.",
                "Leave out the allocator (and --as-in-paper), or do not solve.",
            )
        if self.split and self.as_in_paper:
            raise ParameterError("The paper's split is not made by hand.", "Leave out one of the two.")

    @property
    def noise(self) -> Noise:
        return Noise.secure() if self.seed is None else Noise.seeded(self.seed)

    @property
    def digest(self) -> str:
        """Names what was asked, without a trace of the data: this stands on the certificate."""
        rule = "tolerances" if self.solve else self.allocator
        content: list[object] = [self.specification.digest, rule, self.as_in_paper, self.seed]
        if self.split:
            content.append({name: as_text(parse_epsilon(part, name)) for name, part in self.split.items()})
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def fingerprint(self, records: RecordSource) -> str:
        """What was asked of which data. A hash of the data confirms guesses about them: never published."""
        return hashlib.sha256(f"{self.digest} {records.identity}".encode()).hexdigest()

    @property
    def name(self) -> str:
        """The release's name, as its population knows it."""
        named = [self.specification.population, self.specification.release]
        return hashlib.sha256(json.dumps(named).encode()).hexdigest()[:32]

    def place(self, records: RecordSource) -> str:
        """The release of this name on these data, whatever was asked of it: there is one, and no second draw."""
        named = [self.specification.population, self.specification.release, records.identity]
        return hashlib.sha256(json.dumps(named).encode()).hexdigest()

    @property
    def paid(self) -> Specification:
        """The specification with the budget that is charged."""
        return self._solved.specification if self.solve else self.specification

    def plan(self, records: RecordSource, noise: Noise) -> tuple[Plan, dict[str, float] | None]:
        """The plan, and the pilot's rough values if one was paid for."""
        if self.solve:
            return self._solved, None
        if self.as_in_paper:
            return plan_as_in_paper(self.specification, records, self.allocator), None
        if self.specification.pilot:
            return plan_with_pilot(self.specification, records, noise, self.allocator)
        chosen = split_by_rule(self.specification, self.allocator, report_losses=False)
        return (resplit(chosen, self.split) if self.split else chosen), None

    @cached_property
    def _solved(self) -> Plan:
        return solve_budget(self.specification)
