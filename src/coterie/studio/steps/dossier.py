"""The dossier of a release: two pages to sign, internal or public, as HTML or PDF. Composed anew whenever it is taken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from starlette.exceptions import HTTPException

from coterie.errors import CoterieError
from coterie.report.dossier import compose_dossier
from coterie.report.dossier_page import dossier_page
from coterie.report.dossier_pdf import dossier_pdf
from coterie.studio.pages import Opened, step_page
from coterie.studio.project import PastRelease, Project, checked_file
from coterie.studio.words import AUDIENCES

router = APIRouter()
_KINDS = {"html": "text/html; charset=utf-8", "pdf": "application/pdf"}


@router.get("/p/{project}/release/{number}/dossier/{version}.{kind}")
def dossier(
    project: Opened, number: int, version: str, kind: str, title: Annotated[str, Query(max_length=200)] = ""
) -> Response:
    if not 1 <= number <= len(project.state.released) or version not in ("internal", "public"):
        raise HTTPException(404)
    entry = project.state.released[number - 1]
    if kind not in _KINDS:
        raise HTTPException(404)
    try:
        made = compose_dossier(entry.data, public=version == "public", **facts(project, number, title))
        content = dossier_page(made).encode() if kind == "html" else dossier_pdf(made)
    except CoterieError as problem:
        return step_page(project, "release", problem, template="release_problem.html", number=number)
    name = f"{entry.table or Path(entry.data).name}.{'public-' if version == 'public' else ''}dossier.{kind}"
    return Response(
        content, media_type=_KINDS[kind], headers={"Content-Disposition": f'attachment; filename="{name}"'}
    )


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


def level_of(project: Project, entry: PastRelease) -> str:
    """What the audit of the released table found, or nothing where none was made."""
    try:
        return str(json.loads(checked_file(project, entry, "audit").read_text(encoding="utf-8"))["level"])
    except (OSError, ValueError, KeyError):
        return ""
