"""The risk–utility map: what each method costs the analyst against what it leaves to the attacker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from coterie.auditing.audit import Audit
from coterie.report.style import INK, STATUS_COLOUR, new_figure, plain_log

_MARK = {"proved": "*", "bounded": "P", "conditional": "^", "heuristic": "D", "refuted": "X", "none": "o"}
_DP = "differential privacy"


@dataclass(frozen=True, slots=True)
class MapPoint:
    """One release. `loss` is any error that is better when smaller; risk is a share from 0 to 1 with its interval."""

    name: str
    status: str  # what the method's promise is worth: the words of coterie.guarantee.Status
    loss: float
    risk: float
    risk_low: float
    risk_high: float
    model: str = _DP  # what the status is about: a star is filled only for differential privacy

    @property
    def promise(self) -> str:
        """As the legend has it: a proof of something weaker is not a proof of privacy."""
        return self.status if self.status != "proved" or self.model == _DP else f"proved: {self.model}"


def map_point(name: str, status: str, loss: float, audit: Audit, model: str = _DP) -> MapPoint:
    gain = audit.highest_gain
    return MapPoint(name, status, loss, gain.value, gain.low, gain.high, model)


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
        axis.plot([point.loss], [point.risk], **_look(point, 15))
    _name_points(axis, points)
    for promise, point in {point.promise: point for point in points}.items():
        axis.plot([], [], **_look(point, 12), label=promise)
    if all(point.loss > 0 for point in points):
        axis.set_xscale("log")
        losses = [point.loss for point in points]
        plain_log(axis.xaxis, min(losses), max(losses))
    axis.margins(x=0.15)
    axis.set_ylim(-0.04, 1.08)
    axis.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
    axis.grid(color="#e5e5e5", linewidth=0.6)
    axis.set_axisbelow(True)
    axis.set_xlabel(loss_label)
    axis.set_ylabel("largest gain of any attack beyond its baseline\n(95 % interval)")
    figure.legend(loc="outside lower center", ncols=4, fontsize=8, frameon=False, title="what is promised")
    axis.set_title(f"Risk and utility\n{caption}" if caption else "Risk and utility", fontsize=10)
    return figure


def _look(point: MapPoint, size: int) -> dict[str, Any]:
    """Proved DP: a filled star. Proved, but of another model: an empty one."""
    colour = STATUS_COLOUR[point.status]
    filled = point.promise == point.status
    return {
        "marker": _MARK[point.status],
        "linestyle": "none",
        "color": colour,
        "markerfacecolor": colour if filled else "white",
        "markersize": size if point.status == "proved" else size // 2 + 1,
    }


def _name_points(axis: Any, points: Sequence[MapPoint]) -> None:
    """Names beside their points, on the free side; in a crowd each name goes one line higher than the last."""
    ordered = sorted(points, key=lambda one: (one.loss, one.risk))
    for place, point in enumerate(ordered):
        crowd = sum(_close(point, other) for other in ordered[:place])
        leftmost = crowd == 0 and any(_close(point, other) for other in ordered[place + 1 :])
        axis.annotate(
            point.name,
            (point.loss, point.risk),
            textcoords="offset points",
            xytext=(-9, 5) if leftmost else (9, 5 + 11 * max(crowd - 1, 0)),
            ha="right" if leftmost else "left",
            fontsize=8,
            color=INK,
        )


def _close(left: MapPoint, right: MapPoint) -> bool:
    return abs(left.risk - right.risk) < 0.06 and _near(left.loss, right.loss)


def _near(left: float, right: float) -> bool:
    return min(left, right) > 0 and max(left, right) / min(left, right) < 4
