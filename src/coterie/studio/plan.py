"""One release from its plan to its end: PROJECT/release.json, written before any noise is drawn.

    planned ──▶ begun ──▶ done       the files are in place, the ledger is charged once
                  │  ├──▶ nothing    nothing was published, nothing is charged
                  │  ├──▶ waiting    charged, not all in place yet; finishing costs nothing
                  │  └──▶ lost       charged, the files are gone
                  ▼
       a plan is begun at most once; which end it came to is read from the ledger, never guessed

Holds no value of the data and no password.
"""

from __future__ import annotations

import hashlib
import json
from typing import Literal

from pydantic import BaseModel, ConfigDict

from coterie.promise.certificate import Certificate
from coterie.publication.staging import stage_bytes
from coterie.studio.project import Choice, Project
from coterie.studio.table_cache import stamp


class Plan(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    state: Literal["planned", "begun", "done", "nothing", "waiting", "lost"] = "planned"
    made_from: str  # table, description and choice: what was confirmed is what is released
    data: str  # an absolute path, or a database's address without its password
    table: str | None
    certificate: str
    internal: str | None
    key: str | None
    ledger: str | None  # None: this release is not recorded in a ledger
    population: str | None
    choice: Choice
    cost: str | None  # ε; None for a method without noise
    fingerprint: str
    draft: Certificate  # what the certificate will say, but for the bytes and the time
    problem: str = ""
    advice: str = ""

    def ended(self, state: str, problem: str = "", advice: str = "") -> Plan:
        return self.model_copy(update={"state": state, "problem": problem, "advice": advice})


def read_plan(project: Project) -> Plan | None:
    path = project.folder / "release.json"
    return Plan.model_validate_json(path.read_bytes()) if path.exists() else None


def write_plan(project: Project, plan: Plan) -> None:
    path = project.folder / "release.json"
    stage_bytes(plan.model_dump_json(indent=2).encode(), path, force=True, private=True).publish()


def made_from(project: Project) -> str:
    """Changes when the table is read again, also in the moment before the project's state says so."""
    state, table = project.state, project.table_path.stat()
    parts = [
        state.loaded.digest if state.loaded else "",
        [table.st_ino, table.st_mtime_ns, table.st_size],
        stamp(project.source) if project.source else None,
        project.schema_path.read_text(encoding="utf-8"),
        state.choice.model_dump() if state.choice else {},
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
