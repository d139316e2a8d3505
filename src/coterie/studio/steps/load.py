"""The first page (the projects on this machine, and the ways to begin one) and Load: what was read, and reading it again."""

from __future__ import annotations

import hmac
import shutil
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from starlette.responses import JSONResponse, RedirectResponse

from coterie.errors import CoterieError, DataError, ParameterError
from coterie.publication.ledger import without_credentials
from coterie.report.charts.inline import small_bars
from coterie.schema.attributes import Attribute, Role
from coterie.studio.auth import AtHome, StudioHome
from coterie.studio.desk.desk import Desk
from coterie.studio.forms import Form
from coterie.studio.jobs import Jobs
from coterie.studio.pages import Opened, Releasing, Running, error_as_json, go, page, step_page
from coterie.studio.project import Origin, Project
from coterie.studio.same_in_code import SHOWN, loading_lines
from coterie.studio.steps import STEPS
from coterie.studio.table_cache import is_untyped, stamp
from coterie.studio.vocabulary import TYPES
from coterie.table.address import is_database
from coterie.table.hidden_files import put_file
from coterie.table.reading import READERS, ending, ending_advice, ending_problem, has_tables, neighbours

router = APIRouter()
_DATABASES = (".db", ".sqlite", ".sqlite3")


@router.get("/")
def front(request: Request, home: AtHome) -> Response:
    return _front(request, home)


def _front(request: Request, home: StudioHome, problem: CoterieError | None = None, **typed: str) -> Response:
    projects = Project.all(home.projects)
    return page(
        "front.html",
        status=400 if problem else 200,
        projects=projects,
        releases={p.id: len(p.state.released) + len(Desk(p).state.released) for p in projects},
        largest=request.app.state.largest_upload,
        endings=sorted(READERS),
        problem=problem,
        typed={"path": "", "address": "", "table": "", "query": ""} | typed,
    )


@router.get("/open")
def open_given(
    request: Request,
    home: AtHome,
    jobs: Running,
    path: Annotated[str, Query()],
    seal: Annotated[str, Query()] = "",
) -> Response:
    """`coterie studio FILE`. A link on another page, which cannot have the seal, opens nothing by itself."""
    if not hmac.compare_digest(seal.encode(), home.seal_of(path).encode()):
        stranger = ParameterError(
            "This address was not made by `coterie studio`, so nothing was opened.",
            "If you meant to open the file, its path stands below: press Open beside it.",
        )
        return _front(request, home, stranger, path=path)
    return _open_path(request, home, jobs, path)


def _open_path(request: Request, home: StudioHome, jobs: Jobs, path: str) -> Response:
    place = Path(path).expanduser().absolute()
    for project in Project.all(home.projects):  # the same file again is the same project
        if project.state.origin == Origin(kind="file", shown=str(place)):
            return go(project, "load")
    try:
        if not place.is_file():
            what = "is a folder" if place.is_dir() else "is not there"
            raise DataError(f"{place} {what}.", "Give one file." if place.is_dir() else neighbours(place))
        if place.suffix.lower() in _DATABASES:
            raise DataError(
                f"'{place.name}' is a database, not a table.",
                f"Under 'A database', write sqlite:///{place} and the name of a table.",
            )
        if ending(place) not in READERS:
            raise DataError(ending_problem(place), ending_advice(place, READERS))
    except CoterieError as problem:
        return _front(request, home, problem, path=path)
    project = Project.new(home.projects, place.name, Origin(kind="file", shown=str(place)))
    return read(project, jobs)


@router.post("/new")
def new(request: Request, home: AtHome, jobs: Running, form: Form) -> Response:
    """Make a project from a path on this machine, from a database, or with the demo's invented people."""
    kind = form.text("kind")
    if kind == "path":
        return _open_path(request, home, jobs, form.text("path"))
    if kind == "demo":
        project = Project.new(home.projects, "Invented people", Origin(kind="demo", shown="coterie demo"))
        return read(project, jobs)
    address, table, query = form.text("address"), form.text("table"), form.text("query")
    try:
        origin = database_origin(address, table, query)
    except CoterieError as problem:
        typed = {"address": without_credentials(address), "table": table, "query": query}
        return _front(request, home, problem, **typed)
    return read(Project.new(home.projects, table or "Query", origin), jobs, address)


@router.post("/upload")
async def upload(request: Request, home: AtHome, jobs: Running, name: Annotated[str, Query()]) -> Response:
    """The body is the file. It stays on this machine, in the studio's folder."""
    most = request.app.state.largest_upload
    safe = Path(name).name
    if ending(Path(safe)) not in READERS:
        return error_as_json(DataError(ending_problem(Path(safe)), ending_advice(Path(safe), READERS)), 400)
    too_large = DataError(
        f"The file is larger than {most // 1_000_000:,} MB.",
        "Give its path on this machine instead of uploading it, or start `coterie studio` with --largest-upload.",
    )
    if int(request.headers.get("content-length") or 0) > most:
        return error_as_json(too_large, 413)
    project = Project.new(home.projects, safe, Origin(kind="upload", shown=safe))
    place, size = project.source, 0
    assert place is not None
    hidden = place.with_name(f".{place.name}")  # a part of a file must never be read as the whole
    try:
        with hidden.open("xb") as sink:
            hidden.chmod(0o600)
            async for chunk in request.stream():
                size += len(chunk)
                if size > most:
                    raise too_large
                sink.write(chunk)
        put_file(hidden, place)
    except (CoterieError, OSError) as error:
        shutil.rmtree(project.folder, ignore_errors=True)
        if isinstance(error, CoterieError):
            return error_as_json(error, 413)
        return error_as_json(
            DataError(f"The file could not be kept ({error.strerror}).", "Make room on the disk."), 507
        )
    except BaseException:  # the browser went away in the middle
        shutil.rmtree(project.folder, ignore_errors=True)
        raise
    read(project, jobs)
    return JSONResponse({"address": f"/p/{project.id}/load"})


