"""Kills a publication at every line of the one mechanism, runs it again, and checks what is left.

    kill_driver.py steps|release|recovery|moments  rows|statistics|owner|studio  DIRECTORY  STRIDE

kills at each STRIDE-th line of coterie.publication and prints how often. Run by test_killed.py in a process of its own,
because it forks hundreds of times; so this process itself must stay free of threads, and all work is done in children.
A killed child gets SIGKILL from itself, so no `finally` runs, as in a real kill -9.
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

import coterie.publication
from coterie.methods import all_methods
from coterie.publication import staging
from coterie.publication.ledger import Ledger, ReleaseState
from coterie.publication.ledger.storage import Storage
from coterie.publication.staged_files import StagedFile

PRODUCT = str(Path(coterie.publication.__file__).parent)
OLD = b"old bytes of an earlier release"
SCHEMA = {"attributes": {"wage": {"type": "integer", "role": "protect", "domain": {"lower": 0, "upper": 40}}}}
WAGES = [10, 20, 20, 30, 15, 25, 35, 5]


class Way:
    """One caller of the mechanism: what it needs before, what it does, and what it does when it is run again."""

    leaving = "out.csv"  # what nobody may have before it is charged

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ledger = folder / "ledger.sqlite"

    def prepare(self) -> None:
        Ledger.add_population(self.ledger, "people", 1)  # a second charge would be refused

    def release(self) -> None:
        raise NotImplementedError

    def again(self) -> None:
        """Most recognise a request that is made again."""
        self.release()


class Rows(Way):
    """`coterie protect … --force --ledger`, over an earlier release."""

    def prepare(self) -> None:
        super().prepare()
        (self.folder / "out.csv").write_bytes(OLD)

    def release(self) -> None:
        coterie.publish(
            {"wage": WAGES}, SCHEMA, self.folder / "out.csv", method="laplace", epsilon=1,
            ledger=self.ledger, population="people", internal=self.folder / "private.json", force=True,
        )  # fmt: skip

    def again(self) -> None:
        """With --force the same rows may be wanted anew: nobody runs it again who has its release."""
        Ledger.open(self.ledger).close()
        if (self.folder / "out.csv").read_bytes() == OLD:
            self.release()


class Statistics(Way):
    def release(self) -> None:
        specification = {
            "coterie_statistics": 1, "release": "wages", "population": "people", "schema": SCHEMA,
            "records": len(WAGES), "neighbours": "replace-one", "budget": {"epsilon": 1},
            "statistics": {"average": {"kind": "mean", "of": "wage", "expected": 20}},
        }  # fmt: skip
        target = self.folder / "out.csv"
        # Every child makes the plan anew, and no plan is killed here: so the one that takes least time.
        coterie.statistics.release(
            specification, {"wage": WAGES}, target, ledger=self.ledger, allocator="uniform"
        )


class Owner(Way):
    """An owner of a federated study computes its sealed part, and charges for the key that opens it."""

    leaving = "part-key.json"

    def prepare(self) -> None:
        from coterie.federation.documents.signed import Signed
        from coterie.federation.documents.study import Study
        from coterie.federation.secrets.keys import Keys, write_private

        super().prepare()
        keys, other, aggregator = (Keys.generate() for _ in range(3))
        keys.save(self.folder)
        settings = {"owner": "first", "url": "https://nowhere", "aggregator": aggregator.public, "tls": ""}
        write_private(self.folder / "owner.json", str(settings).replace("'", '"').encode())
        (self.folder / "people.csv").write_text("wage\n" + "\n".join(map(str, WAGES)) + "\n")
        study = Study.model_validate(
            {
                "title": "wages", "aggregator": aggregator.public, "created": "2026-01-01T00:00:00Z",
                "fragmentation": "horizontal", "method": "dp-ir", "epsilon": "1", "k": 3, "minimum": 2,
                "attributes": [{"name": "wage", "type": "integer", "lower": "0", "upper": "40"}],
                "roster": [
                    {"owner": name, "key": key.public, "sealing_key": key.sealing_public}
                    for name, key in (("first", keys), ("second", other))
                ],
                "deadline": "2100-01-01T00:00:00Z",
            }
        )  # fmt: skip
        (self.folder / "study.json").write_text(Signed.of(study, aggregator).text())

    def release(self) -> None:
        from coterie.federation.documents.signed import signed_from
        from coterie.federation.documents.study import Study
        from coterie.federation.owner.answering import prepare_table
        from coterie.federation.owner.contribution import charged_key, contribute, finished, settle_ledger
        from coterie.federation.owner.home import OwnerHome
        from coterie.federation.owner.policy import OwnerSource

        home = OwnerHome.open(self.folder)
        study = Study.model_validate(signed_from((self.folder / "study.json").read_text()).document)
        source = OwnerSource(
            data=str(self.folder / "people.csv"), population="people", ledger=str(self.ledger)
        )
        settle_ledger(home, source)
        if finished(home, study.id) is None:
            contribute(home, study, source, prepare_table(study, "first", source), None, lambda: None)
        charged_key(home, study, source)


class Studio(Way):
    """The thread of the studio that draws, and its next look at the project."""

    def prepare(self) -> None:
        from coterie.studio.auth import StudioHome
        from coterie.studio.project import Choice
        from release_world import ready_project

        super().prepare()
        (self.folder / "out").mkdir()
        project = ready_project(
            StudioHome(self.folder / "home"), self.folder, 20, Choice(method="laplace", epsilon="1", k=1)
        )
        (self.folder / "project").write_text(str(project.folder))

    def release(self) -> None:
        from coterie.studio.project import Project
        from coterie.studio.release_plan import ReleaseForm
        from coterie.studio.releases import DrawProgress, Releases, draw, settle

        project, releases = Project(Path((self.folder / "project").read_text())), Releases()
        asked = ReleaseForm(
            folder=str(self.folder / "out"), name="out", ledger=str(self.ledger), population="people"
        )
        plan = releases.plan(project, asked)
        plan.ended("begun").write(project)
        draw(project, plan, plan.destination(project, None), DrawProgress())
        settle(project, plan)

    def again(self) -> None:
        from coterie.studio.project import Project
        from coterie.studio.releases import Releases

        project = Project(Path((self.folder / "project").read_text()))
        plan, _, _ = Releases().look(project)
        if plan is None or plan.state in ("planned", "nothing"):
            self.release()
        assert len(Project(project.folder).state.released) == 1, "not recorded once"


WAYS: dict[str, type[Way]] = {"rows": Rows, "statistics": Statistics, "owner": Owner, "studio": Studio}


def check(way: Way, *, finished: bool) -> None:
    """At any moment: what is visible of a release is charged, whole, and has all that stands before it."""
    book = Ledger.inspect(way.ledger)
    charged = [entry for entry in book.entries.values() if entry.state.charged]
    assert len(charged) <= 1, "charged twice"
    [parts] = [entry.staged for entry in charged] or [()]
    there = [_digest(Path(part.target)) == part.sha256 for part in parts]
    assert there == sorted(there, reverse=True), "data without what stands before them"
    if not charged:
        visible = way.folder.rglob(way.leaving)
        assert all(path.read_bytes() == OLD for path in visible), "data are visible without a charge"
    if finished:
        balance = book.balance("people")
        assert (balance.spent, balance.held) == (1, 0), f"spent {balance.spent}, held {balance.held}"
        ends = {entry.state for entry in book.entries.values()}
        assert ends <= {ReleaseState.RELEASED, ReleaseState.ABANDONED}, ends
        assert parts, "nothing was released"
        assert all(there), "not all of it is in place"
        left = [
            path.name
            for path in way.folder.rglob("*")
            if path.name.endswith((".tmp", ".lock", "-journal", "held.json"))
        ]
        left = [name for name in left if name != "agent.lock"]
        assert left == [], f"left behind: {left}"


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else ""


def in_child(action: Callable[[], None], meanwhile: Callable[[int], None] = lambda child: None) -> bool:
    """Run in a forked child; True if it was killed."""
    child = os.fork()
    if child == 0:
        try:
            action()
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
            os._exit(1)
        os._exit(0)
    meanwhile(child)
    status = os.waitpid(child, 0)[1]
    assert status in (0, signal.SIGKILL), f"the child failed with status {status}"
    return status == signal.SIGKILL


def die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def killed_at_line(number: int, action: Callable[[], None]) -> Callable[[], None]:
    """The action, ended at the number-th line that it runs in the mechanism."""
    lines = count(1)

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith(PRODUCT):
            return None
        if event == "line" and next(lines) == number:
            die()
        return trace

    def traced() -> None:
        sys.settrace(trace)
        action()

    return traced


def killed_at_step(number: int, action: Callable[[], None]) -> Callable[[], None]:
    """The action, ended after the number-th step that leaves a trace: an event in the ledger, a file, a name."""
    steps = count(1)

    def watched(step: Callable[..., Any]) -> Callable[..., Any]:
        def done(*given: Any, **named: Any) -> Any:
            result = step(*given, **named)
            if next(steps) == number:
                die()
            return result

        return done

    def stepped() -> None:
        for place, name in ((Storage, "append"), (staging, "stage_file"), (StagedFile, "publish")):
            setattr(place, name, watched(getattr(place, name)))
        action()

    return stepped


class Sweep:
    def __init__(self, way: str, root: Path) -> None:
        self.way = WAYS[way](root / "work")
        self.template = root / "template"
        self.way.folder.mkdir()
        assert not in_child(self.way.prepare)
        shutil.copytree(self.way.folder, self.template)
        self.load_once(root / "modules")

    def load_once(self, note: Path) -> None:
        """What a release loads, here and not in every child."""

        def first() -> None:
            self.way.release()
            note.write_text("\n".join(sys.modules))

        assert not in_child(first)
        for name in note.read_text().splitlines():
            with suppress(ImportError):  # parts of a compiled module that are found through it
                import_module(name)
        all_methods()

    def anew(self) -> None:
        """In the same place: what was prepared names its paths."""
        shutil.rmtree(self.way.folder)
        shutil.copytree(self.template, self.way.folder)

    def finish(self) -> None:
        check(self.way, finished=False)
        assert not in_child(self.way.again)
        check(self.way, finished=True)

    def steps(self, _: int) -> int:
        """A kill after every step."""
        for kills, step in enumerate(count(1)):
            self.anew()
            killed = in_child(killed_at_step(step, self.way.release))
            self.finish()
            if not killed:
                return kills
        raise AssertionError

    def release(self, stride: int) -> int:
        """A kill at every line of a whole publication."""
        for kills, number in enumerate(count(1 + stride // 2, stride)):
            self.anew()
            killed = in_child(killed_at_line(number, self.way.release))
            self.finish()
            if not killed:
                return kills
        raise AssertionError

    def recovery(self, stride: int) -> int:
        """A kill after each step, then a kill at every line of the recovery from it."""
        kills = 0
        for step in count(1):
            for number in count(1 + step % stride, stride):
                self.anew()
                if not in_child(killed_at_step(step, self.way.release)):
                    return kills
                check(self.way, finished=False)
                killed = in_child(killed_at_line(number, lambda: Ledger.open(self.way.ledger).close()))
                self.finish()
                if not killed:
                    break
                kills += 1
        raise AssertionError

    def moments(self, wanted: int) -> int:
        """Kills at random moments, inside SQLite and the kernel too."""
        moments = random.Random(20261115)
        self.anew()
        started = time.monotonic()
        in_child(self.way.release)
        whole, kills = time.monotonic() - started, 0
        while kills < wanted:
            self.anew()

            def kill(child: int, pause: float = moments.uniform(0, whole)) -> None:
                time.sleep(pause)
                os.kill(child, signal.SIGKILL)

            kills += in_child(self.way.release, kill)
            self.finish()
        return kills


if __name__ == "__main__":
    sweep, way, root, stride = sys.argv[1:]
    print(getattr(Sweep(way, Path(root)), sweep)(int(stride)))
