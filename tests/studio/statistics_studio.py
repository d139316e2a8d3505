"""A studio without a browser, and a described table in it, for the tests of the statistics' pages."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import yaml
from statistics_people import RECORDS, SCHEMA, document, population

from coterie.studio.auth import StudioHome
from coterie.studio.desk.desk import Desk
from coterie.studio.project import Loaded, Origin, Project
from coterie.studio.table_cache import keep
from release_world import browser

_LABELS = {
    "region": {"role": "keep", "type": "categorical", "categories": {"labels": ["north", "south", "west"]}},
    "smoker": {"role": "keep", "type": "categorical", "categories": {"labels": ["yes", "no"]}},
}
DESCRIBED = {**SCHEMA, "attributes": {**SCHEMA["attributes"], **_LABELS}}


class Bench:
    """The pages of one project, asked as a browser asks them."""

    def __init__(self, home: StudioHome, client: httpx.Client) -> None:
        self.home, self.client = home, client
        self.project = Project.new(self.home.projects, "People.csv", Origin(kind="demo", shown="people"))
        digest = keep(population(), self.project.table_path)
        loaded = Loaded(rows=RECORDS, columns=4, digest=digest)
        self.project.change(loaded=loaded, schema=yaml.safe_dump(DESCRIBED, sort_keys=False))

    def get(self, path: str = "", status: int = 200) -> str:
        answer = self.client.get(f"/p/{self.project.id}/statistics{path}")
        assert answer.status_code == status, answer.text
        return unescape(answer.text)

    def post(self, path: str, status: int = 200, **fields: Any) -> str:
        """Follows the page that comes after; `version` is what the page shows now."""
        fields.setdefault("version", self.version)
        answer = self.client.post(f"/p/{self.project.id}/statistics{path}", data=fields)
        assert answer.status_code == status, unescape(re.sub(r"<[^>]*>", " ", answer.text))
        return unescape(answer.text)

    def move(self, name: str, value: str, *locked: str, status: int = 200, version: int | None = None) -> Any:
        fields = {"name": name, "value": value, "locked": list(locked)}
        fields["version"] = self.version if version is None else version
        answer = self.client.post(f"/p/{self.project.id}/statistics/move", data=fields)
        assert answer.status_code == status, answer.text
        return answer.json()

    def job(self) -> dict[str, Any]:
        """The job at its end."""
        ends = time.monotonic() + 300
        while True:
            told: dict[str, Any] = self.client.get(f"/p/{self.project.id}/jobs/statistics").json()
            if told["state"] not in ("waiting", "running"):
                return told
            assert time.monotonic() < ends, told
            time.sleep(0.05)

    @property
    def version(self) -> int:
        return Desk(self.project).state.version

    def specify(self, **changes: Any) -> None:
        """The specification of the library's own tests, through the page."""
        self.post("/import", text=specification(**changes))


@contextmanager
def working(folder: Path) -> Iterator[Bench]:
    """A studio that listens, and a client that comes from its own pages, with its cookie."""
    home = StudioHome(folder / "home")
    with browser(home, follow_redirects=True) as client:
        yield Bench(home, client)


def specification(**changes: Any) -> str:
    return str(yaml.safe_dump({**document(**changes), "schema": "schema.yaml"}, sort_keys=False))


def sentence(page: str) -> str:
    """What the page says is wrong."""
    found = re.search(r'<div class="problem" role="alert"><strong>(.*?)</strong>(.*?)</div>', page, re.DOTALL)
    assert found, page
    return f"{found[1]} {found[2].strip()}"
