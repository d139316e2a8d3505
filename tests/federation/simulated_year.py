"""A consortium's year in one process, under a clock of our own: studies, restores, rotations, departures, quarrels.

The application is called without a network, so an hour costs nothing. What the year must not do is counted outside of it:
`InProcess` notes every key of a part that the aggregator has taken. An owner's ledger must hold just these charges.
"""

from __future__ import annotations

import asyncio
import re
import shutil
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx
import pytest
from federation_world import Look, World, people

from coterie.errors import CoterieError
from coterie.federation.aggregator.administration import remove, rotate_token, suspend
from coterie.federation.aggregator.app import make_app
from coterie.federation.aggregator.home import Aggregator
from coterie.federation.aggregator.scheduler import advance_studies
from coterie.federation.documents import wire
from coterie.federation.owner.approval import note_refusal
from coterie.federation.owner.client import Client, Suspended, rotate_keys
from coterie.federation.owner.home import OwnerHome
from coterie.federation.owner.rollback import RolledBack, recover
from coterie.federation.storage.parties import GENESIS, entries, owner_by_key
from coterie.publication.ledger import Ledger
from coterie.publication.ledger.seals import first_broken
from coterie.table.digest import file_sha256

_PART_KEY = re.compile(r"/v1/studies/([0-9a-f]{64})/part-key")
_ROUNDS = 5


class InProcess(httpx.BaseTransport):
    """Requests straight into the application; `spent`: owner → studies whose part key was taken."""

    def __init__(self, year: Year) -> None:
        self.year = year
        self.loop = asyncio.new_event_loop()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        body, raw = request.read(), request.url.raw_path
        path, _, query = raw.partition(b"?")
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": request.method,
            "scheme": "https", "path": unquote(path.decode()), "raw_path": path, "query_string": query,
            "root_path": "", "headers": [(name.lower(), value) for name, value in request.headers.raw],
            "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2), "state": {},
        }  # fmt: skip
        given, answer = [{"type": "http.request", "body": body, "more_body": False}], []

        async def receive() -> Any:
            return given.pop() if given else await asyncio.Future()

        async def send(message: Any) -> None:
            answer.append(message)

        self.loop.run_until_complete(self.year.app(scope, receive, send))
        status = answer[0]["status"]
        taken = _PART_KEY.fullmatch(path.decode())
        if taken and status == 200:
            with self.year.aggregator.database.reading() as connection:
                owner = owner_by_key(connection, request.headers[wire.KEY])
            assert owner is not None
            self.year.spent[owner.name].add(taken[1])
        content = b"".join(message.get("body", b"") for message in answer[1:])
        return httpx.Response(status, headers=answer[0]["headers"], stream=httpx.ByteStream(content))


