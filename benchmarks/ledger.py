"""What a release costs in a ledger that is long already: one check of the whole chain, and steps that do not grow."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

from benchmarks.processor import cpu_seconds
from coterie.promise.loss import Loss
from coterie.publication.ledger import Ledger, Purpose
from coterie.publication.ledger.storage import Storage
from coterie.publication.staging import stage_bytes
from coterie.table.hidden_files import temporary_for

LENGTHS = (100, 10_000, 30_000)
ROUNDS = 5


def run() -> Iterator[str]:
    yield "| releases in the ledger | balance of one population, ms | a whole release, ms | one step of an open ledger, ms |"
    yield "|---|---|---|---|"
    for releases in LENGTHS:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "ledger.sqlite"
            _fill(path, releases)
            look = _milliseconds(lambda path=path: Ledger.inspect(path).balance("patients"))  # type: ignore[misc]
            whole = _milliseconds(lambda path=path: _release(path))  # type: ignore[misc]
            with Ledger.open(path) as ledger:
                step = _milliseconds(lambda ledger=ledger: ledger.balance("patients"))  # type: ignore[misc]
        yield f"| {releases:,} | {look:.1f} | {whole:.1f} | {step:.2f} |"


def _release(path: Path) -> None:
    """As `coterie protect --ledger` goes about it, with two files of one byte."""
    target = path.parent / f"{uuid4().hex}.csv"
    purpose = Purpose("patients", Loss.pure(Fraction(1, 3)), "laplace", "proved", str(target), "f" * 64)
    with Ledger.open(path) as ledger:
        ledger.pending(purpose.population, purpose.target)
        ledger.book().afford(purpose)
        with ledger.charge(purpose) as charge:
            names = {place: temporary_for(place) for place in (target.with_suffix(".json"), target)}
            charge.staging(*names.values())
            charge.publish(
                [stage_bytes(b"1", place, force=False, temporary=hidden) for place, hidden in names.items()]
            )


def _fill(path: Path, releases: int) -> None:
    """The events that as many calls of `_release` write, without their waits for the disk."""
    Ledger.add_population(path, "patients", 10**6)
    storage = Storage.open(path)
    with storage.transaction():
        for number in range(releases):
            release, target = uuid4().hex, f"/srv/releases/2026/table-{number}.csv"
            digest = hashlib.sha256(release.encode()).hexdigest()
            hidden = [f"{target}.{digest[:8]}.partial", f"{target}.certificate.json.{digest[:8]}.partial"]
            storage.append(
                "reserved",
                release=release,
                population="patients",
                epsilon=("0.1", "1", "0.25", "1/3")[number % 4],
                method="dp-ir",
                status="refuted",
                target=target,
                fingerprint=digest,
            )
            storage.append("staging", release=release, temporaries=hidden)
            staged = {"kind": "file", "target": target, "sha256": digest, "mode": 0o644, "replaces": None}
            storage.append(
                "ready", release=release, staged=[{**staged, "temporary": name} for name in hidden]
            )
            storage.append("released", release=release)
    storage.close()
    Ledger.open(path).close()  # a ledger that grew release by release has a snapshot of all but its last ones


def _milliseconds(work: Callable[[], object]) -> float:
    """CPU time, the least of some: other programs and waits for the disk are not the ledger's length."""
    return 1000 * min(cpu_seconds(work) for _ in range(ROUNDS))
