"""coterie stats: plan the split of a budget over statistics, publish them, list the allocators."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

import coterie
from coterie import statistics
from coterie.cli.output import console, errors, print_json, styled_status
from coterie.cli.stats_output import report_release, show_plan
from coterie.errors import ParameterError
from coterie.publication.staging import stage_bytes
from coterie.report.plan_figure import plan_figure
from coterie.statistics.allocators import DEFAULT

app = typer.Typer(
    help="Publish summary statistics with the best possible split of the budget.", no_args_is_help=True
)
Spec = Annotated[Path, typer.Argument(metavar="SPEC", help="The specification, a YAML file.")]
AsJson = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]
ByName = Annotated[str, typer.Option("--allocator", "-a", help="See `coterie stats allocators`.")]
AsInPaper = Annotated[
    bool,
    typer.Option("--as-in-paper", help="Plan on the data, as Nunes 2024 does. Not differentially private."),
]
Solve = Annotated[str | None, typer.Option(help="`epsilon`: the smallest budget that meets all tolerances.")]
Split = Annotated[
    Path | None, typer.Option(help="Budgets by hand, a YAML file: name of what is measured, and its budget.")
]


@app.command("plan")
def plan_command(
    spec: Spec,
    allocator: ByName = DEFAULT,
    compare: Annotated[bool, typer.Option("--compare/--no-compare", help="Try all allocators.")] = True,
    solve: Solve = None,
    split: Split = None,
    figure: Annotated[Path | None, typer.Option(help="Write a figure (.svg, .png or .html).")] = None,
    proofs: Annotated[bool, typer.Option("--proofs", help="Print why each sensitivity holds.")] = False,
    as_in_paper: AsInPaper = False,
    data: Annotated[str | None, typer.Option(help="Only with --as-in-paper: the data it looks at.")] = None,
    table: Annotated[str | None, typer.Option(help="Table to read, for a database URL.")] = None,
    as_json: AsJson = False,
) -> None:
    """Split the budget for the smallest errors of the statistics and equations. Never looks at the data.

    Example: coterie stats plan spec.yaml --figure plan.png
    """
    with _busy(as_json) as busy:
        busy.add_task("Planning")
        chosen = statistics.plan(
            spec,
            allocator,
            compare=None if compare else (),
            solve=_asks_to_solve(solve),
            split=split,
            as_in_paper=as_in_paper,
            data=data,
            table=table,
        )
        picture = plan_figure(chosen).written_as(figure) if figure is not None else b""
    if figure is not None:
        stage_bytes(picture, figure, force=True, inputs=(spec,)).publish()
    if as_json:
        print_json(chosen.to_dict())
    else:
        show_plan(chosen, proofs)
        if figure is not None:
            console.print(f"Figure: {escape(str(figure))}")


@app.command("release")
def release_command(
    spec: Spec,
    data: Annotated[
        str, typer.Option("--data", "-d", help="CSV, Parquet, Arrow or Excel file; or postgresql://…")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The released file (.csv or .json).")],
    table: Annotated[str | None, typer.Option(help="Table to read, for a database URL.")] = None,
    allocator: ByName = DEFAULT,
    ledger: Annotated[
        Path | None, typer.Option(help="Ledger to charge (`coterie ledger init` makes one).")
    ] = None,
    sign_with: Annotated[
        Path | None, typer.Option("--sign", help="Ed25519 key file (`coterie certificate key` makes one).")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(help="Reproducible noise for experiments. Not private; the certificate says so."),
    ] = None,
    solve: Solve = None,
    split: Split = None,
    as_in_paper: AsInPaper = False,
    as_json: AsJson = False,
) -> None:
    """Compute the statistics, add noise, write them with intervals and a certificate; charge once.

    Asking again with the same specification and data returns the stored release and spends nothing, with a ledger
    or without one.

    Example: coterie stats release spec.yaml --data people.csv --output statistics.csv --ledger ledger.sqlite
    """
    with _busy(as_json) as busy:
        task = busy.add_task("Reading")
        published = statistics.release(
            spec,
            data,
            output,
            table=table,
            allocator=allocator,
            seed=seed,
            ledger=ledger,
            sign=sign_with,
            as_in_paper=as_in_paper,
            solve=_asks_to_solve(solve),
            split=split,
            progress=lambda message: busy.update(task, description=message),
        )
    report_release(published, as_json)


@app.command("verify")
def verify_command(
    released: Annotated[Path, typer.Argument(metavar="OUT", help="The released file.")],
    certificate_file: Annotated[Path, typer.Argument(metavar="CERTIFICATE", help="Its certificate.")],
    key: Annotated[Path | None, typer.Option(help="The issuer's public key (.pub).")] = None,
    as_json: AsJson = False,
) -> None:
    """Say whether released statistics and a certificate belong together. Exit code 7 if they do not."""
    found = coterie.verify(released, certificate_file, key=key)
    promise = found.certificate.guarantee
    if as_json:
        print_json({"match": True, "signer": found.signer, "guarantee": promise.model_dump(mode="json")})
    else:
        console.print("[bold #009E73]They belong together.[/]")
        console.print(f"Promise: {styled_status(promise.status)}. {escape(promise.label)}.")


@app.command("allocators")
def allocators_command(as_json: AsJson = False) -> None:
    """List the ways of splitting a budget."""
    if as_json:
        print_json(
            [{"name": a.name, "title": a.title, "source": a.source} for a in statistics.allocators().values()]
        )
        return
    shown = Table("allocator", "what it does", "source", box=None, pad_edge=False)
    for allocator in statistics.allocators().values():
        mark = " (default)" if allocator.name == DEFAULT else ""
        shown.add_row(f"[bold]{allocator.name}[/]{mark}", allocator.title, allocator.source)
    console.print(shown)


def _asks_to_solve(solve: str | None) -> bool:
    if solve not in (None, "epsilon", "rho", "budget"):
        raise ParameterError("--solve knows `epsilon` only.", "Write --solve epsilon.")
    return solve is not None


def _busy(quiet: bool) -> Progress:
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        console=errors,
        transient=True,
        disable=quiet,
    )
