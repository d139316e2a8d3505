"""Attack a seeded preview on a declared sample, or a real release with its certificate."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import replace
from typing import Any

import coterie
from coterie.auditing import Audit
from coterie.auditing.attacks import Subject, all_attacks
from coterie.auditing.attacks.finding import Finding, Unit
from coterie.auditing.audit import QuotedPromise, chosen
from coterie.evaluation import all_measures
from coterie.methods import get_method
from coterie.promise.certificate import Certificate
from coterie.promise.signing import require_digest
from coterie.report.audit_page import audit_page, shown
from coterie.studio.project import Choice, PastRelease, Project, checked_file, store
from coterie.studio.promise import promised
from coterie.studio.sampling import SEED, sample_and_control, sample_rows
from coterie.studio.work import Tell
from coterie.table.reading import read_table


def audit(project: Project, parameters: dict[str, Any], tell: Tell) -> dict[str, Any]:
    """`parameters`: of (0: a preview, else the number of a release), rows, known, seconds, control, choice."""
    attacks, done = len(chosen(Subject.RELEASE, None)), 0

    def told(title: str) -> None:
        nonlocal done
        done += 1
        tell(done / (attacks + 1), f"Attack {done} of {attacks}: {title}")

    tell(None, "Reading the table")
    shared = {
        "control": parameters["control"] or None,
        "known": parameters["known"],
        "seconds": parameters["seconds"],
        "progress": told,
    }
    if parameters["of"]:
        found = _of_release(project, project.state.released[parameters["of"] - 1], shared)
    else:
        found = _of_preview(project, parameters["rows"], Choice(**parameters["choice"]), shared, tell)
    return {**_shown(found), "page": _page(project, found)}


def _of_preview(project: Project, rows: int, choice: Choice, shared: dict[str, Any], tell: Tell) -> Audit:
    """In row order: the auditor hides it from the attackers itself, and knows whose row is whose."""
    schema = project.schema()
    expected = promised(choice, schema, project.records)
    table, control = project.typed_table(), shared["control"]
    if control:
        sample = sample_rows(table, rows)
    else:
        unit = schema.unit.column if schema.unit else None
        sample, control = sample_and_control(table, rows, unit)
    tell(None, "Making a preview with seeded noise")
    preview = coterie.protect(sample, schema, **{**choice.settings, "shuffle": False}, seed=SEED)
    found = coterie.audit(sample, preview, schema, k=expected.k, **{**shared, "control": control})
    promise = QuotedPromise.of(choice.method, expected.guarantee)
    return replace(found, subject="preview with seeded noise", promised=promise)


def _of_release(project: Project, entry: PastRelease, shared: dict[str, Any]) -> Audit:
    schema, certificate = project.schema(), Certificate.read(entry.certificate)
    require_digest(entry.data, entry.table, certificate.release.digest)
    released = read_table(entry.data, table=entry.table, schema=schema.of_release)
    order = entry.internal if certificate.release.shuffled else None
    table = project.typed_table()
    found = coterie.audit(table, released, schema, certificate=certificate, order=order, **shared)
    store(checked_file(project, entry, "audit"), json.dumps(found.to_dict()))
    linked = not certificate.release.shuffled and not get_method(entry.choice.method).synthetic
    # Which column is the class to predict, only a person can say.
    measures = [name for name in all_measures() if name != "classification"]
    worth = coterie.evaluate(table, released, schema, measures=measures, shuffled=not linked)
    store(checked_file(project, entry, "evaluation"), json.dumps(worth.to_dict()))
    return found


def _shown(audit: Audit) -> dict[str, Any]:
    """What the page shows; an open end of an interval is null."""
    known = all_attacks()
    return {
        **audit.to_dict(),
        "not_run": [[known[n.attack].title, n.reason] for n in audit.not_run],
        "findings": [_finding(finding) for finding in audit.findings],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    attack, numbers = all_attacks()[finding.attack], finding.estimate
    return {
        "title": attack.title,
        "story": attack.story,
        "statistic": finding.statistic,
        "level": finding.level.value,
        "measured": shown(numbers, finding.unit),
        "baseline": shown(finding.baseline, finding.unit),
        "baseline_story": finding.baseline_story,
        "words": finding.words,
        "drawn": finding.unit in (Unit.SHARE, Unit.AREA),
        "area": finding.unit is Unit.AREA,
        # On the axis from 0 to 1; chance can leave an estimate a little outside.
        "bar": [
            min(max(number, 0.0), 1.0) if math.isfinite(number) else None
            for number in (numbers.value, numbers.low, numbers.high, finding.baseline.value)
        ],
    }


def _page(project: Project, audit: Audit) -> str:
    """The report, under a name that says what is inside: a cancelled job cannot leave another one's page."""
    content = audit_page(audit)
    name = f"audit-{hashlib.sha256(content.encode()).hexdigest()[:16]}.html"
    store(project.folder / name, content)
    last = project.folder / "audit.json"
    needed = {name, json.loads(last.read_text())["found"]["page"] if last.exists() else ""}
    for old in project.folder.glob("audit-*.html"):
        if old.name not in needed:
            old.unlink()
    return name
