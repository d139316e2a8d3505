"""release(): plan, compute, charge once, write all files or none. Asked twice, it returns what is there."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from coterie.errors import OutputError, ParameterError
from coterie.promise.certificate import Certificate, Digest
from coterie.promise.signing import sign
from coterie.publication.hidden_files import temporary_for
from coterie.publication.ledger import Ledger, Purpose
from coterie.publication.staged_files import StagedFile
from coterie.publication.staging import stage_bytes
from coterie.schema.exact import Number, as_text
from coterie.statistics.allocators import DEFAULT
from coterie.statistics.planning.request import Request
from coterie.statistics.releasing.accounting import loss_of
from coterie.statistics.releasing.certificate import StatisticsCertificate, certify_statistics, promise
from coterie.statistics.releasing.records import Records, open_records
from coterie.statistics.releasing.release_store import (
    Kept,
    Published,
    ReleaseStore,
    as_csv,
    as_json,
    certificate_path,
    changed,
    in_ledger,
    my_turn,
    on_disk,
    open_store,
    refuse_existing,
    require_ending,
)
from coterie.statistics.releasing.releasing import StatisticsRelease, make_release
from coterie.statistics.specification.specification import Specification

_OTHER_DATA = (
    "a release of this name was drawn before, from other data: noise was drawn anew, and for people who are in both "
    "the budgets add up. Nobody counts that without a ledger; give one with --ledger"
)


def release(
    specification: Specification,
    data: Any,
    output: str | Path,
    *,
    table: str | None = None,
    allocator: str = DEFAULT,
    seed: int | None = None,
    ledger: str | Path | None = None,
    key: str | Path | None = None,
    as_in_paper: bool = False,
    solve: bool = False,
    split: Mapping[str, Number] | None = None,
    progress: Callable[[str], None] = lambda message: None,
) -> Published:
    """Publish the statistics with their certificate; charge the ledger once.

    The same specification, allocator and data give the stored release again, with a ledger or without one.
    With `solve` the budget is not the specification's but the smallest that meets its tolerances, split as
    `solve_budget` splits it; that budget is charged and certified. `split` gives budgets by hand (see `resplit`).
    """
    target = Path(output)
    if target.suffix.lower() not in (".csv", ".json"):
        raise OutputError("The release is written as .csv or .json.", "Choose such a name for the output.")
    if not target.parent.is_dir():
        raise OutputError(f"There is no folder {target.parent}.", "Make it, or choose another place.")
    if ledger is not None and seed is not None:
        raise ParameterError(
            "A seeded release protects nobody, so it is not charged to a ledger.", "Leave out one of the two."
        )
    request = Request(specification, allocator, seed, as_in_paper, solve, split or {})
    source = open_records(data, table)
    if seed is not None:  # the same noise whenever it is asked for: nothing to keep
        return on_disk(target, request.digest, specification) or _published(
            _finished(request, source, target, key, progress), target, again=False
        )
    if ledger is None:
        return _through_store(request, source, target, key, progress)
    purpose = _purpose(request, source, target)
    turn = my_turn(Path(ledger), purpose.population, purpose.method)
    with (
        turn,
        open_store(request.name, request.place(source), required=False) as store,
        Ledger.open(ledger) as book,
    ):
        stored = in_ledger(book, specification, request.digest, purpose, target)
        if stored is not None:
            return stored
        refuse_existing(target)
        book.book().afford(purpose)
        made = _drawn(store, request, target)  # without a ledger, earlier: now it is paid for
        if made is None:
            made = _finished(request, source, target, key, progress)
            store.keep(made)
        with book.charge(purpose) as charge:
            # Hidden names, told to the ledger before they exist: a killed process leaves nothing behind.
            names = {path: temporary_for(path) for _, path in _parts(made, target)}
            charge.staging(*names.values())
            charge.publish(_stage(_parts(made, target), names))
        return Published(target, certificate_path(target), made.certificate, made.content, False)


def _through_store(
    request: Request,
    source: Records,
    target: Path,
    key: str | Path | None,
    progress: Callable[[str], None],
) -> Published:
    with open_store(request.name, request.place(source)) as store:
        kept = _drawn(store, request, target)
        if kept is not None and _half_written(kept, target):
            stage_bytes(kept.content, target, force=False).publish()
            return Published(target, certificate_path(target), kept.certificate, kept.content, True)
        there = on_disk(target, request.digest, request.specification)
        if there is not None and (kept is None or there.content != kept.content):
            raise OutputError(
                f"{target} exists already, and is not the stored release of these data.",
                "Choose another name for the output.",
            )
        if kept is not None:
            return there or _published(kept, target, again=True)
        made = _finished(request, source, target, key, progress)
        store.keep(made)
        published = _published(made, target, again=False)
        return replace(published, warning=_OTHER_DATA) if store.of_other_data else published


def _drawn(store: ReleaseStore, request: Request, target: Path) -> Kept | None:
    """What was drawn under this name before; another plan would be a second draw."""
    kept = store.find()
    if kept is not None:
        if kept.certificate.request != request.digest:
            raise changed(request.specification)
        require_ending(target, kept.ending)
    return kept


def _half_written(kept: Kept, target: Path) -> bool:
    """A crash left the certificate of this very release, and not yet the data."""
    path = certificate_path(target)
    return not target.exists() and path.is_file() and path.read_bytes() == kept.certificate.to_json().encode()


def _finished(
    request: Request,
    source: Records,
    target: Path,
    key: str | Path | None,
    progress: Callable[[str], None],
) -> Kept:
    """Plan, draw, certify. Whoever calls this keeps what comes back, or charges for it."""
    noise = request.noise
    progress("Planning")
    chosen, pilot = request.plan(source, noise)
    progress("Computing")
    made = make_release(chosen, source, noise, pilot)
    ending = target.suffix.lower()
    content = as_csv(made) if ending == ".csv" else as_json(made)
    digest = Digest(over="file bytes", value=hashlib.sha256(content).hexdigest())
    certificate = certify_statistics(
        made.plan,
        dict(made.scales),
        made.sampler,
        made.private,
        _notes(made),
        digest,
        request.digest,
    )
    if key is not None:
        certificate = cast(StatisticsCertificate, sign(cast(Certificate, certificate), Path(key)))
    return Kept(certificate, content, ending)


def _purpose(request: Request, source: Records, target: Path) -> Purpose:
    paid = request.paid
    # A ledger is never charged for seeded noise, so the noise is the real one here.
    status = promise(paid, request.as_in_paper, private_noise=True).status
    fingerprint = request.fingerprint(source)
    method = f"statistics: {paid.release}"
    return Purpose(
        paid.population, loss_of(paid, status), method, status, str(target.absolute()), fingerprint
    )


def _parts(made: Kept, target: Path) -> list[tuple[bytes, Path]]:
    """The data last, so that they never stand without a promise."""
    return [(made.certificate.to_json().encode(), certificate_path(target)), (made.content, target)]


def _published(made: Kept, target: Path, again: bool) -> Published:
    for part in _stage(_parts(made, target), {}):
        part.publish()
    return Published(target, certificate_path(target), made.certificate, made.content, again)


def _stage(parts: list[tuple[bytes, Path]], names: dict[Path, Path]) -> list[StagedFile]:
    """Everything written, nothing visible yet."""
    staged: list[StagedFile] = []
    try:
        for content, path in parts:
            staged.append(stage_bytes(content, path, force=False, temporary=names.get(path)))
    except BaseException:
        for part in staged:
            part.discard()
        raise
    return staged


def _notes(made: StatisticsRelease) -> tuple[str, ...]:
    notes = list(made.plan.warnings)
    if made.pilot is not None:
        notes.append(f"A share of {as_text(made.plan.specification.pilot)} of the budget paid for a pilot.")
    if not made.private:
        notes.append("reproducible: not private")
    return tuple(notes)
