"""A studio in a thread of the test, a client that speaks to it, and projects made in place."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa

from coterie.schema.attributes import Schema
from coterie.studio.auth import StudioHome
from coterie.studio.project import Choice, Loaded, Origin, Project
from coterie.studio.table_cache import keep
from coterie.table.demo_population import demo_population, demo_schema
from release_world import browser


@contextmanager
def visiting(folder: Path) -> Iterator[tuple[httpx.Client, StudioHome]]:
    """The studio on a port of its own, and a browser that is let in."""
    home = StudioHome(folder)
    with browser(home, follow_redirects=True) as client:
        yield client, home


def made_project(
    home: StudioHome,
    table: pa.Table | None = None,
    schema: Schema | None = None,
    choice: Choice | None = None,
) -> Project:
    """A loaded and described table; without one, invented people."""
    table = demo_population() if table is None else table
    project = Project.new(home.projects, "Invented people", Origin(kind="demo", shown="coterie demo"))
    digest = keep(table, project.table_path)
    loaded = Loaded(rows=table.num_rows, columns=table.num_columns, digest=digest)
    project.change(loaded=loaded, schema=(schema or demo_schema()).to_yaml(), choice=choice)
    return project


def finished(client: httpx.Client, project: Project, kind: str, seconds: float = 300) -> dict[str, Any]:
    """The job at its end."""
    ends = time.monotonic() + seconds
    while True:
        job: dict[str, Any] = client.get(f"/p/{project.id}/jobs/{kind}").json()
        if job["state"] not in ("waiting", "running"):
            return job
        assert time.monotonic() < ends, job
        time.sleep(0.05)
