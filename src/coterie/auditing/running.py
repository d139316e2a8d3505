"""Run attacks one after another within a time budget; what was not run is named, never dropped."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from coterie.attacks import Attack, Subject, all_attacks, get_attack
from coterie.attacks.clock import Clock, OutOfTime
from coterie.attacks.evidence import MethodEvidence, ReleaseEvidence
from coterie.attacks.finding import Finding, NotRun

TIME_UP = "the time budget was used up"


@dataclass(frozen=True, slots=True)
class Outcomes:
    findings: tuple[Finding, ...]
    not_run: tuple[NotRun, ...]
    complete: bool


def chosen(subject: Subject, attacks: Iterable[str | Attack] | None) -> list[Attack]:
    """All attacks of a subject, or those named; Attack values of your own may stand among the names."""
    if attacks is None:
        return [attack for attack in all_attacks().values() if attack.subject is subject]
    found = [attack if isinstance(attack, Attack) else get_attack(attack) for attack in attacks]
    return [attack for attack in found if attack.subject is subject]


def run_attacks(
    attacks: Sequence[Attack],
    evidence: ReleaseEvidence | MethodEvidence,
    clock: Clock,
    progress: Callable[[str], None] | None = None,
) -> Outcomes:
    findings: list[Finding] = []
    not_run: list[NotRun] = []
    complete = True
    for attack in attacks:
        if clock.up:
            not_run.append(NotRun(attack.name, TIME_UP))
            complete = False
            continue
        if progress:
            progress(attack.title)
        start = time.perf_counter()
        try:
            outcome = attack.run(evidence)
        except OutOfTime:
            not_run.append(NotRun(attack.name, f"{TIME_UP} before it had a result"))
            complete = False
            continue
        if isinstance(outcome, NotRun):
            not_run.append(outcome)
        else:
            findings.append(replace(outcome, seconds=time.perf_counter() - start))
            complete = complete and not (clock.up and attack is not attacks[-1])
    return Outcomes(tuple(findings), tuple(not_run), complete)
