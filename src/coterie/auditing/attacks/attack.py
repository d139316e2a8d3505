"""What an attack is, and the clock that limits how long an audit may take."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from coterie.auditing.attacks.finding import Finding, NotRun


class OutOfTime(Exception):
    """Caught by the auditor, which then names what was not run."""


@dataclass(frozen=True, slots=True)
class Clock:
    """`seconds` from now on; None is no limit. `now` can be replaced in tests."""

    seconds: float | None = None
    now: Callable[[], float] = time.monotonic
    _end: float = field(init=False, repr=False, default=0.0)

    def __post_init__(self) -> None:
        end = float("inf") if self.seconds is None else self.now() + self.seconds
        object.__setattr__(self, "_end", end)

    @property
    def up(self) -> bool:
        return self.now() >= self._end

    def check(self) -> None:
        if self.up:
            raise OutOfTime


# An attack: the attacker's story first, then what it needs, what it measures, and against what.

Outcome = Finding | NotRun


class Subject(StrEnum):
    RELEASE = "release"  # one released table beside the original: run(ReleaseEvidence)
    METHOD = "method"  # a method that can be run again and again: run(MethodEvidence)


@dataclass(frozen=True, slots=True)
class Attack:
    """A module in coterie.auditing.attacks that defines ATTACK = Attack(…) is found by the registry; nobody edits a list.

    `run` gets a ReleaseEvidence or a MethodEvidence (coterie.auditing.attacks.evidence) and returns a Finding, or a
    NotRun with
    the reason. `rank` is the order in which attacks run and are shown: cheap and telling ones first.
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
    personal: bool = True  # False: a fact about a method or a bound, not a share of people at risk
