"""A project that is ready to be released, and a browser without a screen that is let in."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from coterie import Ledger, demo_population, demo_schema
from coterie.publication.staging import stage
from coterie.studio.app import make_app
from coterie.studio.auth import COOKIE, StudioHome
from coterie.studio.project import Choice, Origin, Project
from coterie.studio.work.tables import load

World = tuple[Any, Project, Path]  # a browser, its project, and the folder of ledger and output
CHOICE = Choice(method="laplace", epsilon="1", k=1)  # proved, so a ledger counts it


def ready_project(
    home: StudioHome, folder: Path, people: int = 600, choice: Choice | None = CHOICE
) -> Project:
    """Invented people in a file, read, described and with a method."""
    source = folder / "people.csv"
    stage(demo_population(people=people), source, force=True).publish()
    project = Project.new(home.projects, source.name, Origin(kind="file", shown=str(source)))
    load(project, {"source": str(source), "table": None, "query": None}, lambda share, words: None)
    project.change(schema=demo_schema().to_yaml(), choice=choice)
    return project


@contextmanager
def browser(home: StudioHome, *, follow_redirects: bool = False) -> Iterator[httpx.Client]:
    """A studio that listens, and a client that comes from its own pages, with its cookie."""
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    app = make_app(home, port, home.announce(port), largest_upload=10**6)
    server = uvicorn.Server(uvicorn.Config(app, log_config=None))
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    root = f"http://127.0.0.1:{port}"
    try:
        with httpx.Client(
            base_url=root,
            headers={"Origin": root},
            cookies={COOKIE: home.session},
            follow_redirects=follow_redirects,
            timeout=300,
            trust_env=False,
        ) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join()


def ledger(folder: Path, lifetime: str = "10") -> Path:
    path = folder / "ledger.sqlite"
    Ledger.add_population(path, "people", lifetime)
    return path


def form(project: Project, folder: Path, /, **changes: Any) -> dict[str, str]:
    """What the page sends when a person goes on."""
    asked = {
        "version": str(Project(project.folder).state.version),
        "kind": "file",
        "folder": str(folder),
        "name": "out",
        "format": ".csv",
        "counted": "ledger",
        "ledger": str(folder / "ledger.sqlite"),
        "population": "people",
    }
    return {**asked, **{name: str(value) for name, value in changes.items()}}


def spent(folder: Path) -> Any:
    return Ledger.inspect(folder / "ledger.sqlite").balance("people").spent


def leftovers(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.endswith((".tmp", ".lock", "-journal"))]
