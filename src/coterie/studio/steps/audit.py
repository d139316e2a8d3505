"""Audit: attack it yourself before somebody else does."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from starlette.exceptions import HTTPException

from coterie.auditing.attacks.finding import Level
from coterie.errors import CoterieError, ParameterError
from coterie.promise.posterior import most_sure, share_in_words
from coterie.report.audit_page import AREA, LOOKS, attacks_figure
from coterie.report.charts import Figure, IntervalRow
from coterie.report.charts.inline import compared_mark
from coterie.report.charts.inline import sign as mark_sign
from coterie.report.charts.svg import Svg
from coterie.schema.exact import parse_epsilon
from coterie.studio.forms import Form, Sent
from coterie.studio.jobs import Jobs, Latest
from coterie.studio.pages import Opened, Running, download, go, picture, step_page
from coterie.studio.project import Project, SignedReason
from coterie.studio.same_in_code import audit_lines
from coterie.studio.sampling import ROWS

router = APIRouter()
_USUAL: dict[str, Any] = {"of": 0, "seconds": 60, "known": 0.04, "control": "", "rows": ROWS}


@router.get("/p/{project}/audit")
def audit(project: Opened, jobs: Running, of: Annotated[int | None, Query(ge=0)] = None) -> Response:
    asked = jobs.latest(project, "audit").parameters or _USUAL
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
    found = jobs.latest(project, "audit").found
    return download(project.folder / found["page"] if found else None, "audit-DO-NOT-PUBLISH.html")


@router.get("/p/{project}/audit/figure.{kind}")
def figure(project: Opened, jobs: Running, kind: str) -> Response:
    found = jobs.latest(project, "audit").found
    drawn = _figure(found["findings"]) if found else None
    if drawn is None or kind not in ("svg", "png", "csv"):
        raise HTTPException(404)
    return picture(drawn, "audit-DO-NOT-PUBLISH", kind)


@router.post("/p/{project}/audit/sign")
def sign(project: Opened, jobs: Running, form: Form) -> Response:
    """Record why a release goes on despite a severe finding. Without a reason nothing is released."""
    try:
        project.change(form.version, signed=SignedReason.sent(form, jobs.latest(project, "audit").key))
    except CoterieError as problem:
        return _shown(project, jobs, dict(_USUAL), problem)
    return go(project, "release")


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
    last = jobs.latest(project, "audit")
    found, made = last.found, last.parameters
    return step_page(
        project,
        "audit",
        problem,
        asked=asked,
        job=last.job,
        found=found,
        made=made,
        stale=found is not None and not _holds(last),
        figure=_figure(found["findings"]) if found else None,
        mark=_mark,
        key=_key(found["level"]) if found else [],
        changes=_changes(project, found, made) if found else [],
        gate=severe_audit(project, jobs),
        signed=signed_reason(project, jobs),
        ways=audit_lines(project, made) if found and project.state.choice else [],
    )


def _holds(last: Latest) -> bool:
    """Whether there is a result, of the table, the description and the method that stand now."""
    choice = last.project.state.choice
    preview = {"choice": choice.model_dump()} if choice and not last.parameters.get("of") else {}
    return last.made_with({**last.parameters, **preview})


def severe_audit(project: Project, jobs: Jobs) -> dict[str, Any] | None:
    """The last audit, if it found a severe risk in the current choice."""
    found, state = last_audit(project, jobs), project.state
    if found is None or found["level"] != Level.SEVERE:
        return None
    of = found["of"]
    return None if of and state.released[of - 1].choice != state.choice else found


def last_audit(project: Project, jobs: Jobs) -> dict[str, Any] | None:
    """The last audit, if it is of the current table, description and choice."""
    last = jobs.latest(project, "audit")
    return {**last.found, "of": last.parameters["of"]} if last.found and _holds(last) else None


def signed_reason(project: Project, jobs: Jobs) -> SignedReason | None:
    """The reason that was signed for the last audit. One for an earlier audit is void."""
    signed, last = project.state.signed, jobs.latest(project, "audit")
    return signed if signed is not None and last.found and signed.audit == last.key else None


def _changes(project: Project, found: dict[str, Any], made: dict[str, Any]) -> list[tuple[str, str]]:
    """What would change the verdict, from what is known without another audit."""
    rows, promised, epsilon = [], found["promised"], made["choice"]["epsilon"]
    proved = promised is not None and promised["status"] == "proved"
    if found["level"] == Level.SEVERE:
        rows.append(
            ("The recommended release", "Its promise is proved, so it limits every attack, also these.")
        )
        if not proved:
            rows.append(
                ("A smaller ε, larger groups", "They blur values. They prove nothing where the proof fails.")
            )
    if found["control"]:
        rows.append(
            ("No people held back as control", "Then nobody could tell population knowledge from a leak.")
        )
    else:
        rows.append(
            ("People outside the file as control", "Then the attacks that have no verdict now would get one.")
        )
    if proved and epsilon and not made["choice"].get("delta"):
        once, twice = (share_in_words(most_sure(times * float(parse_epsilon(epsilon)))) for times in (1, 2))
        added = f"Promises add up: the ε of both counts, and {once} becomes {twice}."
        rows.append(("A second release about the same people", added))
    holds = "The promise holds against it too. An audit can find leaks; only the proof rules them out."
    rows.append(("A cleverer attack", holds if proved else "Nothing rules it out: there is no proof."))
    return rows


def _mark(finding: dict[str, Any]) -> Svg:
    """Draw a finding on a scale from 0 to 1. An ε or a multiple has no place there."""
    value, low, high, baseline = finding["bar"]
    shown = finding["drawn"] and value is not None
    return compared_mark(value, low, high, baseline, LOOKS[finding["level"]]) if shown else Svg()


def _key(level: str) -> list[Svg]:
    severe = Level.SEVERE if level == Level.SEVERE else Level.NOTHING
    return [mark_sign(*LOOKS[severe]), mark_sign("diamond", 8, hollow=True)]


def _figure(findings: list[dict[str, Any]]) -> Figure | None:
    shown = [finding for finding in findings if finding["drawn"] and finding["bar"][0] is not None]
    rows = [
        IntervalRow(f"{finding['title']}{f' ({AREA})' if finding['area'] else ''}", *finding["bar"])
        for finding in shown
    ]
    return attacks_figure(rows, [finding["level"] for finding in shown])
