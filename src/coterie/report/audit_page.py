"""The audit as one HTML page that opens offline: verdict in words, what is promised, what was measured, what was not."""

from __future__ import annotations

from html import escape

from coterie.auditing.attacks import all_attacks
from coterie.auditing.attacks.finding import Estimate, Finding, Level, Unit, percent
from coterie.auditing.audit import WARNING, Audit
from coterie.report.audit_figure import audit_figure
from coterie.report.charts import number
from coterie.report.charts.figure import script
from coterie.report.html_report import page_style


def audit_page(audit: Audit) -> str:
    """The whole page."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Audit: {escape(audit.subject)}</title><style>{page_style()}</style></head>\n"
        f"<body>{audit_section(audit)}<script>{script()}</script></body></html>\n"
    )


def audit_section(audit: Audit) -> str:
    """The page without its frame, to be mounted in a larger report (which must include page_style() once)."""
    control = f"{audit.control:,} people as control" if audit.control else "no control group"
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
        _picture(audit),
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


def _picture(audit: Audit) -> str:
    figure = audit_figure(audit)
    return f"<h2>What was measured</h2>{figure.__html__()}" if figure else ""


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
    value, low = (max(end, 0.0) for end in (estimate.value, estimate.low))  # chance can leave a risk below 0
    return f"{write(value)} ({write(low)} – {write(estimate.high)})"


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
