"""What a request speaks of: the project in its address, the running jobs, the studio's folder."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import Depends, Request
from starlette.exceptions import HTTPException

from coterie.studio.home import Home
from coterie.studio.jobs import Jobs
from coterie.studio.project import Project
from coterie.studio.releases import Releases

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


def _home(request: Request) -> Home:
    home: Home = request.app.state.home
    return home


Opened = Annotated[Project, Depends(_opened)]
Running = Annotated[Jobs, Depends(_jobs)]
Releasing = Annotated[Releases, Depends(_releases)]
AtHome = Annotated[Home, Depends(_home)]
