"""release(): plan, compute, charge once, write all files or none. Asked twice, it returns what is there."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

from coterie.budget import as_text
from coterie.certificate import Certificate, Digest
from coterie.errors import OutputError, ParameterError
from coterie.io.publication import stage_bytes
from coterie.io.staged_file import StagedFile, temporary_for
from coterie.ledger import Ledger, Purpose
from coterie.signing import sign
from coterie.statistics.accounting import ledger_epsilon
from coterie.statistics.allocators import DEFAULT
from coterie.statistics.as_in_paper import plan_as_in_paper
from coterie.statistics.drawing import Noise
from coterie.statistics.plan import Plan
from coterie.statistics.planning import plan
from coterie.statistics.releasing import StatisticsRelease, make_release, plan_with_pilot
from coterie.statistics.solving import solve_budget
from coterie.statistics.sources import Source, open_source
from coterie.statistics.specification import Specification
from coterie.statistics.statistics_certificate import StatisticsCertificate, certify_statistics, promise
from coterie.statistics.stored import Published, certificate_path, in_ledger, on_disk, refuse_existing
from coterie.statistics.turns import my_turn
from coterie.statistics.writing import as_csv, as_json

LEDGER_DELTA = Fraction(1, 10**9)  # a budget in ρ is charged as the ε it gives at this δ


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
    progress: Callable[[str], None] = lambda message: None,
) -> Published:
    """Publish the statistics with their certificate; charge the ledger once.

    The same specification, allocator and data give the stored release again, whatever was charged for it.
    With `solve` the budget is not the specification's but the smallest that meets its tolerances, split as
    `solve_budget` splits it; that budget is charged and certified.
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
    noise = Noise.secure() if seed is None else Noise.seeded(seed)
    solved = _solved(specification, allocator, as_in_paper) if solve else None
    with open_source(data, table) as source:
        request = _request(specification, allocator, as_in_paper, seed, solve)
        if ledger is None:
            return on_disk(target, request, specification) or _write(
                _draw(specification, source, noise, allocator, as_in_paper, solved, progress),
                target,
                request,
                key,
                None,
            )
        paid = specification if solved is None else solved.specification
        purpose = _purpose(paid, _fingerprint(request, source), target, as_in_paper)
        turn = my_turn(Path(ledger), purpose.population, purpose.method)
        with turn, Ledger.open(ledger) as book:
            stored = in_ledger(book, specification, request, purpose, target)
            if stored is not None:
                return stored
            refuse_existing(target)
            book.book().afford(purpose)
            made = _draw(specification, source, noise, allocator, as_in_paper, solved, progress)
            return _write(made, target, request, key, (book, purpose))


def _draw(
    specification: Specification,
    source: Source,
    noise: Noise,
    allocator: str,
    as_in_paper: bool,
    solved: Plan | None,
    progress: Callable[[str], None],
) -> StatisticsRelease:
    progress("Planning")
    pilot: dict[str, float] | None = None
    if solved is not None:
        chosen = solved
    elif as_in_paper:
        chosen = plan_as_in_paper(specification, source, allocator)
    elif specification.pilot:
        chosen, pilot = plan_with_pilot(specification, source, noise, allocator)
    else:
        chosen = plan(specification, allocator, report_losses=False)
    progress("Computing")
    return make_release(chosen, source, noise, pilot)


def _solved(specification: Specification, allocator: str, as_in_paper: bool) -> Plan:
    if specification.pilot:
        raise ParameterError(
            "A budget cannot be solved for when a pilot is to find the expected values.",
            "Leave out `pilot` and state `expected`, or release with a stated budget.",
        )
    if as_in_paper or allocator != DEFAULT:
        raise ParameterError(
            "Solving for the budget also fixes its split, so no other allocator can be chosen.",
            "Leave out the allocator (and --as-in-paper), or do not solve.",
        )
    return solve_budget(specification)


def _request(
    specification: Specification, allocator: str, as_in_paper: bool, seed: int | None, solve: bool
) -> str:
    """What was asked, without a trace of the data: this stands on the certificate."""
    content = [specification.digest, "tolerances" if solve else allocator, as_in_paper, seed]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def _fingerprint(request: str, source: Source) -> str:
    """What was asked of which data. A hash of the data confirms guesses about them: for the ledger only."""
    return hashlib.sha256(f"{request} {source.identity}".encode()).hexdigest()


def _purpose(specification: Specification, fingerprint: str, target: Path, as_in_paper: bool) -> Purpose:
    epsilon = ledger_epsilon(specification.budget, LEDGER_DELTA)
    # A ledger is never charged for seeded noise, so the noise is the real one here.
    status = promise(specification, as_in_paper, private_noise=True).status.value
    method = f"statistics: {specification.release}"
    return Purpose(specification.population, epsilon, method, status, str(target.absolute()), fingerprint)


def _write(
    made: StatisticsRelease,
    target: Path,
    request: str,
    key: str | Path | None,
    charge_to: tuple[Ledger, Purpose] | None,
) -> Published:
    """Stage the certificate and the data, then publish both; with a ledger, charged in between."""
    content = as_csv(made) if target.suffix.lower() == ".csv" else as_json(made)
    digest = Digest(over="file bytes", value=hashlib.sha256(content).hexdigest())
    epsilon = as_text(ledger_epsilon(made.plan.specification.budget, LEDGER_DELTA))
    certificate = certify_statistics(
        made.plan, dict(made.scales), made.sampler, made.private, epsilon, _notes(made), digest, request
    )
    if key is not None:
        certificate = cast(StatisticsCertificate, sign(cast(Certificate, certificate), Path(key)))
    parts = [(certificate.to_json().encode(), certificate_path(target)), (content, target)]
    if charge_to is None:
        for part in _stage(parts, {}):
            part.publish()
    else:
        book, purpose = charge_to
        with book.charge(purpose) as charge:
            # Hidden names, told to the ledger before they exist: a killed process leaves nothing behind.
            names = {path: temporary_for(path) for _, path in parts}
            charge.staging(*names.values())
            charge.publish(_stage(parts, names))
    return Published(target, certificate_path(target), certificate, content, False)


def _stage(parts: list[tuple[bytes, Path]], names: dict[Path, Path]) -> list[StagedFile]:
    """Everything written, nothing visible yet; the data last, so that they never stand without a promise."""
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
