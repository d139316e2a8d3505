"""Statistics: what goes out, how the budget is split over it, and how far each number will be off.

The plan never looks at the data. The release is in statistics_release.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any

import yaml
from fastapi import APIRouter, Query, Request, Response
from starlette.responses import JSONResponse

from coterie.errors import CoterieError, ParameterError, nearest
from coterie.promise.posterior import most_sure, share_in_words
from coterie.schema.exact import number as short
from coterie.schema.exact import parse_epsilon
from coterie.statistics import allocators, read_specification
from coterie.statistics.allocators import DEFAULT
from coterie.statistics.planning.by_hand import grid_of
from coterie.statistics.specification.equations import READY_MADE
from coterie.studio.desk import entries
from coterie.studio.desk import first_specification as suggestion
from coterie.studio.desk import result as commands
from coterie.studio.desk.desk import Desk
from coterie.studio.desk.entries import LISTS, entry_of, fields_of, sent_fields
from coterie.studio.desk.first_specification import listed, settings_of
from coterie.studio.desk.result import shown
from coterie.studio.forms import Form, Sent
from coterie.studio.jobs import Jobs
from coterie.studio.pages import Opened, Running, attached, error_as_json, go, step_page
from coterie.studio.project import Project
from coterie.studio.steps import statistics_release

router = APIRouter()
router.include_router(statistics_release.router)


@router.get("/p/{project}/statistics")
def statistics(project: Opened, jobs: Running) -> Response:
    return _page(project, jobs)


def _sure(settings: dict[str, Any]) -> str:
    """How sure somebody can become at most who was 50 % sure of a fact. Empty for a budget with δ or in ρ."""
    if settings["unit"] != "epsilon":
        return ""
    try:
        return share_in_words(most_sure(float(parse_epsilon(str(settings["budget"])))))
    except CoterieError:  # the page says what is wrong with it
        return ""


def _page(
    project: Project, jobs: Jobs, problem: CoterieError | None = None, typed: dict[str, str] | None = None
) -> Response:
    desk = Desk(project)
    document = desk.document or suggestion.settings(project)
    split, fault, compared = None, None, None
    plan_notes: tuple[str, ...] = ()
    if document.get("statistics"):
        try:
            split, even = shown(desk), desk.even_plan()
            plan_notes = (*even.warnings, *even.notes)
            compared = _compared(desk, jobs)
        except CoterieError as error:
            fault = error
    return step_page(
        project,
        "statistics",
        problem,
        view="plan",
        desk=desk.state,
        job=jobs.job(project, "statistics"),
        document=document,
        settings=settings_of(document) | (typed or {}),
        sure=_sure(settings_of(document)),
        statistics=listed(document, "statistic", fault, plan_notes, project.schema()),
        tabled=suggestion.tabled(project.schema()),
        equations=listed(document, "equation", fault, plan_notes, project.schema()),
        split=split,
        fault=fault,
        notes=[note for note in plan_notes if not note.startswith(("Statistic '", "Equation '"))],
        compared=compared,
        usual=DEFAULT,
        short=short,
        equivalent=commands.planning(desk) if split else [],
    )


def _compared(desk: Desk, jobs: Jobs) -> dict[str, Any] | None:
    """The comparison, if it was made with this specification."""
    found = jobs.latest(desk.project, "statistics").found
    return found if found and found["specification"] == desk.specification().digest else None


def _changed(
    project: Project,
    jobs: Jobs,
    form: Sent,
    make: Callable[[dict[str, Any]], dict[str, Any]],
    typed: dict[str, str] | None = None,
) -> Response:
    """Replace the specification by the one that `make` returns, or show what is wrong with it."""
    desk = Desk(project)
    try:
        desk.write(form.version, make(desk.document or suggestion.settings(project)))
    except CoterieError as problem:
        return _page(project, jobs, problem, typed)
    return go(project, "statistics")


@router.post("/p/{project}/statistics/suggest")
def suggest(project: Opened, jobs: Running, form: Form) -> Response:
    def make(document: dict[str, Any]) -> dict[str, Any]:
        statistics, equations = suggestion.suggested(project.schema())
        if not statistics:
            raise ParameterError(
                "Nothing can be suggested: no attribute has declared bounds or few declared labels.",
                "Describe the table further, or add a statistic yourself.",
            )
        return {**document, "statistics": statistics, "equations": equations}

    return _changed(project, jobs, form, make)


@router.post("/p/{project}/statistics/table")
def add_table(project: Opened, jobs: Running, form: Form) -> Response:
    """A table that was put together on the page, with its margins."""

    def make(document: dict[str, Any]) -> dict[str, Any]:
        name, entry = suggestion.table_entry(project.schema(), form.several("by"), form.text("of"))
        known = document.get("statistics") or {}
        if name in known:
            raise ParameterError(f"The table '{name}' stands in the list already.", "Change it there.")
        return {**document, "statistics": {**known, name: entry}}

    return _changed(project, jobs, form, make)


@router.post("/p/{project}/statistics/settings")
def change_settings(project: Opened, jobs: Running, form: Form) -> Response:
    def make(document: dict[str, Any]) -> dict[str, Any]:
        unit = form.text("unit", "epsilon")
        budget = {"rho" if unit == "rho" else "epsilon": form.text("budget")}
        if unit == "delta":
            budget["delta"] = form.text("delta")
        records = form.whole("records", "The number of records")
        optional = {"records": records, "floor": form.text("floor"), "pilot": form.text("pilot")}
        kept = {name: value for name, value in document.items() if name not in optional}
        needed = {name: form.text(name) for name in ("release", "population", "neighbours")}
        expected = form.text("expected_from") or "the publisher's expectation"
        given = {name: value for name, value in optional.items() if value}
        return {**kept, **needed, "budget": budget, "expected_from": expected, **given}

    return _changed(project, jobs, form, make, {name: form.text(name) for name in form.names})


@router.post("/p/{project}/statistics/import")
def import_text(project: Opened, jobs: Running, form: Form) -> Response:
    """The specification as YAML, from a file or edited in the page. Its schema is the project's."""
    text = form.text("text")
    return _changed(
        project,
        jobs,
        form,
        lambda _: dict(read_specification(text + "\n", project.schema()).document),
        {"text": text},
    )


