"""A small federation for tests: a real aggregator process over TLS, owners with homes, processes that can be killed."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from coterie.federation.aggregator.home import Aggregator, init
from coterie.federation.aggregator.status_page import detail
from coterie.federation.documents.certificate import FederatedCertificate
from coterie.federation.documents.messages import Enrolment, Invitation
from coterie.federation.documents.signed import Document, Signed, canonical, signed_from
from coterie.federation.documents.states import StudyState
from coterie.federation.documents.study import Study
from coterie.federation.documents.study_file import study_from
from coterie.federation.documents.wire import now, stamp
from coterie.federation.owner import contribution
from coterie.federation.owner.client import Client
from coterie.federation.owner.home import OwnerHome, prepare, settle
from coterie.federation.owner.peers import entry_fingerprint, pin_peer, unknown_peers
from coterie.federation.secrets.keys import Keys, fingerprint
from coterie.federation.secrets.tls import pinned_context
from coterie.federation.storage.parties import invite, owner_by_name
from coterie.federation.storage.studies import add_study, all_studies, known_study, move_study
from coterie.publication.ledger import Ledger
from free_port import free_port

PATIENCE = 240.0  # of a machine that has much else to do
ATTRIBUTES = {
    "age": {"type": "integer", "role": "protect", "domain": {"lower": 0, "upper": 120}},
    "stay": {"type": "continuous", "role": "protect", "domain": {"lower": 0, "upper": 60}},
    "ward": {"type": "categorical", "role": "protect", "categories": {"labels": ["north", "south", "east"]}},
}
STUDY: dict[str, Any] = {
    "title": "test study",
    "fragmentation": "horizontal",
    "method": "idp-ls",
    "epsilon": "1",
    "k": 5,
    "attributes": ATTRIBUTES,
    "deadline": "1 hour",
}


def possible(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """What an owner declares about its own values, for its policy: here, all that the study takes."""
    return {
        name: entry.get("domain") or {"labels": entry.get("categories", {}).get("labels")}
        for name, entry in attributes.items()
    }


def people(rows: int, seed: int, first: int = 0) -> pa.Table:
    draw = np.random.default_rng(seed)
    return pa.table(
        {
            "patient": [f"P{number:06d}" for number in range(first, first + rows)],
            "age": draw.integers(0, 100, rows),
            "stay": np.round(draw.gamma(2.0, 4.0, rows).clip(0, 60), 1),
            "ward": draw.choice(["north", "south", "east"], rows),
        }
    )


def signed_as(kind: str, document: Document, keys: Keys) -> Signed:
    """As no honest party signs: the kind is not the document's own."""
    content = document.content()
    return Signed(document=content, key=keys.public, signature=keys.sign(kind, canonical(content)))


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-c", "from coterie.cli import main; main()", *arguments]


def environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.upper().endswith("_PROXY")}
    return {**kept, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONUNBUFFERED": "1"}


def until(condition: Callable[[], Any], what: str, patience: float = PATIENCE) -> Any:
    """Wait for a fact, not for a time."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"waited {patience:.0f} s for {what}")


@dataclass
class World:
    root: Path
    database: str | None = None
    port: int = field(default_factory=free_port)
    server: subprocess.Popen[bytes] | None = None
    aggregator: Aggregator = field(init=False)
    token: str = field(init=False)
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        url = f"https://127.0.0.1:{self.port}"
        self.aggregator, self.token = init(
            self.root / "aggregator", url, ["127.0.0.1", "localhost"], self.database
        )

    @property
    def url(self) -> str:
        return self.aggregator.url

    def serve(self, **extra: str) -> None:
        with (self.root / "server.log").open("ab") as log:
            self.server = subprocess.Popen(
                command(
                    "aggregator",
                    "serve",
                    str(self.root / "aggregator"),
                    "--host",
                    "127.0.0.1",
                    "--port",
                    str(self.port),
                ),
                env={**environment(), **extra},
                stdout=log,
                stderr=log,
            )
        until(self.listening, "the aggregator to listen")

    def listening(self) -> bool:
        assert self.server is not None
        if self.server.poll() is not None:
            raise AssertionError(f"the aggregator ended: {(self.root / 'server.log').read_text()[-2000:]}")
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def kill_server(self) -> None:
        assert self.server is not None
        self.server.send_signal(signal.SIGKILL)
        self.server.wait()
        self.server = None

    def invitation(self, owner: str, hours: float = 1) -> Invitation:
        from datetime import timedelta

        token = f"{owner}-{os.urandom(24).hex()}"
        invitation = Invitation(
            owner=owner,
            url=self.url,
            aggregator=self.aggregator.keys.public,
            tls=self.aggregator.tls_certificate,
            token=token,
            expires=stamp(now() + timedelta(hours=hours)),
        )
        with self.aggregator.database.writing() as connection:
            invite(connection, owner, token, invitation.expires)
        return invitation

    def join(self, owner: str, lifetime: str = "10", invitation: Invitation | None = None) -> OwnerHome:
        """Over the wire; with a ledger for a population named like the owner."""
        folder = self.root / owner
        invitation = invitation or self.invitation(owner)
        keys = prepare(folder)
        form = Enrolment(token=invitation.token, key=keys.public, sealing_key=keys.sealing_public)
        with Client(self.url, invitation.aggregator, invitation.tls, keys) as client:
            name = client.post("/v1/enrol", form.content())["owner"]
        settle(folder, invitation, name)
        Ledger.add_population(folder / "ledger.sqlite", "people", lifetime, individual_lifetime=lifetime)
        return OwnerHome.open(folder)

    def http(self, **options: Any) -> httpx.Client:
        """Somebody who is no owner: a browser, or a program of a stranger."""
        context = pinned_context(self.aggregator.tls_certificate)
        return httpx.Client(base_url=self.url, verify=context, timeout=PATIENCE, trust_env=False, **options)

    def client(self, home: OwnerHome, session: str = "a-session-of-the-tests", replaces: str = "") -> Client:
        return Client.of(home, None, session, replaces)

    def give(self, home: OwnerHome, table: pa.Table, **policy: Any) -> Path:
        """The owner's table, and a policy that says yes to it."""
        path = home.folder / "people.parquet"
        pq.write_table(table, path)
        content = {
            "data": str(path),
            "population": "people",
            "maximum_epsilon": "2",
            "minimum_k": 3,
            "attributes": possible(ATTRIBUTES),
            "methods": ["idp-ls", "idp-cbls", "dp-ir", "laplace", "dp-synthetic"],
            "aggregators": [fingerprint(self.aggregator.keys.public)],
            **policy,
        }
        home.policy_file.write_text(yaml.safe_dump(content))
        return path

    def study(self, owners: Any, *, protocol: int = 3, pinned: bool = True, **changes: Any) -> Study:
        """A published study."""
        content = {**STUDY, "owners": owners, **changes}
        with self.aggregator.database.writing() as connection:
            study = study_from(
                content, self.aggregator.keys.public, lambda name: owner_by_name(connection, name)
            )
            study = study.model_copy(update={"protocol": protocol})
            add_study(connection, Signed.of(study, self.aggregator.keys), study)
            if study.vertical and pinned:
                self.introduce(study)
            move_study(connection, known_study(connection, study.id), StudyState.PUBLISHED)
        return study

    def introduce(self, study: Study) -> None:
        """The owners have compared their fingerprints by telephone."""
        for entry in study.roster:
            if (self.root / entry.owner / "owner.json").exists():
                home = OwnerHome.open(self.root / entry.owner)
                for name in unknown_peers(home, study):
                    peer = study.entry(name)
                    assert peer is not None
                    pin_peer(home, name, entry_fingerprint(peer))

    def cancel_all(self) -> None:
        """Whatever is not at its end; one that is being assembled comes there by itself."""
        with self.aggregator.database.writing() as connection:
            for row in all_studies(connection, frozenset({StudyState.PUBLISHED, StudyState.COLLECTING})):
                move_study(connection, row, StudyState.CANCELLED)

    def run_owner(self, home: OwnerHome, *options: str, **extra: str) -> subprocess.Popen[bytes]:
        with (home.folder / "run.log").open("ab") as log:
            process = subprocess.Popen(
                command("owner", "run", "--home", str(home.folder), "--json", *options),
                env={**environment(), **extra},
                stdout=log,
                stderr=log,
            )
        self.processes.append(process)
        return process

    def shown(self, study: Study) -> dict[str, Any]:
        content = detail(self.aggregator, study.id)
        assert content is not None
        return dict(content["study"])

    def part(self, study: Study, owner: str) -> dict[str, Any]:
        return next(part for part in self.shown(study)["owners"] if part["owner"] == owner)

    def await_state(self, study: Study, *states: str) -> dict[str, Any]:
        def there() -> dict[str, Any] | None:
            shown = self.shown(study)
            if shown["state"] in states:
                return shown
            assert shown["state"] not in ("FAILED", "EXPIRED", "CANCELLED"), (shown, self.logs())
            return None

        try:
            return dict(until(there, f"{states}"))
        except AssertionError as error:
            raise AssertionError(f"{error}; {self.shown(study)}; {self.logs()}") from None

    def await_part(self, study: Study, owner: str, state: str) -> None:
        until(lambda: self.part(study, owner)["state"] == state, f"{owner} {state}")

    def await_opening(self, study: Study) -> None:
        """All have delivered: the aggregator asks for the keys of their parts."""

        def opening() -> bool:
            with self.aggregator.database.reading() as connection:
                return known_study(connection, study.id).opening is not None

        until(opening, "the keys to be asked for")

    def finish(self, study: Study, homes: list[OwnerHome]) -> None:
        """Its owners look in turns, from this process, until each holds a copy: a start of Python costs more."""

        def copied() -> bool:
            for home in homes:
                Look(self, home).once()
            assert self.shown(study)["state"] not in ("FAILED", "EXPIRED", "CANCELLED"), self.shown(study)
            return all(contribution.copied(home, study.id) for home in homes)

        until(copied, "the copies")

    def await_state_any(self, study: Study) -> dict[str, Any]:
        """Until the study has come to an end, whichever."""
        ends = ("RELEASED", "FAILED", "EXPIRED", "CANCELLED")
        return dict(until(lambda: (s := self.shown(study))["state"] in ends and s, "an end"))

    def certificate(self, study: Study) -> FederatedCertificate:
        with self.aggregator.database.reading() as connection:
            row = known_study(connection, study.id)
        assert row.certificate is not None
        key = self.aggregator.keys.public
        return signed_from(row.certificate).opened(FederatedCertificate, key=key)

    def diary(self, event: str) -> list[dict[str, Any]]:
        from coterie.federation.storage.parties import entries

        with self.aggregator.database.reading() as connection:
            return [entry for entry in entries(connection, last=5000) if entry["event"] == event]

    def logs(self) -> dict[str, str]:
        return {str(path): path.read_text()[-1500:] for path in self.root.glob("**/*.log")}

    def close(self) -> None:
        for process in [*self.processes, *([self.server] if self.server else [])]:
            if process.poll() is None:
                process.kill()
            process.wait()
        self.aggregator.close()


@contextmanager
def world(root: Path, database: str | None = None) -> Any:
    made = World(root, database)
    try:
        yield made
    finally:
        made.close()


def charged(home: OwnerHome) -> list[str]:
    """The studies that this owner's ledger has paid for."""
    entries = Ledger.inspect(home.default_ledger).entries.values()
    return [entry.purpose.fingerprint for entry in entries if entry.state.charged]


def events(home: OwnerHome) -> list[dict[str, Any]]:
    lines = (home.folder / "run.log").read_text().splitlines()
    return [json.loads(line) for line in lines if line.startswith("{")]


class Look:
    """An agent in this process, over the real connection; `said` is what it told."""

    def __init__(
        self, made: World, home: OwnerHome, url: str | None = None, *, unattended: bool = False
    ) -> None:
        from dataclasses import replace

        from coterie.federation.owner.agent import Agent

        self.said: list[tuple[str, str | None, str]] = []
        opened = replace(home, url=url) if url else home
        self.client = made.client(opened, session=f"session-of-{home.owner}-here")
        self.agent = Agent(opened, self.client, lambda *words: self.said.append(words), unattended=unattended)

    def once(self) -> list[tuple[str, str | None, str]]:
        with self.client:
            self.agent.run(once=True)
        return self.said

    def forever(self) -> None:
        with self.client:
            self.agent.run()
