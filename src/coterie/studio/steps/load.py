"""Load: what was read, and its first rows."""

from __future__ import annotations

from fastapi import APIRouter, Response

from coterie.studio.asking import Opened, Running
from coterie.studio.pages import step_page

router = APIRouter()
_SHOWN = 20


@router.get("/p/{project}/load")
def load(project: Opened, jobs: Running) -> Response:
    preview: list[list[str]] = []
    columns = (jobs.result(project, "load") or {"found": {"columns": []}})["found"]["columns"]
    if project.state.loaded:
        head = project.table().slice(0, _SHOWN).to_pylist()
        preview = [["" if cell is None else str(cell) for cell in row.values()] for row in head]
    return step_page(project, "load", job=jobs.find(project, "load"), columns=columns, preview=preview)
