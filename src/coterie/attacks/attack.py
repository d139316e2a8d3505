"""What an attack is: the attacker's story first, then what it needs, what it measures, and against what."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from coterie.attacks.finding import Finding, NotRun

Outcome = Finding | NotRun


class Subject(StrEnum):
    RELEASE = "release"  # one released table beside the original: run(ReleaseEvidence)
    METHOD = "method"  # a method that can be run again and again: run(MethodEvidence)


@dataclass(frozen=True, slots=True)
class Attack:
    """A module in coterie.attacks that defines ATTACK = Attack(…) is found by the registry; nobody edits a list.

    `run` gets a ReleaseEvidence or a MethodEvidence (coterie.attacks.evidence) and returns a Finding, or a NotRun with
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
