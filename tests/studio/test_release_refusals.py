"""Whatever stands in the way of a release is said in a sentence, and leaves neither a file nor a charge behind."""

from __future__ import annotations

import errno
import os
import sqlite3
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from test_release_once import confirmed, ended, planned

from coterie.errors import OutputError
from coterie.publication import staging as staged_table
from coterie.publication.ledger import storage
from coterie.publication.staged_files import StagedFile
from coterie.studio.auth import StudioHome
from coterie.studio.release_plan import ReleasePlan
from release_world import CHOICE, World, form, leftovers, ready_project, spent

GIVEN_BACK = "Nothing was published, and nothing is charged"


def untouched(folder: Path) -> None:
    assert not list(folder.glob("out*"))
    assert leftovers(folder) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"folder": "/nowhere/at/all"}, "There is no folder /nowhere/at/all"),
        ({"folder": ""}, "No folder was named"),
        ({"name": ""}, "has no name"),
        ({"name": "../out"}, "has no name, or one with a slash"),
        ({"name": "x" * 300}, "cannot be used here"),
        ({"format": ".xlsx"}, "There is no such format"),
        ({"population": "peopel"}, "Did you mean &#39;people&#39;?"),
        ({"ledger": "/nowhere/ledger.sqlite"}, "There is no ledger at"),
        ({"ledger": ""}, "No ledger was named"),
        ({"key": "/nowhere/key"}, "key"),
        ({"kind": "database", "address": "people.csv", "table": "t"}, "needs its address"),
        ({"kind": "database", "address": "sqlite:///x.db", "table": ""}, "needs its address"),
    ],
)
def test_refused_before_the_confirmation(world: World, changes: dict[str, str], words: str) -> None:
    client, project, folder = world
    answer = client.post(f"/p/{project.id}/release", data=form(project, folder, **changes))
    assert answer.status_code == 400
    assert words in answer.text
    for name in ("folder", "name", "ledger", "population"):  # what was typed stays
        if name in changes:
            assert f'value="{changes[name]}"' in answer.text
    assert ReleasePlan.read(project) is None
    untouched(folder)


def test_the_table_itself_is_never_overwritten(world: World) -> None:
    client, project, folder = world
    before = (folder / "people.csv").read_bytes()
    answer = client.post(f"/p/{project.id}/release", data=form(project, folder, name="people"))
    assert "exists already" in answer.text
    assert (folder / "people.csv").read_bytes() == before


def test_more_than_is_left(world: World) -> None:
    client, project, folder = world
    project.change(choice=CHOICE.model_copy(update={"epsilon": "11"}))
    answer = client.post(f"/p/{project.id}/release", data=form(project, folder))
    assert "has epsilon 10 left of 10; this release asks for 11" in answer.text
    untouched(folder)


def test_spent_by_somebody_else_in_the_meantime(world: World) -> None:
    client, project, folder = world
    project.change(choice=CHOICE.model_copy(update={"epsilon": "6"}))
    (folder / "other").mkdir()
    other = ready_project(StudioHome(folder / "home"), folder / "other", choice=project.state.choice)
    mine, theirs = planned(client, project, folder), planned(client, other, folder, name="other")
    confirmed(client, project, mine)
    ended(client, project)
    confirmed(client, other, theirs)
    page = ended(client, other).text
    assert GIVEN_BACK in page
    assert "has epsilon 4 left of 10" in page
    assert not (folder / "other.csv").exists()
    assert spent(folder) == 6


def test_a_file_that_appears_after_the_plan(world: World) -> None:
    client, project, folder = world
    plan = planned(client, project, folder)
    (folder / "out.csv").write_text("mine")
    confirmed(client, project, plan)
    page = ended(client, project).text
    assert GIVEN_BACK in page
    assert "exists already" in page
    assert (folder / "out.csv").read_text() == "mine"
    again = client.get(f"/p/{project.id}/release").text
    for typed in (f'value="{folder}"', 'value="out"', 'value="people"'):
        assert typed in again, "to begin anew, nothing has to be typed again"
    assert spent(folder) == 0


@pytest.mark.parametrize("content", [b"", b"not a ledger at all" * 100])
def test_what_is_no_ledger(world: World, content: bytes) -> None:
    client, project, folder = world
    (folder / "strange.sqlite").write_bytes(content)
    asked = form(project, folder, ledger=folder / "strange.sqlite")
    answer = client.post(f"/p/{project.id}/release", data=asked)
    assert "is not a Coterie ledger" in answer.text
    untouched(folder)


def test_a_ledger_that_was_tampered_with(world: World) -> None:
    client, project, folder = world
    plan = planned(client, project, folder)
    with sqlite3.connect(folder / "ledger.sqlite") as connection:
        connection.execute("DROP TRIGGER no_update")
        connection.execute("UPDATE events SET content = replace(content, '10', '99') WHERE number = 2")
    connection.close()
    assert "The ledger is damaged" in client.get(f"/p/{project.id}/release/confirm").text
    confirmed(client, project, plan)
    page = ended(client, project).text
    assert "what became of it cannot be seen now" in page
    assert "The ledger is damaged" in page
    untouched(folder)


