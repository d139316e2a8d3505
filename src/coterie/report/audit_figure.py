"""The audit in one picture: what each attack gets, with its interval, beside what it gets without the release."""

from __future__ import annotations

from collections.abc import Iterable

from coterie.auditing.attacks import all_attacks
from coterie.auditing.attacks.finding import Finding, Level, Unit
from coterie.auditing.audit import Audit
from coterie.report.charts import Figure, Interval, intervals
from coterie.report.charts.intervals import Look

LOOKS: dict[str, Look] = {
    Level.NOTHING.value: ("circle", 1),
    Level.SOME.value: ("triangle", 5),
    Level.SEVERE.value: ("square", 2),
    Level.UNKNOWN.value: ("plus", 7),
}
AREA = "area under the curve"


def audit_figure(audit: Audit) -> Figure | None:
    """Shares and areas only: an ε or a multiplier has no place on a scale from 0 to 1."""
    shown = [finding for finding in audit.findings if finding.unit in (Unit.SHARE, Unit.AREA)]
    return attacks_figure(
        [_row(finding) for finding in shown],
        [finding.level.value for finding in shown],
        title=f"What an attacker still gets: {audit.subject}, {audit.people:,} people",
    )


def attacks_figure(rows: Iterable[Interval], levels: Iterable[str], *, title: str = "") -> Figure | None:
    """`levels` are the verdicts on the rows, in their order."""
    found = list(levels)
    drawn = [
        Interval(row.name, row.value, row.low, row.high, row.mark, LOOKS[level])
        for row, level in zip(rows, found, strict=True)
    ]
    if not drawn:
        return None
    return intervals(
        drawn,
        axis="what the attacker gets",
        mark_words="without the release",
        looks=[(level, look) for level, look in LOOKS.items() if level in found],
        caption="Each attack with its 95 % interval. Where mark and diamond meet, the release gives nothing away. "
        "An area under the curve of 50 % is blind guessing.",
        shares=True,
        first="attack",
        title=title,
    )


def _row(finding: Finding) -> Interval:
    """An estimate that chance left below 0 or above 1 is drawn at the end."""
    estimate = finding.estimate
    value, low, high = (min(max(end, 0.0), 1.0) for end in (estimate.value, estimate.low, estimate.high))
    attack = all_attacks().get(finding.attack)
    title = attack.title if attack else finding.attack
    name = f"{title} ({AREA})" if finding.unit is Unit.AREA else title
    return Interval(name, value, low, high, finding.baseline.value)
