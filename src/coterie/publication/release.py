"""A release: the protected rows and what they promise. It writes itself, with its certificate, charged once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import pyarrow as pa

from coterie.engines.internal_figures import InternalFigures
from coterie.errors import ParameterError, counted
from coterie.methods.guarantee import Guarantee
from coterie.promise.certificate import Certificate, Digest
from coterie.promise.certifying import warnings_on
from coterie.promise.loss import Loss
from coterie.publication.engine_runs import Run, request_fingerprint
from coterie.publication.ledger import Ledger, journal_purpose, open_journal
from coterie.publication.publishing import (
    Destination,
    Make,
    publish_charged,
    publish_uncharged,
    purpose_of,
)
from coterie.publication.spark_staging import check_address
from coterie.schema.exact import parse_epsilon
from coterie.schema.frame_kind import to_kind


@dataclass(frozen=True, repr=False)
class Written:
    """Where a release went.

    Attributes
    ----------
    path : str
        The file, or the database and its table, without credentials.
    certificate : Certificate
        As it was written, with the digest of the written bytes.
    certificate_path : Path
        Where it is.
    internal : Path or None
        The figures that must not be published, where they were asked for.
    warnings : tuple of str
        What the certificate notes about a budget that is too large or too small to be of use.

    Examples
    --------
    >>> import coterie, tempfile
    >>> people, schema = coterie.demo_population(people=100), coterie.demo_schema()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = coterie.publish(people, schema, f"{folder}/out.csv", method="laplace", epsilon=1)
    >>> written.certificate_path.name
    'out.csv.certificate.json'
    """

    path: str
    certificate: Certificate
    certificate_path: Path
    internal: Path | None = None

    @property
    def warnings(self) -> tuple[str, ...]:
        return warnings_on(self.certificate)

    def __repr__(self) -> str:
        promise = self.certificate.guarantee
        return f"<Written: {self.path}, {counted(self.certificate.release.rows, 'row')}, {promise.status}: {promise.label}>"


@dataclass(frozen=True, repr=False)
class Release:
    """A protected table and what it promises.

    `protect` makes one. Publish `data` (or let `write` do it) together with the certificate. Never publish
    `internal`, which is computed from the original table.

    Attributes
    ----------
    data : frame
        The released rows, of the kind that went in: pandas, polars, Arrow, a dict of lists, or a lazy Spark frame.
        A stream of record batches where the table was larger than memory.
    table : pyarrow.Table
        The same rows as an Arrow table.
    method : str
        The name of the method.
    records : int
        The number of released rows.
    guarantee : Guarantee
        What is promised: status, model, value and assumptions.
    loss : Loss
        What a ledger is charged.
    certificate : Certificate
        The promise, its assumptions and the digest of the rows.
    internal : InternalFigures
        What the protection cost in accuracy. From the original data: do not publish it.

    Examples
    --------
    >>> import coterie
    >>> release = coterie.protect(
    ...     coterie.demo_population(), coterie.demo_schema(), method="laplace", epsilon=1
    ... )
    >>> release
    <Release: 5,000 rows, method laplace, proved: 1-DP (replace-one; n and bounds public)>
    >>> release.to_frame().column_names[:3]
    ['age', 'schooling', 'hours']
    """

    _made: Any = field(compare=False)  # what the engine gave back
    _run: Run = field(compare=False)
    _fingerprint: str = field(compare=False)  # "": of the frame, which is hashed when a ledger asks for it
    _paid: set[tuple[Path, str]] = field(default_factory=set, compare=False)  # (ledger, population)

    def __repr__(self) -> str:
        promise = self.guarantee
        return f"<Release: {counted(self.records, 'row')}, method {self.method}, {promise.status.value}: {promise.label}>"

    @property
    def data(self) -> Any:
        return self._made.table if self._run.streamed else self._made.data

    @property
    def table(self) -> pa.Table:
        if self._run.parts:
            raise ParameterError(
                "The rows are on a cluster.",
                "Write them, or collect `data` if they fit this machine's memory.",
            )
        return self._made.table

    @property
    def method(self) -> str:
        return str(self._made.method)

    @property
    def records(self) -> int:
        made = self._made
        return int(made.records if hasattr(made, "records") else made.table.num_rows)

    @property
    def guarantee(self) -> Guarantee:
        return cast(Guarantee, self._made.guarantee)

    @property
    def loss(self) -> Loss:
        return cast(Loss, self._made.loss)

    @property
    def certificate(self) -> Certificate:
        if self._run.parts or self._run.streamed:
            raise ParameterError(
                "A release larger than memory is certified when it is written.", "Call its write method."
            )
        return cast(Certificate, self._made.certificate)

    @property
    def internal(self) -> InternalFigures:
        if self._run.parts:
            raise ParameterError(
                "Internal figures need the whole table in memory.", "Leave them out, or the engine."
            )
        return cast(InternalFigures, self._made.internal)

    @property
    def measurements(self) -> pa.Table:
        """The noisy counts that the rows of `dp-synthetic` were drawn from. Safe to publish with them."""
        return self._made.measurements

    def certify(self, digest: Digest) -> Certificate:
        """The certificate over other bytes than those of `table`, such as those of a file."""
        return cast(Certificate, self._made.certify(digest))

    def to_frame(self, kind: str | None = None) -> Any:
        """The released rows as a frame of the kind you name.

        Parameters
        ----------
        kind : {"arrow", "pandas", "polars"}, optional
            Which library's frame to make. Default: that of the frame that went in; of a file, "arrow".

        Returns
        -------
        pyarrow.Table, pandas.DataFrame or polars.DataFrame

        Raises
        ------
        ParameterError
            For an unknown kind, and for rows that are on a cluster.
        MissingExtra
            Where that library is not installed.

        Examples
        --------
        >>> import coterie
        >>> people = coterie.demo_population(people=100)
        >>> release = coterie.protect(people, coterie.demo_schema(), method="laplace", epsilon=1)
        >>> release.to_frame("pandas").shape
        (100, 8)
        """
        table = self.table
        if kind is None:
            library = type(self.data).__module__.partition(".")[0]
            kind = library if library in ("pandas", "polars") else "arrow"
        return to_kind(table.read_all() if isinstance(table, pa.RecordBatchReader) else table, kind)

    def write(
        self,
        path: str | Path,
        *,
        table: str | None = None,
        certificate: str | Path | None = None,
        internal: str | Path | None = None,
        measurements: str | Path | None = None,
        sign: str | Path | None = None,
        ledger: str | Path | Ledger | None = None,
        population: str | None = None,
        force: bool = False,
    ) -> Written:
        """Write the rows and their certificate: both, or nothing.

        With a ledger the release is charged before it can be seen. A run that was killed in between is finished by
        whoever opens the ledger next. One release is charged once, however often it is written.

        Parameters
        ----------
        path : str or Path
            A file (.csv, .parquet, .arrow), a database address, or for Spark a folder of Parquet files.
        table : str, optional
            The table to write, where `path` is the address of a database.
        certificate : str or Path, optional
            Where the certificate goes. Default: beside the file, as PATH.certificate.json.
        internal : str or Path, optional
            Also write what the protection cost. Do not publish that file.
        measurements : str or Path, optional
            Also write the noisy counts that the rows of `dp-synthetic` were drawn from (.parquet, .csv).
        sign : str or Path, optional
            An Ed25519 key file to sign the certificate with.
        ledger : str, Path or Ledger, optional
            The ledger to charge; `population` says whose lifetime budget.
        population : str, optional
            Whose budget the ledger charges.
        force : bool, default False
            Replace files that exist already.

        Returns
        -------
        Written
            Where the release and its certificate are.

        Raises
        ------
        OutputError
            Where something is in the way, or the disk is full. Nothing is left then.
        BudgetExceeded
            Where the population's lifetime budget would be passed.
        ParameterError
            For a seeded release with a ledger: it protects nobody, so it is not charged.

        Examples
        --------
        >>> import coterie, tempfile
        >>> people = coterie.demo_population(people=100)
        >>> release = coterie.protect(people, coterie.demo_schema(), method="laplace", epsilon=1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     written = release.write(f"{folder}/released.csv")
        ...     coterie.verify(f"{folder}/released.csv")
        <Verification: the release has the bytes that were certified; not signed>
        """
        beside: dict[str, Any] = {"certificate": certificate, "internal": internal, "key": sign}
        where = destination_of(self._run, path, table, force=force, measurements=measurements, **beside)

        def make() -> Any:
            self._run.refuse_early(where)
            return self._made

        require_both(ledger, population)
        paid = None
        if ledger is not None and population is not None:
            paid = (ledger.path if isinstance(ledger, Ledger) else Path(ledger).resolve(), population)
        if paid in self._paid:  # the same rows again: nothing more is disclosed
            ledger = population = None
        identity = self._fingerprint or partial(request_fingerprint, self._run.request)
        written = put_out(self._run, make, where, ledger, population, identity)
        if paid is not None:
            self._paid.add(paid)
        return written


def put_out(
    run: Run,
    make: Make,
    where: Destination,
    ledger: str | Path | Ledger | None,
    population: str | None,
    identity: str | Callable[[], str],
    journal: str | Path | None = None,
    despite: str = "",
) -> Written:
    require_both(ledger, population)
    if ledger is None and journal is None:
        return _written(publish_uncharged(make, where, run.stage), where)
    fingerprint = identity if isinstance(identity, str) else identity()
    if journal is not None:
        if ledger is not None:
            raise ParameterError(
                "A release is counted by a ledger or noted in a journal.", "Give one of the two."
            )
        noted = replace(journal_purpose(run.request.recipe.name, where.shown, fingerprint), despite=despite)
        with open_journal(Path(journal)) as book:
            return _written(publish_charged(make, where, book, noted, run.stage, run.again), where)
    assert ledger is not None
    assert population is not None
    asked = run.request
    if asked.seed is not None:
        raise ParameterError(
            "A seeded release protects nobody, so it is not charged to a ledger.",
            "Leave out the seed or the ledger.",
        )
    purpose = purpose_of(
        asked.recipe,
        parse_epsilon(asked.epsilon or "1"),
        asked.schema,
        asked.k,
        population=population,
        target=where.shown,
        fingerprint=fingerprint,
        shuffled=asked.shuffles and not run.in_order,
        clipped=asked.clip,
        delta=asked.delta,
    )
    with nullcontext(ledger) if isinstance(ledger, Ledger) else Ledger.open(ledger) as book:
        purpose = replace(purpose, despite=despite)
        return _written(publish_charged(make, where, book, purpose, run.stage, run.again), where)


def _written(certificate: Certificate, where: Destination) -> Written:
    return Written(where.shown, certificate, where.certificate_path, where.internal)


def require_both(ledger: object, population: str | None) -> None:
    if (ledger is None) != (population is None):
        raise ParameterError("A ledger and a population belong together.", "Give both, or neither.")


def destination_of(
    run: Run,
    path: str | Path,
    table: str | None,
    *,
    force: bool,
    inputs: tuple[str | Path, ...] = (),
    **beside: str | Path | None,
) -> Destination:
    """`beside`: the certificate, internal figures, measurements, and the key to sign with."""
    asked = run.request
    files = {name: None if place is None else Path(place) for name, place in beside.items()}
    if files["measurements"] is not None and asked.recipe.whole_table is None:
        raise ParameterError(
            f"Method '{asked.recipe.name}' does not draw rows from noisy counts.",
            "Leave out the measurements, or choose dp-synthetic.",
        )
    if files["internal"] is not None and (run.parts or run.streamed):
        raise ParameterError(
            "Internal figures need the whole table in memory.", "Leave them out, or work in memory."
        )
    if run.parts:
        for address in (str(path), *([asked.source] if asked.source else [])):
            check_address(address)
    source: tuple[Any, ...] = ()
    if asked.source is not None:
        source = ((asked.source, asked.table) if asked.table else asked.source,)
    return Destination(
        data=str(path),
        table=table,
        schema=asked.schema,
        parts=run.parts,
        streamed=run.streamed,
        inputs=(*source, *inputs),
        force=force,
        **files,
    )
