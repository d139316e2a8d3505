"""Audit: attack it yourself before somebody else does."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from coterie.auditing.attacks.finding import Level
from coterie.errors import CoterieError, ParameterError
from coterie.report.audit_page import AREA, attacks_figure
from coterie.report.charts import Figure, IntervalRow
from coterie.studio.forms import Form, Sent
from coterie.studio.jobs import Jobs, key_of
from coterie.studio.pages import Opened, Running, download, go, step_page
from coterie.studio.project import Project
from coterie.studio.same_in_code import audit_lines
from coterie.studio.sampling import ROWS

router = APIRouter()
_USUAL: dict[str, Any] = {"of": 0, "seconds": 60, "known": 0.04, "control": "", "rows": ROWS}


@router.get("/p/{project}/audit")
def audit(project: Opened, jobs: Running, of: Annotated[int | None, Query(ge=0)] = None) -> Response:
    last = jobs.result(project, "audit")
    asked = dict(last["parameters"]) if last else _USUAL
    if of is not None and of <= len(project.state.released):
        asked = {**asked, "of": of}
    return _shown(project, jobs, {**asked, "known": f"{100 * asked['known']:.12g}"})


@router.post("/p/{project}/audit")
def start(project: Opened, jobs: Running, form: Form) -> Response:
    try:
        jobs.start(project, "audit", _parameters(project, form))
    except CoterieError as problem:
        typed = {name: form.text(name) for name in ("seconds", "known", "control", "rows")}
        asked = {**typed, "of": int(form.text("of")) if form.text("of").isdigit() else 0}
        return _shown(project, jobs, asked, problem)
    return go(project, "audit")


@router.get("/p/{project}/audit/report")
def report(project: Opened, jobs: Running) -> Response:
    """The page of `coterie audit`, for the steward only."""
    last = jobs.result(project, "audit")
    return download(project.folder / last["found"]["page"] if last else None, "audit-DO-NOT-PUBLISH.html")


def _parameters(project: Project, form: Sent) -> dict[str, Any]:
    of, rows = form.whole("of", "The release") or 0, form.whole("rows", "The number of rows") or ROWS
    seconds = form.whole("seconds", "The time") or 60
    if not 0 <= of <= len(project.state.released):
        raise ParameterError("There is no such release.", "Choose one from the list.")
    if seconds < 1 or rows < 10:
        raise ParameterError(
            "An audit needs a second and ten rows at least.", "Give more time, or more rows."
        )
    choice = project.state.released[of - 1].choice if of else project.state.choice
    if choice is None:
        raise ParameterError("No method was chosen.", "Choose one first.")
    return {
        "of": of,
        "seconds": seconds,
        "known": _share(form.text("known")),
        "control": form.text("control"),
        "rows": rows,
        "choice": choice.model_dump(),
    }


def _share(text: str) -> float:
    try:
        share = float(text.replace("%", "").replace(",", ".")) / 100
    except ValueError:
        share = -1.0
    if not 0 <= share < 1:
        raise ParameterError(
            "The share of known people is not a percentage from 0 to below 100.", "Write for example 4."
        )
    return share


def _shown(
    project: Project, jobs: Jobs, asked: dict[str, Any], problem: CoterieError | None = None
) -> Response:
    job, last = jobs.find(project, "audit"), jobs.result(project, "audit")
    found = last["found"] if last else None
    made = last["parameters"] if last else {}
    return step_page(
        project,
        "audit",
        problem,
        asked=asked,
        job=job,
        found=found,
        made=made,
        stale=bool(last) and _stale(project, last),
        figure=_figure(found["findings"]) if found else None,
        ways=audit_lines(project, made) if last and project.state.choice else [],
    )


def _stale(project: Project, last: dict[str, Any] | None) -> bool:
    """Whether the result is of another table, description or method than the ones that stand now."""
    assert last is not None
    now = dict(last["parameters"])
    if not now["of"] and project.state.choice is not None:
        now["choice"] = project.state.choice.model_dump()
    return bool(key_of(project, "audit", now) != last["key"])


def severe_audit(project: Project, jobs: Jobs) -> dict[str, Any] | None:
    """The last audit, where it found a severe risk in what stands here now."""
    last = jobs.result(project, "audit")
    if last is None or last["found"]["level"] != Level.SEVERE or _stale(project, last):
        return None
    of, state = last["parameters"]["of"], project.state
    if of and state.released[of - 1].choice != state.choice:
        return None
    return dict(last["found"])


def _figure(findings: list[dict[str, Any]]) -> Figure | None:
    shown = [finding for finding in findings if finding["drawn"] and finding["bar"][0] is not None]
    rows = [
        IntervalRow(f"{finding['title']}{f' ({AREA})' if finding['area'] else ''}", *finding["bar"])
        for finding in shown
    ]
    return attacks_figure(rows, [finding["level"] for finding in shown])
