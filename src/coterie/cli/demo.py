"""coterie demo: the embedded population through every method."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rich.progress import Progress
from typer import Option

from coterie.cli.options import AsJson
from coterie.cli.output import console, print_json, styled_status, table_of
from coterie.report.demo import caption, write_demo

Output = Annotated[Path, Option("--output", "-o", help="Folder for releases and figures.")]


def demo_command(
    output: Output = Path("demo"),
    epsilon: Annotated[str, Option(help="Total privacy budget.")] = "1",
    k: Annotated[int, Option(help="Records per group.")] = 10,
    force: Annotated[bool, Option("--force", help="Overwrite an earlier demo.")] = False,
    as_json: AsJson = False,
) -> None:
    """Protect an invented population of 5,000 people by every method, and look at the difference.

    Writes the original table, its schema, people who are not in it (the control group of an audit), a release and a
    certificate for each method, and two figures.
    """
    with Progress(console=console, transient=True, disable=as_json) as bar:
        task = bar.add_task("Protecting", total=None)
        rows = write_demo(
            output,
            epsilon=epsilon,
            k=k,
            force=force,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    if as_json:
        print_json({"output": str(output), "methods": rows})
        return
    lines = (
        (
            f"[bold]{row['method']}[/]",
            styled_status(row["status"]),
            row["model"],
            f"{row['mean_squared_error']:.3g}",
            f"{row['seconds']:.2f} s",
        )
        for row in rows
    )
    headings = ("method", "guarantee", "of what", "error (variances)", "time")
    title = "Every method on the demo population"
    console.print(
        table_of(lines, headings, right=headings[3:], title=title, caption=caption(epsilon, k)),
        "What each word means: docs/guarantees/index.md. What a release says of itself: its certificate.",
        f"Releases, certificates and figures are in [bold]{output}/[/]. Look at {output}/utility.png first.",
        sep="\n",
    )
