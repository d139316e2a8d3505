"""What an attack is, and every attack: one per file. The registry finds every module here that defines ATTACK.

A package of your own adds attacks by the entry points `coterie.attacks`. Or hand Attack values to an audit: `attacks=[…]`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

from coterie.auditing.attacks.finding import Details, Estimate, Finding, Level, NotRun, Worst
from coterie.registry import Parts, discover, unknown


class OutOfTime(Exception):
    """Caught by the auditor, which then names what was not run."""


class Clock:
    """A time budget of `seconds` from now on; None is no limit. `now` can be replaced in tests."""

    def __init__(self, seconds: float | None = None, now: Callable[[], float] = time.monotonic) -> None:
        self._now, self._end = now, math.inf if seconds is None else now() + seconds

    @property
    def up(self) -> bool:
        return self._now() >= self._end

    def check(self) -> None:
        if self.up:
            raise OutOfTime


Outcome = Finding | NotRun


class Subject(StrEnum):
    """What an attack is run on."""

    RELEASE = "release"  # one released table beside the original: run(ReleaseEvidence)
    METHOD = "method"  # a method that can be run again and again: run(MethodEvidence)


@dataclass(frozen=True, slots=True, repr=False)
class Attack:
    """Who the attacker is, what they hold and do, and how often that works compared with a baseline.

    A module in coterie.auditing.attacks that defines ATTACK = Attack(…) is found by the registry; nobody edits a list.
    `run` gets a ReleaseEvidence or a MethodEvidence and returns a Finding, or a NotRun with the reason.
    `rank` is the order in which attacks run and are shown: cheap and telling ones first.
    """

    name: str
    title: str
    subject: Subject
    story: str  # who the attacker is, what they hold, what they do
    inputs: tuple[str, ...]  # what the attacker is assumed to have
    statistic: str
    baseline: str
    cost: str  # how the time grows
    run: Callable[[Any], Outcome]
    rank: int
    needs_control: bool = False  # True: without a control group there is a figure, and no verdict
    needs_order: bool = False  # True: run only where the released row of every person is known
    needs_unit: bool = False  # True: run only where the schema names a privacy unit
    personal: bool = True  # False: a fact about a method or a bound, not a share of people at risk

    def __repr__(self) -> str:
        return f"<Attack {self.name} on a {self.subject.value}: {self.statistic}>"

    def not_run(self, reason: str) -> NotRun:
        return NotRun(self.name, reason)

    def found(
        self,
        estimate: Estimate,
        baseline: Estimate,
        level: Level,
        words: str,
        details: Details | None = None,
        **more: Any,
    ) -> Finding:
        """A finding of this attack."""
        named = (self.statistic, estimate, baseline, self.baseline)
        return Finding(self.name, *named, level, words, details or {}, **more)

    def found_worst(self, worst: Worst, words: str, details: Details) -> Finding:
        """The worst of several things looked at, corrected for the choice."""
        choice = {"looked_at": worst.looked_at, "p_value": worst.p_value}
        return self.found(worst.estimate, worst.baseline, worst.level, words, details, **choice)


@cache
def all_attacks() -> Parts[Attack]:
    """Every attack by name, in the order in which they run."""
    return discover(__name__, __path__, "ATTACK", Attack, "coterie.attacks", lambda a: (a.rank, a.name))


def get_attack(name: str) -> Attack:
    attacks = all_attacks()
    if isinstance(name, str) and name in attacks:
        return attacks[name]
    raise unknown("attack", name, attacks)
