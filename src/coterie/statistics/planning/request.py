"""What the publisher asks for: which plan, by which rule, with which noise. The data are no part of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from coterie.errors import ParameterError
from coterie.schema.exact import Number, as_text, parse_epsilon
from coterie.statistics.allocators import DEFAULT
from coterie.statistics.planning.as_in_paper import plan_as_in_paper
from coterie.statistics.planning.by_hand import resplit
from coterie.statistics.planning.plan import Plan
from coterie.statistics.planning.planner import plan
from coterie.statistics.planning.solving import solve_budget
from coterie.statistics.releasing.drawing import Noise
from coterie.statistics.releasing.records import Records
from coterie.statistics.releasing.releasing import plan_with_pilot
from coterie.statistics.specification.specification import Specification


@dataclass(frozen=True)
class Request:
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

    def fingerprint(self, records: Records) -> str:
        """What was asked of which data. A hash of the data confirms guesses about them: never published."""
        return hashlib.sha256(f"{self.digest} {records.identity}".encode()).hexdigest()

    @property
    def name(self) -> str:
        """Of the release, as its population knows it."""
        named = [self.specification.population, self.specification.release]
        return hashlib.sha256(json.dumps(named).encode()).hexdigest()[:32]

    def place(self, records: Records) -> str:
        """The release of this name on these data, whatever was asked of it: there is one, and no second draw."""
        named = [self.specification.population, self.specification.release, records.identity]
        return hashlib.sha256(json.dumps(named).encode()).hexdigest()

    @property
    def paid(self) -> Specification:
        """The specification with the budget that is charged."""
        return self._solved.specification if self.solve else self.specification

    def plan(self, records: Records, noise: Noise) -> tuple[Plan, dict[str, float] | None]:
        """The plan, and the pilot's rough values if one was paid for."""
        if self.solve:
            return self._solved, None
        if self.as_in_paper:
            return plan_as_in_paper(self.specification, records, self.allocator), None
        if self.specification.pilot:
            return plan_with_pilot(self.specification, records, noise, self.allocator)
        chosen = plan(self.specification, self.allocator, report_losses=False)
        return (resplit(chosen, self.split) if self.split else chosen), None

    @cached_property
    def _solved(self) -> Plan:
        return solve_budget(self.specification)
