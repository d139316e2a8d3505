"""How often 95 % intervals of released statistics hold the table's own figure. `python -m benchmarks coverage`.

500 releases of one invented table for every kind of statistic, by group size and ε, under add-remove neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from coterie.statistics import plan, read_specification
from coterie.statistics.prediction.joint import JointMeasurement
from coterie.statistics.releasing.consistency import Replay, possible_range
from coterie.statistics.releasing.measuring import Noise, compute
from coterie.statistics.releasing.records import open_records
from coterie.statistics.releasing.releasing import add_noise, evaluate

RELEASES = 500
SIZES = {"d": 12, "e": 24, "h": 47, "f": 917}
CELLS = {"c0": 0, "c1": 1, "c3": 3, "c12": 12, "c30": 30}
BUDGETS = ("1", "4", "20")
KINDS: dict[str, dict[str, Any]] = {
    **{kind: {"of": "x", "route": "sums"} for kind in ("mean", "variance", "std")},
    **{kind: {"of": ["y", "x"]} for kind in ("covariance", "correlation", "slope", "intercept")},
}


def run() -> Iterator[str]:
    budgets = ", ".join(f"ε = {epsilon}" for epsilon in BUDGETS)
    yield f"| percent covered at {budgets} | {' | '.join(f'{size} records' for size in SIZES.values())} |"
    yield f"|---|{'---|' * len(SIZES)}"
    people = _table()
    found: dict[str, list[str]] = {}
    for epsilon in BUDGETS:
        for of in ("x", ["y", "x"]):
            asked = {
                kind: {"kind": kind, "by": {"g": list(SIZES)}, **e}
                for kind, e in KINDS.items()
                if e["of"] == of
            }
            for name, share in covered(asked, people, epsilon).items():
                found.setdefault(name, []).append(said(*share))
    for kind in KINDS:
        cells = (" ".join(found[f"{kind}[{group}]"]) for group in SIZES)
        yield f"| {kind} | {' | '.join(cells)} |"
    counts = {"n": {"kind": "count", "by": {"g": list(CELLS)}}, "all": {"kind": "count"}}
    few = pa.table({"g": np.repeat(list(CELLS), list(CELLS.values()))})
    shares = [covered(counts, few, epsilon) for epsilon in ("0.1", "0.3")]
    by_size = [
        f"{size}: {' '.join(said(*one[f'n[{cell}]']) for one in shares)}" for cell, size in CELLS.items()
    ]
    yield ""
    yield f"Counts at ε = 0.1 and 0.3, by what the cell holds: {'; '.join(by_size)}."


def said(share: float, whole: float) -> str:
    """How many are covered; in brackets how many intervals are the whole domain."""
    return f"{share:.1f}" + (f" ({whole:.0f})" if whole >= 1 else "")


def _table() -> pa.Table:
    draw = np.random.Generator(np.random.PCG64(1))
    group = np.repeat(list(SIZES), list(SIZES.values()))
    draw.choice(2, len(group), p=[0.1, 0.9])
    x = np.clip(draw.normal(30, 15, len(group)), 0, 100)
    y = np.clip(20 + x / 2 + draw.normal(0, 8, len(group)), 0, 100)
    return pa.table({"g": group, "x": x, "y": y})


def covered(asked: dict[str, Any], people: pa.Table, epsilon: str) -> dict[str, tuple[float, float]]:
    """Of each figure, in how many percent of releases its interval holds the noiseless value, and all that is possible."""
    numbers = {name: {"role": "protect", "domain": {"lower": 0, "upper": 100}} for name in ("x", "y")}
    document = {
        "schema": {"attributes": {"g": {"role": "keep"}, **numbers}},
        "neighbours": "add-remove",
        "budget": {"epsilon": epsilon},
        "statistics": asked,
        "records": 1000,
    }
    chosen = plan(read_specification(document), "square-root", report_losses=False)
    design, exact = chosen.design, compute(chosen.design, open_records(people))
    rows: list[float] = []
    for m in design.measurements:
        whole = exact[m.name] if isinstance(m, JointMeasurement) else [exact[m.name]]
        rows += [m.value(number) for number in whole]
    budgets = np.array([float(Fraction(budget)) for budget in chosen.budgets])
    truth = evaluate(design, design.reconstruction(budgets).linear(np.array([rows])))[0]
    replay = Replay.of(design, budgets)
    possible = {e.target.name: possible_range(e.target.expression) for e in design.metric.errors}
    held, whole = dict.fromkeys(truth, 0), dict.fromkeys(truth, 0)
    for row in add_noise(design, exact, chosen.budgets, Noise.seeded(3), releases=RELEASES):
        for name, interval in replay.intervals(row).items():
            whole[name] += interval == possible[name]
            held[name] += interval.lower - 1e-6 <= float(truth[name][0]) <= interval.upper + 1e-6
    return {name: (100 * held[name] / RELEASES, 100 * whole[name] / RELEASES) for name in held}
