"""The effective multiplier: replace the smallest value by one above the largest, and add up what every group loses.

Noise scales are frozen at the data, as individual differential privacy has it (Soria-Comas et al., Prop. 1). Moving
the minimum above the maximum shifts every ranked group by one record at once: Σ |Δc_j|/s_j is how many times ε_a the
list of centroids costs. The mirror image (largest to the bottom) is measured too and the worse of both counts.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from coterie.auditing.attacks import Attack, Outcome, Subject
from coterie.auditing.attacks.evidence import MethodEvidence
from coterie.auditing.attacks.finding import Estimate, Level, Unit
from coterie.chain.kernel import Grouped
from coterie.methods import get_method
from coterie.methods.recipe import Method
from coterie.schema.exact import number
from coterie.table.checked import check
from coterie.table.columns.column import Column, NumericColumn


def _run(evidence: MethodEvidence) -> Outcome:
    method = get_method(evidence.method)
    if not method.numeric.adds_laplace or method.grouping.multivariate:
        return ATTACK.not_run("the method does not add Laplace noise to ranked groups")
    checked = check(evidence.population, evidence.schema)
    k = method.check_k(evidence.k, checked.records)
    found = {
        name: max(multiplier(column, method, k, to_top=True), multiplier(column, method, k, to_top=False))
        for name, column in checked.columns.items()
        if isinstance(column, NumericColumn) and np.ptp(column.values) > 0
    }
    if not found:
        return ATTACK.not_run("no protected attribute is a number that varies")
    worst = max(found, key=lambda name: found[name])
    value, clusters = found[worst], checked.records // k
    level = Level.NOTHING if value <= 1 + 1e-6 else Level.SOME if value <= 2 + 1e-6 else Level.SEVERE
    low = min(found.values())
    between = f"between {number(low)} and {number(value)} times" if low < value else f"{number(value)} times"
    return ATTACK.found(
        Estimate.exact(value),
        Estimate.exact(1.0),
        level,
        f"Moving one person from one end to the other costs {between} the ε of an attribute ({clusters} groups), "
        f"counted over all groups that have noise.",
        {f"multiplier of {name}": number for name, number in found.items()} | {"groups": clusters},
        unit=Unit.TIMES,
    )


def multiplier(column: NumericColumn, method: Method, k: int, *, to_top: bool) -> float:
    """Σ |Δc_j| / s_j over the groups with noise, for the smallest value moved to the top (or the largest to the bottom)."""
    place = int(np.argmin(column.values) if to_top else np.argmax(column.values))
    values = column.values.copy()
    values[place] = column.domain.upper if to_top else column.domain.lower
    before, scale = _list(column, method, k)
    after, _ = _list(replace(column, values=values), method, k)
    noisy = scale > 0
    return float(np.sum(np.abs(after - before)[noisy] / scale[noisy]))


def _list(column: Column, method: Method, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The list of centroids, and how far the method says that one record moves each."""
    clustering = method.grouping.prepare([column], k)(column)
    grouped = Grouped.of(column, method.mechanism(column), clustering, k)
    return grouped.centroids.values, grouped.sensitivity


ATTACK = Attack(
    name="replaced-minimum",
    title="Replaced minimum",
    subject=Subject.METHOD,
    story="One person moves from the bottom of the table to its top. Every ranked group changes by one member; the noise of "
    "each group was made for one change in one group.",
    inputs=("the method, which is public", "all other records"),
    statistic="times ε that the list of centroids costs (worst attribute)",
    baseline="1: the claim",
    cost="sorting each attribute four times",
    run=_run,
    rank=12,
    personal=False,
)
