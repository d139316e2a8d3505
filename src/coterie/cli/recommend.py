"""coterie recommend: one release to publish, and why."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

from rich.markup import escape
from rich.prompt import FloatPrompt, Prompt
from typer import Argument, Option

import coterie
from coterie.cli.options import AsJson, Query, SchemaFile, SourceTable, Target, asked
from coterie.cli.output import PLAIN, console, listed, next_steps, note, print_json, spinner, table_of
from coterie.comparison.recommendation import PURPOSES, is_usable
from coterie.comparison.trial import Recommendation
from coterie.evaluation import get_measure
from coterie.schema.document import as_schema
from coterie.schema.exact import number

_SHORT = {
    "refuted": "the published promise fails; there is a counterexample",
    "heuristic": "no proof",
    "conditional": "holds only under a condition that nobody can check",
    "none": "nothing is promised",
    "no noise": "no noise: k-anonymity does not limit what an attacker with knowledge can learn",
}


def recommend_command(
    data: Annotated[str, Argument(metavar="DATA", help="The table. Only its rows are counted.")],
    schema: SchemaFile,
    purpose: Annotated[
        str | None, Option(help=f"What readers will do with the release: {', '.join(PURPOSES)}.")
    ] = None,
    epsilon: Annotated[str, Option("--epsilon", "-e", help="The total budget.")] = "1",
    records: Annotated[
        int | None, Option(help="About how many records there are, where their number is private.")
    ] = None,
    unit_size: Annotated[
        float | None,
        Option(help="Rows of an average unit, from public knowledge: with it `at_most` is chosen, too."),
    ] = None,
    target: Target = None,
    accept: Annotated[
        str | None,
        Option(help="Promises to consider beside proved ones: conditional, heuristic, refuted, none."),
    ] = None,
    pure: Annotated[bool, Option("--pure", help="Consider no δ: pure ε only.")] = False,
    table: SourceTable = None,
    query: Query = None,
    as_json: AsJson = False,
) -> None:
    """Say which release to publish, from public facts alone. No value of the table is looked at.

    Example: coterie recommend people.csv --schema schema.yaml --purpose relations
    """
    given = asked(locals(), "accept")
    if sys.stdin.isatty() and sys.stdout.isatty() and not as_json:
        given |= _questions(given)
    given["purpose"] = given["purpose"] or "relations"
    with spinner("Trying the methods on invented people", quiet=as_json):
        found = coterie.recommend(**given, accept=listed(accept) if accept else ())
    if as_json:
        print_json(found.to_dict())
    else:
        _print(found, data, schema)


def _questions(given: dict[str, Any]) -> dict[str, Any]:
    """Ask for what was not given and cannot be seen in the table."""
    answers: dict[str, Any] = {}
    if given["purpose"] is None:
        for name, (_, meaning) in PURPOSES.items():
            console.print(f"  [bold]{name}[/]: {meaning}")
        answers["purpose"] = Prompt.ask(
            "What will readers do with it?", choices=list(PURPOSES), default="relations"
        )
    unit = as_schema(given["schema"]).unit
    if unit is not None and given["records"] is None:
        words = "About how many rows are there? Not from the table: from public knowledge"
        answers["records"] = int(FloatPrompt.ask(words))
    if unit is not None and given["unit_size"] is None:
        words = f"How many rows has an average {unit.word}? From public knowledge, such as a census"
        answers["unit_size"] = FloatPrompt.ask(words, default=float(unit.at_most))
    return answers


def _print(found: Recommendation, data: str, schema: Path) -> None:
    best = found.best
    meaning = PURPOSES[found.purpose][1]
    if is_usable(best.words, found.measure):
        console.print(f"[bold]Publish this: {best.choice}[/] ({best.status}).")
    else:
        console.print(
            f"[bold]No release keeps {meaning} at ε = {found.epsilon}.[/] Read the notes before you publish."
        )
        console.print(f"The least loss: [bold]{best.choice}[/] ({best.status}).")
    console.print(escape(best.promise))
    scale = get_measure(found.measure).title
    console.print(
        f"For {meaning}: [bold]{best.words}[/] ({scale}: {number(best.error, 2)}, from 0, best, to 1)."
    )
    if found.at_most is not None:
        console.print(
            f"Privacy unit: `at_most: {found.at_most}`. Write it into the schema before you release."
        )
    console.print(f"\n  {escape(found.command)}\n", soft_wrap=True)
    sure = best.accuracy
    rows = [
        ("share of one answer", f"± {number(sure.shares, 2)} points"),
        ("cell of a two-way table", f"± {number(sure.cells, 2)} points"),
        ("average of a number", f"± {number(sure.averages, 2)} % of its range"),
        ("distributions of single columns", sure.distributions),
        ("relations between two columns", sure.relations),
        ("regressions and classifiers", sure.models),
    ]
    caption = "± holds 9 times in 10, on invented people"
    console.print(table_of(rows, ("what users can expect", ""), title="", caption=caption, **PLAIN))
    if found.strengths:
        lines = [
            (one.epsilon, f"at most {one.at_most_sure}", f"± {number(one.shares, 2)} points", one.words)
            for one in found.strengths
        ]
        headings = ("ε", "50 % sure before; after", "shares", meaning)
        console.print(table_of(lines, headings, title="How strong should the promise be?", **PLAIN))
    if found.runner_up is not None:
        other = found.runner_up
        console.print(
            f"Next best: {other.choice} ({other.status}): {other.words} ({number(other.error, 2)})."
        )
    reasons: dict[str, list[str]] = {}
    for name, why in found.avoid.items():
        reasons.setdefault(_SHORT.get(why.partition(":")[0], why), []).append(name)
    unsafe = {why: names for why, names in reasons.items() if why in _SHORT.values()}
    rest = {why: names for why, names in reasons.items() if why not in unsafe}
    for opening, told in (("Do not publish", unsafe), ("Not for this table or purpose", rest)):
        if told:
            console.print(f"[bold]{opening}:[/]")
        for why, names in told.items():
            console.print(f"  {', '.join(names)}: {escape(why)}")
    console.print("[dim]coterie methods show NAME explains each.[/]")
    for words in found.notes:
        note(words)
    next_steps(data, "out.csv", schema, "Then, before you publish:")
