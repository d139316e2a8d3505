"""However often and from however many tabs a release is confirmed, its noise is drawn once and charged once."""

from __future__ import annotations

import re
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from coterie.promise.certificate import Certificate
from coterie.promise.signing import released_digest
from coterie.publication import engine_runs
from coterie.publication.ledger import Ledger
from coterie.studio.project import Project
from coterie.studio.release_plan import ReleasePlan
from release_world import CHOICE, World, form, leftovers, spent


def planned(client: Any, project: Project, folder: Path, /, **changes: Any) -> str:
    answer = client.post(f"/p/{project.id}/release", data=form(project, folder, **changes))
    assert answer.status_code == 303, answer.text
    page = client.get(answer.headers["location"])
    return str(re.findall(r'name="plan" value="([0-9a-f]+)"', page.text)[0])


def confirmed(client: Any, project: Project, plan: str, **more: str) -> Any:
    data = {"plan": plan, "understood": "yes", **more}
    return client.post(f"/p/{project.id}/release/confirm", data=data)


def ended(client: Any, project: Project) -> Any:
    """The page that stands there once the release has come to its end."""
    ends = time.monotonic() + 120
    while time.monotonic() < ends:
        answer = client.get(f"/p/{project.id}/release/outcome")
        if "data-state" not in answer.text:
            return client.get(answer.headers["location"]) if answer.status_code == 303 else answer
        time.sleep(0.05)
    raise AssertionError("the release does not end")


def test_from_plan_to_verified_files(world: World) -> None:
    client, project, folder = world
    plan = planned(client, project, folder)
    page = client.get(f"/p/{project.id}/release/confirm").text
    assert "proved" in page
    assert 'id="after">9<' in page
    assert "spends ε = 1 and draws the noise once" in page
    assert not (folder / "out.csv").exists(), "nothing is drawn before the confirmation"
    assert spent(folder) == 0
    answer = confirmed(client, project, plan)
    assert (answer.status_code, answer.headers["location"]) == (303, f"/p/{project.id}/release/outcome")
    page = ended(client, project).text
    assert "Verified: these bytes belong to this certificate" in page
    assert "remaining 9" in page
    certificate = Certificate.from_json((folder / "out.csv.certificate.json").read_bytes())
    assert (
        released_digest(str(folder / "out.csv"), None, certificate.release.digest)
        == certificate.release.digest.value
    )
    assert not certificate.reproducible, "secure noise"
    assert certificate.guarantee == ReleasePlan.read(project).draft.guarantee, (
        "what was shown is what was certified"
    )
    assert certificate.notes == ReleasePlan.read(project).draft.notes
    assert spent(folder) == 1
    assert leftovers(folder) == []
    data = client.get(f"/p/{project.id}/release/1/data")
    assert data.content == (folder / "out.csv").read_bytes()
    assert "attachment" in data.headers["content-disposition"]
    assert client.get(f"/p/{project.id}/release/1/certificate").content == certificate.to_json().encode()
    for wrong in ("2", "0", "1/internal", "1/..%2Fstate.json"):
        assert client.get(f"/p/{project.id}/release/{wrong}").status_code == 404
    (folder / "out.csv").write_text("other")
    assert "the digests differ" in client.get(f"/p/{project.id}/release/1").text


def test_many_confirmations_at_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    client, project, folder = world
    draws: list[str] = []
    protect = engine_runs.protect_table

    def counted(*args: Any, **kwargs: Any) -> Any:
        draws.append("drawn")
        return protect(*args, **kwargs)

    monkeypatch.setattr(engine_runs, "protect_table", counted)
    plan = planned(client, project, folder)
    start, answers = threading.Barrier(12), []

    def press() -> None:
        start.wait()
        answers.append(confirmed(client, project, plan).status_code)

    hands = [threading.Thread(target=press) for _ in range(12)]
    for hand in hands:
        hand.start()
    for hand in hands:
        hand.join()
    assert answers == [303] * 12
    assert "Verified" in ended(client, project).text
    assert confirmed(client, project, plan).status_code == 303, "the page sent again after its end"
    assert "Verified" in ended(client, project).text
    assert draws == ["drawn"]
    assert spent(folder) == 1
    assert len(Project(project.folder).state.released) == 1


def test_an_old_page_confirms_nothing(world: World) -> None:
    client, project, folder = world
    old = planned(client, project, folder)
    new = planned(client, project, folder, name="other")
    answer = confirmed(client, project, old)
    assert answer.status_code == 400
    assert "older plan" in answer.text
    assert f'value="{new}"' in answer.text, "the plan that stands now is shown"
    assert spent(folder) == 0
    project.change(choice=CHOICE.model_copy(update={"epsilon": "2"}))
    answer = confirmed(client, project, new)
    assert answer.status_code == 400
    assert "was changed since this plan was made" in answer.text
    assert spent(folder) == 0
    assert not list(folder.glob("o*.csv*"))


