"""The audit step: a preview or a real release is attacked in the background, and the page says what was found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest
from studio_client import finished, visiting
from test_release_once import confirmed, ended, planned

from coterie import demo_population
from coterie.publication.staging import stage
from coterie.studio.auth import StudioHome
from coterie.studio.project import Choice, Project
from coterie.studio.same_in_code import audit_lines
from coterie.studio.sampling import sample_and_control
from release_world import form, ledger, ready_project
from shown_lines import run_lines

CHOICE = Choice(method="idp-cbls", epsilon="1", k=50)

World = tuple[Any, Project, Path]
FORM = {"of": "0", "seconds": "500", "known": "4", "control": "", "rows": "400"}


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[httpx.Client, StudioHome]]:
    with visiting(tmp_path_factory.mktemp("audit") / "home") as (client, home):
        client.follow_redirects = False
        yield client, home


@pytest.fixture
def world(studio: tuple[httpx.Client, StudioHome], tmp_path: Path) -> World:
    client, home = studio
    ledger(tmp_path)
    return client, ready_project(home, tmp_path, choice=CHOICE), tmp_path


def attacked(client: Any, project: Project, **changes: str) -> str:
    answer = client.post(f"/p/{project.id}/audit", data={**FORM, **changes})
    assert answer.status_code == 303, answer.text
    job = finished(client, project, "audit")
    assert job["state"] == "done", job["problem"]
    return str(client.get(f"/p/{project.id}/audit").text)


def test_a_preview_is_attacked(world: World) -> None:
    client, project, _ = world
    assert "Nothing was attacked yet" in client.get(f"/p/{project.id}/audit").text
    page = attacked(client, project)
    assert "does not protect the people in it" in page, "the verdict comes first, in words"
    assert "A preview with seeded noise" in page
    assert "400 of 600 rows" in page, "the sample is declared"
    assert "severe risk" in page
    assert "status-refuted" in page
    assert "200 people as control, held back from the preview" in page, "so every attack has a verdict"
    assert "What was not run, and why" not in page
    assert "<svg" in page
    assert "older settings" not in page
    report = client.get(f"/p/{project.id}/audit/report")
    assert "audit-DO-NOT-PUBLISH.html" in report.headers["content-disposition"]
    assert "DO NOT PUBLISH" in report.text
    project.change(choice=CHOICE.model_copy(update={"k": 20}))
    assert "Made with older settings" in client.get(f"/p/{project.id}/audit").text


def test_a_severe_finding_stops_the_release_until_somebody_signs(world: World) -> None:
    client, project, folder = world
    plan = planned(client, project, folder)  # made before the audit
    page = attacked(client, project)
    assert "The guided path stops here" in page
    assert "Next: release and dossier" not in page
    blocked = client.get(f"/p/{project.id}/release").text
    assert "nothing can be released yet" in blocked
    assert 'id="plan"' not in blocked
    assert (
        "nobody signed a reason" in client.post(f"/p/{project.id}/release", data=form(project, folder)).text
    )
    assert "nobody signed a reason" in confirmed(client, project, plan).text
    assert not (folder / "out.csv").exists()
    for missing in ({"reason": "a test"}, {"name": "A. Steward"}):
        answer = client.post(f"/p/{project.id}/audit/sign", data={"version": version(project), **missing})
        assert "A reason and a name are needed" in answer.text
    signed = {"version": version(project), "reason": "invented people", "name": "A. Steward"}
    client.post(f"/p/{project.id}/audit/sign", data=signed)
    assert "A. Steward signed why it goes on" in client.get(f"/p/{project.id}/release").text
    project = Project(project.folder)
    confirmed(client, project, planned(client, project, folder))
    assert "invented people (A. Steward)" in ended(client, project).text
    attacked(client, project, of="1")
    dossier = client.get(f"/p/{project.id}/release/1/dossier/internal.html")
    assert "invented people (A. Steward)" in dossier.text
    project.change(choice=CHOICE.model_copy(update={"k": 20}))
    attacked(client, Project(project.folder))
    assert "nothing can be released yet" in client.get(f"/p/{project.id}/release").text, (
        "signed for another audit"
    )


def test_a_promise_that_does_not_hold_needs_a_reason_without_any_audit(world: World) -> None:
    client, project, folder = world
    project.change(choice=CHOICE)
    plan = planned(client, project, folder)
    assert "say why it goes on" in client.get(f"/p/{project.id}/release/confirm").text
    assert "A reason and a name are needed" in confirmed(client, project, plan).text
    assert not (folder / "out.csv").exists()
    confirmed(client, project, plan, reason="invented people", name="A. Steward")
    assert "invented people (A. Steward)" in ended(client, project).text
    place = f"/p/{project.id}/release/1/dossier/internal.html"
    assert "invented people (A. Steward)" in client.get(place).text
    (entry,) = Project(project.folder).state.released  # as an earlier version wrote it, which did not ask
    (folder / "out.csv.reason.json").unlink()
    Project(project.folder).change(released=(entry.model_copy(update={"despite": "", "ledger": None}),))
    assert 'name="reason"' in client.get(place).text
    assert "written later (B)" in client.post(place, data={"reason": "written later", "name": "B"}).text
    assert "written later (B)" in client.get(place).text


def test_nobody_of_an_attacked_household_is_in_the_control_group() -> None:
    homes = [place // 3 for place in range(300)]
    table = pa.table({"home": homes, "age": [place % 80 for place in range(300)]})
    sample, control = sample_and_control(table, 1000, unit="home")
    assert control is not None
    mine, theirs = (set(part["home"].to_pylist()) for part in (sample, control))
    assert not mine & theirs
    assert len(sample) == 3 * len(mine), "households stay whole"
    assert len(control) >= 0.19 * 300
    assert sample["home"].to_pylist() == sorted(sample["home"].to_pylist()), "in the order of the table"


def version(project: Project) -> str:
    return str(Project(project.folder).state.version)


def test_a_calm_audit_is_repeated_on_the_way_to_the_dossier(world: World) -> None:
    client, project, folder = world
    project.change(choice=Choice(method="dp-synthetic", epsilon="1"))
    assert "not attacked yet" in client.get(f"/p/{project.id}/release").text
    page = attacked(client, project)
    assert "Nothing found" in page
    assert "guided path stops" not in page
    assert "74 % becomes 89 %" in page
    numbers = client.get(f"/p/{project.id}/audit/figure.csv").text
    assert "Tie linkage" in numbers or "Attribute inference" in numbers
    project = Project(project.folder)
    plan = planned(client, project, folder)
    page = client.get(f"/p/{project.id}/release/confirm").text
    assert 'class="good" id="audited"' in page
    assert "10 → 9" in page
    confirmed(client, project, plan)
    ended(client, project)
    attacked(client, project, of="1")
    page = client.get(f"/p/{project.id}/release").text
    assert "It had no people outside the file to compare with." in page, "why there is no verdict"
    planned(client, project, folder, name="next")
    page = client.get(f"/p/{project.id}/release/confirm").text
    assert "attacks on release 1" in page
    assert "attack again with a control file" in page
    page = client.get(f"/p/{project.id}/release/1").text
    assert "what is lost" in page
    wanted = {"title": "Incomes of invented people"}
    internal = client.get(f"/p/{project.id}/release/1/dossier/internal.html", params=wanted)
    assert "out.csv.dossier.html" in internal.headers["content-disposition"]
    assert "Incomes of invented people" in internal.text
    viewed = client.get(f"/p/{project.id}/release/1/dossier/internal.html", params={**wanted, "view": "yes"})
    assert "content-disposition" not in viewed.headers
    assert viewed.text == internal.text
    assert "sandbox" in viewed.headers["content-security-policy"], "a page that may do nothing"
    public = client.get(f"/p/{project.id}/release/1/dossier/public.html", params=wanted)
    assert "everybody" in public.text
    assert client.get(f"/p/{project.id}/release/1/dossier/internal.pdf").content[:5] == b"%PDF-"
    (folder / "out.csv").write_text("x")
    assert "do not belong together" in client.get(f"/p/{project.id}/release/1/dossier/public.html").text


def test_a_control_file(world: World) -> None:
    client, project, folder = world
    others = demo_population(people=300, seed=99)
    place = others.column_names.index("person")
    others = others.set_column(place, "person", [[f"other {number}" for number in range(300)]])
    stage(others, folder / "others.csv", force=False).publish()
    page = attacked(client, project, control=str(folder / "others.csv"))
    assert "300 people as control" in page
    assert "Membership by distance" in page
    assert len(list(project.folder.glob("audit-*.html"))) == 1


@pytest.mark.parametrize("shuffled", [False, True])
def test_the_real_release_is_attacked(world: World, shuffled: bool) -> None:
    client, project, folder = world
    project.change(choice=CHOICE.model_copy(update={"shuffle": shuffled}))
    confirmed(client, project, planned(client, project, folder, internal="yes"), reason="a test", name="A")
    assert f'href="/p/{project.id}/audit?of=1"' in ended(client, project).text
    assert '<option value="1" selected' in client.get(f"/p/{project.id}/audit?of=1").text
    page = attacked(client, project, of="1")
    assert "Release 1 as it was published: 600 rows" in page
    assert "Linkage cannot be scored" not in page, "internal figures tell whose row is whose"
    project.change(choice=CHOICE.model_copy(update={"k": 20}))
    assert "older settings" not in client.get(f"/p/{project.id}/audit").text, "a release stays what it was"
    (folder / "out.csv").write_text("x")
    client.post(f"/p/{project.id}/audit", data={**FORM, "of": "1"})
    job = finished(client, project, "audit")
    assert "changed since they were certified" in job["problem"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"known": "100"}, "not a percentage from 0 to below 100"),
        ({"known": "many"}, "not a percentage from 0 to below 100"),
        ({"seconds": "soon"}, "The time is not a whole number"),
        ({"seconds": "-1"}, "a second and ten rows at least"),
        ({"rows": "3"}, "a second and ten rows at least"),
        ({"of": "7"}, "There is no such release"),
        ({"of": "x"}, "not a whole number"),
    ],
)
def test_what_cannot_be(world: World, changes: dict[str, str], words: str) -> None:
    client, project, _ = world
    answer = client.post(f"/p/{project.id}/audit", data={**FORM, **changes})
    assert answer.status_code == 400
    assert words in answer.text


def test_a_control_file_that_is_not_there(world: World) -> None:
    client, project, folder = world
    client.post(f"/p/{project.id}/audit", data={**FORM, "control": str(folder / "none.csv")})
    assert "There is no file" in finished(client, project, "audit")["problem"]


def test_the_same_without_the_page(world: World) -> None:
    client, project, folder = world
    attacked(client, project)
    made = {"of": 0, "seconds": 500, "known": 0.04, "control": "", "rows": 400}
    made["choice"] = CHOICE.model_dump()
    command, python = audit_lines(project, made)
    page = client.get(f"/p/{project.id}/audit").text
    verdict = run_lines(folder, python).strip()
    assert verdict.split(".")[0] in page
    assert verdict.replace("'", "&#39;") in page, "Python attacks the very same preview"
    run_lines(folder, command)
    assert (folder / "audit" / "audit.html").exists()
