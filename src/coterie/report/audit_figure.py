"""The audit in one picture: what each attack gets, with its interval, beside what it gets without the release."""

from __future__ import annotations

from typing import Any

from coterie.auditing.attacks import all_attacks
from coterie.auditing.attacks.finding import Finding, Level, Unit
from coterie.auditing.audit import Audit
from coterie.report.style import INK, new_figure

LEVEL_COLOUR = {
    Level.NOTHING: "#009E73",
    Level.SOME: "#E69F00",
    Level.SEVERE: "#D55E00",
    Level.UNKNOWN: "#777777",
}
_MARK = {
    Level.NOTHING: "o",
    Level.SOME: "D",
    Level.SEVERE: "s",
    Level.UNKNOWN: "x",
}  # shapes too, for those who see no colours


def audit_figure(audit: Audit) -> Any:
    """Shares and areas only: an ε or a multiplier has no place on a scale from 0 to 1."""
    shown = [finding for finding in audit.findings if finding.unit in (Unit.SHARE, Unit.AREA)][::-1]
    figure, axes = new_figure(8.5, 0.5 * max(len(shown), 1) + 1.9)
    axis = axes[0, 0]
    for place, finding in enumerate(shown):
        _row(axis, place, finding)
    axis.set_yticks(range(len(shown)), [_title(finding) for finding in shown])
    axis.set_xlim(-0.02, 1.02)
    axis.set_ylim(-0.6, len(shown) - 0.4)
    axis.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
    axis.grid(axis="x", color="#dddddd", linewidth=0.6)
    axis.set_axisbelow(True)
    axis.set_xlabel(
        "what the attacker gets (95 % interval); | is the baseline without the release", fontsize=8
    )
    for level in (Level.NOTHING, Level.SOME, Level.SEVERE):
        axis.plot([], [], _MARK[level], color=LEVEL_COLOUR[level], label=level.value)
    axis.plot([], [], "|", color=INK, markersize=11, markeredgewidth=2, label="baseline")
    figure.legend(loc="outside lower center", ncols=4, fontsize=8, frameon=False)
    axis.set_title(f"What an attacker still gets\n{audit.subject}, {audit.people:,} people", fontsize=10)
    return figure


def _row(axis: Any, place: int, finding: Finding) -> None:
    estimate, colour = finding.estimate, LEVEL_COLOUR[finding.level]
    low, high = max(estimate.low, 0.0), min(estimate.high, 1.0)
    axis.hlines(place, low, high, color=colour, linewidth=4, alpha=0.45)
    value = min(max(estimate.value, 0.0), 1.0)
    axis.plot([value], [place], _MARK[finding.level], color=colour, markersize=7)
    axis.plot([finding.baseline.value], [place], "|", color=INK, markersize=15, markeredgewidth=2)


def _title(finding: Finding) -> str:
    attack = all_attacks().get(finding.attack)
    title = attack.title if attack else finding.attack
    return f"{title}\n(area under the curve)" if finding.unit is Unit.AREA else title
