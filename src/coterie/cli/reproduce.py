"""coterie reproduce: repeat a figure or table of the papers, and say how each claim ends."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from typer import Argument, Option

import coterie
from coterie.cli.options import AsJson
from coterie.cli.output import console, errors, note, print_json, say, table_of
from coterie.errors import DataError, ParameterError
from coterie.papers import get_experiment
from coterie.papers.experiment import ClaimVerdict
from coterie.papers.reproduction import Reproduction


def reproduce_command(
    names: Annotated[
        list[str],
        Argument(metavar="NAME…", help="Experiments such as sanchez-2016-table1; 'all'; or 'list'."),
    ],
    output: Annotated[Path, Option("--output", "-o", help="Folder for figures, data and findings.")] = Path(
        "reproduced"
    ),
    reading: Annotated[
        str | None,
        Option(
            help="One way to read the paper, such as printed or sigma ('list' shows them). Default: all, side by side."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Repeat experiments of the papers: the figure, its data, and a verdict on every claim.

    A claim holds, holds under another reading of the text, is a slip in the paper, or is not explained.

    Example: coterie reproduce fragmented-fig3 --reading sigma -o reproduced
    """
    asked = [name.casefold() for name in names]
    if asked == ["list"]:
        _list(as_json=as_json)
        return
    experiments = coterie.list_experiments()
    for word in ("list", "all"):
        if word in asked and len(asked) > 1:
            raise ParameterError(f"'{word}' goes with no other name.", f"Write `coterie reproduce {word}`.")
    if asked == ["all"]:
        planned = list(experiments.values())
        having = [entry for entry in planned if reading in entry["readings"]]
        planned = having or planned if reading else planned
    else:  # a misspelt name is told before hours of work, not after
        planned = [experiments[name] for name in dict.fromkeys(names)]
    for entry in planned if reading else []:
        get_experiment(entry["name"]).reading(reading or "")
    found: list[dict[str, Any]] = []
    not_run: list[DataError] = []
    for experiment in planned:
        name = experiment["name"]
        try:
            with errors.status(f"{name}: {experiment['title']} (about {experiment['seconds']:.0f} s)"):
                result = coterie.reproduce(name, output, reading)
        except DataError as error:
            if len(planned) == 1:
                raise
            # Other experiments may have their data here: one missing file must not cost all the rest.
            not_run.append(error)
            found.append({"experiment": name, "verdict": f"not run: {error.problem}", "advice": error.advice})
            if not as_json:
                console.print(f"[bold]{name}[/] [bold #E69F00]not run[/] {escape(error.problem)}")
            continue
        found.append(asdict(result))
        if not as_json:
            _print(result)
    if as_json:
        print_json(found)
        if not_run:
            raise typer.Exit(not_run[0].exit_code)
        return
    words = Counter(finding["verdict"] for entry in found for finding in entry.get("findings", ()))
    said = ", ".join(f"{word}: {words[word]}" for word in ClaimVerdict if words[word])
    console.print(
        f"{words.total()} claims ({said or 'none'}). Figures and data are in [bold]{escape(str(output))}/[/]."
    )
    if not_run:
        for advice in dict.fromkeys(error.advice for error in not_run):
            note(advice, before="Not run for want of data")
        raise typer.Exit(not_run[0].exit_code)


_STYLES = {
    ClaimVerdict.HOLDS: "#009E73",
    ClaimVerdict.OTHER_READING: "#0072B2",
    ClaimVerdict.SLIP: "#E69F00",
    ClaimVerdict.UNEXPLAINED: "#D55E00",
}


def _print(result: Reproduction) -> None:
    """A line per claim: its verdict and, where it does not simply hold, the evidence."""
    readings = ", ".join(reading.name for reading in result.readings)
    console.print(f"[bold]{result.experiment}[/] [dim]readings: {readings} ({result.seconds:.1f} s)[/]")
    for finding in result.findings:
        line = f"  [{_STYLES[finding.verdict]}]{finding.verdict}[/] {escape(finding.claim)}"
        if finding.verdict is ClaimVerdict.HOLDS:
            console.print(f"{line}: {escape(finding.evidence)}")
        else:
            console.print(f"{line} (published: {escape(finding.published)})\n    {escape(finding.evidence)}")


def _list(*, as_json: bool) -> None:
    rows = list(coterie.list_experiments().values())
    lines = (
        (
            f"[bold]{row['name']}[/]",
            row["title"]
            + (f" [dim](readings: {', '.join(row['readings'])})[/]" if len(row["readings"]) > 1 else ""),
            row["paper"],
            ", ".join(row["data"]) + ("" if row["data_here"] else " [#E69F00](to be fetched)[/]"),
            f"{row['seconds']:.0f} s",
        )
        for row in rows
    )
    caption = "coterie reproduce NAME -o FOLDER, or all"
    headings = ("name", "what", "paper", "data", "about")  # the name is to be copied
    table = table_of(lines, headings, whole=("name",), title="Experiments", caption=caption)
    say(rows, table, as_json=as_json)
