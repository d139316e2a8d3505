"""The privacy loss that can be seen: run the method many times on two neighbours and look for what tells them apart.

One half of the runs chooses the event, the other half bounds its odds by Clopper and Pearson, so the bound holds with 95 %
confidence whatever the event. It is a lower bound: a method that passes is not proved, one that fails is refuted.
"""

from __future__ import annotations

import math

import pyarrow as pa

from coterie.auditing.attacks import Attack, Outcome, Subject
from coterie.auditing.attacks._distinguishing import (
    Pair,
    Runs,
    best_event,
    candidate_neighbours,
    changed_records,
    observe,
    separation,
)
from coterie.auditing.attacks.evidence import MethodEvidence
from coterie.auditing.attacks.finding import (
    Estimate,
    Level,
    Unit,
    epsilon_beyond,
    epsilon_lower_bound,
    p_value,
)
from coterie.promise.posterior import DP
from coterie.schema.exact import number

_PILOT = 60  # runs on each candidate to choose the neighbours
_FEWEST_RUNS = 100
_FIRST_SEED = 10_000  # beyond those of the pilot: no run is used twice


def _run(evidence: MethodEvidence) -> Outcome:
    story, pair = "chosen by the user", evidence.neighbours
    if pair is None:
        story, pair = _searched(evidence)
    runs = _runs(evidence, pair, evidence.runs, _FIRST_SEED)
    done = runs[0].count
    if done < _FEWEST_RUNS:
        return ATTACK.not_run(f"fewer than {_FEWEST_RUNS} runs on each neighbour say nothing")
    choose, test = slice(0, done // 2), slice(done // 2, done)
    event = best_event(runs[0].part(choose), runs[1].part(choose))
    counts = event.counts(runs[0].part(test), runs[1].part(test))
    low = max(epsilon_lower_bound(*counts), 0.0)
    stated, words = _stated(evidence)

    always = 0.025 ** (1 / (done - done // 2))  # the lower end for an event that never failed
    most = math.log(always / (1 - always))
    return ATTACK.found(
        Estimate(low, low, math.inf, done),
        Estimate.exact(stated),
        Level.SEVERE if low > stated else Level.NOTHING,
        f"Two neighbouring tables are told apart with a privacy loss of at least {low:.2f} (95 % confidence), "
        f"{words if not stated else _compared(low, stated, words)}. "
        f"So many runs could show at most {most:.1f}.",
        {"neighbours": story, "event": event.story, "runs on each": done, "most that could show": most},
        unit=Unit.EPSILON,
        p_value=p_value(epsilon_beyond(counts, stated, done), sides=1),
    )


def _runs(evidence: MethodEvidence, pair: Pair, count: int, seed: int) -> tuple[Runs, Runs]:
    """Independent runs on both tables: their seeds never meet. Fewer than asked if the clock runs out."""
    release = [evidence.releases(table) for table in pair]
    first: list[pa.Table] = []
    second: list[pa.Table] = []
    for run in range(count):
        if evidence.clock.up:
            if run < _FEWEST_RUNS:
                evidence.clock.check()
            break
        first.append(release[0](seed + 2 * run))
        second.append(release[1](seed + 2 * run + 1))
    changed = None if evidence.shuffled else changed_records(*pair, evidence.schema)
    return observe(first, evidence.schema, changed), observe(second, evidence.schema, changed)


def _searched(evidence: MethodEvidence) -> tuple[str, Pair]:
    """The neighbours that a few runs tell apart best."""
    found: list[tuple[float, str, Pair]] = []
    for story, pair in candidate_neighbours(evidence):
        found.append((separation(*_runs(evidence, pair, _PILOT, 0)), story, pair))
    _, story, pair = max(found, key=lambda one: one[0])
    return story, pair


def _compared(low: float, stated: float, whose: str) -> str:
    return f"{'more than' if low > stated else 'within'} the ε = {number(stated, 12)} that {whose}"


def _stated(evidence: MethodEvidence) -> tuple[float, str]:
    """The ε to compare with, and where it comes from."""
    promise = evidence.guarantee
    if (
        promise is None
        or promise.status == "none"
        or promise.model not in (DP, "individual differential privacy")
    ):
        return 0.0, "and no limit is promised"
    if promise.model == DP and promise.status == "proved":
        return float(promise.value), "is proved"
    return float(evidence.epsilon), "it is calibrated for"


ATTACK = Attack(
    name="empirical-epsilon",
    title="Empirical ε",
    subject=Subject.METHOD,
    story="Someone knows everybody's record but one, and decides from the release which of two records that person has.",
    inputs=("all other records", "the method and its parameters", "the release"),
    statistic="lower bound on the privacy loss ε",
    baseline="the ε that is stated",
    cost="runs × 2 × the noise of one release of a small table",
    run=_run,
    rank=30,
    personal=False,
)
