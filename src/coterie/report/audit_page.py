"""The audit as one HTML page that opens offline: verdict in words, what is promised, what was measured, what was not."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from coterie.auditing.attacks import all_attacks
from coterie.auditing.attacks.finding import Estimate, Finding, Level, Unit, percent
from coterie.auditing.audit import WARNING, Audit
from coterie.report.charts import Figure, IntervalRow, intervals
from coterie.report.charts.figure import page, page_style
from coterie.report.charts.marks import Look
from coterie.schema.exact import number


def audit_page(audit: Audit) -> str:
    """The whole page."""
    return page(f"Audit: {audit.subject}", audit_section(audit), page_style())


def audit_section(audit: Audit) -> str:
    """The page without its frame, to be mounted in a larger report (which must include page_style() once)."""
    control = f"{audit.control:,} people as control" if audit.control else "no control group"
    figure = audit_figure(audit)
    parts = [
        '<section class="audit">',
        "<h1>What an attacker still gets</h1>",
        f"<p>Audit of the {escape(audit.subject)}: {audit.people:,} people, {audit.rows:,} released rows, {control}; "
        f"the attacker knows the rows of {percent(audit.known)} of people. {audit.seconds:.1f} s.</p>",
        f'<p class="internal"><strong>{escape(WARNING)}</strong></p>',
        f'<p class="verdict {_level(audit.level)}"><strong>{escape(audit.level.capitalize())}.'
        f"</strong> {escape(' '.join(filter(None, (audit.verdict, audit.correction))))}</p>",
        *(f"<p><strong>Note.</strong> {escape(note)}</p>" for note in audit.notes),
        _promise(audit),
        f"<h2>What was measured</h2>{figure.__html__()}" if figure else "",
        _table(audit.findings),
        _not_run(audit),
        _stories(audit),
        "</section>",
    ]
    return "\n".join(part for part in parts if part)


def _promise(audit: Audit) -> str:
    promised = audit.promised
    if promised is None:
        return "<h2>What is promised</h2><p>No certificate was given, so there is no promise to compare with.</p>"
    return (
        f'<h2>What is promised</h2><div class="promise"><p>{_tag(promised.status, "status-" + promised.status)} '
        f"<strong>{escape(promised.method)}</strong>: {escape(promised.label)}.</p><p>{escape(promised.odds)}</p></div>"
    )


def _table(findings: tuple[Finding, ...]) -> str:
    if not findings:
        return ""
    rows = "".join(
        f"<tr><td><strong>{escape(_title(f.attack))}</strong><br>{_tag(f.level.value, _level(f.level))}</td>"
        f'<td class="number" data-label="measured ">{shown(f.estimate, f.unit)}</td>'
        f'<td class="number" data-label="baseline ">{shown(f.baseline, f.unit)}</td>'
        f"<td>{escape(f.words)}<br><small>{escape(f.statistic)}; baseline: {escape(f.baseline_story)}.</small></td></tr>"
        for f in findings
    )
    return (
        '<table class="stack"><thead><tr><th>attack</th><th>measured (95 % interval)</th><th>baseline</th>'
        "<th>in words</th></tr></thead>"
        f"<tbody>{rows}</tbody></table>"
    )


def shown(estimate: Estimate, unit: Unit) -> str:
    """A value with its interval in the unit of the attack."""
    write = percent if unit is Unit.SHARE else number
    if estimate.low == estimate.high:
        return write(estimate.value)
    if estimate.high == float("inf"):
        return f"at least {write(estimate.low)}"
    # Chance can leave a risk below 0.
    value, low, high = (max(end, 0.0) for end in (estimate.value, estimate.low, estimate.high))
    return f"{write(value)} ({write(low)} – {write(high)})"


def _not_run(audit: Audit) -> str:
    if not audit.not_run:
        return ""
    rows = "".join(
        f"<li><strong>{escape(_title(n.attack))}</strong>: {escape(n.reason)}.</li>" for n in audit.not_run
    )
    return f"<h2>What was not run</h2><ul>{rows}</ul>"


def _stories(audit: Audit) -> str:
    known = all_attacks()
    stories = "".join(
        f"<details><summary>{escape(known[f.attack].title)}</summary><p>{escape(known[f.attack].story)}</p>"
        f"<p>Needs: {escape('; '.join(known[f.attack].inputs))}. Cost: {escape(known[f.attack].cost)}.</p></details>"
        for f in audit.findings
        if f.attack in known
    )
    return f"<h2>Who the attackers are</h2>{stories}" if stories else ""


def _title(attack: str) -> str:
    known = all_attacks().get(attack)
    return known.title if known else attack


def _tag(words: str, class_: str) -> str:
    return f'<span class="status {class_}">{escape(words)}</span>'


def _level(level: Level) -> str:
    return f"level-{level.value.replace(' ', '-')}"


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


def attacks_figure(rows: Iterable[IntervalRow], levels: Iterable[str], *, title: str = "") -> Figure | None:
    """`levels` are the verdicts on the rows, in their order."""
    found = list(levels)
    drawn = [
        IntervalRow(row.name, row.value, row.low, row.high, row.mark, LOOKS[level])
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


def _row(finding: Finding) -> IntervalRow:
    """An estimate that chance left below 0 or above 1 is drawn at the end."""
    estimate = finding.estimate
    value, low, high = (min(max(end, 0.0), 1.0) for end in (estimate.value, estimate.low, estimate.high))
    attack = all_attacks().get(finding.attack)
    title = attack.title if attack else finding.attack
    name = f"{title} ({AREA})" if finding.unit is Unit.AREA else title
    return IntervalRow(name, value, low, high, finding.baseline.value)
