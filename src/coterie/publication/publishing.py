"""The one way to publish rows, statistics and parts of owners: staged, charged, then given their names; or nothing is left.

    publish_files(make, …)                   files whose bytes are at hand, with a ledger or without one
    publish_charged(make, destination, …)    rows and their certificate; `publish_uncharged` without a ledger
    place(staged)                            without a ledger: all parts, or what stood there before
    place_charged(ledger, purpose, …)        with one: charged before anything can be seen, and once

Parts become visible in their order. Give the data last: a certificate without its data promises nothing and shows nothing.
What a killed process leaves is finished or given back by whoever opens the ledger next (coterie.publication.ledger). A
request that is made again is recognised, and finished without a second charge.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from coterie.errors import LedgerError, OutputError, ParameterError
from coterie.methods.recipe import Method
from coterie.promise.certificate import Certificate, Digest
from coterie.promise.signing import load_private_key, sign
from coterie.promise.terms import forecast, loss_of
from coterie.publication.ledger import Entry, Ledger, Purpose, without_credentials
from coterie.publication.staged_files import exists_already
from coterie.publication.staging import (
    Staged,
    StagedRecord,
    refuse_overwriting,
    require_writer,
    resume_table,
    stage,
    stage_bytes,
    table_bytes,
)
from coterie.schema.attributes import Schema
from coterie.schema.exact import Number
from coterie.table.address import is_database
from coterie.table.hidden_files import remove_any, temporary_address, temporary_for

Target = Path | str  # a file or folder of this machine, or an address
Hidden = Mapping[Target, Target]  # the name under which each is staged; others get one of their own
Hide = Callable[[Iterable[Target]], Hidden]  # chooses them, and tells the ledger if there is one


def publish_files(
    make: Callable[[], Mapping[Path, bytes]],
    *,
    ledger: Ledger | None = None,
    purpose: Purpose | None = None,
    force: bool = False,
    private: bool = False,
) -> None:
    """Put out files in the order of `make`, which is called when their ε is held, if there is a ledger."""

    def stage_all(hide: Hide) -> Sequence[Staged]:
        files = make()
        return _stage_files(files, hide(files), force=force, private=files if private else ())

    if ledger is None or purpose is None:
        place(stage_all(lambda _: {}))
    else:
        place_charged(ledger, purpose, stage_all)


def _stage_files(
    files: Mapping[Path, bytes], hidden: Hidden, *, force: bool, private: Container[Path]
) -> list[Staged]:
    """Everything written and durable, nothing visible yet."""
    staged: list[Staged] = []
    try:
        for path, content in files.items():
            name = hidden.get(path)
            temporary = None if name is None else Path(name)
            part = stage_bytes(content, path, force=force, private=path in private, temporary=temporary)
            staged.append(part)
    except BaseException:
        discard(staged)
        raise
    return staged


def place(staged: Sequence[Staged]) -> None:
    """All parts take their names. On a fault, those before the last are as they were; the last undoes itself."""
    replaced = {
        part.target: Path(part.target).read_bytes() for part in staged[:-1] if Path(part.target).is_file()
    }
    visible: list[Staged] = []
    try:
        for part in staged:
            part.publish()
            visible.append(part)
    except BaseException:
        for part in visible:
            path = Path(part.target)
            if part.target in replaced:
                private = getattr(part, "private", False)
                stage_bytes(replaced[part.target], path, force=True, private=private).publish()
            else:
                remove_any(path)
        discard(staged)
        raise


def place_charged(ledger: Ledger, purpose: Purpose, stage_all: Callable[[Hide], Sequence[Staged]]) -> None:
    """Hold the ε, make the release, charge it, give it its names.

    The ledger knows the hidden names before anything stands under them, so nothing of a killed process stays behind.
    """
    with ledger.charge(purpose) as charge:

        def hide(targets: Iterable[Target]) -> Hidden:
            hidden: Hidden = {
                target: temporary_for(target) if isinstance(target, Path) else temporary_address(target)
                for target in targets
            }
            charge.staging(*hidden.values())
            return hidden

        charge.publish(stage_all(hide))


def discard(staged: Sequence[Staged]) -> None:
    for part in staged:
        part.discard()


def purpose_of(
    recipe: Method,
    epsilon: Fraction,
    schema: Schema,
    k: int | None,
    *,
    population: str,
    target: str,
    fingerprint: str,
    shuffled: bool = False,
    clipped: bool = True,
    delta: Number | None = None,
) -> Purpose:
    """`target` is `Destination.shown`. Status and loss are a forecast, until the release itself states them."""
    if not recipe.adds_noise:
        raise ParameterError(
            f"Method '{recipe.name}' adds no noise: no epsilon describes it, so no ledger can record it.",
            "Leave out the ledger, or choose a method with noise.",
        )
    guarantee = forecast(schema, recipe, epsilon, k, shuffled=shuffled, clipped=clipped, delta=delta)
    loss = loss_of(guarantee, recipe.cost(epsilon, len(schema.protected)))
    return Purpose(population, loss, recipe.name, guarantee.status, target, fingerprint)


def fingerprint_of(data: str, request: tuple[object, ...]) -> str:
    """Tells one request from another, so that one that is made again after a kill is recognised."""
    place = Path(data)
    state = (place.stat().st_size, place.stat().st_mtime_ns) if place.is_file() else ()
    return hashlib.sha256(repr((without_credentials(repr(request)), state)).encode()).hexdigest()


# A release and its certificate, written together or not at all, and charged once.

Make = Callable[[], Any]  # a Release, or another Promise with rows
Stage = Callable[[Any, "Destination", Path | str | None], Staged]


@dataclass(frozen=True)
class Destination:
    """Where everything goes, and what must not be overwritten on the way."""

    data: str
    table: str | None = None
    certificate: Path | None = None
    internal: Path | None = None
    measurements: Path | None = None  # the noisy counts behind synthetic rows
    key: Path | None = None
    schema: Schema | None = None  # what an SPSS or Stata file takes its labels from
    parts: bool = False  # a folder of part files, of any name
    streamed: bool = False  # written piece by piece
    inputs: tuple[Any, ...] = ()
    force: bool = False

    @cached_property
    def in_database(self) -> bool:
        """Whether the data go to an address: of a database, or of an object store."""
        return is_database(self.data)

    @cached_property
    def certificate_path(self) -> Path:
        if self.certificate is not None:
            return self.certificate
        if self.in_database:
            where = "an object store" if self.parts else "a database"
            raise ParameterError(
                f"A release into {where} needs a place for its certificate.", "Give --certificate FILE."
            )
        return Path(f"{self.data}.certificate.json")

    @property
    def shown(self) -> str:
        """The address as people and ledgers see it: without credentials."""
        if self.in_database:
            return without_credentials(self.data) + (f" table '{self.table}'" if self.table else "")
        return str(Path(self.data).absolute())

    @property
    def files(self) -> list[Path]:
        """All files, in the order in which they become visible: the data last, never without their certificate."""
        return self.small_files if self.in_database else [*self.small_files, Path(self.data)]

    @property
    def place(self) -> Path | str:
        """Where the data are: a path, or an address."""
        return self.data if self.in_database else Path(self.data)

    @property
    def hidden(self) -> list[Path | str]:
        """Everything that is staged under a hidden name; a table of a database has a name of its own there."""
        return [*self.small_files, *([] if self.in_database and not self.parts else [self.place])]

    @property
    def small_files(self) -> list[Path]:
        beside = [path for path in (self.internal, self.measurements) if path is not None]
        return [*beside, self.certificate_path]

    def refuse_early(self) -> None:
        """Say now, not after the noise is drawn, that an output is in the way."""
        files = self.files
        try:
            resolved = [path.resolve() for path in files]
            taken = [path for path in files if path.exists() and not self.force]
            homeless = [path for path in files if not path.parent.is_dir()]
        except (OSError, RuntimeError):  # a name too long, a link that leads to itself
            raise OutputError("An output's name cannot be used here.", "Choose another name.") from None
        if len(set(resolved)) < len(resolved):
            raise OutputError("Two outputs have the same name.", "Give each its own file.")
        for path in taken:
            raise exists_already(path)
        for path in homeless:
            raise OutputError(f"There is no folder {path.parent}.", "Make it, or choose another place.")
        if self.measurements is not None:
            require_writer(self.measurements)
        if not self.in_database and not self.parts:
            require_writer(Path(self.data), streamed=self.streamed, schema=self.schema)
        for path in files:
            refuse_overwriting(path, self.inputs)
        if self.key is not None:
            load_private_key(self.key)


def stage_rows(release: Any, where: Destination, temporary: Path | str | None) -> Staged:
    assert not isinstance(temporary, str)
    return stage(
        release.table,
        where.data,
        force=where.force,
        table_name=where.table,
        schema=where.schema,
        inputs=where.inputs,
        temporary=temporary,
    )


def table_again(where: Destination, record: StagedRecord) -> Staged:
    assert where.table is not None
    return resume_table(
        where.data, where.table, temporary=record.temporary, sha256=record.sha256, force=where.force
    )


def publish_uncharged(make: Make, destination: Destination, stage_data: Stage = stage_rows) -> Certificate:
    destination.refuse_early()
    certificate, staged = _stage_all(make(), destination, {}, stage_data)
    place(staged)
    return certificate


def publish_charged(
    make: Make,
    destination: Destination,
    ledger: Ledger,
    purpose: Purpose,
    stage_data: Stage = stage_rows,
    again: Callable[[Destination, StagedRecord], Staged] = table_again,
) -> Certificate:
    """Ask the ledger first (cheap), protect, then charge and publish in one go: see coterie.publication.ledger.

    A command that is run again after a kill finds what it has already charged, and finishes that instead; `again` makes
    the staged data from what the ledger noted of them, where the ledger cannot put them in place by itself.
    """
    if ledger.finished(purpose):
        return _written(destination)
    pending = ledger.pending(purpose.population, purpose.target)
    if pending is not None and destination.in_database:
        if pending.purpose.fingerprint != purpose.fingerprint:
            raise LedgerError(
                f"Release {pending.release} ({pending.purpose.method}) is charged and waits for its place as "
                f"{purpose.target}; this is another request.",
                "Run the command of that release again, unchanged: it finishes it. Or write to another table.",
            )
        return _resume(pending, destination, ledger, again)
    destination.refuse_early()
    ledger.book().afford(purpose)
    release = make()
    stated = replace(purpose, status=release.guarantee.status, loss=release.loss)
    certified: list[Certificate] = []

    def stage_all(hide: Hide) -> Sequence[Staged]:
        certificate, staged = _stage_all(release, destination, hide(destination.hidden), stage_data)
        certified.append(certificate)
        return staged

    place_charged(ledger, stated, stage_all)
    return certified[0]


def _stage_all(
    release: Any, where: Destination, hidden: Hidden, stage_data: Stage
) -> tuple[Certificate, list[Staged]]:
    """Everything written, nothing visible yet, in the order of `Destination.files`."""
    data = stage_data(release, where, hidden.get(where.place))
    try:
        certificate = release.certify(Digest.model_validate({"over": data.over, "value": data.sha256}))
        if where.key is not None:
            certificate = sign(certificate, where.key)
        files: dict[Path, bytes] = {}
        if where.internal is not None:
            files[where.internal] = json.dumps(release.internal.to_dict(), indent=2).encode()
        private = list(files)
        if where.measurements is not None:
            files[where.measurements] = table_bytes(release.measurements, where.measurements)
        files[where.certificate_path] = certificate.to_json().encode()
        return certificate, [*_stage_files(files, hidden, force=where.force, private=private), data]
    except BaseException:
        data.discard()
        raise


def _resume(
    entry: Entry,
    destination: Destination,
    ledger: Ledger,
    again: Callable[[Destination, StagedRecord], Staged],
) -> Certificate:
    """Staged data that were charged before their writer died: give them their name, charge nothing."""
    with ledger.resume(entry) as charge:
        again(destination, entry.staged[-1]).publish()
        charge.released()
    return _written(destination)


def _written(destination: Destination) -> Certificate:
    try:
        return Certificate.from_json(destination.certificate_path.read_bytes())
    except OSError:
        raise OutputError(
            f"The release is in place, but its certificate is not at {destination.certificate_path}.",
            "It is where the first run of this command put it.",
        ) from None
