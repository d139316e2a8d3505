"""protect() and publish(): a table in, a release out."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from coterie.engines.out_of_core.scratch import forget_scratch, scratch_beside
from coterie.errors import OutputError
from coterie.methods.recipe import Method
from coterie.promise.terms import total_epsilon
from coterie.publication.engine_runs import (
    OutOfCore,
    Progress,
    ProtectRequest,
    request_fingerprint,
    run_of,
)
from coterie.publication.ledger import Ledger
from coterie.publication.publishing import publish_files
from coterie.publication.release import (
    Release,
    Written,
    destination_of,
    put_out,
    require_both,
)
from coterie.publication.severe_audit import reason_document, require_reason
from coterie.schema.attributes import Schema
from coterie.schema.exact import Number
from coterie.table.address import Address, is_database

AnySchema = Schema | str | Path | Mapping[str, Any]


def protect(
    data: Any,
    schema: AnySchema,
    *,
    method: str | Method,
    epsilon: Number | None = None,
    k: int | None = None,
    grouping: str = "equal",
    seed: int | None = None,
    delta: Number | None = None,
    rows: int | None = None,
    target: str | None = None,
    shuffle: bool | None = None,
    clip: bool = True,
    table: str | None = None,
    query: str | None = None,
    engine: str = "local",
    memory: int | str | None = None,
    scratch: str | Path | None = None,
    master: str | None = None,
    forget: bool = False,
    progress: Progress | None = None,
) -> Release:
    """Protect a table.

    The released frame is of the same kind as the one that went in. A pandas index does not pass: it may name
    people, so released rows are numbered anew.

    Parameters
    ----------
    data : frame, str or Path
        A pandas or polars DataFrame, a pyarrow Table, a dict of lists or a Spark frame; the path of a CSV, Parquet,
        Arrow, Excel, SPSS, Stata, SAS or R file; or the address of a database (`postgresql://…`, `sqlite:///…`).
    schema : Schema, str, Path or dict
        Types, roles and public bounds of the columns: a `Schema`, a schema file, or its content.
    method : str or Method
        A method's name, such as "laplace", or a method of your own. `list_methods()` lists them. There is no default.
    epsilon : int, str, float or Fraction, optional
        The total privacy budget, split over the protected attributes by their weights. Methods without noise need
        none.
    k : int, optional
        Records per group, for methods that group records.
    grouping : {"equal", "optimal"}, default "equal"
        Ranked groups of equal size, or optimal groups of k to 2k−1 records.
    seed : int, optional
        Noise that can be repeated, for experiments. It protects nobody, and the certificate says so.
    delta : int, str, float or Fraction, optional
        For `dp-synthetic`: (ε, δ)-DP instead of pure ε-DP, with less noise. Well below one over the number of records.
    rows : int, optional
        For `dp-synthetic`: how many rows to draw. Default: as many as came in, or, if the schema names a unit, as
        many as a noisy count says.
    target : str, optional
        For `dp-synthetic`: the attribute that others will predict. Its relation to each of them is measured first.
    shuffle : bool, optional
        Release the rows in random order. Default: yes, where rows stand for records, since their order may tell who
        belongs together; `internal.row_order` says whose row is whose. No with a seed, `memory` or Spark.
    clip : bool, default True
        Cut released numbers to their public domain.
    table, query : str, optional
        The table (or sheet) to read, or a query, where `data` is a database (or a workbook).
    engine : {"local", "spark"}, default "local"
        Where to work. A Spark frame is always protected on its cluster.
    memory : int or str, optional
        Stay below this much memory, such as "2GB": for a Parquet file that is larger than memory.
    scratch : str or Path, optional
        A folder for intermediate files, with `memory`. They are removed together with the release.
    master : str, optional
        Spark's master, such as "spark://host:7077".
    forget : bool, default False
        Let go of each original column once it is protected. This halves the memory, and `internal` is gone.
    progress : callable, optional
        Called as progress(what, done, total).

    Returns
    -------
    Release
        The rows, the promise and the certificate; its `write` method writes them.

    Raises
    ------
    SchemaError
        Where the schema is wrong or does not fit the table.
    DataError
        Where the table holds something that cannot be protected.
    ParameterError
        For an impossible choice of method, epsilon, k or engine.

    See Also
    --------
    publish : protect and write in one step, with the ledger asked first.

    Examples
    --------
    >>> import coterie
    >>> release = coterie.protect(
    ...     {"age": [31, 45, 62, 28], "income": [30_000, 52_000, 47_000, 18_000]},
    ...     {
    ...         "attributes": {
    ...             "age": {"type": "integer", "role": "protect", "domain": {"lower": 0, "upper": 120}},
    ...             "income": {"type": "integer", "role": "protect", "domain": {"lower": 0, "upper": 200_000}},
    ...         }
    ...     },
    ...     method="laplace",
    ...     epsilon=2,
    ... )
    >>> release.guarantee.status.value
    'proved'
    >>> len(release.data["age"])
    4
    """
    asked = ProtectRequest.of(locals())
    asked.recipe  # noqa: B018 (a misspelt name should not cost the time of reading the table)
    run = run_of(asked, engine=engine, memory=memory, scratch=scratch, master=master)
    fingerprint = uuid4().hex if forget else ""
    if asked.source is not None:
        fingerprint = request_fingerprint(asked)
    made = run.make(forget=forget)
    if forget and asked.source is None:
        run = replace(run, request=replace(asked, data=None))
    return Release(made, run, fingerprint)


def publish(
    data: Any,
    schema: AnySchema,
    output: str | Path,
    *,
    method: str | Method,
    epsilon: Number | None = None,
    k: int | None = None,
    grouping: str = "equal",
    seed: int | None = None,
    delta: Number | None = None,
    rows: int | None = None,
    target: str | None = None,
    shuffle: bool | None = None,
    clip: bool = True,
    table: str | None = None,
    query: str | None = None,
    engine: str = "local",
    memory: int | str | None = None,
    scratch: str | Path | None = None,
    master: str | None = None,
    output_table: str | None = None,
    certificate: str | Path | None = None,
    internal: str | Path | None = None,
    measurements: str | Path | None = None,
    sign: str | Path | None = None,
    ledger: str | Path | Ledger | None = None,
    population: str | None = None,
    journal: str | Path | None = None,
    request: str | None = None,
    despite: str | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Written:
    """Protect a table and write the release in one step. This is what `coterie protect` does.

    The same as `protect(…).write(…)`, with three differences that matter for long runs. Outputs that are in the way
    and budgets that are used up are refused before the table is read. A run that was killed after its charge is
    finished without drawing noise again. A run with `memory` that was interrupted goes on where it stopped.

    Parameters
    ----------
    data, schema, method, epsilon, k, grouping, seed, delta, rows, target, shuffle, clip
        As for `protect`.
    table, query, engine, memory, master, progress
        As for `protect`.
    output : str or Path
        A file (.csv, .parquet, .arrow), a database address, or for Spark a folder of Parquet files.
    scratch : str or Path, optional
        A folder for intermediate files, with `memory`. Default: beside the output.
    output_table : str, optional
        The table to write, where `output` is the address of a database.
    certificate, internal, measurements, sign, ledger, population, force
        As for `Release.write`.
    journal : str or Path, optional
        Instead of a ledger: a file that notes the release and counts no ε, so that a run that was killed is finished
        by the next one. It is made where there is none.
    request : str, optional
        Your own mark for this request, with a ledger or a journal. Its entry bears the mark, and a run that was killed
        is recognised by it. Default: a digest of the data and of every choice.
    despite : str, optional
        Why the release goes on, where an audit in the folder of `output` found a severe risk in a release of the same
        file by the same method. Kept beside the release (OUTPUT.reason.json), in the ledger and on the dossier.

    Returns
    -------
    Written
        Where the release and its certificate are.

    Raises
    ------
    OutputError, BudgetExceeded, SchemaError, DataError, ParameterError
        As `protect` and `Release.write`.

    Examples
    --------
    >>> import coterie, tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = coterie.publish(
    ...         coterie.demo_population(people=100),
    ...         coterie.demo_schema(),
    ...         f"{folder}/released.parquet",
    ...         method="laplace",
    ...         epsilon=1,
    ...     )
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['released.parquet', 'released.parquet.certificate.json']
    >>> written.certificate.release.rows
    100
    """
    require_both(ledger, population)
    asked = ProtectRequest.of(locals())
    total_epsilon(epsilon, asked.recipe)  # a misspelt name should not cost the time of reading the table
    run = run_of(
        asked, engine=engine, memory=memory, scratch=scratch, master=master, output_table=output_table
    )
    if (
        query
        and force
        and asked.source is not None
        and is_database(output)
        and Address.parse(str(output)).same_database(Address.parse(asked.source))
    ):
        raise OutputError(
            "A query may read any table of the database, so --force could overwrite what it reads.",
            "Write to a new table without --force, or read with --table instead of --query.",
        )
    reason = require_reason(data, output, asked.recipe.name, despite)
    beside: dict[str, Any] = {"certificate": certificate, "internal": internal, "key": sign}
    beside |= {"measurements": measurements, "inputs": (schema,) if isinstance(schema, str | Path) else ()}
    where = destination_of(run, output, output_table, force=force, **beside)
    with scratch_beside(str(output), run.folder) if isinstance(run, OutOfCore) else nullcontext() as place:
        if isinstance(run, OutOfCore):
            run = replace(run, scratch=place)

        def make() -> Any:
            run.refuse_early(where)
            return run.make(forget=internal is None)

        identity = request or (lambda: request_fingerprint(asked))
        written = put_out(run, make, where, ledger, population, identity, journal, reason)
    if reason:
        digest = written.certificate.release.digest.value
        publish_files(
            lambda: reason_document(where.certificate_path, digest, reason), force=True, private=True
        )
    if not run.streamed:
        forget_scratch(str(output))
    return written
