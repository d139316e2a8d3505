"""Describe: what each column is, what happens to it, and what is public about it; with the files around it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import yaml
from fastapi import APIRouter, Query, Request, Response
from starlette.responses import JSONResponse

from coterie.errors import CoterieError, DataError, ParameterError, SchemaError
from coterie.publication.staging import stage_bytes
from coterie.report.charts.inline import small_bars
from coterie.schema.attributes import Attribute, AttributeType, Missing, Order, Role, Schema
from coterie.schema.document import parse_yaml
from coterie.schema.provenance import marked, remembered
from coterie.schema.taxonomy.loading import ADULT_ATTRIBUTES, load_taxonomy
from coterie.studio.attribute_form import FACTOR, AttributeForm, described, row_of, sent_row, suggest
from coterie.studio.forms import Form, Sent
from coterie.studio.jobs import Jobs
from coterie.studio.pages import Opened, Running, attached, error_as_json, go, step_page
from coterie.studio.project import Project, Stale
from coterie.studio.same_in_code import describing_lines
from coterie.studio.suggestions import Suggestion, suggested
from coterie.studio.vocabulary import MISSING, OUTSIDE, ROLES, TYPES
from coterie.table.checked import same_columns
from coterie.table.columns.cells import without_marks
from coterie.table.columns.labels import category_column
from coterie.table.hidden_files import put_file

router = APIRouter()
_CHOICES = {"role": ROLES, "type": TYPES, "missing": MISSING, "outside": OUTSIDE}  # in words
_IN_ALL = {"protect": "protected", "weight": "weight", "keep": "kept untouched", "identifier": "dropped"}
_ONE_NUMBER = re.compile(r"\d[\d,]*(\.\d+)?")
_FEW = 6  # different texts, up to which a column may hold the usual answers to a question
Columns = dict[str, dict[str, Any]]


@router.get("/p/{project}/describe")
def describe(project: Opened, jobs: Running) -> Response:
    return shown(project, jobs)


def shown(
    project: Project,
    jobs: Jobs,
    problem: CoterieError | None = None,
    rows: list[AttributeForm] | None = None,
    wrong: dict[str, SchemaError] | None = None,
    **typed: str,
) -> Response:
    """`rows`: as they were typed, where they could not be saved."""
    if project.state.loaded is None:
        return step_page(project, "describe", problem)
    if rows is None:
        rows = [row_of(attribute) for attribute in project.schema().attributes]
    _mark(project, rows)
    known, schema = _columns(project, jobs), project.schema()
    checked = jobs.latest(project, "describe")
    offered = [row for row in rows if row.name not in project.state.dismissed]
    roles = Counter(row.role for row in rows)
    suggestions = {row.name: found for row in offered if (found := _suggestion(project, row, known))}
    return step_page(
        project,
        "describe",
        problem,
        rows=rows,
        wrong=wrong or {},
        columns=known,
        stops={row.name: empty for row in rows if (empty := _stops(project, row, known))},
        suggestions=suggestions,
        schema=schema,
        bars=small_bars,
        undoable=project.before_path.exists(),
        choices=_CHOICES,
        in_all=", ".join(f"{count} {_IN_ALL[role]}" for role in _IN_ALL if (count := roles[role])),
        orders={order: order for order in Order},
        factor=FACTOR,
        taxonomies=known_taxonomies(project),
        job=checked.job,
        checked=checked.found if checked.made_with({}) else None,
        same=describing_lines(project),
        typed={"yaml": "", "totals": _written_totals(schema)} | typed,
        rules=typed.get("rules", "\n".join(schema.rules)),
    )


def _columns(project: Project, jobs: Jobs) -> dict[str, dict[str, Any]]:
    """What the first look found about each column."""
    found = jobs.latest(project, "load").found
    return {column["name"]: column for column in found["columns"]} if found else {}


def _suggestion(project: Project, row: AttributeForm, known: Columns) -> Suggestion | None:
    """Suggest a description. The few labels of a text column say how the usual answers are spelled."""
    few = row.open == "labels" and known.get(row.name, {}).get("distinct", 99) <= _FEW
    return suggested(
        row, [str(text) for text in project.table()[row.name].unique().to_pylist()] if few else ()
    )


def _stops(project: Project, row: AttributeForm, known: Columns) -> int:
    """How many empty cells, marked ones included, would stop a release as the table is described."""
    if not row.protected or row.missing != Missing.ERROR or row.not_applicable or row.name not in known:
        return 0
    marks = tuple(row.marks.split("\n")) if row.marks else ()
    if not marks or project.state.loaded is None:
        return int(known[row.name].get("missing", 0))
    return _marked_cells(project.folder, project.state.loaded.digest, row.name, marks)


@lru_cache(maxsize=1024)
def _marked_cells(folder: Path, digest: str, name: str, marks: tuple[str, ...]) -> int:
    column = Project(folder).table()[name]
    if pa.types.is_nested(column.type):
        return int(column.null_count)
    attribute = Attribute(name=name, role=Role.IDENTIFIER, missing_marks=marks)
    return int(without_marks(column, attribute).null_count)


def _written_totals(schema: Schema) -> str:
    if schema.totals is None:
        return ""
    text = str(yaml.safe_dump(schema.totals.document(), sort_keys=False, allow_unicode=True))
    return text.removesuffix("...\n").strip()


@router.post("/p/{project}/describe")
def save(project: Opened, jobs: Running, form: Form) -> Response:
    """Every button of the page saves what was typed; what else it does stands in its name."""
    names = [attribute.name for attribute in project.schema().attributes]
    rows = [sent_row(form, place, name) for place, name in enumerate(names)]
    wrong: dict[str, SchemaError] = {}
    typed = form.text("rules", "\n".join(project.schema().rules))
    rules = tuple(line.strip() for line in typed.splitlines() if line.strip())
    try:
        if form.several("name") != [name.strip() for name in names if name.strip()]:
            raise Stale  # other columns were loaded since
        if form.text("bulk"):
            _all_at_once(form, rows)
        known = _columns(project, jobs)
        _mark(project, rows)
        for row in _pressed(form, "measure_missing", rows):
            if _stops(project, row, known):
                row.missing = Missing.OWN_CATEGORY
        for row in _pressed(form, "accept", rows):
            if found := _suggestion(project, row, known):
                found.accept(row)
        wanted = _pressed(form, "suggest", [row for row in rows if row.open], rows)
        # One bound by hand, the other from the data: the whole is saved once it is there.
        attributes, wrong = described([_without_half(row) if row in wanted else row for row in rows])
        wrong |= unusable(project, attributes)
        if wrong:
            raise _summary(wrong)
        described_now = project.schema().model_copy(update={"attributes": tuple(attributes), "rules": rules})
        # The unit's column stays an identifier, there is one weight, and rules fit.
        Schema.load(described_now.to_dict())
        text = project.marked(described_now).to_yaml()
        if text != project.schema().to_yaml() or form.version != project.state.version:
            project.change(form.version, schema=text)
        if unwanted := [row.name for row in _pressed(form, "dismiss", rows)]:
            project.change(dismissed=(*project.state.dismissed, *unwanted))
        if form.text("recall"):
            project.change(dismissed=())
        if wanted:
            _fill(project, rows, wanted)
        if form.text("onward"):
            _require_described(project, rows, known)
    except Stale as problem:
        return shown(project, jobs, problem)  # what stands on disk now, not what the older page showed
    except CoterieError as problem:
        return shown(project, jobs, problem, rows, wrong, rules=typed)
    if form.text("check"):
        jobs.start(project, "describe", {})
    onward = "recommend" if form.text("onward") else "describe"
    places = [form.text(name) for name in ("suggest", "accept", "dismiss", "measure_missing")]
    place = next((f"#a{place}" for place in places if place.isdigit()), "")
    return go(project, f"{onward}{place}")


def _pressed(
    form: Sent, button: str, every: list[AttributeForm], rows: list[AttributeForm] | None = None
) -> list[AttributeForm]:
    """The columns that a button applies to: the one beside it, or `every`. `rows`: all columns, if `every` is not."""
    value, rows = form.text(button), every if rows is None else rows
    if value == "all":
        return every
    return [rows[int(value)]] if value.isdigit() and int(value) < len(rows) else []


def _require_described(project: Project, rows: list[AttributeForm], known: Columns) -> None:
    """Refuse to go on while something is open. All was saved before."""
    left = [row.name for row in rows if row.open or _stops(project, row, known)]
    if left:
        names = ", ".join(left[:6]) + (f" and {len(left) - 6} more" if len(left) > 6 else "")
        raise ParameterError(
            f"Not complete yet: {names}.", "All was saved. The rows that are open say what they need."
        )


def _changed(
    project: Project,
    jobs: Jobs,
    form: Sent,
    make: Callable[[], Schema],
    to: str = "describe",
    **typed: Any,
) -> Response:
    """Replace the description by the one that `make` returns, or show what is wrong with it."""
    try:
        project.change(form.version, schema=make().to_yaml())
    except CoterieError as problem:
        return shown(project, jobs, problem, **typed)
    return go(project, to)


@router.post("/p/{project}/describe/import")
def take_in(project: Opened, jobs: Running, form: Form) -> Response:
    """Replace the description by a schema file."""
    text = form.text("yaml")

    def make() -> Schema:
        if not text:
            raise SchemaError("No schema was given.", "Choose a file, or paste its text.")
        schema = Schema.load(text + "\n")
        same_columns(project.table().column_names, schema)
        for error in unusable(project, list(schema.attributes)).values():
            raise error
        return schema

    return _changed(project, jobs, form, make, yaml=text)


@router.post("/p/{project}/describe/undo")
def undo(project: Opened, jobs: Running, form: Form) -> Response:
    """The description before the last change; pressed twice, the change comes back."""

    def make() -> Schema:
        if not project.before_path.exists():
            raise ParameterError("There is nothing to take back.", "The description is as it was drafted.")
        return Schema.load(project.before_path)

    return _changed(project, jobs, form, make)


@router.post("/p/{project}/describe/unit")
def unit(project: Opened, jobs: Running, form: Form) -> Response:
    """Who is protected: every row, or all rows of one household together."""

    def make() -> Schema:
        content = project.schema().to_dict()
        content.pop("unit", None)
        if form.text("kind") == "unit":
            column = form.text("column")
            if column not in content["attributes"]:
                raise ParameterError("No column was chosen.", "Choose the one that numbers the households.")
            at_most = form.whole("at_most", "The number of rows")
            content["unit"] = {"column": column, "at_most": at_most, "above": form.text("above")}
            content["attributes"][column]["role"] = Role.IDENTIFIER.value
        return Schema.load(content)

    return _changed(project, jobs, form, make, "recommend" if form.flag("recommended") else "describe#unit")


@router.post("/p/{project}/describe/totals")
def totals(project: Opened, jobs: Running, form: Form) -> Response:
    """What the weights of released rows add up to: one number, or numbers by attribute and label."""
    text = form.text("totals")

    def make() -> Schema:
        content = project.schema().to_dict()
        content.pop("totals", None)
        if text:
            written = text.replace(",", "") if _ONE_NUMBER.fullmatch(text) else text
            content["totals"] = parse_yaml(written, "The totals", SchemaError)
        return Schema.load(content)

    return _changed(project, jobs, form, make, "describe#totals", totals=text)


def _all_at_once(form: Sent, rows: list[AttributeForm]) -> None:
    """Set one entry of all selected attributes."""
    chosen = [int(place) for place in form.several("selected") if place.isdigit() and int(place) < len(rows)]
    if not chosen:
        raise ParameterError("No attribute is selected.", "Tick the boxes before the names first.")
    if because := form.text("bulk_because"):
        for place in chosen:
            rows[place].because = because
        if not form.text("bulk_to"):
            return
    entry, _, value = form.text("bulk_to").partition(": ")
    if value not in _CHOICES.get(entry, {}):
        raise ParameterError("Nothing was chosen for the selected attributes.", "Choose it in the list.")
    for place in chosen:
        setattr(rows[place], entry, value)


def _fill(project: Project, rows: list[AttributeForm], wanted: list[AttributeForm]) -> None:
    """Fill and mark every column that can be filled, then raise the first problem."""
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


def _without_half(row: AttributeForm) -> AttributeForm:
    return replace(row, lower="", upper="") if row.half else row


def _mark(project: Project, rows: list[AttributeForm]) -> None:
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


_FOLDER = "taxonomies"
_LARGEST = 20_000_000


@router.get("/p/{project}/schema.yaml")
def schema_file(project: Opened) -> Response:
    """The file that the command reads; taxonomies are named by their full path, so that it works in any folder."""
    content = project.schema().to_dict()
    for entries in content["attributes"].values():
        named = (entries.get("categories") or {}).get("taxonomy")
        if named and not named.startswith("adult:"):
            entries["categories"]["taxonomy"] = str((project.folder / named).resolve())
    text = Schema.load(content).to_yaml()
    return attached(text, "schema.yaml", "application/yaml")


@router.post("/p/{project}/describe/taxonomy")
async def upload_taxonomy(request: Request, project: Opened, name: Annotated[str, Query()]) -> Response:
    """The body is the file. It is kept only if it can be read as a taxonomy."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _LARGEST:
            return error_as_json(
                DataError("The taxonomy is larger than 20 MB.", "Give its path instead."), 413
            )
    place = project.folder / _FOLDER / Path(name).name
    place.parent.mkdir(exist_ok=True, mode=0o700)
    hidden = place.with_name(f".new.{place.name}")
    try:
        stage_bytes(body, hidden, force=True, private=True).publish()
        leaves = len(load_taxonomy(hidden).categories)
        put_file(hidden, place)
    except CoterieError as error:
        hidden.unlink(missing_ok=True)
        return error_as_json(error, 400)
    return JSONResponse({"taxonomy": f"{_FOLDER}/{place.name}", "labels": leaves})


def known_taxonomies(project: Project) -> list[str]:
    own = sorted(f"{_FOLDER}/{path.name}" for path in (project.folder / _FOLDER).glob("[!.]*"))
    return [*own, *(f"adult:{name}" for name in ADULT_ATTRIBUTES)]
