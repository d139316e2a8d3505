"""What the release page shows as a command and as Python does the same release."""

from __future__ import annotations

from pathlib import Path

import pytest

from coterie.promise.certificate import Certificate
from coterie.promise.signing import make_key
from coterie.studio.auth import StudioHome
from coterie.studio.forms import Sent
from coterie.studio.project import Project
from coterie.studio.release_plan import ReleaseForm, plan_of
from coterie.studio.same_in_code import release_ways
from release_world import CHOICE, form, ledger, ready_project, spent
from shown_lines import run_lines


@pytest.fixture
def project(tmp_path: Path) -> Project:
    ledger(tmp_path)
    make_key(tmp_path / "key")
    choice = CHOICE.model_copy(update={"shuffle": True, "clip": False})
    return ready_project(StudioHome(tmp_path / "home"), tmp_path, choice=choice)


@pytest.mark.parametrize(
    "changes",
    [
        {"internal": "yes", "name": "with a space", "format": ".parquet"},
        {"counted": "none", "format": ".dta"},
        {"kind": "database", "table": "released"},
    ],
)
def test_the_lines_do_the_release(project: Project, tmp_path: Path, changes: dict[str, str]) -> None:
    if "kind" in changes:
        changes = {**changes, "address": f"sqlite:///{tmp_path}/out.db"}
    asked = ReleaseForm.sent(
        Sent(
            {name: [text] for name, text in form(project, tmp_path, key=tmp_path / "key", **changes).items()}
        )
    )
    plan = plan_of(project, asked)
    command, python = release_ways(project, plan)
    run_lines(tmp_path, command)
    by_command = Certificate.from_json(Path(plan.certificate).read_bytes())
    for path in (plan.certificate, plan.internal, None if plan.table else plan.data):
        if path:
            Path(path).unlink()
    if plan.table:
        (tmp_path / "out.db").unlink()
    run_lines(tmp_path, python)
    by_python = Certificate.from_json(Path(plan.certificate).read_bytes())
    for found in (by_command, by_python):
        assert found.guarantee == plan.draft.guarantee
        assert found.notes == plan.draft.notes
        assert found.release.shuffled
        assert found.signature is not None
    assert spent(tmp_path) == (0 if plan.ledger is None else 2)
