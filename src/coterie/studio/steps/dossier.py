"""The dossier of a release: two pages to sign, internal or public, as HTML or PDF. Composed anew whenever it is taken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse

from coterie.errors import CoterieError, ParameterError
from coterie.report.dossier import NoReason, compose_dossier, dossier_pdf
from coterie.report.dossier_page import dossier_page
from coterie.studio.forms import Form
from coterie.studio.pages import Opened, attached, numbered, step_page
from coterie.studio.project import PastRelease, Project, SignedReason, checked_file
from coterie.studio.vocabulary import AUDIENCES
from coterie.table.address import without_credentials

router = APIRouter()
# A page of its own, with the style that stands in it: it may do nothing else.
_SHOWN = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'; sandbox"
_KINDS = {"html": "text/html; charset=utf-8", "pdf": "application/pdf"}


@router.get("/p/{project}/release/{number}/dossier/{version}.{kind}")
def dossier(
    project: Opened,
    number: int,
    version: str,
    kind: str,
    title: Annotated[str, Query(max_length=200)] = "",
    view: str = "",
) -> Response:
    return _taken(project, number, version, kind, title, view)


@router.post("/p/{project}/release/{number}/dossier/{version}.{kind}")
def dossier_of_a_table(project: Opened, number: int, version: str, kind: str, form: Form) -> Response:
    """Write the dossier of a table behind a password, whose address is not kept; or of a release that needs a reason."""
    if form.text("reason") and not (entry := numbered(project.state.released, number)).despite:
        released = list(project.state.released)
        released[number - 1] = entry.model_copy(update={"despite": str(SignedReason.sent(form))})
        project.change(released=tuple(released))
    return _taken(
        project, number, version, kind, form.text("title")[:200], form.text("view"), form.text("address")
    )


def _taken(
    project: Project, number: int, version: str, kind: str, title: str, view: str, address: str = ""
) -> Response:
    entry = numbered(project.state.released, number)
    if version not in ("internal", "public") or kind not in _KINDS:
        raise HTTPException(404)
    try:
        if address and (entry.table is None or without_credentials(address) != entry.data):
            raise other_database(entry)
        made = compose_dossier(
            address or entry.data, public=version == "public", **facts(project, number, title)
        )
        content = dossier_page(made).encode() if kind == "html" else dossier_pdf(made)
    except CoterieError as problem:
        return step_page(
            project,
            "release",
            problem,
            template="release_problem.html",
            number=number,
            title=title,
            unreasoned=isinstance(problem, NoReason),
        )
    if view and kind == "html":
        return HTMLResponse(content, headers={"Content-Security-Policy": _SHOWN})
    name = f"{entry.table or Path(entry.data).name}.{'public-' if version == 'public' else ''}dossier.{kind}"
    return attached(content, name, _KINDS[kind])


def facts(project: Project, number: int, title: str) -> dict[str, Any]:
    """The arguments of `coterie.write_dossier`, beside the released file."""
    entry = project.state.released[number - 1]
    audit, evaluation = (checked_file(project, entry, kind) for kind in ("audit", "evaluation"))
    return {
        "table": entry.table,
        "certificate": entry.certificate,
        "audit": audit if audit.exists() else None,
        "evaluation": evaluation if evaluation.exists() else None,
        "ledger": entry.ledger,
        "title": title.strip() or None,
        "audience": AUDIENCES[project.state.wish.audience].words,
        "despite": entry.despite or None,
    }


def other_database(entry: PastRelease) -> ParameterError:
    return ParameterError("This is not the database of the release.", f"Give the address of {entry.data}.")


def level_of(project: Project, entry: PastRelease) -> str:
    """What the audit of the released table found, or nothing where none was made."""
    try:
        return str(json.loads(checked_file(project, entry, "audit").read_text(encoding="utf-8"))["level"])
    except (OSError, ValueError, KeyError):
        return ""
