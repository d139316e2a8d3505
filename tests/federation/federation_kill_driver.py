"""Runs studies in which one process is killed (SIGKILL) at its n-th point, for one n after the other.

    federation_kill_driver.py owner|aggregator[-vertical|-blinded] ROOT STRIDE [LAST]

A point is the moment before or after a step that leaves a trace: a request, a write to the ledger, a file that gets
its name, a transaction. Everything is forked from here, so that a process costs milliseconds instead of seconds; this
process itself must therefore stay free of threads. Prints how many kills it made.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Loaded by Uvicorn, anyio and pyarrow when they are first used: once here, not in every child.
import anyio._backends._asyncio  # noqa: F401
import pandas  # noqa: F401
import uvicorn.protocols.http.auto  # noqa: F401
import yaml
from federation_world import ATTRIBUTES, World, possible

from coterie.federation.aggregator import assembly, receiving, scheduler
from coterie.federation.aggregator.app import serve
from coterie.federation.documents import chunks
from coterie.federation.owner import agent as agent_module
from coterie.federation.owner import contribution, exchange
from coterie.federation.owner.agent import Agent
from coterie.federation.owner.client import Client
from coterie.federation.owner.exchange import Exchange
from coterie.federation.owner.home import Journal, OwnerHome
from coterie.federation.secrets.keys import fingerprint
from coterie.federation.storage import studies
from coterie.publication.ledger import Charge, Ledger, ReleaseState
from coterie.publication.ledger.storage import Storage
from coterie.publication.staged_files import StagedFile

OWNER_POINTS: list[tuple[Any, str]] = [
    (Client, "send"),
    (Storage, "append"),
    (Charge, "ready"),
    (StagedFile, "publish"),
    (contribution, "_made"),
    (Journal, "decide"),
    (contribution, "keep_private"),
    (exchange, "keep_private"),
    (contribution, "let_go"),
    (Exchange, "_send"),
]
AGGREGATOR_POINTS: list[tuple[Any, str]] = [
    (receiving, "answer"),
    (receiving, "progress"),
    (receiving, "manifest"),
    (receiving, "chunk"),
    (receiving, "write_whole"),
    (receiving, "seal"),
    (receiving, "part_key"),
    (studies, "keep_part_key"),
    (studies, "begin_opening"),
    (studies, "move_contribution"),
    (receiving, "group_key"),
    (receiving, "give_parcel"),
    (studies, "keep_parcel"),
    (studies, "move_study"),
    (scheduler, "_move"),
    (studies, "forget_secrets_of_ended"),
    (assembly, "_write"),
    (assembly, "certify"),
    (assembly, "put_file"),
    (assembly, "move_study"),
]


def die_at(number: int, points: list[tuple[Any, str]]) -> None:
    """Kill this process at its `number`-th point from now on."""
    ticks = itertools.count(1)

    def tick() -> None:
        if next(ticks) == number:
            os.kill(os.getpid(), signal.SIGKILL)

    for place, name in points:
        original = getattr(place, name)

        def watched(*given: Any, _original: Callable[..., Any] = original, **named: Any) -> Any:
            tick()
            result = _original(*given, **named)
            tick()
            return result

        setattr(place, name, watched)


def forked(work: Callable[[], None]) -> int:
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        work()
        code = 0
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
    finally:
        os._exit(code)


class Sweep:
    def __init__(self, root: Path, kind: str) -> None:
        self.world = World(root)
        self.kind = kind
        self.server = 0
        self.homes: list[OwnerHome] = []
        # Several chunks from few rows, and no long pauses.
        contribution.packed = lambda table: chunks.packed(table, target=1_500)  # type: ignore[attr-defined]
        exchange.POINTS_IN_PARCEL = 25
        agent_module.backoff = lambda failures: 0.05  # type: ignore[assignment]

    def start_server(self, number: int = 0) -> None:
        self.world.aggregator.database.close()

        def work() -> None:
            if number:
                die_at(number, AGGREGATOR_POINTS)
            sys.stderr = open(self.world.root / "server.log", "a")  # noqa: SIM115
            serve(self.world.aggregator, "127.0.0.1", self.world.port, None, lambda: None)

        self.server = forked(work)
        self.world.server = _Running(self.server)  # type: ignore[assignment]
        while not self.world.listening():
            time.sleep(0.02)

    def join(self) -> None:
        draw = random.Random(1)
        for number, name in enumerate(("first", "second")):
            home = self.world.join(name, lifetime="10000")
            rows = ["patient,age,stay,ward"]
            for person in range(60):
                rows.append(
                    f"P{person},{draw.randrange(100)},{draw.randrange(600) / 10},{draw.choice(['north', 'south'])}"
                )
            (home.folder / "people.csv").write_text("\n".join(rows) + "\n")
            policy = {
                "data": str(home.folder / "people.csv"),
                "population": "people",
                "maximum_epsilon": "2",
                "minimum_k": 3,
                "attributes": possible(ATTRIBUTES),
                "methods": ["idp-ls"],
                "blinded": True,
                "studies": {"most": 100_000, "days": 1},
                "exchanges": {"most": 100_000, "days": 1},
                "aggregators": [fingerprint(home.aggregator)],
            }
            home.policy_file.write_text(yaml.safe_dump(policy))
            self.homes.append(home)
            assert number < 2

    def study(self) -> Any:
        if self.kind == "horizontal":
            return self.world.study(["first", "second"])
        holds = {"first": ["age", "ward"], "second": ["stay"]}
        how = {"lead": "first"} if self.kind == "vertical" else {"join": "blinded ids"}
        return self.world.study(holds, fragmentation="vertical", identifier="patient", **how)

    def run_owner(self, home: OwnerHome, number: int = 0) -> int:
        self.world.aggregator.database.close()

        def work() -> None:
            if number:
                die_at(number, OWNER_POINTS)
            with home.running() as (session, previous), self.world.client(home, session, previous) as client:
                Agent(home, client, lambda *words: None).run(until_done=True)

        return forked(work)

    def finish(self, study: Any, owners: dict[int, OwnerHome], serving_again: Callable[[], None]) -> int:
        """Restart whatever was killed until both owners are done; how many were killed."""
        kills = 0
        kept: dict[str, str] = {}
        while owners:
            child, status = os.wait()
            self._remember(study, kept)
            if child == self.server:
                assert os.WIFSIGNALED(status), self.world.logs()
                kills += 1
                serving_again()
            elif os.WIFSIGNALED(status):
                kills += 1
                home = owners.pop(child)
                owners[self.run_owner(home)] = home
            else:
                assert os.WEXITSTATUS(status) == 0, self.world.logs()
                owners.pop(child)
        self._remember(study, kept)
        return kills

    def _remember(self, study: Any, kept: dict[str, str]) -> None:
        """Bytes that could be sent never change: a part is finished when its manifest is there."""
        for home in self.homes:
            folder = home.study(study.id)
            if not (folder / "manifest.json").exists():
                continue
            for path in (*folder.glob("*.parquet"), folder / "manifest.json"):
                if path.exists():
                    digest = hashlib.sha256(path.read_bytes()).hexdigest()
                    assert kept.setdefault(str(path), digest) == digest, path

    def check(self, study: Any) -> None:
        assert self.world.shown(study)["state"] == "RELEASED"
        release = self.world.aggregator.release(study.id).read_bytes()
        assert hashlib.sha256(release).hexdigest() == self.world.certificate(study).digest.value
        for home in self.homes:
            entries = Ledger.inspect(home.default_ledger).entries.values()
            charged = [e for e in entries if e.purpose.fingerprint == study.id and e.state.charged]
            assert [e.state for e in charged] == [ReleaseState.RELEASED], charged
            assert (home.study(study.id) / "release.parquet").read_bytes() == release
            hidden = [
                p for p in home.study(study.id).iterdir() if p.name.startswith(".") or p.suffix == ".part"
            ]
            assert not hidden, hidden
            assert home.journal.first_broken() is None


class _Running:
    """What World wants to know of a server process."""

    def __init__(self, child: int) -> None:
        self.child = child

    def poll(self) -> None:
        os.kill(self.child, 0)


def main(role: str, root: str, stride: int, last: int) -> int:
    role, _, kind = role.partition("-")
    sweep = Sweep(Path(root), kind or "horizontal")
    sweep.start_server()
    sweep.join()
    kills = 0
    try:
        for number in range(1 + random.Random(stride).randrange(stride), last, stride):
            if role == "aggregator":
                os.kill(sweep.server, signal.SIGKILL)
                os.waitpid(sweep.server, 0)
                study = sweep.study()
                sweep.start_server(number)
                owners = {sweep.run_owner(home): home for home in sweep.homes}
            else:
                study = sweep.study()
                owners = {
                    sweep.run_owner(sweep.homes[0], number): sweep.homes[0],
                    sweep.run_owner(sweep.homes[1]): sweep.homes[1],
                }
            killed = sweep.finish(study, owners, sweep.start_server)
            sweep.check(study)
            kills += killed
            if not killed:
                break  # the process finished before it had so many points: the sweep is complete
    finally:  # also where a check failed: whoever waits for this process waits for its pipes
        os.kill(sweep.server, signal.SIGKILL)
        os.waitpid(sweep.server, 0)
    return kills


if __name__ == "__main__":
    given = sys.argv[1:]
    print(main(given[0], given[1], int(given[2]), int(given[3]) if len(given) > 3 else 10_000))
