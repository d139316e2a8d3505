"""Nunes 2024, Fig. 5.8: the scores of all 1,352,078 allocations, in seconds.

The score is a sum over two blocks that share no statistic (one for each t-test), so each block is scored for
each of its C(18, 6) = 18,564 splits of up to twelve steps, and every pair of splits that spends all twelve
steps is one allocation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.papers.nunes_scenario import FLOOR, STEP, Scenario
from coterie.report.style import COLOURS, INK, new_figure
from coterie.statistics.allocators.grid import blocks, score_block

Array = NDArray[np.float64]
STEPS = 12
ALLOCATIONS = 1_352_078


def all_scores(chosen: Scenario) -> tuple[Array, Array]:
    """Every score, and the best allocation."""
    floors = np.full(12, FLOOR)
    found = [
        (block, *score_block(chosen.metric, block, floors, STEP, STEPS)) for block in blocks(chosen.metric)
    ]
    (first, first_splits, first_scores), (second, second_splits, second_scores) = found
    parts, best, best_score = [], np.empty(12), np.inf
    for spent in range(STEPS + 1):
        left = first_splits.sum(axis=1) == spent
        right = second_splits.sum(axis=1) == STEPS - spent
        scores = first_scores[left][:, None] + second_scores[right][None, :]
        parts.append(scores.ravel())
        if scores.min() < best_score:
            row, column = np.unravel_index(int(scores.argmin()), scores.shape)
            best_score = float(scores.min())
            best[first] = FLOOR + STEP * first_splits[left][row]
            best[second] = FLOOR + STEP * second_splits[right][column]
    return np.concatenate(parts), best


def draw_box_plot(scores: Array, marks: dict[str, float]) -> Any:
    """Fig. 5.8 with the exact scores, and where the named allocations stand."""
    figure, axes = new_figure(7.0, 3.2)
    axis = axes[0, 0]
    axis.boxplot(
        scores,
        orientation="horizontal",
        widths=0.5,
        flierprops={"marker": ".", "markersize": 1.5, "alpha": 0.2},
    )
    styles = ("-", "--", ":", "-.")
    for index, (name, score) in enumerate(marks.items()):
        axis.axvline(
            score,
            color=COLOURS[index],
            linestyle=styles[index % 4],
            linewidth=1.4,
            label=f"{name} {score:.4f}",
        )
    axis.set_xlabel("score: mean expected absolute error over 14 targets (scaled charges, counts in records)")
    axis.set_yticks([])
    axis.set_title(f"All {len(scores):,} allocations (Nunes 2024, Fig. 5.8)", fontsize=9, color=INK)
    axis.legend(fontsize=7, frameon=False, loc="upper right")
    return figure
