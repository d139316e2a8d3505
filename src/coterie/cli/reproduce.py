"""coterie reproduce: repeat a figure or table of the papers, and say whether it came out."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from typer import Argument, Option

from coterie.cli.options import AsJson
from coterie.cli.output import console, errors, note, print_json, table_of
from coterie.errors import DataError, OutputError
from coterie.papers import all_experiments, get_experiment
from coterie.papers.data import available


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
    wanted = list(all_experiments() if asked == ["all"] else dict.fromkeys(names))
    for name in wanted:
        get_experiment(name)  # say so before hours of work, not after
    if output.exists() and not output.is_dir():
        raise OutputError(f"{output} is a file.", "Choose another folder with --output.")
    found: list[dict[str, Any]] = []
    not_run: list[DataError] = []
    for name in wanted:
        experiment = get_experiment(name)
        started = time.perf_counter()
        try:
            with errors.status(f"{name}: {experiment.title} (about {experiment.seconds:.0f} s)"):
                verdict = experiment.run(output)
        except DataError as error:
            if len(wanted) == 1:
                raise
            # Other experiments may have their data here: one missing file must not cost all the rest.
            not_run.append(error)
            found.append({"experiment": name, "verdict": f"not run: {error.problem}", "advice": error.advice})
            if not as_json:
                console.print(f"[bold]{name}[/] [bold #E69F00]not run[/] {escape(error.problem)}")
            continue
        seconds = time.perf_counter() - started
        found.append({**_findings(output / f"{name}.json"), "verdict": verdict, "seconds": round(seconds, 1)})
        if not as_json:
            style = "#009E73" if verdict.startswith("reproduced") else "#D55E00"
            word, _, rest = verdict.partition(" ")
            console.print(f"[bold]{name}[/] [bold {style}]{word}[/] {escape(rest)} [dim]({seconds:.1f} s)[/]")
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


def _findings(path: Path) -> dict[str, Any]:
    """What an experiment wrote beside its figure, if it writes such a file."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {"experiment": path.stem}
    return content if isinstance(content, dict) else {"experiment": path.stem}


def _list(*, as_json: bool) -> None:
    rows: list[dict[str, Any]] = [
        {
            "name": experiment.name,
            "title": experiment.title,
            "paper": experiment.paper,
            "data": list(experiment.data),
            "data_here": all(available(name) for name in experiment.data),
            "seconds": experiment.seconds,
        }
        for experiment in all_experiments().values()
    ]
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