def test_a_ledger_that_is_locked_and_then_free(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    client, project, folder = world
    plan = planned(client, project, folder)
    monkeypatch.setattr(storage, "WAIT_SECONDS", 0.2)
    holder = sqlite3.connect(folder / "ledger.sqlite", isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    confirmed(client, project, plan)
    page = ended(client, project).text
    assert "is locked" in page
    assert "what became of it cannot be seen now" in page
    again = client.post(f"/p/{project.id}/release", data=form(project, folder))
    assert again.status_code == 400, "no second plan while the first is not settled"
    holder.execute("ROLLBACK")
    holder.close()
    monkeypatch.setattr(storage, "WAIT_SECONDS", 60.0)  # a busy disk is no lock
    assert GIVEN_BACK in ended(client, project).text
    untouched(folder)
    confirmed(client, project, planned(client, project, folder))
    assert "Verified" in ended(client, project).text
    assert spent(folder) == 1


def test_a_full_disk(world: World) -> None:
    client, project, folder = world
    place = folder / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "coterie-test", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting a small file system is not allowed here")
    try:
        with suppress(OSError), (place / "filler").open("wb", buffering=0) as filler:
            while True:
                filler.write(bytes(4096))
        confirmed(client, project, planned(client, project, folder, folder=place))
        page = ended(client, project).text
        assert GIVEN_BACK in page
        assert "the disk is full" in page
        assert [path.name for path in place.iterdir()] == ["filler"]
        assert spent(folder) == 0
        (place / "filler").unlink()
        confirmed(client, project, planned(client, project, folder, folder=place))
        assert "Verified" in ended(client, project).text
        assert spent(folder) == 1
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def test_charged_but_not_in_place_is_finished_for_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, project, folder = world
    publish = StagedFile.publish

    def failing(self: StagedFile) -> None:
        if self.target.name == "out.csv":
            raise OSError(errno.EIO, "a cable was pulled")
        publish(self)

    monkeypatch.setattr(StagedFile, "publish", failing)
    plan = planned(client, project, folder)
    confirmed(client, project, plan)
    page = ended(client, project).text
    monkeypatch.setattr(StagedFile, "publish", publish)
    # Opening the ledger finishes a file by itself once nothing is in its way.
    if "Verified" not in page:
        assert "The release is charged, but not all of it is in place" in page
        client.post(f"/p/{project.id}/release/finish", data={})
        page = ended(client, project).text
    assert "Verified" in page
    assert spent(folder) == 1
    assert leftovers(folder) == []


def test_a_table_that_waits_is_finished_for_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    client, project, folder = world
    kinds = [getattr(staged_table, name) for name in dir(staged_table)]
    staged = [kind for kind in kinds if isinstance(kind, type) and hasattr(kind, "publish")]

    def failing(self: object) -> None:
        raise OutputError("The database went away.", "Try again.")

    with monkeypatch.context() as broken:
        for kind in staged:
            if kind.__module__ == staged_table.__name__:
                broken.setattr(kind, "publish", failing)
        target = {"kind": "database", "address": f"sqlite:///{folder}/out.db", "table": "released"}
        plan = planned(client, project, folder, **target)
        confirmed(client, project, plan)
        page = ended(client, project).text
    assert "The release is charged, but not all of it is in place" in page
    assert "costs nothing" in page
    assert spent(folder) == 1
    assert client.post(f"/p/{project.id}/forget").status_code == 400, "not while it waits"
    assert client.post(f"/p/{project.id}/release", data=form(project, folder)).status_code == 400
    confirmed(client, project, plan)
    assert "not all of it is in place" in ended(client, project).text, "the old page changes nothing"
    wrong = client.post(f"/p/{project.id}/release/finish", data={"address": "sqlite:////tmp/another.db"})
    assert "This is another database" in wrong.text
    client.post(f"/p/{project.id}/release/finish", data={})
    assert "Verified" in ended(client, project).text
    assert spent(folder) == 1
    assert client.post(f"/p/{project.id}/forget").status_code == 303


def test_making_a_ledger(world: World) -> None:
    client, project, folder = world
    new = form(project, folder, ledger=folder / "new.sqlite", population="patients", lifetime="3")
    for _ in range(2):  # a double click
        answer = client.post(f"/p/{project.id}/release/ledger", data={**new, "do": "make"})
        assert answer.status_code == 200, answer.text
        assert "Spent on “patients”" in answer.text
        assert "remaining 3" in answer.text
    answer = client.post(f"/p/{project.id}/release/ledger", data={**new, "do": "make", "lifetime": "4"})
    assert "already has population" in answer.text
    answer = client.post(f"/p/{project.id}/release/ledger", data={**new, "do": "make", "lifetime": "much"})
    assert "lifetime is not a finite number" in answer.text
    answer = client.post(f"/p/{project.id}/release/ledger", data={**new, "do": "look", "ledger": "/none"})
    assert "There is no ledger at /none" in answer.text
    assert 'value="out"' in answer.text, "what was typed stays"
    plan = planned(client, project, folder, ledger=folder / "new.sqlite", population="patients")
    confirmed(client, project, plan)
    assert "remaining 2" in ended(client, project).text


def test_values_that_the_description_forbids(world: World) -> None:
    client, project, folder = world
    text = project.schema_path.read_text().replace("upper: 100", "upper: 30", 1)
    assert text != project.schema_path.read_text()
    project.change(schema=text)
    answer = client.post(f"/p/{project.id}/release", data=form(project, folder))
    assert answer.status_code == 400, "said before the confirmation, not after"
    assert "age" in answer.text
    untouched(folder)
