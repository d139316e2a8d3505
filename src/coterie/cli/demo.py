"""coterie demo: the embedded population through every method."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rich.progress import Progress
from typer import Option

from coterie.cli.options import AsJson
from coterie.cli.output import console, say, styled_status, table_of
from coterie.report.demo import caption, write_demo

_SHORT = {"differential privacy": "DP", "individual differential privacy": "individual DP"}
Output = Annotated[Path, Option("--output", "-o", help="Folder for releases and figures.")]


def demo_command(
    output: Output = Path("demo"),
    epsilon: Annotated[str, Option(help="Total privacy budget.")] = "1",
    k: Annotated[int, Option(help="Records per group.")] = 10,
    force: Annotated[bool, Option("--force", help="Overwrite an earlier demo.")] = False,
    as_json: AsJson = False,
) -> None:
    """Protect an invented population of 5,000 people, check the release, and write its dossier; then every other method.

    Writes the original table, its schema, people who are not in it (the control group of an audit), a proved release
    with its checks and dossiers, a comparison with its report, a release and a certificate for each method, and two figures.
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
    lines = (
        (
            f"[bold]{row['method']}[/]",
            styled_status(row["status"]),
            _SHORT.get(row["model"], row["model"]),
            f"{row['two_way']:.2f}",
            row["relations_in_words"],
            f"{row['seconds']:.2f} s",
        )
        for row in rows
    )
    headings = ("method", "promise", "of what", "tables off", "relations", "time")
    title = "Every method on the demo population"
    right, below = (headings[3], headings[5]), caption(epsilon, k)
    say(
        {"output": str(output), "methods": rows},
        table_of(lines, headings, whole=headings, right=right, title=title, caption=below),
        "DP is differential privacy. What each word means: docs/guarantees/index.md.",
        "Tables off: the share of people who would have to move for the tables of two columns to be right; 0 is best.",
        f"[bold]Open {output}/release/out.csv.dossier.pdf[/]: the proved release, as somebody reads who must sign it.",
        f"[bold]Open {output}/comparison/report.html[/]: what other methods keep, promise and give away.",
        f"Releases, certificates and figures of all methods are in {output}/, too.",
        as_json=as_json,
    )
