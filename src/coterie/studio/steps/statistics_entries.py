"""The forms of one statistic and of one equation. What is wrong is said beside what was typed."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from starlette.responses import RedirectResponse

from coterie.errors import CoterieError, ParameterError, nearest
from coterie.statistics.specification.equations import READY_MADE
from coterie.studio.asking import Opened
from coterie.studio.desk import equation, statistic
from coterie.studio.desk import listed as suggestion
from coterie.studio.desk.desk import Desk
from coterie.studio.forms import Form, Sent
from coterie.studio.pages import step_page
from coterie.studio.project import Project

router = APIRouter()


@router.get("/p/{project}/statistics/statistic")
def statistic_form(project: Opened, name: Annotated[str, Query()] = "") -> Response:
    found = _found(Desk(project), "statistics", name)
    fields = statistic.fields_of(name, found) if found is not None else {"kind": "count"}
    return _form(project, "statistic", name, fields)


@router.get("/p/{project}/statistics/equation")
def equation_form(project: Opened, name: Annotated[str, Query()] = "") -> Response:
    found = _found(Desk(project), "equations", name)
    fields = equation.fields_of(name, found) if found is not None else {"ready": "ratio"}
    return _form(project, "equation", name, fields)


@router.post("/p/{project}/statistics/statistic")
def save_statistic(project: Opened, form: Form) -> Response:
    try:
        name, entry = statistic.entry_of(form, project.schema())
        _save(project, form, "statistics", name, entry)
    except CoterieError as problem:
        return _form(project, "statistic", form.text("was"), statistic.sent_fields(form), problem)
    return RedirectResponse(f"/p/{project.id}/statistics", 303)


@router.post("/p/{project}/statistics/equation")
def save_equation(project: Opened, form: Form) -> Response:
    try:
        name, entry = equation.entry_of(form)
        _save(project, form, "equations", name, entry)
    except CoterieError as problem:
        return _form(project, "equation", form.text("was"), statistic.sent_fields(form), problem)
    return RedirectResponse(f"/p/{project.id}/statistics", 303)


@router.post("/p/{project}/statistics/remove")
def remove(project: Opened, form: Form) -> Response:
    desk, part, name = Desk(project), form.text("part"), form.text("name")
    if part not in ("statistics", "equations"):
        raise ParameterError("There is no such list.", "Use the page's own buttons.")
    view, fields_of = (
        ("statistic", statistic.fields_of) if part == "statistics" else ("equation", equation.fields_of)
    )
    found = _found(desk, part, name)
    try:
        document = desk.document
        desk.write(form.version, {**document, part: {n: e for n, e in document[part].items() if n != name}})
    except CoterieError as problem:
        return _form(project, view, name, fields_of(name, found), problem)
    return RedirectResponse(f"/p/{project.id}/statistics", 303)


def _found(desk: Desk, part: str, name: str) -> Any:
    entries = desk.document.get(part) or {}
    if not name:
        return None
    if name not in entries:
        raise ParameterError(f"There is no entry '{name}'.", nearest(name, list(entries)))
    return entries[name]


def _save(project: Project, form: Sent, part: str, name: str, entry: Any) -> None:
    desk, was = Desk(project), form.text("was")
    document = desk.document or suggestion.settings(project)
    entries = dict(document.get(part) or {})
    if name != was and name in entries:
        raise ParameterError(f"'{name}' exists already.", "Choose another name, or change that entry.")
    if was in entries:  # its place in the list is kept
        entries = {name if n == was else n: entry if n == was else e for n, e in entries.items()}
    else:
        entries[name] = entry
    desk.write(form.version, {**document, part: entries}, entry=name)


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
        kinds=statistic.KINDS,
        attributes=schema.attributes,
        numeric=[a.name for a in schema.attributes if a.type in statistic.NUMERIC],
        conditions=range(statistic.CONDITIONS),
        filled=max(
            (n + 1 for n in range(statistic.CONDITIONS) if fields.get(f"where-column-{n}")), default=0
        ),
        groups=range(statistic.GROUPS),
        ready=READY_MADE,
        own=equation.OWN,
        names=names,
    )
