"""coterie demo: the embedded population through every method."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer
from rich.progress import track
from rich.table import Table

from coterie.cli.output import console, print_json, styled_status
from coterie.engines.in_memory import Release, protect
from coterie.errors import OutputError
from coterie.evaluation.pair import bring_together
from coterie.methods import all_methods
from coterie.methods.guarantee import beside_in_words
from coterie.promise.certificate import Digest
from coterie.publication.staging import stage, stage_bytes
from coterie.report.charts import Figure, Interval, intervals
from coterie.report.charts.svg import STATUS
from coterie.report.table_figures import distributions
from coterie.schema.exact import parse_epsilon
from coterie.table.demo_population import demo_population, demo_schema

DRAWN = ("laplace", "dp-ir", "idp-ls", "idp-cbls")


def demo_command(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for releases and figures.")] = Path(
        "demo"
    ),
    epsilon: Annotated[str, typer.Option(help="Total privacy budget.")] = "1",
    k: Annotated[int, typer.Option(help="Records per group.")] = 10,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an earlier demo.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable output.")] = False,
) -> None:
    """Protect an invented population of 5,000 people by every method, and look at the difference.

    Writes the original table, its schema, a release and a certificate for each method, and two figures.
    """
    if output.exists() and not output.is_dir():
        raise OutputError(f"'{output}' is a file.", "Choose another folder with --output.")
    if output.is_dir() and any(output.iterdir()) and not force:
        raise OutputError(f"'{output}' is not empty.", "Choose another folder, or overwrite with --force.")
    population, schema = demo_population(), demo_schema()
    parse_epsilon(epsilon)
    for method in all_methods().values():  # nothing is written before every method can run
        method.check_k(None if method.fixed_k else k, population.num_rows)
    output.mkdir(parents=True, exist_ok=True)
    stage(population, output / "population.csv", force=force).publish()
    stage_bytes(schema.to_yaml().encode(), output / "schema.yaml", force=force).publish()
    rows: list[dict[str, Any]] = []
    tables: dict[str, pa.Table] = {}
    for method in track(
        list(all_methods().values()),
        description="Protecting",
        console=console,
        disable=as_json,
        transient=True,
    ):
        started = time.perf_counter()
        release = protect(
            population,
            schema,
            method=method.name,
            epsilon=epsilon,
            k=None if method.fixed_k or method.public_k else k,
        )
        seconds = time.perf_counter() - started
        tables[method.name] = release.table
        rows.append(_row(release, seconds))
        _write(release, output / method.name, force=force)
    caption = f"{population.num_rows:,} invented people, ε = {epsilon}, k = {k}"
    pairs = {name: bring_together(population, tables[name], schema) for name in DRAWN}
    original = next(iter(pairs.values())).original
    columns = {name: pair.released for name, pair in pairs.items()}
    title = f"Attributes before and after: {caption}"
    said = "Values beyond the shown range are counted in the first and the last bar."
    for name, figure in (
        ("utility.png", _costs(rows, caption)),
        ("distributions.png", distributions(original, columns, title=title, caption=said)),
    ):
        stage_bytes(figure.png(), output / name, force=force).publish()
    if as_json:
        print_json({"output": str(output), "methods": rows})
        return
    console.print(_table(rows, caption))
    console.print(
        "What each word means: docs/guarantees/index.md. What a release says of itself: its certificate."
    )
    console.print(
        f"Releases, certificates and figures are in [bold]{output}/[/]. Look at {output}/utility.png first."
    )


def _costs(rows: list[dict[str, Any]], caption: str) -> Figure:
    """The error of each method, with a mark for what it promises."""
    return intervals(
        [
            Interval(
                row["method"],
                row["mean_squared_error"],
                look=STATUS[row["status"]],
                note="" if row["status"] == "none" else row["model"],
            )
            for row in rows
        ],
        axis="mean squared error (variances per attribute)",
        caption="",
        looks=[
            (status, look) for status, look in STATUS.items() if any(row["status"] == status for row in rows)
        ],
        log=True,
        first="method",
        title=f"What each method costs: {caption}",
    )


def _row(release: Release, seconds: float) -> dict[str, Any]:
    figures = release.internal.attributes.values()
    return {
        "method": release.method,
        "status": release.guarantee.status.value,
        "model": release.guarantee.model,
        "label": release.guarantee.label,
        "beside": beside_in_words(release.guarantee.beside),
        "mean_squared_error": sum(figure.mean_squared_error or 0.0 for figure in figures) / len(figures),
        "seconds": seconds,
    }


def _write(release: Release, folder: Path, *, force: bool) -> None:
    folder.mkdir(exist_ok=True)
    data = stage(release.table, folder / "release.csv", force=force)
    certificate = release.certify(Digest(over="file bytes", value=data.sha256))
    stage_bytes(certificate.to_json().encode(), folder / "certificate.json", force=force).publish()
    data.publish()


def _table(rows: list[dict[str, Any]], caption: str) -> Table:
    table = Table(title="Every method on the demo population", caption=caption)
    table.add_column("method", style="bold")
    table.add_column("guarantee")
    table.add_column("of what")
    table.add_column("error (variances)", justify="right")
    table.add_column("time", justify="right")
    for row in rows:
        table.add_row(
            row["method"],
            styled_status(row["status"]),
            row["model"],
            f"{row['mean_squared_error']:.3g}",
            f"{row['seconds']:.2f} s",
        )
    return table
