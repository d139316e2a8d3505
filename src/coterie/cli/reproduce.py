"""coterie reproduce: repeat a figure or table of the papers, and say whether it came out."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from typer import Argument, Option

import coterie
from coterie.cli.options import AsJson
from coterie.cli.output import console, errors, note, print_json, table_of
from coterie.errors import DataError


def reproduce_command(
    names: Annotated[
        list[str],
        Argument(metavar="NAME…", help="Experiments such as sanchez-2016-table1; 'all'; or 'list'."),
    ],
    output: Annotated[Path, Option("--output", "-o", help="Folder for figures, data and findings.")] = Path(
        "reproduced"
    ),
    as_json: AsJson = False,
) -> None:
    """Repeat experiments of the papers: the figure, its data, and one line 'reproduced' or 'differs'.

    Example: coterie reproduce sanchez-2016-table1 -o reproduced
    """
    asked = [name.casefold() for name in names]
    if asked == ["list"]:
        _list(as_json=as_json)
        return
    experiments = coterie.list_experiments()
    wanted = list(experiments if asked == ["all"] else dict.fromkeys(names))
    planned = [
        experiments[name] for name in wanted
    ]  # a misspelt name is told before hours of work, not after
    found: list[dict[str, Any]] = []
    not_run: list[DataError] = []
    for experiment in planned:
        name = experiment["name"]
        try:
            with errors.status(f"{name}: {experiment['title']} (about {experiment['seconds']:.0f} s)"):
                result = coterie.reproduce(name, output)
        except DataError as error:
            if len(wanted) == 1:
                raise
            # Other experiments may have their data here: one missing file must not cost all the rest.
            not_run.append(error)
            found.append({"experiment": name, "verdict": f"not run: {error.problem}", "advice": error.advice})
            if not as_json:
                console.print(f"[bold]{name}[/] [bold #E69F00]not run[/] {escape(error.problem)}")
            continue
        found.append(asdict(result))
        if not as_json:
            style = "#009E73" if result.reproduced else "#D55E00"
            word, _, rest = result.verdict.partition(" ")
            console.print(
                f"[bold]{name}[/] [bold {style}]{word}[/] {escape(rest)} [dim]({result.seconds:.1f} s)[/]"
            )
    if as_json:
        print_json(found)
        if not_run:
            raise typer.Exit(not_run[0].exit_code)
        return
    reproduced = sum(entry["verdict"].startswith("reproduced") for entry in found)
    console.print(
        f"{reproduced} of {len(found)} reproduced in full. Figures and data are in [bold]{escape(str(output))}/[/]."
    )
    if not_run:
        for advice in dict.fromkeys(error.advice for error in not_run):
            note(advice, before="Not run for want of data")
        raise typer.Exit(not_run[0].exit_code)


def _list(*, as_json: bool) -> None:
    rows = list(coterie.list_experiments().values())
    if as_json:
        print_json(rows)
        return
    lines = (
        (
            f"[bold]{row['name']}[/]",
            row["title"],
            row["paper"],
            ", ".join(row["data"]) + ("" if row["data_here"] else " [#E69F00](to be fetched)[/]"),
            f"{row['seconds']:.0f} s",
        )
        for row in rows
    )
    caption = "coterie reproduce NAME -o FOLDER, or all"
    headings = ("name", "what", "paper", "data", "about")  # the name is to be copied
    console.print(table_of(lines, headings, whole=("name",), title="Experiments", caption=caption))
