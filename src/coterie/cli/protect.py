"""coterie protect: a file or database table in, a release and its certificate out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from rich.markup import escape
from typer import Argument, Option

import coterie
from coterie.cli import options
from coterie.cli.methods import complete_method
from coterie.cli.options import asked
from coterie.cli.output import bar, console, errors, next_steps, note, print_json, styled_status, warn
from coterie.methods.guarantee import beside_in_words
from coterie.promise.posterior import DP, odds_in_words
from coterie.table.address import is_database


def protect_command(
    data: Annotated[
        str,
        Argument(
            metavar="INPUT",
            help="CSV, Parquet, Arrow, Excel, SPSS, Stata, SAS or R file; or postgresql://… or sqlite:///…; "
            "with --engine spark, Parquet at a path, s3a://… or hdfs://….",
        ),
    ],
    schema: options.SchemaFile,
    method: Annotated[
        str,
        Option(
            "--method",
            "-m",
            help="See `coterie methods`. There is no default: choose.",
            autocompletion=complete_method,
        ),
    ],
    output: Annotated[
        str,
        Option(
            "--output",
            "-o",
            help="Released file (.csv, .parquet, .arrow, .sav, .zsav, .dta) or database URL; with --engine spark, a "
            "folder of Parquet files, also s3a://… or hdfs://….",
        ),
    ],
    epsilon: Annotated[
        str | None,
        Option(
            "--epsilon",
            "-e",
            help="Total privacy budget, split over the protected attributes. (dp-mdav gives the whole to each, "
            "as published; ir and mdav add no noise and need none.)",
        ),
    ] = None,
    delta: Annotated[
        str | None,
        Option(
            help="dp-synthetic: (ε, δ) instead of pure ε, with less noise. Well below one over the number of records."
        ),
    ] = None,
    k: options.GroupSize = None,
    rows: Annotated[
        int | None,
        Option(
            help="dp-synthetic: how many rows to draw. Default: as many as came in (with a unit: about as many)."
        ),
    ] = None,
    target: Annotated[
        str | None, Option(help="dp-synthetic: the attribute that others will predict; it is measured first.")
    ] = None,
    measurements: Annotated[
        Path | None,
        Option(
            help="dp-synthetic: also write the noisy counts behind the rows (.parquet, .csv). Safe to publish."
        ),
    ] = None,
    grouping: Annotated[
        str, Option(help="equal: ranked groups of k. optimal: groups of k to 2k-1 that fit the data best.")
    ] = "equal",
    certificate: options.Certificate = None,
    seed: options.NoiseSeed = None,
    shuffle: Annotated[
        bool | None,
        Option(
            "--shuffle/--keep-order",
            help="Release rows in random order, or in that of the table. Default: random, unless --seed, --memory or "
            "--engine is given.",
            show_default=False,
        ),
    ] = None,
    clip: Annotated[
        bool, Option("--clip/--no-clip", help="Cut released numbers to their public domain.")
    ] = True,
    table: options.SourceTable = None,
    query: options.Query = None,
    output_table: Annotated[str | None, Option(help="Table to write, for a database URL.")] = None,
    internal: Annotated[
        Path | None,
        Option(help="Also write figures about the cost of the release. DO NOT PUBLISH that file."),
    ] = None,
    sign: options.SignWith = None,
    ledger: options.LedgerToCharge = None,
    population: Annotated[str | None, Option(help="Whose lifetime budget the ledger charges.")] = None,
    memory: Annotated[
        str | None,
        Option(help="Stay below this much memory, such as 2GB: Parquet in, Parquet out, sorted on disk."),
    ] = None,
    scratch: Annotated[
        Path | None, Option(help="Folder for intermediate files of --memory. Default: beside OUTPUT.")
    ] = None,
    engine: Annotated[
        str,
        Option(
            help="local, or spark for an existing cluster. Spark's own settings (packages for S3, keys, endpoints) "
            "come from its files and the environment: docs/how-to/large-tables.md."
        ),
    ] = "local",
    master: Annotated[
        str | None,
        Option(help="Spark's master, such as spark://host:7077. Default: that of Spark's settings."),
    ] = None,
    despite: options.Despite = None,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Protect a table and write the release with its certificate: both, or nothing.

    Example: coterie protect people.csv --schema schema.yaml --method dp-synthetic --epsilon 1 --output out.csv
    """
    given = asked(locals())
    with (
        _notes_of_an_interrupt(),
        _bars(quiet=as_json) as show,
        _opened(ledger if population else None) as book,
    ):
        written = coterie.publish(**{**given, "ledger": book or ledger}, progress=show)
    _report(written, as_json=as_json)
    if not as_json and engine == "local" and memory is None and not is_database(output):
        _go_on(written, data, output, schema)


@contextmanager
def _notes_of_an_interrupt() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt as interrupt:
        for words in getattr(interrupt, "__notes__", ()):
            note(words, to=errors)
        raise


@contextmanager
def _opened(path: Path | None) -> Iterator[coterie.Ledger | None]:
    """The ledger, after saying what earlier, interrupted releases came to."""
    if path is None:
        yield None
        return
    with coterie.Ledger.open(path) as ledger:
        for recovered in ledger.recovered:
            note(recovered.message, to=errors)
        yield ledger


@contextmanager
def _bars(*, quiet: bool) -> Iterator[Callable[[str, float, float], None]]:
    """One bar for each thing that is done."""
    tasks: dict[str, Any] = {}
    with bar("{task.percentage:.0f} %", quiet=quiet) as shown:

        def show(what: str, done: float, total: float) -> None:
            if what not in tasks:
                tasks[what] = shown.add_task(what)
            shown.update(tasks[what], completed=done, total=total)

        yield show


def _go_on(written: coterie.Written, data: str, output: str, schema: Path) -> None:
    """Say what to do before the release is published."""
    promise = written.certificate.guarantee
    if promise.status == "proved" and promise.model == DP:
        next_steps(data, output, schema, "Before you publish it:")
    else:
        warn(
            "this release has no proved differential-privacy promise. `coterie recommend` names one that has; "
            "`coterie audit` shows what an attacker gets from this one."
        )


def _report(written: coterie.Written, *, as_json: bool) -> None:
    certificate = written.certificate
    promise, warnings = certificate.guarantee, written.warnings
    if as_json:
        print_json(
            {
                "output": written.path,
                "certificate": str(written.certificate_path),
                "internal": str(written.internal) if written.internal else None,
                "rows": certificate.release.rows,
                "guarantee": promise.model_dump(mode="json"),
                "warnings": list(warnings),
                "notes": list(certificate.notes),
            }
        )
        return
    console.print(f"Released {certificate.release.rows:,} rows to [bold]{escape(written.path)}[/].")
    console.print(f"Promise: {styled_status(promise.status)}: {escape(promise.label)}.")
    if promise.status == "proved" and promise.model == DP:
        console.print(odds_in_words(promise))
    for line in beside_in_words(promise.beside):
        console.print(f"[dim]{escape(line)}.[/]")
    for warning in warnings:
        warn(f"{warning}.")
    for words in certificate.notes:
        if words not in warnings:
            note(f"{words}.")
    console.print(f"Certificate: {escape(str(written.certificate_path))}")
    if written.internal:
        console.print(f"Internal figures: {escape(str(written.internal))} [bold #D55E00](do not publish)[/]")
