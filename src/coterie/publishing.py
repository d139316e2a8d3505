"""A release and its certificate, written together or not at all, and charged once."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from coterie.certificate import Certificate, Digest
from coterie.errors import OutputError, ParameterError
from coterie.io.address import is_database
from coterie.io.publication import Staged, stage, stage_bytes
from coterie.ledger import Ledger, Purpose, without_credentials
from coterie.release import Release
from coterie.signing import sign


@dataclass(frozen=True, slots=True)
class Destination:
    """Where everything goes, and what must not be overwritten on the way."""

    data: str
    table: str | None = None
    certificate: Path | None = None
    internal: Path | None = None
    key: Path | None = None
    inputs: tuple[Any, ...] = ()
    force: bool = False

    @property
    def certificate_path(self) -> Path:
        if self.certificate is not None:
            return self.certificate
        if is_database(self.data):
            raise ParameterError(
                "A release into a database needs a place for its certificate.", "Give --certificate FILE."
            )
        return Path(f"{self.data}.certificate.json")

    @property
    def shown(self) -> str:
        """For people and ledgers: no credentials."""
        if is_database(self.data):
            return f"{without_credentials(self.data)} table '{self.table}'"
        return self.data

    def refuse_early(self) -> None:
        """Say now, not after the noise is drawn, that an output is in the way."""
        files = [self.certificate_path, *([self.internal] if self.internal else [])]
        for path in [*files, *([] if is_database(self.data) else [Path(self.data)])]:
            if path.exists() and not self.force:
                raise OutputError(
                    f"{path} exists already.", "Choose another name, or replace it with --force."
                )
            if not path.parent.is_dir():
                raise OutputError(f"There is no folder {path.parent}.", "Make it, or choose another place.")


def publish(make: Callable[[], Release], destination: Destination) -> Certificate:
    destination.refuse_early()
    certificate, staged = _stage_all(make(), destination)
    for part in staged:
        part.publish()
    return certificate


def publish_charged(
    make: Callable[[], Release], destination: Destination, ledger: Ledger, population: str, cost: Fraction
) -> Certificate:
    """Ask the ledger first (cheap), protect, then charge and publish in one go: see coterie.ledger."""
    destination.refuse_early()
    purpose = Purpose(population, cost, "", "", destination.shown)
    ledger.book().afford(purpose)
    release = make()

    with ledger.charge(
        Purpose(population, cost, release.method, release.guarantee.status, destination.shown)
    ) as charge:
        certificate, staged = _stage_all(release, destination)
        charge.publish(staged)
    return certificate


def _stage_all(release: Release, destination: Destination) -> tuple[Certificate, list[Staged]]:
    """Everything written, nothing visible yet. The data come last: they must not stand without their certificate."""
    staged: list[Staged] = []
    where, taken = destination, (*destination.inputs, destination.data, destination.certificate_path)
    try:
        data = stage(
            release.table, where.data, force=where.force, table_name=where.table, inputs=where.inputs
        )
        staged.append(data)
        over = "canonical table" if is_database(where.data) else "file bytes"
        certificate = release.certify(Digest.model_validate({"over": over, "value": data.sha256}))
        if where.key is not None:
            certificate = sign(certificate, where.key)
        content = certificate.to_json().encode()
        staged.insert(0, stage_bytes(content, where.certificate_path, force=where.force, inputs=taken[:-1]))
        if where.internal is not None:
            figures = json.dumps(release.internal.to_dict(), indent=2).encode()
            secret = stage_bytes(figures, where.internal, force=where.force, private=True, inputs=taken)
            staged.insert(0, secret)
    except BaseException:
        for part in staged:
            part.discard()
        raise
    return certificate, staged