class Year:
    """`owners` take part from the first week on; what happens in which week is `EVENTS`."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch, owners: int = 3) -> None:
        self.moment = datetime(2030, 1, 7, tzinfo=UTC)
        year = self

        class Clock:
            fromisoformat = staticmethod(datetime.fromisoformat)

            @staticmethod
            def now(zone: Any) -> datetime:
                return year.moment

        monkeypatch.setattr(wire, "datetime", Clock)
        self.world = World(root)
        self.app = make_app(self.aggregator)
        self.spent: defaultdict[str, set[str]] = defaultdict(set)
        self.released: dict[str, str] = {}
        self.said: list[tuple[str, str]] = []
        self.happened: list[str] = []
        self._copies = 0
        self.transport = InProcess(self)

        def connected(client: Any, tls: str) -> httpx.Client:
            return httpx.Client(base_url=client._url, transport=self.transport)

        monkeypatch.setattr(Client, "_connected", connected)
        self.folders: dict[str, Path] = {}
        self.away: set[str] = set()
        for number in range(owners):
            self.join(f"owner-{number}", f"owner-{number}")

    def close(self) -> None:
        self.transport.loop.run_until_complete(self.transport.loop.shutdown_default_executor())
        self.transport.loop.close()
        self.aggregator.close()

    @property
    def aggregator(self) -> Aggregator:
        return self.world.aggregator

    def join(self, name: str, folder: str) -> None:
        invitation = self.world.invitation(name)
        home = self.world.join(folder, lifetime="200", invitation=invitation)
        self.folders[name] = home.folder
        self.world.give(
            home, people(12 + len(self.folders), len(self.folders)), studies={"most": 400, "days": 30}
        )

    def home(self, name: str) -> OwnerHome:
        return OwnerHome.open(self.folders[name])

    def look(self) -> None:
        """Every owner that is not away does what is due; the aggregator too."""
        while advance_studies(self.aggregator):
            pass
        for name in sorted(self.folders.keys() - self.away):
            look = Look(self.world, self.home(name))
            try:
                look.once()
            except Suspended:
                self.said.append((name, "suspended"))
            except RolledBack:
                self.said.append((name, "rolled back"))
                self.recover(name)
            self.said += [(name, event) for event, _, _ in look.said]
        while advance_studies(self.aggregator):
            pass

    def recover(self, name: str) -> None:
        home = self.home(name)
        with self.world.client(home, session=f"session-of-{name}-here") as client:
            recover(home, client, "people")

    def rounds(self, count: int) -> None:
        for _ in range(count):
            self.moment += timedelta(hours=6)
            self.look()

    def week(self, number: int) -> None:
        event = EVENTS[number % len(EVENTS)]
        self.happened.append(event.__name__)
        backup = self.copy(self.aggregator.folder)
        study = self.world.study(
            sorted(self.folders), title=f"week {number}", k=3, minimum=2, deadline="5 days",
            at_deadline="go on with the minimum", epsilon="0.1",
        )  # fmt: skip
        event(self, study, backup)
        self.rounds(_ROUNDS)
        self.away.clear()
        self.moment += timedelta(days=7) - timedelta(hours=6 * _ROUNDS)
        self.look()
        self.look()
        shutil.rmtree(backup)
        self.check()

    def copy(self, folder: Path) -> Path:
        self._copies += 1
        return Path(shutil.copytree(folder, self.world.root / f"copy-{self._copies}-of-{folder.name}"))

    def restore(self, folder: Path, backup: Path) -> None:
        shutil.rmtree(folder)
        shutil.copytree(backup, folder)

    def reopen(self) -> None:
        reader = self.aggregator.reader  # its helper is long to start
        self.aggregator.database.close()
        self.world.aggregator = replace(Aggregator.open(self.aggregator.folder), reader=reader)
        self.app = make_app(self.aggregator)

    def check(self) -> None:
        """What holds at the end of every week, whatever has happened in it."""
        for name in self.folders:
            home = self.home(name)
            book = Ledger.inspect(home.default_ledger)
            charged = [e.purpose.fingerprint for e in book.entries.values() if e.state.charged]
            assert sorted(charged) == sorted(self.spent[name]), (name, self.happened)
            assert not list(home.folder.glob("studies/*/held.json")) or self.moment < self._until, name
            assert home.journal.first_broken() is None
            for copy in home.folder.glob("studies/*/release.parquet"):
                self._same(copy.parent.name, copy)
        for path in self.aggregator.folder.glob("releases/*.parquet"):
            self._same(path.stem, path)
        with self.aggregator.database.reading() as connection:
            lines = entries(connection, last=1_000_000)
        shown = [{n: v for n, v in line.items() if n not in ("number", "seal")} for line in lines]
        texts = [wire.canonical(line).decode() for line in shown]
        rows = [(line["number"], text, line["seal"]) for line, text in zip(lines, texts, strict=True)]
        assert first_broken(rows, GENESIS) is None

    def _same(self, study: str, path: Path) -> None:
        """One study, one release, for ever."""
        assert self.released.setdefault(study, file_sha256(path)) == file_sha256(path), (study, self.happened)

    @property
    def _until(self) -> datetime:
        """ε may be held for a study that a restored aggregator has forgotten, for two weeks at most."""
        return self.moment + timedelta(days=1) if "aggregator_forgets" in self.happened[-3:] else self.moment


# What a week brings. Each gets the study that was just published, and the aggregator's folder of just before.


def owner_from_backup(year: Year, study: Any, backup: Path) -> None:
    """The disk of an owner dies when the key of its part has just left."""
    name, folder = "owner-0", year.folders["owner-0"]
    old = year.copy(folder)
    year.rounds(_ROUNDS)
    assert study.id in year.spent[name]
    year.restore(folder, old)
    shutil.rmtree(old)


def aggregator_forgets(year: Year, study: Any, backup: Path) -> None:
    """It is restored to before a study for which owners have delivered: they get their ε back, some time later."""
    year.rounds(2)
    year.aggregator.database.close()
    year.restore(year.aggregator.folder, backup)
    year.reopen()


def aggregator_forgets_a_release(year: Year, study: Any, backup: Path) -> None:
    """It is restored to the middle of a study that was released since."""
    year.look()
    middle = year.copy(year.aggregator.folder)
    year.rounds(_ROUNDS)
    assert study.id in year.released or list(year.aggregator.folder.glob(f"releases/{study.id}.parquet"))
    year.check()
    year.aggregator.database.close()
    year.restore(year.aggregator.folder, middle)
    shutil.rmtree(middle)
    year.reopen()


def new_key_of_the_aggregator(year: Year, study: Any, backup: Path) -> None:
    year.look()
    with year.aggregator.database.writing() as connection:
        rotate_token(connection, "rotated")
    year.aggregator.rotate_keys()
    year.reopen()


def new_keys_of_an_owner(year: Year, study: Any, backup: Path) -> None:
    year.look()
    home = year.home("owner-1")

    def connect(keys: Any) -> Client:
        return year.world.client(replace(home, keys=keys), session="session-of-owner-1-here")

    rotate_keys(home, connect)


def an_owner_changes_its_mind(year: Year, study: Any, backup: Path) -> None:
    year.rounds(1)
    home = year.home("owner-2")
    try:
        note_refusal(home, home.journal.seen()[study.id], "not covered by the ethics vote")
    except CoterieError:
        year.said.append(("owner-2", "too late"))


def an_owner_is_away(year: Year, study: Any, backup: Path) -> None:
    year.away.add("owner-2")


def an_owner_is_suspended(year: Year, study: Any, backup: Path) -> None:
    for suspended in (True, False):
        with year.aggregator.database.writing() as connection:
            suspend(connection, "owner-1", suspended=suspended)
        year.rounds(3)


def an_owner_leaves_and_comes_back(year: Year, study: Any, backup: Path) -> None:
    year.look()
    name = f"guest-{len(year.happened)}"
    year.join(name, name)
    other = year.world.study(sorted(year.folders), title="with a guest", k=3, minimum=2, deadline="5 days")
    year.look()
    with year.aggregator.database.writing() as connection:
        remove(connection, name)
    del year.folders[name], other
    year.join(name, f"{name}-again")
    year.look()
    with year.aggregator.database.writing() as connection:
        remove(connection, name)
    assert not year.spent[name]
    del year.folders[name]


EVENTS: tuple[Callable[[Year, Any, Path], None], ...] = (
    new_key_of_the_aggregator,
    owner_from_backup,
    an_owner_changes_its_mind,
    new_keys_of_an_owner,
    aggregator_forgets,
    an_owner_is_away,
    an_owner_is_suspended,
    an_owner_leaves_and_comes_back,
    aggregator_forgets_a_release,
)
