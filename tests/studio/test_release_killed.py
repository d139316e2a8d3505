"""The studio killed (-9) at any moment of a release, and started again: one charge, one draw, files whole or none."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from coterie.promise.certificate import Certificate
from coterie.promise.signing import released_digest
from coterie.publication.ledger import Ledger
from coterie.studio.auth import COOKIE, StudioHome
from coterie.studio.project import Project
from coterie.studio.release_plan import ReleasePlan
from release_world import form, ledger, leftovers, ready_project, spent

PEOPLE = 8_000  # enough for the writing to take its time


# Counts what the thread of a release asks of the system (files, names, the ledger), and dies at one of these steps.
STEPPING = """
import os, signal, sys, threading
told, deadly, steps = os.open(sys.argv.pop(1), os.O_WRONLY | os.O_CREAT, 0o600), int(sys.argv.pop(1)), 0
def step(event, _):
    global steps
    if event.startswith(("open", "os.", "fcntl.", "sqlite3.")) and threading.current_thread().name.startswith("release "):
        steps += 1
        os.pwrite(told, b"%d" % steps, 0)
        if steps == deadly:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(step)
"""


class Machine:
    """A studio that can be switched off."""

    def __init__(self, home: StudioHome) -> None:
        self.home = home
        self.steps = home.folder / "steps"
        self.start()

    def start(self, deadly: int = 0) -> None:
        """`deadly`: the step of a release at which it ends; 0: never."""
        main = f"{STEPPING}\nfrom coterie.cli import main; main()"
        command = [sys.executable, "-c", main, str(self.steps), str(deadly), "studio", "--no-browser"]
        self.process = subprocess.Popen(
            [*command, "--json", "--home", str(self.home.folder)], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        root = json.loads(self.process.stdout.readline())["address"].split("/?")[0]
        self.client = httpx.Client(
            base_url=root,
            headers={"Origin": root},
            cookies={COOKIE: self.home.session},
            timeout=120,
            trust_env=False,
        )

    def end(self, how: int) -> None:
        self.process.send_signal(how)
        self.process.wait(240)
        self.client.close()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def plan(self, project: Project, folder: Path, **changes: Any) -> str:
        answer = self.client.post(f"/p/{project.id}/release", data=form(project, folder, **changes))
        assert answer.status_code == 303, answer.text
        page = self.client.get(f"/p/{project.id}/release/confirm").text
        return str(re.findall(r'name="plan" value="([0-9a-f]+)"', page)[0])

    def confirm(self, project: Project, plan: str) -> httpx.Response:
        data = {"plan": plan, "understood": "yes"}
        return self.client.post(f"/p/{project.id}/release/confirm", data=data)

    def outcome(self, project: Project) -> httpx.Response:
        ends = time.monotonic() + 240
        while time.monotonic() < ends:
            answer = self.client.get(f"/p/{project.id}/release/outcome", follow_redirects=True)
            if "data-state" not in answer.text:
                return answer
            time.sleep(0.05)
        raise AssertionError("the release does not end")


@pytest.fixture(scope="module")
def everybodys_machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """Each test starts it once more, which costs enough."""
    machine = Machine(StudioHome(tmp_path_factory.mktemp("machine") / "home"))
    yield machine
    machine.end(signal.SIGKILL)


@pytest.fixture
def machine(everybodys_machine: Machine) -> Machine:
    if everybodys_machine.process.poll() is not None:  # the test before failed between a kill and a start
        everybodys_machine.start()
    return everybodys_machine


def soon(project: Project, there: Callable[[], Any]) -> None:
    """Until it is so, or the release is over: on a busy machine a moment may pass unseen."""
    while not there() and ReleasePlan.read(project).state in ("planned", "begun"):  # type: ignore[union-attr]
        time.sleep(0.001)


def moments(project: Project, folder: Path, name: str) -> dict[str, Callable[[], Any]]:
    """What can be seen from outside of how far a release is. (Every step between: tests/publication/test_killed.py.)"""
    return {
        "the intent is written": lambda: ReleasePlan.read(project).state != "planned",  # type: ignore[union-attr]
        "the data are in place": (folder / f"{name}.csv").exists,
        "it is recorded": lambda: len(Project(project.folder).state.released) > 0,
    }


@pytest.mark.parametrize("counted", ["ledger", pytest.param("none", marks=pytest.mark.slow)])
@pytest.mark.parametrize("moment", list(moments(None, Path(), "")))  # type: ignore[arg-type]
def test_killed_when(machine: Machine, tmp_path: Path, moment: str, counted: str) -> None:
    ledger(tmp_path)
    project = ready_project(machine.home, tmp_path, people=PEOPLE)
    plan = machine.plan(project, tmp_path, counted=counted)
    machine.confirm(project, plan)
    soon(project, moments(project, tmp_path, "out")[moment])
    machine.end(signal.SIGKILL)
    machine.start()
    page = machine.outcome(project).text
    settle(machine, project, tmp_path, "out", page, counted)
    # The page of before the kill, sent again: nothing happens.
    assert machine.confirm(project, plan).status_code == 303
    settle(machine, project, tmp_path, "out", machine.outcome(project).text, counted)
    if not (tmp_path / "out.csv").exists():  # given back: begin anew
        machine.confirm(project, machine.plan(project, tmp_path, counted=counted))
        page = machine.outcome(project).text
        assert settle(machine, project, tmp_path, "out", page, counted)
    assert spent(tmp_path) == (1 if counted == "ledger" else 0)
    assert len(charged(project, tmp_path, counted)) == 1
    assert len(Project(project.folder).state.released) == 1


def settle(
    machine: Machine, project: Project, folder: Path, name: str, page: str, counted: str, before: int = 0
) -> bool:
    """Either everything is there, charged once and verified; or nothing is there, and nothing is charged."""
    data, certificate = folder / f"{name}.csv", folder / f"{name}.csv.certificate.json"
    assert leftovers(folder) == []
    done = data.exists()
    assert done == certificate.exists()
    assert len(charged(project, folder, counted)) == before + done
    if done:
        assert "Verified: these bytes belong to this certificate" in page
        document = Certificate.from_json(certificate.read_bytes())
        assert released_digest(str(data), None, document.release.digest) == document.release.digest.value
    else:
        assert "Nothing was published, and nothing is charged" in page
    return done


def charged(project: Project, folder: Path, counted: str) -> list[str]:
    book = folder / "ledger.sqlite" if counted == "ledger" else project.folder / "journal.sqlite"
    if not book.exists():
        return []
    return [entry.release for entry in Ledger.inspect(book).entries.values() if entry.state.charged]


@pytest.mark.slow  # seven starts of a studio
def test_killed_at_any_moment(machine: Machine, tmp_path: Path) -> None:
    ledger(tmp_path, "100")
    project = ready_project(machine.home, tmp_path, people=PEOPLE)

    def settled(name: str, before: int) -> bool:
        done = settle(
            machine, project, tmp_path, name, machine.outcome(project).text, "ledger", before=before
        )
        assert spent(tmp_path) == before + done
        assert len(Project(project.folder).state.released) == before + done
        return done

    machine.end(signal.SIGKILL)
    machine.start()  # the first release of a process opens modules too
    machine.confirm(project, machine.plan(project, tmp_path, name="first"))
    assert "Verified" in machine.outcome(project).text
    whole, done, rounds = int(machine.steps.read_text()), 1, 6
    for attempt in range(
        rounds
    ):  # each process settles what the one before left, and dies in its own release
        machine.end(signal.SIGKILL)
        machine.start(deadly=1 + whole * attempt // rounds)
        if attempt:
            done += settled(f"round-{attempt - 1}", done)
        plan = machine.plan(project, tmp_path, name=f"round-{attempt}")
        with suppress(httpx.TransportError):  # it may die before it answers
            machine.confirm(project, plan)
        machine.process.wait(240)
    machine.end(signal.SIGKILL)
    machine.start()
    done += settled(f"round-{rounds - 1}", done)
    assert 1 < done < 1 + rounds, "some were killed before they were charged, and some afterwards"


def test_a_kill_between_plan_and_confirmation(machine: Machine, tmp_path: Path) -> None:
    ledger(tmp_path)
    project = ready_project(machine.home, tmp_path)
    plan = machine.plan(project, tmp_path)
    machine.end(signal.SIGKILL)
    machine.start()
    assert machine.confirm(project, plan).status_code == 303, "the open page goes on after a restart"
    assert "Verified" in machine.outcome(project).text
    assert spent(tmp_path) == 1


def test_ctrl_c_lets_the_release_end(machine: Machine, tmp_path: Path) -> None:
    ledger(tmp_path)
    project = ready_project(machine.home, tmp_path, people=PEOPLE)
    machine.confirm(project, machine.plan(project, tmp_path))
    machine.end(signal.SIGINT)
    assert (tmp_path / "out.csv").exists()
    assert leftovers(tmp_path) == []
    machine.start()
    assert "Verified" in machine.outcome(project).text
    assert spent(tmp_path) == 1
