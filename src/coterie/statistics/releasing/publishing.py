"""release(): plan, compute, charge once, write all files or none. Asked twice, it returns what is there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from coterie.errors import OutputError, ParameterError
from coterie.publication.ledger import Ledger
from coterie.publication.publishing import publish_files
from coterie.schema.exact import Number
from coterie.statistics.allocators import DEFAULT
from coterie.statistics.planning.choosing import ReleaseRequest
from coterie.statistics.planning.plan import read_split
from coterie.statistics.releasing.certificate import certify_statistics, promise, purpose_of
from coterie.statistics.releasing.raw_measurements import raw_bytes
from coterie.statistics.releasing.records import RecordSource, open_records
from coterie.statistics.releasing.released_files import (
    Kept,
    Outputs,
    Published,
    ReleaseStore,
    changed,
    in_ledger,
    my_turn,
    on_disk,
    open_store,
    outdated,
    signed,
)
from coterie.statistics.releasing.releasing import make_release
from coterie.statistics.releasing.tidy_table import figures_table, written
from coterie.statistics.specification.reading import read_specification
from coterie.statistics.specification.specification import Specification

_OTHER_DATA = (
    "a release of this name was drawn before, from other data: noise was drawn anew, and for people who are in both "
    "the budgets add up. Without a ledger this is not recorded: give one"
)


def release(
    specification: Specification | str | Path | Mapping[str, Any],
    data: Any,
    output: str | Path,
    *,
    table: str | None = None,
    allocator: str = DEFAULT,
    seed: int | None = None,
    ledger: str | Path | Ledger | None = None,
    sign: str | Path | None = None,
    raw: str | Path | None = None,
    as_in_paper: bool = False,
    solve: bool = False,
    split: Mapping[str, Number] | str | Path | None = None,
    progress: Callable[[str], None] = lambda message: None,
) -> Published:
    """Compute the statistics, add noise, write them with intervals and a certificate; charge once.

    Asking again with the same specification and data returns the stored release and spends nothing, with a ledger or
    without one.

    Parameters
    ----------
    specification : Specification, str, Path or dict
        What goes out: a specification file, or its content.
    data : frame, str or Path
        A frame, a file, or the address of a database (with `table`).
    output : str or Path
        The released file, .csv, .json, .parquet or .arrow: one row per figure. The certificate goes beside it.
    table : str, optional
        The table to read, where `data` is the address of a database.
    allocator : str
        The rule for the split of the budget (`allocators()` lists them).
    seed : int, optional
        Noise that can be repeated, for experiments. Not private; the certificate says so.
    ledger : str, Path or Ledger, optional
        The ledger to charge. The specification names the population.
    sign : str or Path, optional
        An Ed25519 key file to sign the certificate with.
    raw : str or Path, optional
        A .json file for the noisy measurements as they were drawn, before anything is fitted or cut at zero: analysts
        can average them over releases. The same draw, at no further cost; with a certificate of its own.
    as_in_paper : bool, default False
        As the paper does it, with sensitivities from the data. Not differentially private.
    solve : bool, default False
        Spend not the specification's budget but the smallest that meets its tolerances.
    split : dict, str or Path, optional
        Budgets by hand, as for `plan`.
    progress : callable, optional
        Called with what is being done.

    Returns
    -------
    Published
        The released figures, where they are, and the certificate.

    Raises
    ------
    ParameterError
        For a changed plan under a name that is published already: that would be a second draw.
    BudgetExceeded
        Where the population's lifetime budget would be passed.
    OutputError
        Where something is in the way.

    Examples
    --------
    >>> import coterie, tempfile
    >>> asked = coterie.statistics.from_sql("SELECT AVG(rent) FROM people", coterie.demo_schema())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = coterie.statistics.release(asked, coterie.demo_population(), f"{folder}/rents.csv", seed=1)
    >>> done.to_frame().column("name").to_pylist()
    ['mean_rent']
    """
    if not isinstance(specification, Specification):
        specification = read_specification(specification)
    if isinstance(split, str | Path):
        split = read_split(Path(split))
    outputs = Outputs(Path(output), None if raw is None else Path(raw), None if sign is None else Path(sign))
    if ledger is not None and seed is not None:
        raise ParameterError(
            "A seeded release protects nobody, so it is not charged to a ledger.", "Leave out one of the two."
        )
    request = ReleaseRequest(specification, allocator, seed, as_in_paper, solve, split or {})
    source = open_records(data, table)
    book = ledger.path if isinstance(ledger, Ledger) else ledger
    draw = partial(_finished, request, source, outputs, progress)
    published = _once(request, source, outputs, None if book is None else Path(book), draw)
    if not published.again:
        return published
    note = outdated(published.certificate, request.paid, as_in_paper=as_in_paper)
    return replace(published, outdated=note)


def _once(
    request: ReleaseRequest,
    source: RecordSource,
    outputs: Outputs,
    ledger: Path | None,
    draw: Callable[[], Kept],
) -> Published:
    """The stored release, or a new one: never a second draw."""
    specification = request.specification
    if request.seed is not None:  # the same noise whenever it is asked for: nothing to keep
        standing = [on_disk(path, request.digest, specification) for path in outputs.paths]
        if None not in standing:
            return _at(outputs, request, again=True)
        return _published(draw(), outputs, request, again=standing[-1] is not None)
    if ledger is None:
        return _through_store(request, source, outputs, draw)
    mark = request.fingerprint(source)
    purpose = purpose_of(request.paid, request.as_in_paper, str(outputs.figures.absolute()), mark)
    turn = my_turn(ledger, purpose.population, purpose.method)
    with (
        turn,
        open_store(request.name, request.place(source), required=False) as store,
        Ledger.open(ledger) as book,
    ):
        kept = in_ledger(book, specification, request.digest, purpose, store)
        if kept is not None:
            return _published(kept, outputs, request, again=True)
        outputs.refuse_existing()
        book.book().afford(purpose)
        made = _drawn(store, request)  # without a ledger, earlier: now it is paid for
        if made is None:
            made = draw()
            store.keep(made)
        files = made.files(outputs, specification)
        publish_files(lambda: files, ledger=book, purpose=purpose)
        return _at(outputs, request, again=False)


def _through_store(
    request: ReleaseRequest, source: RecordSource, outputs: Outputs, draw: Callable[[], Kept]
) -> Published:
    with open_store(request.name, request.place(source)) as store:
        kept = _drawn(store, request)
        if kept is not None:
            return _published(kept, outputs, request, again=True)
        if on_disk(outputs.figures, request.digest, request.specification) is not None:
            raise OutputError(
                f"{outputs.figures} exists already, and is not the stored release of these data.",
                "Choose another name for the output.",
            )
        outputs.refuse_existing()
        made = draw()
        store.keep(made)
        published = _published(made, outputs, request, again=False)
        return replace(published, warning=_OTHER_DATA) if store.of_other_data else published


def _drawn(store: ReleaseStore, request: ReleaseRequest) -> Kept | None:
    """What was drawn under this name before; another plan would be a second draw."""
    kept = store.find()
    if kept is not None and kept.certificate.request != request.digest:
        raise changed(request.specification)
    return kept


def _finished(
    request: ReleaseRequest, source: RecordSource, outputs: Outputs, progress: Callable[[str], None]
) -> Kept:
    """Plan, draw, certify. Whoever calls this keeps what comes back, or charges for it."""
    noise = request.noise
    progress("Planning")
    chosen, pilot = request.plan(source, noise)
    progress("Computing")
    made = make_release(chosen, source, noise, pilot)
    label = promise(chosen.specification, chosen.as_in_paper, made.private).label
    top = {"release": chosen.specification.release, "guarantee": label, "plan": chosen.digest}
    ending = outputs.figures.suffix.lower()
    content = written(figures_table(made), ending, top)
    certificate = signed(certify_statistics(made, content, request.digest), outputs.key)
    return Kept(certificate, content, ending, raw_bytes(made, top))


def _published(made: Kept, outputs: Outputs, request: ReleaseRequest, again: bool) -> Published:
    files = made.files(outputs, request.specification)
    if files:
        publish_files(lambda: files)
    return _at(outputs, request, again)


def _at(outputs: Outputs, request: ReleaseRequest, again: bool) -> Published:
    """The release as it lies on disk now."""
    there = on_disk(outputs.figures, request.digest, request.specification)
    assert there is not None
    return replace(there, again=again, raw_path=outputs.raw, request=request)