@router.post("/p/{project}/rename")
def rename(request: Request, home: AtHome, project: Opened, form: Form) -> Response:
    try:
        name = form.text("name")
        if not name or len(name) > 100 or not name.isprintable():
            raise ParameterError("A project needs a name of 1 to 100 letters.", "Write another one.")
        project.change(form.version, name=name)
    except CoterieError as problem:
        return _front(request, home, problem)
    return RedirectResponse("/", 303)


@router.post("/p/{project}/forget")
def forget(project: Opened, jobs: Running, releases: Releasing) -> Response:
    """Removes the studio's copy and settings. Released files, certificates and ledgers stay where they are."""
    releases.forgettable(project)
    for step in STEPS:
        jobs.cancel(project, step.name)
    shutil.rmtree(project.folder)
    return RedirectResponse("/", 303)


_MOST_KEYS = 40  # columns to tick
_LONGEST = 60  # letters of a cell
_EXACT = 2**53
_NOTHING_YET: dict[str, Any] = {"columns": [], "new": [], "gone": [], "guessed": ""}


@router.get("/p/{project}/load")
def load(project: Opened, jobs: Running) -> Response:
    return _page(project, jobs)


def _page(project: Project, jobs: Jobs, problem: CoterieError | None = None) -> Response:
    last, project = jobs.latest(project, "load"), Project(project.folder)
    counted = jobs.latest(project, "risk")
    # The table may be known before the job has said what it found; and an older studio said less.
    found = _NOTHING_YET | (last.found or {})
    loaded, preview = project.state.loaded, []
    if loaded:
        head = project.table().slice(0, SHOWN).to_pylist()
        preview = [[_cell(cell) for cell in row.values()] for row in head]
    source, schema = project.source, project.schema() if project.schema_path.exists() else None
    attributes = {attribute.name: attribute for attribute in schema.attributes} if schema else {}
    keys = counted.parameters.get("keys", [])
    return step_page(
        project,
        "load",
        problem,
        schema=schema,
        attributes=attributes,
        positions={name: place for place, name in enumerate(attributes)},
        guesses={name: guessed_words(attribute) for name, attribute in attributes.items()},
        bars=small_bars,
        key_names=[a.name for a in attributes.values() if a.role is not Role.IDENTIFIER][:_MOST_KEYS],
        asked_keys=keys,
        risk={**counted.found, "by": keys} if counted.found and counted.made_with() else None,
        risk_job=counted.job,
        job=last.job,
        busy=last.under_way,
        found=found,
        preview=preview,
        changed=bool(loaded and source and stamp(source) != loaded.stamp),
        untyped=source is not None and is_untyped(source),
        workbook=source is not None and has_tables(source),
        same=loading_lines(project) if loaded else [],
    )


@router.post("/p/{project}/load/risk")
def risk(project: Opened, jobs: Running, form: Form) -> Response:
    """Count how easily people are found by some keys, in the table as it is."""
    keys = form.several("keys")
    if not keys:
        nothing = ParameterError("No key is ticked.", "Tick what others may know of a person.")
        return _page(project, jobs, nothing)
    jobs.start(project, "risk", {"keys": keys})
    return go(project, "load#risk")


@router.get("/p/{project}/risk")
def cancelled_risk(project: Opened) -> Response:
    """The page to go back to when counting is cancelled."""
    return go(project, "load#risk")


@router.post("/p/{project}/load")
def again(project: Opened, jobs: Running, form: Form) -> Response:
    """Read it once more: after a failure, a change on disk, or with another sheet or table."""
    origin, address = project.state.origin, form.text("address")
    try:
        if origin.kind == "database":
            origin = database_origin(address, form.text("table"), form.text("query"))
        elif origin.kind == "upload" and project.source and not project.source.exists():
            raise DataError(
                "The upload was not finished.", "Forget this project in the list, and upload the file again."
            )
        elif origin.kind != "demo":
            origin = origin.model_copy(update={"table": form.text("sheet") or None})
        project.change(form.version, origin=origin)
    except CoterieError as problem:
        return _page(project, jobs, problem)
    return read(project, jobs, address)


def read(project: Project, jobs: Jobs, address: str = "") -> Response:
    """`address`: of a database, with its password, which is needed once and never written down."""
    origin = project.state.origin
    asked = {"source": str(project.source or ""), "table": origin.table, "query": origin.query}
    jobs.start(project, "load", asked, {"source": address} if address else None)
    return go(project, "load")


def database_origin(address: str, table: str, query: str) -> Origin:
    if not is_database(address):
        raise ParameterError("This is not the address of a database.", "Write postgresql://… or sqlite:///…")
    if bool(table) == bool(query):
        raise ParameterError("A database needs a table or a query.", "Give one of the two.")
    return Origin(
        kind="database", shown=without_credentials(address), table=table or None, query=query or None
    )


def guessed_words(attribute: Attribute) -> str:
    """What the draft took a column for, in the words of the page."""
    if attribute.role is Role.IDENTIFIER:
        return "Identifier, dropped"
    return TYPES.get(attribute.type.value, attribute.type.value)


def _cell(value: object) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        value = int(value)  # SPSS stores codes as doubles
    text = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
