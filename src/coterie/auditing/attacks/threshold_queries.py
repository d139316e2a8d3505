"""Reconstruction against individual differential privacy: threshold queries whose local sensitivity is 0.

(Protivash, Durrell, Kifer, Ding and Zhang: Reconstruction Attacks on Aggressive Relaxations of Differential Privacy.)
Ask "do more than b people have a value of at most t?". Unless b or b+1 people do, no single replacement changes the
answer: its local sensitivity is 0, the model asks for no noise, and the answer comes back exact. The b-th smallest value
is the least t whose answer is not an exact no; a binary search finds it, for every b, at any ε. It is the model, not a
bug, that gives whole columns away.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coterie.auditing.attacks import Attack, Outcome, Subject
from coterie.auditing.attacks.evidence import MethodEvidence
from coterie.auditing.attacks.finding import (
    CONFIDENCE,
    FEWEST_TRIALS,
    Estimate,
    graded,
    interval_words,
    p_value,
    proportion,
)
from coterie.schema.arrays import Floats
from coterie.table.checked import check
from coterie.table.columns.column import NumericColumn

MODEL = "individual differential privacy"
MOST_RANKS = 200
_STEPS = 2**20  # the grid that values are searched on, where the attribute has no step of its own


@dataclass(frozen=True, slots=True)
class QueryInterface:
    """Answers threshold queries with Laplace noise for the local (iDP) or the global (DP) sensitivity."""

    ordered: Floats
    epsilon: float
    individual: bool
    draws: np.random.Generator

    def more_than(self, b: int, t: float) -> float:
        count = int(np.searchsorted(self.ordered, t, side="right"))
        # Replacing one record moves the count by at most 1: only from b or b+1 can the answer change.
        sensitivity = float(count in (b, b + 1)) if self.individual else 1.0
        noise = self.draws.laplace(scale=sensitivity / self.epsilon) if sensitivity else 0.0
        return float(count > b) + noise


def reconstruct(interface: QueryInterface, grid: Floats, b: int) -> float:
    """The b-th smallest value: the least grid point whose answer is not an exact 0."""
    low, high = 0, len(grid) - 1
    while low < high:
        middle = (low + high) // 2
        if interface.more_than(b, float(grid[middle])) == 0.0:
            low = middle + 1
        else:
            high = middle
    return float(grid[low])


def _run(evidence: MethodEvidence) -> Outcome:
    if evidence.guarantee is None or evidence.guarantee.model != MODEL:
        return ATTACK.not_run("the method does not promise individual differential privacy")
    checked = check(evidence.population, evidence.schema)
    numbers = [c for c in checked.columns.values() if isinstance(c, NumericColumn)]
    if not numbers or checked.records < FEWEST_TRIALS:
        return ATTACK.not_run("no numbers, or too few people for any interval")
    column, draws = numbers[0], evidence.draws(ATTACK.name)
    domain, step = column.domain, column.step
    points = _STEPS if step is None else min(round(float(domain.width) / step), _STEPS)
    grid = np.linspace(domain.lower, domain.upper, points + 1)
    cell = float(domain.width) / points
    ordered = np.sort(column.values)
    ranks = draws.choice(len(ordered), min(len(ordered), MOST_RANKS), replace=False)
    hits: dict[bool, int] = {}
    for individual in (True, False):
        interface = QueryInterface(ordered, float(evidence.epsilon), individual, draws)
        found = np.array([reconstruct(interface, grid, int(rank) + 1) for rank in ranks])
        hits[individual] = int(np.sum(np.abs(found - ordered[ranks]) <= cell * (1 + 1e-9)))
        evidence.clock.check()

    def rates(confidence: float) -> tuple[Estimate, Estimate]:
        individual, private = (proportion(hits[model], len(ranks), confidence) for model in (True, False))
        return individual, private

    own, private = rates(CONFIDENCE)
    return ATTACK.found(
        own,
        private,
        graded(own, private),
        f"A query interface that keeps to {MODEL} at ε = {evidence.epsilon} gives away "
        f"{interval_words(own)} of the values of '{column.attribute.name}' exactly; "
        f"one that keeps to DP {interval_words(private)}.",
        {"queries per value": int(np.ceil(np.log2(points + 1)))},
        p_value=p_value(rates),
    )


ATTACK = Attack(
    name="threshold-queries",
    title="Reconstruction by threshold queries",
    subject=Subject.METHOD,
    story="An analyst may ask counts under individual DP. They ask only whether a count exceeds a threshold, and watch "
    "which answers come back without noise.",
    inputs=("a query interface that adds noise for local sensitivity",),
    statistic="share of values reconstructed exactly",
    baseline="the same questions to an interface that adds noise for global sensitivity (DP)",
    cost="about 20 queries per value, 200 values",
    run=_run,
    rank=50,
    personal=False,
)
