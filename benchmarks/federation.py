"""make bench-federation: how many owners one aggregator bears, and how much it can join in how little memory.

1. 200 owners in one study: all of them poll, answer, send and seal over TLS (threads of this process stand in for the
   owners; what they send was protected once and signed by each). The aggregator is a process of its own.
2. 50 owners × 100,000 rows × 10 attributes assembled, streamed: time and the largest memory of the assembling process.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from coterie import protect
from coterie.federation.aggregator.assembly import assemble
from coterie.federation.aggregator.home import Aggregator, init
from coterie.federation.documents.certificate import part_promise
from coterie.federation.documents.chunks import arrow_schema, as_sent, packed
from coterie.federation.documents.messages import Answer, Enrolment, Manifest
from coterie.federation.documents.signed import Signed
from coterie.federation.documents.states import ContributionState, StudyState
from coterie.federation.documents.study import Study
from coterie.federation.documents.study_file import study_from
from coterie.federation.documents.wire import now, stamp
from coterie.federation.owner.client import Client
from coterie.federation.secrets.keys import Keys
from coterie.federation.storage.parties import enrol, invite, owner_by_name
from coterie.federation.storage.studies import (
    add_study,
    contributions_of,
    move_contribution,
    move_study,
    study_row,
)
from coterie.promise.certificate import Digest
from coterie.promise.signing import sign


def attributes(count: int) -> dict[str, Any]:
    return {
        f"x{number}": {"role": "protect", "type": "continuous", "domain": {"lower": 0, "upper": 1}}
        for number in range(count)
    }


def begin(aggregator: Aggregator, names: list[str], columns: int) -> Study:
    content = {
        "title": "benchmark",
        "fragmentation": "horizontal",
        "method": "idp-ls",
        "epsilon": "1",
        "k": 10,
        "attributes": attributes(columns),
        "owners": names,
        "deadline": "2 hours",
        "seed": 1,
    }
    with aggregator.database.writing() as connection:
        study = study_from(content, aggregator.keys.public, lambda name: owner_by_name(connection, name))
        study = study.model_copy(update={"protocol": 2})  # parts that are not sealed: joining is measured
        add_study(connection, Signed.of(study, aggregator.keys), study)
        row = study_row(connection, study.id)
        assert row is not None
        move_study(connection, row, StudyState.PUBLISHED)
    return study


class Prepared:
    """A protected table of one owner, in pieces, with a certificate that each owner signs with its own key."""

    def __init__(self, study: Study, rows: int, seed: int) -> None:
        draw = np.random.default_rng(seed)
        table = pa.table({a.name: np.round(draw.random(rows), 4) for a in study.attributes})
        schema = study.schema_for(study.roster[0].owner)
        self.release = protect(table, schema, method="idp-ls", epsilon="1", k=study.k, seed=seed)
        sent = as_sent(self.release.table, arrow_schema(study.attributes, pseudonymous=False))
        self.pieces = list(packed(sent))

    def manifest(self, study: Study, owner: str, keys: Keys, folder: Path) -> Signed:
        (folder / owner).mkdir()
        keys.save(folder / owner)
        certificate = self.release.certify(Digest(over="canonical table", value="0" * 64))
        signed = sign(certificate, folder / owner / "signing.pem")
        manifest = Manifest(
            study=study.id,
            owner=owner,
            chunks=tuple(chunk for chunk, _ in self.pieces),
            certificate=signed.to_json(),
        )
        return Signed.of(manifest, keys)


def approval(study: Study, name: str, rows: int, keys: Keys, *, disjoint: bool = False) -> Signed:
    answer = Answer(
        study=study.id,
        owner=name,
        decision="approve",
        attributes=tuple(attribute.name for attribute in study.attributes),
        disjoint=disjoint,
        promise=part_promise(study, name, rows),
        at=stamp(now()),
    )
    return Signed.of(answer, keys)


def many_owners(folder: Path, count: int, rows: int) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    aggregator, _ = init(folder / "many", f"https://127.0.0.1:{port}", ["127.0.0.1"], None)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    words = ["aggregator", "serve", str(folder / "many"), "--host", "127.0.0.1"]
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-c", "from coterie.cli import main; main()", *words],
            env=environment,
            stdout=log,
            stderr=log,
        )
    try:
        while not _listens(port):
            assert server.poll() is None, (folder / "server.log").read_text()
            time.sleep(0.1)
        _run_many(folder, aggregator, count, rows, server.pid)
    finally:
        server.kill()
        server.wait()
        aggregator.close()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _run_many(folder: Path, aggregator: Aggregator, count: int, rows: int, server: int) -> None:
    names = [f"owner-{number}" for number in range(count)]
    keys = {name: Keys.generate() for name in names}
    clients: dict[str, Client] = {}

    def join(name: str) -> None:
        token = secrets.token_urlsafe(32)
        with aggregator.database.writing() as connection:
            invite(connection, name, token, stamp(now() + timedelta(hours=1)))
        session = f"session-of-benchmark-{name}"
        client = Client(
            aggregator.url, aggregator.keys.public, aggregator.tls_certificate, keys[name], session=session
        )
        form = Enrolment(token=token, key=keys[name].public, sealing_key=keys[name].sealing_public)
        client.post("/v1/enrol", form.content())
        clients[name] = client

    timed(f"{count} owners join", lambda: each(names, join))
    study = begin(aggregator, names, 4)
    prepared = Prepared(study, rows, 1)
    waits: list[float] = []

    def take_part(name: str) -> None:
        client = clients[name]
        answer = approval(study, name, rows, keys[name], disjoint=True)
        client.post(f"/v1/studies/{study.id}/answer", answer.content())
        version = state = ""
        while state != "COLLECTING":
            version, state = _state(client, version)
        begun = time.perf_counter()
        for step in ("RESERVED", "COMPUTED"):
            client.post(f"/v1/studies/{study.id}/progress", {"state": step})
        manifest = prepared.manifest(study, name, keys[name], folder)
        for number in client.put(f"/v1/studies/{study.id}/manifest", manifest.canonical())["missing"]:
            client.put(
                f"/v1/studies/{study.id}/chunks/{number}",
                prepared.pieces[number][1],
                "application/octet-stream",
            )
        client.post(f"/v1/studies/{study.id}/seal")
        waits.append(time.perf_counter() - begun)
        while state != "RELEASED":
            version, state = _state(client, version)

    timed(f"{count} owners take part in one study, to the release", lambda: each(names, take_part))
    waits.sort()
    print(
        f"  report, send and seal, an owner: median {waits[len(waits) // 2]:.2f} s, slowest {waits[-1]:.2f} s"
    )
    peak = next(
        line for line in Path(f"/proc/{server}/status").read_text().splitlines() if line.startswith("VmHWM")
    )
    print(f"  largest memory of the aggregator: {int(peak.split()[1]) / 1024:.0f} MB")
    print(f"  released rows: {pq.ParquetFile(aggregator.release(study.id)).metadata.num_rows:,}")
    for client in clients.values():
        client.close()


def _state(client: Client, version: str) -> tuple[str, str]:
    content = client.get(f"/v1/desired?after={version}&wait=25")
    [study] = content["studies"]
    assert study["state"] not in ("FAILED", "EXPIRED"), study["reason"]
    return content["version"], study["state"]


def _deliver_all(folder: Path, owners: int, rows: int, columns: int) -> str:
    """Fill a home as if all had been delivered; in a process of its own, so that its memory is not counted."""
    aggregator, _ = init(folder / "large", "https://127.0.0.1:1", ["127.0.0.1"], None)
    names = [f"owner-{number}" for number in range(owners)]
    keys = {name: Keys.generate() for name in names}
    for name in names:
        with aggregator.database.writing() as connection:
            token = secrets.token_urlsafe(32)
            invite(connection, name, token, stamp(now() + timedelta(hours=1)))
            enrol(connection, token, keys[name].public, keys[name].sealing_public)
    study = begin(aggregator, names, columns)
    prepared = Prepared(study, rows, 1)
    (folder / "keys").mkdir()
    with aggregator.database.writing() as connection:
        row = study_row(connection, study.id)
        assert row is not None
        move_study(connection, row, StudyState.COLLECTING)
        for part in contributions_of(connection, study.id):
            texts = {
                "answer": approval(study, part.name, rows, keys[part.name]).text(),
                "manifest": prepared.manifest(study, part.name, keys[part.name], folder / "keys").text(),
            }
            for state in ("APPROVED", "RESERVED", "COMPUTED", "UPLOADING", "DELIVERED", "ACCEPTED"):
                [fresh] = [c for c in contributions_of(connection, study.id) if c.owner == part.owner]
                move_contribution(connection, fresh, ContributionState(state), **texts)
            aggregator.chunk(study.id, part.owner, 0).parent.mkdir(parents=True)
            for number, (_, data) in enumerate(prepared.pieces):
                aggregator.chunk(study.id, part.owner, number).write_bytes(data)
        row = study_row(connection, study.id)
        assert row is not None
        move_study(connection, row, StudyState.ASSEMBLING, shuffle_key=secrets.token_hex(32))
    aggregator.close()
    return study.id


def _assemble(folder: Path, study: str) -> tuple[float, float, float, int, int]:
    aggregator = Aggregator.open(folder / "large")
    with aggregator.database.reading() as connection:
        row = study_row(connection, study)
        parts = contributions_of(connection, study)
    assert row is not None
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    begun = time.perf_counter()
    assemble(aggregator, row, parts)
    seconds = time.perf_counter() - begun
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    path = aggregator.release(study)
    found = pq.ParquetFile(path).metadata.num_rows, path.stat().st_size
    aggregator.close()
    return seconds, before, after, *found


def large(folder: Path, owners: int, rows: int, columns: int) -> None:
    fresh = multiprocessing.get_context("spawn")
    with fresh.Pool(1) as pool:
        study = pool.apply(_deliver_all, (folder, owners, rows, columns))
    with fresh.Pool(1) as pool:
        seconds, before, after, released, size = pool.apply(_assemble, (folder, study))
    whole = owners * rows * columns * 8 / 2**20
    print(f"{owners} owners × {rows:,} rows × {columns} attributes assembled: {seconds:.1f} s")
    print(f"  {released / seconds:,.0f} rows per second")
    print(f"  released {released:,} rows, {size / 2**20:.0f} MB; the values alone are {whole:.0f} MB")
    print(f"  memory of the process: {before:.0f} MB before, at most {after:.0f} MB (+{after - before:.0f})")


def each(names: list[str], work: Callable[[str], None]) -> None:
    with ThreadPoolExecutor(len(names)) as pool:
        list(pool.map(work, names))


def timed(what: str, work: Callable[[], None]) -> None:
    begun = time.perf_counter()
    work()
    print(f"{what}: {time.perf_counter() - begun:.1f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--owners", type=int, default=200)
    parser.add_argument(
        "--large", type=int, nargs=3, default=(50, 100_000, 10), metavar=("OWNERS", "ROWS", "ATTRIBUTES")
    )
    chosen = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="coterie-federation-"))
    try:
        many_owners(folder, chosen.owners, 1_000)
        large(folder, *chosen.large)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
