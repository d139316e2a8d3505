"""Pages: templates, the words beside each term, and refusals that say what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from starlette.responses import HTMLResponse

from coterie._version import __version__
from coterie.errors import CoterieError
from coterie.methods.guarantee import beside_in_words
from coterie.report.charts import number
from coterie.schema.exact import as_text
from coterie.studio.project import Project
from coterie.studio.steps import STEPS
from coterie.studio.words import GLOSSARY


def _said(promise: Any) -> str:
    """The label beside its status, which some labels begin with."""
    found = promise if isinstance(promise, dict) else {"status": promise.status, "label": promise.label}
    return str(found["label"]).removeprefix(f"{found['status']}; ")


STATIC = Path(__file__).parent / "static"
_pages = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=select_autoescape(default=True),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_pages.globals.update(version=__version__, glossary=GLOSSARY)
_pages.filters["exact"] = as_text
_pages.filters["short"] = lambda fraction: f"{float(fraction):.4g}"
_pages.filters["number"] = number
_pages.filters["said"] = _said
_pages.filters["beside"] = beside_in_words
_pages.filters["thousands"] = lambda count: f"{count:,}"


def page(template: str, *, status: int = 200, **content: Any) -> HTMLResponse:
    return HTMLResponse(_pages.get_template(template).render(**content), status)


def step_page(
    project: Project,
    step: str,
    problem: CoterieError | None = None,
    *,
    template: str = "",
    status: int = 200,
    **content: Any,
) -> HTMLResponse:
    """The page of one step, with the way through all of them. A step that has to wait says what for.

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
