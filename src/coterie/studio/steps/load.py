"""Load: what was read, its first rows, and reading it again."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response
from starlette.responses import RedirectResponse

from coterie.errors import CoterieError, DataError, ParameterError
from coterie.publication.ledger import without_credentials
from coterie.studio.asking import Opened, Running
from coterie.studio.forms import Form
from coterie.studio.jobs import Jobs
from coterie.studio.pages import step_page
from coterie.studio.project import Origin, Project
from coterie.studio.same_in_code import SHOWN, loading_lines
from coterie.studio.table_cache import is_untyped, stamp
from coterie.table.address import is_database
from coterie.table.formats import read_sheet
from coterie.table.reading import READERS, ending

router = APIRouter()
_LONGEST = 60  # letters of a cell
_NOTHING_YET: dict[str, Any] = {"columns": [], "new": [], "gone": [], "guessed": ""}


@router.get("/p/{project}/load")
def load(project: Opened, jobs: Running) -> Response:
    return _page(project, jobs)


def _page(project: Project, jobs: Jobs, problem: CoterieError | None = None) -> Response:
    job, project = jobs.find(project, "load"), Project(project.folder)
    # The table may be known before the job has said what it found; and an older studio said less.
    found = _NOTHING_YET | (jobs.result(project, "load") or {"found": {}})["found"]
    loaded, preview = project.state.loaded, []
    if loaded:
        head = project.table().slice(0, SHOWN).to_pylist()
        preview = [[_cell(cell) for cell in row.values()] for row in head]
    source = project.source
    return step_page(
        project,
        "load",
        problem,
        job=job,
        busy=job is not None and job.state in ("waiting", "running"),
        found=found,
        preview=preview,
        changed=bool(loaded and source and stamp(source) != loaded.stamp),
        untyped=source is not None and is_untyped(source),
        workbook=source is not None and READERS.get(ending(source)) is read_sheet,
        same=loading_lines(project) if loaded else [],
    )


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
    read(project, jobs, address)
    return RedirectResponse(f"/p/{project.id}/load", 303)


def read(project: Project, jobs: Jobs, address: str = "") -> None:
    """`address`: of a database, with its password, which is needed once and never written down."""
    origin = project.state.origin
    asked = {"source": str(project.source or ""), "table": origin.table, "query": origin.query}
    jobs.start(project, "load", asked, {"source": address} if address else None)


def database_origin(address: str, table: str, query: str) -> Origin:
    if not is_database(address):
        raise ParameterError("This is not the address of a database.", "Write postgresql://… or sqlite:///…")
    if bool(table) == bool(query):
        raise ParameterError("A database needs a table or a query.", "Give one of the two.")
    return Origin(
        kind="database", shown=without_credentials(address), table=table or None, query=query or None
    )


def _cell(value: object) -> str:
    text = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
