"""The risk–utility map: what each method costs the analyst against what it leaves to the attacker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from coterie.auditing.audit import Audit
from coterie.report.style import INK, STATUS_COLOUR, new_figure

_MARK = {"proved": "*", "bounded": "P", "conditional": "^", "heuristic": "D", "refuted": "X", "none": "o"}


@dataclass(frozen=True, slots=True)
class MapPoint:
    """One release. `loss` is any error that is better when smaller; risk is a share from 0 to 1 with its interval."""

    name: str
    status: str  # what the method's promise is worth: the words of coterie.guarantee.Status
    loss: float
    risk: float
    risk_low: float
    risk_high: float


def map_point(name: str, status: str, loss: float, audit: Audit) -> MapPoint:
    gain = audit.highest_gain
    return MapPoint(name, status, loss, gain.value, gain.low, gain.high)


def risk_utility_map(
    points: Sequence[MapPoint], caption: str = "", loss_label: str = "information loss (smaller is better)"
) -> Any:
    """Down and left is better. Proved methods are stars; a low point without a proof is luck that was measured."""
    figure, axes = new_figure(8, 5.6)
    axis = axes[0, 0]
    for point in points:
        low, high = min(point.risk_low, point.risk), max(point.risk_high, point.risk)
        colour = STATUS_COLOUR[point.status]
        axis.vlines(point.loss, low, high, color=colour, linewidth=3, alpha=0.4)
        size = 15 if point.status == "proved" else 8
        axis.plot([point.loss], [point.risk], _MARK[point.status], color=colour, markersize=size)
    _name_points(axis, points)
    for status in dict.fromkeys(point.status for point in points):
        size = 12 if status == "proved" else 7
        axis.plot([], [], _MARK[status], color=STATUS_COLOUR[status], markersize=size, label=status)
    if all(point.loss > 0 for point in points):
        axis.set_xscale("log")
    axis.margins(x=0.15)
    axis.set_ylim(-0.04, 1.08)
    axis.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
    axis.grid(color="#e5e5e5", linewidth=0.6)
    axis.set_axisbelow(True)
    axis.set_xlabel(loss_label)
    axis.set_ylabel("largest gain of any attack beyond its baseline\n(95 % interval)")
    figure.legend(loc="outside lower center", ncols=6, fontsize=8, frameon=False, title="what is promised")
    axis.set_title(f"Risk and utility\n{caption}" if caption else "Risk and utility", fontsize=10)
    return figure


def _name_points(axis: Any, points: Sequence[MapPoint]) -> None:
    """Names beside their points; of points close together each name goes one line higher than the last."""
    placed: list[MapPoint] = []
    for point in sorted(points, key=lambda one: (one.loss, one.risk)):
        crowd = sum(abs(other.risk - point.risk) < 0.04 and _near(other.loss, point.loss) for other in placed)
        axis.annotate(
            point.name,
            (point.loss, point.risk),
            textcoords="offset points",
            xytext=(9, 4 + 11 * crowd),
            fontsize=8,
            color=INK,
        )
        placed.append(point)


def _near(left: float, right: float) -> bool:
    return min(left, right) > 0 and max(left, right) / min(left, right) < 2.5
