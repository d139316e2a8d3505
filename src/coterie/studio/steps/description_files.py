"""Files around the description: the schema to take along, taxonomies that come with it, and the same as commands."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from starlette.responses import JSONResponse

from coterie.errors import CoterieError, DataError
from coterie.publication.staging import stage_bytes
from coterie.schema.attributes import Schema
from coterie.schema.taxonomy.loading import ADULT_ATTRIBUTES, load_taxonomy
from coterie.studio.asking import Opened
from coterie.studio.project import Project
from coterie.studio.same_in_code import given_options, source_of

router = APIRouter()
_FOLDER = "taxonomies"
_LARGEST = 20_000_000


@router.get("/p/{project}/schema.yaml")
def download(project: Opened) -> Response:
    """The file that the command reads; taxonomies are named by their full path, so that it works in any folder."""
    content = project.schema().to_dict()
    for entries in content["attributes"].values():
        named = (entries.get("categories") or {}).get("taxonomy")
        if named and not named.startswith("adult:"):
            entries["categories"]["taxonomy"] = str((project.folder / named).resolve())
    text = Schema.load(content).to_yaml()
    headers = {"Content-Disposition": 'attachment; filename="schema.yaml"'}
    return Response(text, media_type="application/yaml", headers=headers)


@router.post("/p/{project}/describe/taxonomy")
async def upload_taxonomy(request: Request, project: Opened, name: Annotated[str, Query()]) -> Response:
    """The body is the file. It is kept only if it can be read as a taxonomy."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _LARGEST:
            return _told(DataError("The taxonomy is larger than 20 MB.", "Give its path instead."), 413)
    place = project.folder / _FOLDER / Path(name).name
    place.parent.mkdir(exist_ok=True, mode=0o700)
    hidden = place.with_name(f".new.{place.name}")
    try:
        stage_bytes(body, hidden, force=True, private=True).publish()
        leaves = len(load_taxonomy(hidden).categories)
        hidden.replace(place)
    except CoterieError as error:
        hidden.unlink(missing_ok=True)
        return _told(error, 400)
    return JSONResponse({"taxonomy": f"{_FOLDER}/{place.name}", "labels": leaves})


def known_taxonomies(project: Project) -> list[str]:
    own = sorted(f"{_FOLDER}/{path.name}" for path in (project.folder / _FOLDER).glob("[!.]*"))
    return [*own, *(f"adult:{name}" for name in ADULT_ATTRIBUTES)]


def same_lines(project: Project) -> list[tuple[str, str]]:
    """The description as commands and as Python."""
    source, options = source_of(project)
    given, schema = given_options(options), str(project.schema_path)
    command = [
        "# A first draft of the same file, with what is public left open:",
        shlex.join(["coterie", "schema", "draft", source, *options, "--output", "schema.yaml"]),
        "# Whether the description of this page is complete:",
        shlex.join(["coterie", "schema", "check", schema]),
    ]
    python = [
        "import coterie",
        "",
        f"draft = coterie.Schema.draft({source!r}{given})",
        f"schema = coterie.Schema.load({schema!r})",
        f"table = coterie.read_table({source!r}{given}, schema=schema)",
    ]
    return [("Command", "\n".join(command)), ("Python", "\n".join(python))]


def _told(error: CoterieError, status: int) -> Response:
    return JSONResponse({"problem": error.located, "advice": error.advice}, status)
