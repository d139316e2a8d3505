"""coterie protect: a file or database table in, a release and its certificate out."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from threading import Thread
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from coterie.cli.engines import Where, forget_scratch, scratch_beside
from coterie.cli.methods import complete_method
from coterie.cli.output import console, errors, print_json, styled_status
from coterie.engines.in_memory import Release, protect
from coterie.engines.out_of_core.chain import warm_up
from coterie.engines.out_of_core.release import LargeRelease, protect_file
from coterie.errors import OutputError, ParameterError
from coterie.methods import get_method
from coterie.methods.guarantee import beside_in_words
from coterie.promise.certificate import Certificate
from coterie.promise.certifying import warnings_on
from coterie.publication.ledger import Ledger
from coterie.publication.publishing import (
    Destination,
    Make,
    fingerprint_of,
    publish,
    publish_charged,
    purpose_of,
    stage_rows,
    table_again,
)
from coterie.publication.staging import Staged
from coterie.schema.attributes import Schema
from coterie.schema.exact import parse_epsilon
from coterie.table.address import Address, is_database
from coterie.table.memory_limit import keep_what_is_freed
from coterie.table.reading import read_table

_LARGE = 10**7  # bytes of a file whose table will need compiled code


def protect_command(
    data: Annotated[
        str,
        typer.Argument(
            metavar="INPUT",
            help="CSV, Parquet, Arrow or Excel file; or postgresql://… or sqlite:///…; with --engine spark, "
            "Parquet at a path, s3a://… or hdfs://….",
        ),
    ],
    schema_file: Annotated[
        Path,
        typer.Option(
            "--schema", "-s", help="Types, roles and public bounds (`coterie schema draft` writes one)."
        ),
    ],
    method: Annotated[
        str,
        typer.Option(
            "--method",
            "-m",
            help="See `coterie methods`. There is no default: choose.",
            autocompletion=complete_method,
        ),
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            help="Released file (.csv, .parquet, .arrow) or database URL; with --engine spark, a folder of Parquet "
            "files, also s3a://… or hdfs://….",
        ),
    ],
    epsilon: Annotated[
        str | None,
        typer.Option(
            "--epsilon",
            "-e",
            help="Total privacy budget, split over the protected attributes. (dp-mdav gives the whole to each, "
            "as published; ir and mdav add no noise and need none.)",
        ),
    ] = None,
    delta: Annotated[
        str | None,
        typer.Option(
            help="dp-synthetic: (ε, δ) instead of pure ε, with less noise. Well below one over the number of records."
        ),
    ] = None,
    k: Annotated[int | None, typer.Option("--k", "-k", help="Records a group.")] = None,
    rows: Annotated[
        int | None, typer.Option(help="dp-synthetic: how many rows to draw. Default: as many as came in.")
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(help="dp-synthetic: the attribute that others will predict; it is measured first."),
    ] = None,
    measurements: Annotated[
        Path | None,
        typer.Option(
            help="dp-synthetic: also write the noisy counts the rows were drawn from (.parquet, .csv). Safe to publish."
        ),
    ] = None,
    grouping: Annotated[
        str,
        typer.Option(help="equal: ranked groups of k. optimal: groups of k to 2k-1 that fit the data best."),
    ] = "equal",
    certificate: Annotated[
        Path | None, typer.Option("--certificate", "-c", help="Default: OUTPUT.certificate.json.")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(help="Reproducible noise for experiments. Not private; the certificate says so."),
    ] = None,
    shuffle: Annotated[bool, typer.Option("--shuffle", help="Release the rows in random order.")] = False,
    clip: Annotated[
        bool, typer.Option("--clip/--no-clip", help="Cut released numbers to their public domain.")
    ] = True,
    table: Annotated[
        str | None, typer.Option(help="Table of a database, or sheet of a workbook (default: the first).")
    ] = None,
    query: Annotated[str | None, typer.Option(help="Query to read instead of a table.")] = None,
    output_table: Annotated[str | None, typer.Option(help="Table to write, for a database URL.")] = None,
    internal: Annotated[
        Path | None,
        typer.Option(help="Also write figures about the cost of the release. DO NOT PUBLISH that file."),
    ] = None,
    sign_with: Annotated[
        Path | None, typer.Option("--sign", help="Ed25519 key file (`coterie certificate key` makes one).")
    ] = None,
    ledger: Annotated[
        Path | None, typer.Option(help="Ledger to charge (`coterie ledger init` makes one).")
    ] = None,
    population: Annotated[str | None, typer.Option(help="Whose lifetime budget the ledger charges.")] = None,
    memory: Annotated[
        str | None,
        typer.Option(help="Stay below so much memory, such as 2GB: Parquet in, Parquet out, sorted on disk."),
    ] = None,
    scratch: Annotated[
        Path | None, typer.Option(help="Folder for intermediate files of --memory. Default: beside OUTPUT.")
    ] = None,
    engine: Annotated[
        str,
        typer.Option(
            help="local, or spark for an existing cluster. Spark's own settings (packages for S3, keys, endpoints) "
            "come from its files and the environment: docs/how-to/large-tables.md."
        ),
    ] = "local",
    master: Annotated[
        str | None,
        typer.Option(help="Spark's master, such as spark://host:7077. Default: that of Spark's settings."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing outputs.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable output.")] = False,
) -> None:
    """Protect a table and write the release with its certificate: both, or nothing.

    Example: coterie protect people.csv --schema schema.yaml --method idp-cbls --epsilon 1 --k 10 --output out.csv
    """
    if (ledger is None) != (population is None):
        raise ParameterError("--ledger and --population belong together.", "Give both, or neither.")
    destination = Destination(
        data=output,
        table=output_table,
        certificate=certificate,
        internal=internal,
        measurements=measurements,
        key=sign_with,
        parts=engine == "spark",
        streamed=memory is not None,
        inputs=((data, table) if table else data, schema_file),
        force=force,
    )
    if engine == "spark" and (table or query or output_table):
        raise ParameterError(
            "Spark reads and writes Parquet, no tables of databases.",
            "Leave out --table, --query and --output-table, or --engine.",
        )
    if query and force and is_database(output) and Address.parse(output).same_database(Address.parse(data)):
        raise OutputError(
            "A query may read any table of the database, so --force could overwrite what it reads.",
            "Write to a new table without --force, or read with --table instead of --query.",
        )
    # A misspelt name should not cost the time of reading the table.
    recipe = get_method(method).grouped(grouping)
    if epsilon is None and recipe.adds_noise:
        raise ParameterError(f"Method '{method}' needs a privacy budget.", "Give --epsilon, for example 1.")
    total = parse_epsilon(epsilon or "1")
    schema = Schema.from_yaml(schema_file)
    where = Where(engine, memory, scratch, master)
    if (where.streamed or engine == "spark") and not clip:
        raise ParameterError("--no-clip needs the whole table in memory.", "Leave it out, or --memory.")
    where.check(
        shuffle=shuffle,
        internal=internal,
        grouping=grouping,
        database=is_database(data) and (engine != "spark" or Address.knows(data)),
    )

    def make() -> Release | LargeRelease:
        if where.streamed:
            with _bar(quiet=as_json) as bar:
                task = bar.add_task("Protecting", total=len(schema.protected))
                return protect_file(
                    data,
                    schema,
                    method=method,
                    epsilon=epsilon,
                    k=k,
                    seed=seed,
                    memory=str(memory),
                    scratch=work,
                    advance=lambda share: bar.advance(task, share),
                )
        if Path(data).is_file() and Path(data).stat().st_size > _LARGE:
            keep_what_is_freed()
            Thread(target=warm_up).start()  # the compiled code is loaded while Arrow reads
        source = [read_table(data, table=table, query=query, schema=schema)]
        with _bar(quiet=as_json) as bar:
            task = bar.add_task("Protecting", total=len(schema.protected))
            return protect(
                source.pop(),  # so that nobody else holds the table
                schema,
                method=method,
                epsilon=epsilon,
                k=k,
                grouping=grouping,
                seed=seed,
                shuffle=shuffle,
                clip=clip,
                forget=internal is None,
                progress=lambda _: bar.advance(task),
                delta=delta,
                rows=rows,
                target=target,
            )

    def stage_watched(release: Any, to: Destination, temporary: Path | str | None) -> Staged:
        with _bar(quiet=as_json, unit="rows") as bar:
            task = bar.add_task("Writing", total=release.records)
            return stage_rows(release.watched(lambda rows: bar.advance(task, rows)), to, temporary)

    run: Make = make
    stage_data, again = stage_watched if where.streamed else stage_rows, table_again
    if where.engine == "spark":
        from coterie.cli.engines import SparkRun

        spark = SparkRun(
            data, schema, destination, master, {"method": method, "epsilon": epsilon, "k": k, "seed": seed}
        )
        run, stage_data, again = spark.make, spark.stage, spark.again
    with scratch_beside(output, scratch) if where.streamed else nullcontext(Path()) as work:
        if ledger is None:
            written = publish(run, destination, stage_data)
        else:
            assert population is not None
            if seed is not None:
                raise ParameterError(
                    "A seeded release protects nobody, so it is not charged to a ledger.",
                    "Leave out --seed or --ledger.",
                )
            request: tuple[object, ...] = (
                method,
                epsilon,
                k,
                grouping,
                shuffle,
                clip,
                schema.to_yaml(),
                data,
                table,
                query,
            )
            if (delta, rows, target) != (
                None,
                None,
                None,
            ):  # a request of an older version stays the same request
                request = (*request, delta, rows, target)
            purpose = purpose_of(
                recipe,
                total,
                schema,
                k,
                population=population,
                target=destination.shown,
                fingerprint=fingerprint_of(data, request),
                shuffled=shuffle,
                clipped=clip,
                delta=delta,
            )
            with Ledger.open(ledger) as book:
                for recovered in book.recovered:
                    errors.print(f"[#E69F00]Note:[/] {escape(recovered.message)}")
                written = publish_charged(run, destination, book, purpose, stage_data, again)
    if not where.streamed:
        forget_scratch(output)
    _report(written, destination, as_json=as_json)


def _bar(*, quiet: bool, unit: str = "attributes") -> Progress:
    count = "{task.completed:,.1f}" if unit == "attributes" else "{task.completed:,}"
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn(f"{count}/{{task.total:,}} {unit}"),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
        console=errors,
        transient=True,
        disable=quiet,
    )


def _report(certificate: Certificate, destination: Destination, *, as_json: bool) -> None:
    shown = destination.shown
    if as_json:
        print_json(
            {
                "output": shown,
                "certificate": str(destination.certificate_path),
                "internal": str(destination.internal) if destination.internal else None,
                "rows": certificate.release.rows,
                "guarantee": certificate.guarantee.model_dump(mode="json"),
                "warnings": list(warnings_on(certificate)),
                "notes": list(certificate.notes),
            }
        )
        return
    console.print(f"Released {certificate.release.rows:,} rows to [bold]{escape(shown)}[/].")
    promise, warnings = certificate.guarantee, warnings_on(certificate)
    console.print(f"Promise: {styled_status(promise.status)}: {escape(promise.label)}.")
    for line in beside_in_words(promise.beside):
        console.print(f"[dim]{escape(line)}.[/]")
    for warning in warnings:
        console.print(f"[bold #D55E00]Warning:[/] {escape(warning)}.")
    for note in certificate.notes:
        if note not in warnings:
            console.print(f"[#E69F00]Note:[/] {escape(note)}.")
    console.print(f"Certificate: {escape(str(destination.certificate_path))}")
    if destination.internal:
        console.print(
            f"Internal figures: {escape(str(destination.internal))} [bold #D55E00](do not publish)[/]"
        )
