"""The risk–utility map: what each method costs the analyst against what it leaves to the attacker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from coterie.auditing.audit import Audit
from coterie.report.style import INK, STATUS_COLOUR, new_figure, plain_log

_MARK = {"proved": "*", "bounded": "P", "conditional": "^", "heuristic": "D", "refuted": "X", "none": "o"}
_DP = "differential privacy"
# Of the names on the map, in points: a letter's width, a line's height, and how far above or below a point one may stand.
_LETTER, _LINE, _MARKER = 4.6, 10.0, 12.0
_LIFTS = (4, -8, 15, -19, 26, -30, 37, -41, 48)


@dataclass(frozen=True, slots=True)
class MapPoint:
    """One release. `loss` is any error that is better when smaller; risk is a share from 0 to 1 with its interval."""

    name: str
    status: str  # what the method's promise is worth: the words of coterie.methods.guarantee.Status
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
    figure.draw_without_rendering()  # names are placed where everything else has its place
    _name_points(axis, points)
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
    """Names beside their points, each in the first place around its point where nothing stands yet."""
    taken = [_box(axis, point, 0, 0, "center", _MARKER, _MARKER) for point in points]
    for point in sorted(points, key=lambda one: (one.loss, one.risk)):
        width = _LETTER * len(point.name)
        spots = [(side, lift) for lift in _LIFTS for side in ("left", "right")]
        boxes = [
            _box(axis, point, 9 if side == "left" else -9, lift, side, width, _LINE) for side, lift in spots
        ]
        crowd = [sum(_overlap(box, other) for other in taken) + 1e6 * _outside(axis, box) for box in boxes]
        best = crowd.index(min(crowd))
        taken.append(boxes[best])
        side, lift = spots[best]
        axis.annotate(
            point.name,
            (point.loss, point.risk),
            textcoords="offset points",
            xytext=(9 if side == "left" else -9, lift),
            ha=side,
            va="center",
            fontsize=8,
            color=INK,
        )


def _box(
    axis: Any, point: MapPoint, right: float, up: float, side: str, width: float, height: float
) -> tuple[float, float, float, float]:
    """Left, bottom, right and top in points of print."""
    scale = 72 / axis.figure.dpi
    x, y = (float(place) * scale for place in axis.transData.transform((point.loss, point.risk)))
    left = x + right - {"left": 0.0, "center": width / 2, "right": width}[side]
    return left, y + up - height / 2, left + width, y + up + height / 2


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    across = min(one[2], other[2]) - max(one[0], other[0])
    return max(across, 0.0) * max(min(one[3], other[3]) - max(one[1], other[1]), 0.0)


def _outside(axis: Any, box: tuple[float, ...]) -> bool:
    frame = axis.get_window_extent()
    scale = 72 / axis.figure.dpi
    left, right, bottom, top = (edge * scale for edge in (frame.x0, frame.x1, frame.y0, frame.y1))
    return bool(box[0] < left or box[2] > right + 20 or box[1] < bottom or box[3] > top)
