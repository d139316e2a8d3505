"""What all pages share: the project that the address names, templates with their filters, error pages, downloads."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request
from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response

from coterie._version import __version__
from coterie.errors import CoterieError
from coterie.methods.guarantee import beside_in_words, label_beside_status
from coterie.report.charts import Figure
from coterie.report.charts.svg import in_order
from coterie.schema.exact import brief, number, readable
from coterie.studio.jobs import Jobs
from coterie.studio.ledgers import MEANING
from coterie.studio.project import Project
from coterie.studio.releases import Releases
from coterie.studio.steps import STEPS
from coterie.studio.vocabulary import GLOSSARY

_ID = re.compile("[0-9a-f]{8}")  # a name that Project.new gives: no way out of the folder


def _opened(request: Request, project: str) -> Project:
    folder = request.app.state.home.projects / project
    if not _ID.fullmatch(project) or not (folder / "state.json").exists():
        raise HTTPException(404)
    return Project(folder)


def _jobs(request: Request) -> Jobs:
    jobs: Jobs = request.app.state.jobs
    return jobs


def _releases(request: Request) -> Releases:
    releases: Releases = request.app.state.releases
    return releases


Opened = Annotated[Project, Depends(_opened)]
Running = Annotated[Jobs, Depends(_jobs)]
Releasing = Annotated[Releases, Depends(_releases)]


def _grouped(notes: Iterable[str]) -> list[str]:
    """`age: public because …` of many columns as one sentence for all that have the same reason."""
    others, reasons = [], dict[str, list[str]]()
    for note in notes:
        name, because, reason = note.partition(": public because ")
        reasons.setdefault(reason, []).append(name) if because else others.append(note)
    return [*others, *(f"{', '.join(names)}: public because {reason}" for reason, names in reasons.items())]


Entry = TypeVar("Entry")
STATIC = Path(__file__).parent / "static"
_pages = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=select_autoescape(default=True),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_pages.globals.update(version=__version__, glossary=GLOSSARY, ledger_words=MEANING)
_pages.filters["brief"] = brief
_pages.filters["readable"] = readable
_pages.filters["minute"] = lambda at: at[:16].replace("T", " ")
_pages.filters["number"] = number
_pages.filters["said"] = label_beside_status
_pages.filters["beside"] = beside_in_words
_pages.filters["grouped"] = _grouped
_pages.filters["thousands"] = lambda count: f"{count:,}"


def page(template: str, *, status: int = 200, **content: Any) -> HTMLResponse:
    return HTMLResponse(in_order(_pages.get_template(template).render(**content)), status)


def step_page(
    project: Project,
    step: str,
    problem: CoterieError | None = None,
    *,
    template: str = "",
    status: int = 200,
    **content: Any,
) -> HTMLResponse:
    """Render the page of a step, with links to all steps. If the step is not ready, say what is missing.

    `template` is another page of the same step.
    """
    steps = [(entry, entry.waits_for(project)) for entry in STEPS]
    here, waits_for = next(pair for pair in steps if pair[0].name == step)
    return page(
        "waiting.html" if waits_for else template or f"{step}.html",
        status=400 if problem else status,
        project=project,
        state=project.state,
        steps=steps,
        step=here,
        waits_for=waits_for,
        problem=problem,
        **content,
    )


def refusal(status: int, problem: str, advice: str) -> HTMLResponse:
    return page("refusal.html", status=status, problem=problem, advice=advice)


def error_as_json(error: CoterieError, status: int) -> Response:
    """An error as the scripts of the pages read it."""
    return JSONResponse({"problem": error.located, "advice": error.advice}, status)


def go(project: Project, place: str) -> Response:
    """Redirect to another page of the project."""
    return RedirectResponse(f"/p/{project.id}/{place}", 303)


def numbered(entries: Sequence[Entry], number: int) -> Entry:
    """The entry with this number, counted from 1. Not found if there is none."""
    if not 1 <= number <= len(entries):
        raise HTTPException(404)
    return entries[number - 1]


def download(path: str | Path | None, name: str = "") -> Response:
    if path is None or not Path(path).is_file():
        raise HTTPException(404)
    return FileResponse(path, filename=name or Path(path).name, media_type="application/octet-stream")


def picture(figure: Figure, name: str, kind: str) -> Response:
    """A figure as an SVG or PNG file, or its numbers as CSV."""
    match kind:
        case "png":
            content: bytes | str = figure.png()
        case "svg":
            content = figure.svg()
        case _:
            return as_csv([figure.headings, *figure.rows], name)
    return attached(content, f"{name}.{kind}", {"png": "image/png", "svg": "image/svg+xml"}[kind])


def as_csv(rows: Iterable[Sequence[Any]], name: str) -> Response:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return attached(text.getvalue(), f"{name}.csv", "text/csv; charset=utf-8")


def attached(content: bytes | str, name: str, kind: str) -> Response:
    """An answer that the browser saves as a file."""
    return Response(
        content, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'}
    )