def test_the_box_must_be_ticked(world: World) -> None:
    client, project, folder = world
    plan = planned(client, project, folder)
    answer = client.post(f"/p/{project.id}/release/confirm", data={"plan": plan})
    assert answer.status_code == 400
    assert "not ticked" in answer.text
    assert spent(folder) == 0


def test_a_further_release_says_that_it_spends_again(world: World) -> None:
    client, project, folder = world
    confirmed(client, project, planned(client, project, folder))
    ended(client, project)
    refused = client.post(f"/p/{project.id}/release", data=form(project, folder))
    assert "exists already" in refused.text
    plan = planned(client, project, folder, name="second")
    assert "spends ε = 1 again" in client.get(f"/p/{project.id}/release/confirm").text
    confirmed(client, project, plan)
    assert "Verified" in ended(client, project).text
    assert spent(folder) == 2
    assert (folder / "out.csv").read_bytes() != (folder / "second.csv").read_bytes(), "new noise"
    page = client.get(f"/p/{project.id}/release").text
    assert page.count(f'href="/p/{project.id}/release/1"') == 1
    assert f'href="/p/{project.id}/release/2"' in page


def test_without_a_ledger(world: World) -> None:
    client, project, folder = world
    plan = planned(client, project, folder, counted="none", internal="yes")
    assert "Not recorded in a ledger" in client.get(f"/p/{project.id}/release/confirm").text
    for _ in range(3):
        confirmed(client, project, plan)
    assert "not recorded in a ledger" in ended(client, project).text
    assert spent(folder) == 0
    assert (folder / "out.csv.internal.json").stat().st_mode & 0o077 == 0
    assert leftovers(folder) == []
    book = Ledger.inspect(project.folder / "journal.sqlite")
    assert [entry.state for entry in book.entries.values()] == ["released"]


def test_a_method_without_noise_is_counted_by_no_ledger(world: World) -> None:
    client, project, folder = world
    project.change(choice=CHOICE.model_copy(update={"method": "ir", "epsilon": "", "k": 50}))
    answer = client.post(f"/p/{project.id}/release", data=form(project, folder))
    assert "adds no noise" in answer.text
    confirmed(client, project, planned(client, project, folder, counted="none"))
    assert "no noise, so no ε" in ended(client, project).text


def test_a_database_as_target(world: World) -> None:
    client, project, folder = world
    target = {"kind": "database", "address": f"sqlite:///{folder}/out.db", "table": "released"}
    plan = planned(client, project, folder, **target)
    confirmed(client, project, plan)
    assert "Verified" in ended(client, project).text
    assert spent(folder) == 1
    assert client.get(f"/p/{project.id}/release/1/data").status_code == 404


def test_passwords_are_not_kept(world: World) -> None:
    client, project, folder = world
    target = {"kind": "database", "address": "postgresql://me:geheim@127.0.0.1:1/x", "table": "released"}
    confirmed(client, project, planned(client, project, folder, **target))
    page = ended(client, project).text
    assert "Nothing was published, and nothing is charged" in page
    assert "geheim" not in page
    kept = [path.read_bytes() for path in project.folder.iterdir() if path.is_file()]
    assert not any(b"geheim" in content for content in [*kept, (folder / "ledger.sqlite").read_bytes()])
    assert spent(folder) == 0


def test_two_tabs_where_one_changes_the_project(world: World) -> None:
    client, project, folder = world
    seen = form(project, folder)
    project.change(choice=CHOICE)
    answer = client.post(f"/p/{project.id}/release", data=seen)
    assert answer.status_code == 400
    assert "changed in another tab" in answer.text


def test_a_source_that_has_changed(world: World) -> None:
    client, project, folder = world
    plan = planned(client, project, folder)
    (folder / "people.csv").write_bytes((folder / "people.csv").read_bytes() + b"\n")
    assert "was changed since this plan was made" in confirmed(client, project, plan).text
    answer = client.post(f"/p/{project.id}/release", data=form(project, folder))
    assert "was changed or removed since it was read" in answer.text
    assert spent(folder) == 0


def test_a_journal_that_was_half_made_when_the_studio_was_killed(world: World) -> None:
    client, project, folder = world
    for name in ("journal.new", "journal.new-journal"):
        (project.folder / name).write_bytes(b"")
    confirmed(client, project, planned(client, project, folder, counted="none"))
    assert "Verified" in ended(client, project).text
    assert not list(project.folder.glob("journal.new*"))
