"""coterie compare: the whole grid of methods, k and ε, and one page that says what to take from it."""

from __future__ import annotations

import time
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.markup import escape
from rich.table import Table
from typer import Option

import coterie
from coterie.cli import options
from coterie.cli.options import asked
from coterie.cli.output import PLAIN, bar, console, errors, listed, note, print_json, styled_status, warn
from coterie.comparison.grid import left_out
from coterie.comparison.recommendation import PURPOSES
from coterie.errors import ParameterError
from coterie.report.ranking import Best, best_cells, key_to_errors, ranking_measures
from coterie.schema.exact import number


def compare_command(
    data: options.DataSource,
    schema: options.SchemaFile,
    methods: Annotated[
        str, Option("--methods", "-m", help="Separated by commas; `coterie methods` lists them.")
    ],
    epsilon: Annotated[str, Option("--epsilon", "-e", help="Total budgets, separated by commas.")],
    output: Annotated[Path, Option("--output", "-o", help="Folder for results, figures and report.")],
    k: Annotated[
        str, Option("--k", "-k", help="Records per group, separated by commas. Default: by a public rule.")
    ] = "",
    purpose: Annotated[
        str | None,
        Option(help=f"Rank by what readers will do with the release: {', '.join(PURPOSES)}."),
    ] = None,
    table: options.SourceTable = None,
    query: options.Query = None,
    runs: Annotated[int, Option(help="Runs per setting; the figures are their mean.")] = 10,
    seed: Annotated[int, Option(help="Run r draws its noise as `protect --seed SEED+r` does.")] = 0,
    measures: Annotated[
        str | None,
        Option(
            "--measures",
            help="Only these, separated by commas; one that choices are ranked by must be among them.",
        ),
    ] = None,
    bins: options.Bins = "auto",
    target: options.Target = None,
    threshold: options.Threshold = None,
    tune_on: Annotated[
        str | None,
        Option(
            help="A public table of the same columns, or the word 'synthetic': the grid runs on it instead of DATA, "
            "so that choosing from the report discloses nothing."
        ),
    ] = None,
    risk: Annotated[
        bool,
        Option("--risk/--no-risk", help="Attack the example releases too, and map risk against utility."),
    ] = True,
    accept: Annotated[
        str | None,
        Option(help="Promises that the verdict may name beside those that hold: heuristic, refuted, none."),
    ] = None,
    force: Annotated[
        bool, Option("--force", help="Start anew in a folder that holds another comparison.")
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Try several methods, k and ε on one table. An interrupted run continues where it stopped.

    Example: coterie compare people.csv -s schema.yaml -m dp-synthetic,laplace,dp-ir -e 0.1,1 -k 5,10,50 -o comparison
    """
    given = asked(locals(), "output", "risk", "accept")
    given |= {
        "methods": listed(methods),
        "epsilon": listed(epsilon),
        "k": _whole_numbers(k),
        "folder": output,
        "measures": listed(measures)
        if purpose and measures
        else ranking_measures(listed(measures))
        if measures
        else None,
    }
    started = time.perf_counter()
    try:
        with bar("{task.completed}/{task.total} cells", quiet=as_json) as shown:
            task = shown.add_task("Comparing", total=None)
            found = coterie.compare(
                **given, progress=lambda done, total: shown.update(task, completed=done, total=total)
            )
        seconds = time.perf_counter() - started
        waiting = ", ".join(
            ["Drawing", *["training classifiers"] * (target is not None), *["attacking the examples"] * risk]
        )
        # Of a long table this takes longer than the grid: no bar that says that nothing is left.
        with nullcontext() if as_json else errors.status(waiting):
            said = coterie.write_report(
                found, output, audit_seconds=30 if risk else None, accept=listed(accept or "")
            )
        assert said is not None
    except KeyboardInterrupt:
        errors.print(
            f"Stopped. Finished cells are kept in {escape(str(output))}/; the same command goes on from them."
        )
        raise typer.Exit(130) from None
    best = best_cells(found)
    if as_json:
        print_json(
            {
                "output": str(output),
                "verdict": {"headline": said.headline, "points": list(said.points)},
                "cells": len(found.results.cells),
                "resumed": found.resumed,
                "seconds": round(seconds, 3),
                "attacked": [
                    {"release": point.name, "gain": point.risk, "low": point.low, "high": point.high}
                    for point in said.attacked
                ],
                "skipped": [entry.to_json() for entry in found.skipped],
                "best": [entry.to_dict() for entry in best],
            }
        )
        return
    console.print(f"[bold]{escape(said.headline)}[/]")
    points = Table.grid(padding=(0, 1))
    for point in (*said.gains, *said.points):
        points.add_row("·", escape(point))
    console.print(points)
    console.print(_table(best))
    console.print(f"[dim]{escape(key_to_errors(best))}[/]")
    for warning in dict.fromkeys(warning for entry in best for warning in entry.warnings):
        warn(f"{warning}.")
    for line in left_out(found.skipped):
        note(line, before="Skipped")
    if found.resumed:
        console.print(f"{found.resumed} of {len(found.results.cells)} cells were finished earlier and kept.")
    cells = f"{len(found.results.cells):,} {'cell' if len(found.results.cells) == 1 else 'cells'}"
    each = f"{runs} {'run' if runs == 1 else 'runs'}"
    console.print(f"{cells} × {each} in {seconds:.1f} s. Open [bold]{escape(str(output))}/report.html[/].")
    if found.sample is None:
        note("choosing k by looking at the data is itself a disclosure; --tune-on avoids it.")


_OF_WHAT = {
    1: ", lists",
    2: ", weaker",
}  # groups of `ranking.GROUPS`: what is proved, but not differential privacy of rows


def _table(best: list[Best]) -> Table:
    """Reads well on 80 columns: only the words may wrap. Promises are groups: errors of two groups are no rivals."""
    shown = Table(title="The best k of each method", **PLAIN)
    for heading in ("ε", "method", "promise", "best k", "error"):
        justify: Literal["right", "left"] = "right" if heading in ("ε", "best k", "error") else "left"
        shown.add_column(heading, justify=justify, no_wrap=True)
    shown.add_column("in words")
    before: tuple[str, int] | None = None
    for entry in best:
        epsilon = entry.cell.key[2]
        if before not in (None, (epsilon, entry.group)):
            shown.add_section()
        shown.add_row(
            epsilon,
            entry.cell.method,
            styled_status(entry.guarantee.status.value) + _OF_WHAT.get(entry.group, ""),
            str(entry.cell.k) if entry.cell.k > 1 else "–",
            number(entry.error),
            entry.words,
        )
        before = epsilon, entry.group
    return shown


MOST_K = 10_000  # of one range: more is a slip of the pen


def _whole_numbers(text: str) -> list[int]:
    """Numbers and ranges: 5,10,50 or 5-100:5 (from, to, step)."""
    found: list[int] = []
    for word in listed(text):
        try:
            if "-" in word:
                ends, _, step = word.partition(":")
                low, high = ends.split("-")
                several = range(int(low), int(high) + 1, int(step or 1))
                if len(several) > MOST_K:
                    raise ParameterError(
                        f"A range of k has more than {MOST_K:,} values.",
                        "Write larger steps, such as --k 10-1000:10.",
                    )
                found += several
            else:
                found.append(int(word))
        except ValueError:
            raise ParameterError(
                "k holds something that is not a whole number.", "Write --k 5,10,50 or --k 5-100:5."
            ) from None
    return found
