"""coterie recommend: one release to publish, and why."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from rich.markup import escape
from rich.prompt import Prompt
from typer import Argument, Option

import coterie
from coterie.cli.options import AsJson, Query, SourceTable, asked
from coterie.cli.output import console, listed, print_json
from coterie.comparison.recommendation import PURPOSES

_SHORT = {
    "refuted": "the published promise fails; there is a counterexample",
    "heuristic": "no proof",
    "conditional": "holds only under a condition that nobody can check",
    "none": "nothing is promised",
}


def recommend_command(
    data: Annotated[str, Argument(metavar="DATA", help="The table. Only its rows are counted.")],
    schema: Annotated[Path, Option("--schema", "-s", help="The schema of the table.")],
    purpose: Annotated[
        str | None, Option(help=f"What readers will do with the release: {', '.join(PURPOSES)}.")
    ] = None,
    epsilon: Annotated[str, Option("--epsilon", "-e", help="The total budget.")] = "1",
    records: Annotated[
        int | None, Option(help="About how many records there are, where their number is private.")
    ] = None,
    accept: Annotated[
        str | None,
        Option(help="Promises to consider beside proved ones: conditional, heuristic, refuted, none."),
    ] = None,
    table: SourceTable = None,
    query: Query = None,
    as_json: AsJson = False,
) -> None:
    """Say which release to publish, from public facts alone. No value of the table is looked at.

    Example: coterie recommend people.csv --schema schema.yaml --purpose relations
    """
    given = asked(locals(), "purpose", "accept")
    if purpose is None:
        purpose = "relations"
        if sys.stdin.isatty() and sys.stdout.isatty() and not as_json:
            for name, (_, meaning) in PURPOSES.items():
                console.print(f"  [bold]{name}[/]: {meaning}")
            purpose = Prompt.ask("What will readers do with it?", choices=list(PURPOSES), default=purpose)
    found = coterie.recommend(**given, purpose=purpose, accept=listed(accept) if accept else ())
    if as_json:
        print_json(found.to_dict())
        return
    best = found.best
    console.print(f"[bold]Publish this: {best.method} at ε = {found.epsilon}[/] ({best.status}).")
    console.print(escape(best.promise))
    console.print(f"For {PURPOSES[purpose][1]}: {best.words} ({found.measure} {best.error:.3g}).")
    console.print(f"\n  {escape(found.command)}\n", soft_wrap=True)
    if found.runner_up is not None:
        other = found.runner_up
        console.print(f"Next best: {other.method} ({other.status}), {other.words} ({other.error:.3g}).")
    console.print("[bold]Do not publish:[/]")
    reasons: dict[str, list[str]] = {}
    for name, why in found.avoid.items():
        reasons.setdefault(_SHORT.get(why.partition(":")[0], why), []).append(name)
    for why, names in reasons.items():
        console.print(f"  {', '.join(names)}: {escape(why)}")
    console.print("[dim]coterie methods show NAME explains each.[/]")
    for note in found.notes:
        console.print(f"[dim]{escape(note)}[/]")
