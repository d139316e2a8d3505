"""coterie protect: a file or database table in, a release and its certificate out."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from coterie.budget import parse_epsilon
from coterie.cli.output import console, errors, print_json, styled_status
from coterie.errors import ParameterError
from coterie.io.address import is_database
from coterie.io.publication import Staged, stage, stage_bytes
from coterie.io.reading import read_table
from coterie.ledger import Ledger, Purpose
from coterie.methods import get_method
from coterie.release import Release, protect
from coterie.schema import Schema
from coterie.signing import sign


@dataclass(frozen=True, slots=True)
class Outputs:
    """Where everything goes, and what must not be overwritten on the way."""

    data: str
    table: str | None
    certificate: Path
    internal: Path | None
    key: Path | None
    inputs: tuple[Any, ...]
    force: bool


def protect_command(
    data: Annotated[
        str, typer.Argument(metavar="INPUT", help="CSV, Parquet or Arrow file; or postgresql://… or sqlite:///…")
    ],
    schema_file: Annotated[
        Path, typer.Option("--schema", "-s", help="Types, roles and public bounds (`coterie schema draft` writes one).")
    ],
    method: Annotated[str, typer.Option("--method", "-m", help="See `coterie methods`. There is no default: choose.")],
    epsilon: Annotated[
        str, typer.Option("--epsilon", "-e", help="Total privacy budget, split over the protected attributes.")
    ],
    output: Annotated[str, typer.Option("--output", "-o", help="Released file (.csv, .parquet, .arrow) or database URL.")],
    k: Annotated[int | None, typer.Option("--k", "-k", help="Records a group.")] = None,
    certificate: Annotated[
        Path | None, typer.Option("--certificate", "-c", help="Default: OUTPUT.certificate.json.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Reproducible noise for experiments. Not private; the certificate says so.")
    ] = None,
    shuffle: Annotated[bool, typer.Option("--shuffle", help="Release the rows in random order.")] = False,
    table: Annotated[str | None, typer.Option(help="Table to read, for a database URL.")] = None,
    query: Annotated[str | None, typer.Option(help="Query to read instead of a table.")] = None,
    output_table: Annotated[str | None, typer.Option(help="Table to write, for a database URL.")] = None,
    internal: Annotated[
        Path | None, typer.Option(help="Also write figures about the cost of the release. DO NOT PUBLISH that file.")
    ] = None,
    sign_with: Annotated[
        Path | None, typer.Option("--sign", help="Ed25519 key file (`coterie certificate key` makes one).")
    ] = None,
    ledger: Annotated[Path | None, typer.Option(help="Ledger to charge (`coterie ledger init` makes one).")] = None,
    population: Annotated[str | None, typer.Option(help="Whose lifetime budget the ledger charges.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing outputs.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable output.")] = False,
) -> None:
    """Protect a table and write the release with its certificate: both, or nothing.

    Example: coterie protect people.csv --schema schema.yaml --method idp-cbls --epsilon 1 --k 10 --output out.csv
    """
    if (ledger is None) != (population is None):
        raise ParameterError("--ledger and --population belong together.", "Give both, or neither.")
    if ledger is not None and seed is not None:
        raise ParameterError(
            "A seeded release protects nobody, so it is not charged to a ledger.", "Leave out --seed or --ledger."
        )
    if is_database(output) and certificate is None:
        raise ParameterError("A release into a database needs a place for its certificate.", "Give --certificate.")
    outputs = Outputs(
        data=output,
        table=output_table,
        certificate=certificate or Path(f"{output}.certificate.json"),
        internal=internal,
        key=sign_with,
        inputs=((data, table) if table else data, schema_file),
        force=force,
    )
    get_method(method)  # a misspelt name should not cost the time of reading the table
    parse_epsilon(epsilon)
    schema = Schema.from_yaml(schema_file)

    def make() -> Release:
        source = read_table(data, table=table, query=query)
        with _bar(quiet=as_json) as bar:
            task = bar.add_task("Protecting", total=len(schema.protected))
            return protect(
                source,
                schema,
                method=method,
                epsilon=epsilon,
                k=k,
                seed=seed,
                shuffle=shuffle,
                progress=lambda _: bar.advance(task),
            )

    if ledger is None:
        release = make()
        for part in _stage_all(release, outputs):
            part.publish()
    else:
        assert population is not None
        release = _charge_and_publish(make, outputs, ledger, population, epsilon)
    _report(release, outputs, as_json=as_json)


def _stage_all(release: Release, outputs: Outputs) -> list[Staged]:
    """Everything written, nothing visible yet. The data come last: they must not stand without their certificate."""
    staged: list[Staged] = []
    try:
        data = stage(
            release.table, outputs.data, force=outputs.force, table_name=outputs.table, inputs=outputs.inputs
        )
        staged.append(data)
        over: Any = "canonical table" if is_database(outputs.data) else "file bytes"
        certificate = release.certificate.sealed(over, data.sha256)
        if outputs.key is not None:
            certificate = sign(certificate, outputs.key)
        content = certificate.to_json().encode()
        taken = (*outputs.inputs, outputs.data)
        staged.insert(0, stage_bytes(content, outputs.certificate, force=outputs.force, inputs=taken))
        if outputs.internal is not None:
            figures = json.dumps(release.internal.to_dict(), indent=2).encode()
            staged.insert(
                0,
                stage_bytes(
                    figures, outputs.internal, force=outputs.force, private=True, inputs=(*taken, outputs.certificate)
                ),
            )
    except BaseException:
        for part in staged:
            part.discard()
        raise
    return staged


def _charge_and_publish(
    make: Callable[[], Release], outputs: Outputs, path: Path, population: str, epsilon: str
) -> Release:
    """Ask first (cheap), protect, then charge and publish in one go: see coterie.ledger."""
    with Ledger.open(path) as ledger:
        target = f"{outputs.data} table '{outputs.table}'" if outputs.table else str(Path(outputs.data).absolute())
        for recovered in ledger.recovered:
            errors.print(f"[dim]An earlier, interrupted release was settled: {recovered}[/]")
        ledger.book().afford(Purpose(population, parse_epsilon(epsilon), "", "", target))
        release = make()
        certificate = release.certificate
        purpose = Purpose(
            population, parse_epsilon(epsilon), certificate.method, certificate.guarantee.status, target
        )
        with ledger.charge(purpose) as charge:
            charge.publish(_stage_all(release, outputs))
    return release


def _bar(*, quiet: bool) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total} attributes"),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
        console=errors,
        transient=True,
        disable=quiet,
    )


def _report(release: Release, outputs: Outputs, *, as_json: bool) -> None:
    certificate = release.certificate
    shown = outputs.table or outputs.data
    if as_json:
        print_json(
            {
                "output": shown,
                "certificate": str(outputs.certificate),
                "internal": str(outputs.internal) if outputs.internal else None,
                "rows": certificate.release.rows,
                "guarantee": certificate.guarantee.model_dump(mode="json"),
                "notes": list(certificate.notes),
            }
        )
        return
    console.print(f"Released {certificate.release.rows:,} rows to [bold]{escape(shown)}[/].")
    console.print(
        f"Promise: {styled_status(certificate.guarantee.status)}. {escape(certificate.guarantee.label)}."
    )
    for note in certificate.notes:
        console.print(f"[#E69F00]Note:[/] {escape(note)}.")
    console.print(f"Certificate: {escape(str(outputs.certificate))}")
    if outputs.internal:
        console.print(f"Internal figures: {escape(str(outputs.internal))} [bold #D55E00](do not publish)[/]")
