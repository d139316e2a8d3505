"""The claims that 003 §5.1.1 makes of its two baseline heatmaps."""

from __future__ import annotations

import numpy as np

from coterie.papers.drawing import heatmaps
from coterie.papers.experiment import Finding, Outcome
from coterie.papers.grids import PaperGrid
from coterie.papers.sse_003 import EPSILONS, RUNS, falls, field


def baseline(grid: PaperGrid, title: str, notes: tuple[str, ...]) -> Outcome:
    values = field(grid, "idp-ls")
    by_epsilon, by_k = falls(values, 1), falls(values, 0)
    alone, grouped = values[0], values[-1]
    drop = float(alone[-1] / alone[0])
    gain = float(np.min(alone / grouped))
    findings = (
        _monotone("the error falls as ε grows", by_epsilon),
        _monotone("the error falls as k grows", by_k),
        Finding(
            "k = 1: error at ε = 1 over that at ε = 0.1",
            "minimal decrease (near 1)",
            f"{drop:.2f}",
            "at least 0.8",
            drop >= 0.8,
        ),
        Finding(
            "grouping lowers the error: k = 1 over the largest k, at the ε where it helps least",
            "significantly",
            f"{gain:.1f} times",
            "at least 2 times",
            gain >= 2,
        ),
    )
    figure = heatmaps(
        [("as printed, Eq. (5)", grid.ks, values), ("scale-free", grid.ks, field(grid, "idp-ls", "sse"))],
        EPSILONS,
        "mean SSE, log scale",
        f"{title}, mean of {RUNS} runs",
        log=True,
    )
    return Outcome(findings, figure, grid.table(), notes)


def _monotone(claim: str, steps: tuple[int, int]) -> Finding:
    went, of = steps
    return Finding(
        claim, "everywhere", f"{went} of {of} steps", "at least 90 % of the steps", went >= 0.9 * of
    )
