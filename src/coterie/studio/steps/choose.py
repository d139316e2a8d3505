"""Choose."""

from __future__ import annotations

from fastapi import APIRouter, Response

from coterie.studio.asking import Opened
from coterie.studio.pages import step_page

router = APIRouter()


@router.get("/p/{project}/choose")
def choose(project: Opened) -> Response:
    return step_page(project, "choose")