@router.get("/p/{project}/statistics/statistics.yaml")
def export_text(project: Opened) -> Response:
    """Send the specification with the schema inside, so that the file stands on its own."""
    desk = Desk(project)
    whole = {**desk.document, "schema": yaml.safe_load(project.schema_path.read_text(encoding="utf-8"))}
    text = yaml.safe_dump(whole, sort_keys=False, allow_unicode=True, width=100)
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", str(desk.document.get("release", "statistics")))
    return attached(text, f"{name}.yaml", "application/yaml")


@router.post("/p/{project}/statistics/move")
def move(project: Opened, form: Form) -> Response:
    """One share moved: the new split and what it does to every error, for the script of the page."""
    desk = Desk(project)
    try:
        design = desk.even_plan().design
        grid = grid_of(design)
        value = parse_epsilon(form.text("value"), "the budget")
        if form.flag("dragged"):  # a hand stops anywhere; a typed number is meant as it is
            value = round(value / grid) * grid
        desk.move(form.version, form.text("name"), value, tuple(form.several("locked")))
    except CoterieError as error:
        return error_as_json(error, 400)
    return JSONResponse({**shown(desk), "equivalent": [text for _, text in commands.planning(desk)]})


@router.post("/p/{project}/statistics/optimise")
def optimise(project: Opened, jobs: Running, form: Form) -> Response:
    desk = Desk(project)
    try:
        specification = desk.specification()
        rule = form.text("allocator", DEFAULT)
        if rule not in allocators():
            raise ParameterError("There is no such way of splitting.", "Choose one of the list.")
        solve = form.flag("solve")
        stated = [s.tolerance for s in specification.statistics]
        stated += [e.tolerance for e in specification.equations]
        if solve and all(tolerance is None for tolerance in stated):
            raise ParameterError(
                "No tolerance is stated.", "Give a statistic or an equation the error that you can accept."
            )
        parameters = {"seen": form.version, "allocator": rule, "solve": solve, "text": desk.state.text}
        jobs.start(project, "statistics", parameters)
    except CoterieError as problem:
        return _page(project, jobs, problem)
    return go(project, "statistics")


@router.get("/p/{project}/statistics/statistic")
@router.get("/p/{project}/statistics/equation")
def entry_form(request: Request, project: Opened, name: Annotated[str, Query()] = "") -> Response:
    view = request.url.path.rpartition("/")[2]
    return _form(project, view, name, fields_of(view, name, _found(Desk(project), LISTS[view], name)))


@router.post("/p/{project}/statistics/statistic")
@router.post("/p/{project}/statistics/equation")
def save_entry(request: Request, project: Opened, form: Form) -> Response:
    view = request.url.path.rpartition("/")[2]
    try:
        name, entry = entry_of(view, form, project.schema())
        _save(project, form, LISTS[view], name, entry)
    except CoterieError as problem:
        return _form(project, view, form.text("was"), sent_fields(form), problem)
    return go(project, "statistics")


@router.post("/p/{project}/statistics/remove")
def remove(project: Opened, form: Form) -> Response:
    desk, part, name = Desk(project), form.text("part"), form.text("name")
    views = {listed: view for view, listed in LISTS.items()}
    if part not in views:
        raise ParameterError("There is no such list.", "Use the page's own buttons.")
    found = _found(desk, part, name)
    try:
        document = desk.document
        desk.write(form.version, {**document, part: {n: e for n, e in document[part].items() if n != name}})
    except CoterieError as problem:
        return _form(project, views[part], name, fields_of(views[part], name, found), problem)
    return go(project, "statistics")


def _found(desk: Desk, part: str, name: str) -> Any:
    known = desk.document.get(part) or {}
    if not name:
        return None
    if name not in known:
        raise ParameterError(f"There is no entry '{name}'.", nearest(name, list(known)))
    return known[name]


def _save(project: Project, form: Sent, part: str, name: str, entry: Any) -> None:
    desk, was = Desk(project), form.text("was")
    document = desk.document or suggestion.settings(project)
    known = dict(document.get(part) or {})
    if name != was and name in known:
        raise ParameterError(f"'{name}' exists already.", "Choose another name, or change that entry.")
    if was in known:  # its place in the list is kept
        known = {name if n == was else n: entry if n == was else e for n, e in known.items()}
    else:
        known[name] = entry
    desk.write(form.version, {**document, part: known}, entry=name)


def _form(
    project: Project, view: str, was: str, fields: dict[str, str], problem: CoterieError | None = None
) -> Response:
    desk, schema = Desk(project), project.schema()
    try:
        names = [found.name for found in desk.specification().statistics] if desk.state.text else []
    except CoterieError:
        names = list(desk.document.get("statistics") or {})
    return step_page(
        project,
        "statistics",
        problem,
        view=view,
        desk=desk.state,
        was=was,
        fields=fields,
        kinds=entries.KINDS,
        attributes=schema.attributes,
        numeric=[a.name for a in schema.attributes if a.type in entries.NUMERIC],
        conditions=range(entries.CONDITIONS),
        filled=max((n + 1 for n in range(entries.CONDITIONS) if fields.get(f"where-column-{n}")), default=0),
        groups=range(entries.GROUPS),
        ready=READY_MADE,
        own=entries.OWN,
        names=names,
    )
