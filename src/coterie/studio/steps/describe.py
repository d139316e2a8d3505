"""Describe: what each column is, what happens to it, and what is public about it."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
from fastapi import APIRouter, Response
from starlette.responses import RedirectResponse

from coterie.errors import CoterieError, ParameterError, SchemaError
from coterie.schema.attributes import Attribute, AttributeType, Missing, Order, Outside, Role, Schema, Search
from coterie.studio.asking import Opened, Running
from coterie.studio.describing import FACTOR, Row, described, row_of, sent_row, suggest
from coterie.studio.forms import Form, Sent
from coterie.studio.jobs import Jobs, key_of
from coterie.studio.origins import marked, remembered
from coterie.studio.pages import step_page
from coterie.studio.project import Project, Stale
from coterie.studio.steps import description_files
from coterie.studio.steps.description_files import known_taxonomies, same_lines
from coterie.table.checked import category_column, same_columns

router = APIRouter()
router.include_router(description_files.router)
_CHOICES = {
    "roles": list(Role),
    "types": list(AttributeType),
    "orders": list(Order),
    "missing": list(Missing),
    "outside": list(Outside),
    "searches": list(Search),
}


@router.get("/p/{project}/describe")
def describe(project: Opened, jobs: Running) -> Response:
    return shown(project, jobs)


def shown(
    project: Project,
    jobs: Jobs,
    problem: CoterieError | None = None,
    rows: list[Row] | None = None,
    wrong: dict[str, SchemaError] | None = None,
    **typed: str,
) -> Response:
    """`rows`: as they were typed, where they could not be saved."""
    if project.state.loaded is None:
        return step_page(project, "describe", problem)
    if rows is None:
        rows = [row_of(attribute) for attribute in project.schema().attributes]
    _mark(project, rows)
    found = jobs.result(project, "load")
    columns = found["found"]["columns"] if found else []
    job, checked = jobs.find(project, "describe"), jobs.result(project, "describe")
    return step_page(
        project,
        "describe",
        problem,
        rows=rows,
        wrong=wrong or {},
        columns={column["name"]: column for column in columns},
        choices=_CHOICES,
        factor=FACTOR,
        taxonomies=known_taxonomies(project),
        job=job,
        checked=checked["found"] if checked and checked["key"] == key_of(project, "describe", {}) else None,
        same=same_lines(project),
        typed={"yaml": ""} | typed,
    )


@router.post("/p/{project}/describe")
def save(project: Opened, jobs: Running, form: Form) -> Response:
    """Every button of the page saves what was typed; what else it does stands in its name."""
    names = [attribute.name for attribute in project.schema().attributes]
    rows = [sent_row(form, place, name) for place, name in enumerate(names)]
    wrong: dict[str, SchemaError] = {}
    try:
        if form.several("name") != [name.strip() for name in names if name.strip()]:
            raise Stale  # other columns were loaded since
        if form.text("bulk"):
            _all_at_once(form, rows)
        wanted = _wanted(form, rows)
        # One bound by hand, the other from the data: the whole is saved once it is there.
        attributes, wrong = described([_without_half(row) if row in wanted else row for row in rows])
        wrong |= unusable(project, attributes)
        if wrong:
            raise _summary(wrong)
        described_now = project.schema().model_copy(update={"attributes": tuple(attributes)})
        text = project.marked(described_now).to_yaml()
        if text != project.schema().to_yaml() or form.version != project.state.version:
            project.change(form.version, schema=text)
        if wanted:
            _fill(project, form, rows, wanted)
    except Stale as problem:
        return shown(project, jobs, problem)  # what stands on disk now, not what the older page showed
    except CoterieError as problem:
        return shown(project, jobs, problem, rows, wrong)
    if form.text("check"):
        jobs.start(project, "describe", {})
    onward = "choose" if form.text("onward") else "describe"
    place = f"#a{form.text('suggest')}" if form.text("suggest").isdigit() else ""
    return RedirectResponse(f"/p/{project.id}/{onward}{place}", 303)


@router.post("/p/{project}/describe/import")
def take_in(project: Opened, jobs: Running, form: Form) -> Response:
    """A schema file in the place of what stands there."""
    text = form.text("yaml")
    try:
        if not text:
            raise SchemaError("No schema was given.", "Choose a file, or paste its text.")
        schema = Schema.load(text + "\n")
        same_columns(project.table().column_names, schema)
        for error in unusable(project, list(schema.attributes)).values():
            raise error
        project.change(form.version, schema=schema.to_yaml())
    except CoterieError as problem:
        return shown(project, jobs, problem, yaml=text)
    return RedirectResponse(f"/p/{project.id}/describe", 303)


def _all_at_once(form: Sent, rows: list[Row]) -> None:
    """Set one entry of all selected attributes."""
    chosen = [int(place) for place in form.several("selected") if place.isdigit() and int(place) < len(rows)]
    if not chosen:
        raise ParameterError("No attribute is selected.", "Tick the boxes before the names first.")
    entry, _, value = form.text("bulk_to").partition(": ")
    if entry not in ("role", "missing", "outside", "type"):
        raise ParameterError("Nothing was chosen for the selected attributes.", "Choose it in the list.")
    for place in chosen:
        setattr(rows[place], entry, value)


def _wanted(form: Sent, rows: list[Row]) -> list[Row]:
    """The attributes that shall be filled from the data: only those whose button was pressed."""
    pressed = form.text("suggest")
    if pressed == "all":
        return [row for row in rows if row.open]
    return [rows[int(pressed)]] if pressed.isdigit() and int(pressed) < len(rows) else []


def _fill(project: Project, form: Sent, rows: list[Row], wanted: list[Row]) -> None:
    """Each that can be filled is, and marked; the first that cannot be is told."""
    table, problem, filled = project.typed_table(), None, {}
    for row in wanted:
        try:
            filled[row.name] = suggest(row, table[row.name])
        except CoterieError as error:
            problem = problem or error
    attributes, _ = described([_without_half(row) for row in rows])
    schema = marked(project.schema().model_copy(update={"attributes": tuple(attributes)}), None, filled)
    project.change(project.state.version, schema=schema.to_yaml())
    if problem is not None:
        raise problem


def _without_half(row: Row) -> Row:
    return replace(row, lower="", upper="") if row.half else row


def _mark(project: Project, rows: list[Row]) -> None:
    """What the project knows of each row, whatever the form says."""
    schema = project.schema()
    taken = remembered(project.state.taken, schema)
    saved = {attribute.name: attribute for attribute in schema.attributes}
    for row in rows:
        row.taken = taken.get(row.name, ())
        row.leaks = saved[row.name].from_data.removesuffix(f" of {row.name}") if row.name in saved else ""


def unusable(project: Project, attributes: list[Attribute]) -> dict[str, SchemaError]:
    """Taxonomies that cannot be read, and lists of labels that no method can use."""
    nothing, wrong = pa.chunked_array([], pa.string()), {}
    for attribute in attributes:
        if attribute.type is AttributeType.CATEGORICAL and attribute.categories is not None:
            try:
                category_column(nothing, attribute, project.folder)
            except CoterieError as error:
                wrong[attribute.name] = SchemaError(
                    f"Attribute '{attribute.name}': {error.problem}", error.advice
                )
    return wrong


def _summary(wrong: dict[str, SchemaError]) -> SchemaError:
    first = next(iter(wrong.values()))
    if len(wrong) == 1:
        return SchemaError(first.problem, f"{first.advice} Nothing was saved.")
    return SchemaError(
        f"{len(wrong)} attributes are not right yet; nothing was saved.", "See the sentence at each of them."
    )
