"""The first page: the projects on this machine, and the ways to begin a new one."""

from __future__ import annotations

import hmac
import shutil
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from starlette.responses import JSONResponse, RedirectResponse

from coterie.errors import CoterieError, DataError, ParameterError
from coterie.publication.ledger import without_credentials
from coterie.studio.asking import AtHome, Opened, Releasing, Running
from coterie.studio.desk.desk import Desk
from coterie.studio.forms import Form
from coterie.studio.home import Home
from coterie.studio.jobs import Jobs
from coterie.studio.pages import page
from coterie.studio.project import Origin, Project
from coterie.studio.steps import STEPS
from coterie.studio.steps.load import database_origin, read
from coterie.table.reading import READERS, ending, ending_advice, ending_problem, neighbours

router = APIRouter()
_DATABASES = (".db", ".sqlite", ".sqlite3")


@router.get("/")
def front(request: Request, home: AtHome) -> Response:
    return _front(request, home)


def _front(request: Request, home: Home, problem: CoterieError | None = None, **typed: str) -> Response:
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


def _open_path(request: Request, home: Home, jobs: Jobs, path: str) -> Response:
    place = Path(path).expanduser().absolute()
    for project in Project.all(home.projects):  # the same file again is the same project
        if project.state.origin == Origin(kind="file", shown=str(place)):
            return RedirectResponse(f"/p/{project.id}/load", 303)
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
    return _begin(project, jobs)


@router.post("/new")
def new(request: Request, home: AtHome, jobs: Running, form: Form) -> Response:
    """From a path on this machine, from a database, or with the demo's invented people."""
    kind = form.text("kind")
    if kind == "path":
        return _open_path(request, home, jobs, form.text("path"))
    if kind == "demo":
        project = Project.new(home.projects, "Invented people", Origin(kind="demo", shown="coterie demo"))
        return _begin(project, jobs)
    address, table, query = form.text("address"), form.text("table"), form.text("query")
    try:
        origin = database_origin(address, table, query)
    except CoterieError as problem:
        typed = {"address": without_credentials(address), "table": table, "query": query}
        return _front(request, home, problem, **typed)
    return _begin(Project.new(home.projects, table or "Query", origin), jobs, address)


@router.post("/upload")
async def upload(request: Request, home: AtHome, jobs: Running, name: Annotated[str, Query()]) -> Response:
    """The body is the file. It stays on this machine, in the studio's folder."""
    most = request.app.state.largest_upload
    safe = Path(name).name
    if ending(Path(safe)) not in READERS:
        return _told(DataError(ending_problem(Path(safe)), ending_advice(Path(safe), READERS)), 400)
    too_large = DataError(
        f"The file is larger than {most // 1_000_000:,} MB.",
        "Give its path on this machine instead of uploading it, or start `coterie studio` with --largest-upload.",
    )
    if int(request.headers.get("content-length") or 0) > most:
        return _told(too_large, 413)
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
        hidden.replace(place)
    except CoterieError as error:
        shutil.rmtree(project.folder)
        return _told(error, 413)
    except OSError as error:
        shutil.rmtree(project.folder, ignore_errors=True)
        return _told(
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


def _begin(project: Project, jobs: Jobs, address: str = "") -> Response:
    read(project, jobs, address)
    return RedirectResponse(f"/p/{project.id}/load", 303)


def _told(error: CoterieError, status: int) -> Response:
    return JSONResponse({"problem": error.located, "advice": error.advice}, status)
