"""coterie audit: what an attacker still gets from a release, or from a method."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from typer import Argument, Option
from typer.core import TyperGroup

import coterie
from coterie.auditing.attacks.finding import Level
from coterie.auditing.audit import Audit
from coterie.cli import options
from coterie.cli.output import console, note, print_json, promise_line, spinner, table_of
from coterie.errors import ParameterError
from coterie.report.audit_page import shown
from coterie.report.writing import AUDIT_FILES, refuse_existing

LEVEL_STYLE = {
    Level.NOTHING: "#009E73",
    Level.SOME: "#E69F00",
    Level.SEVERE: "bold #D55E00",
    Level.UNKNOWN: "dim",
}


class ReleaseByDefault(TyperGroup):
    """`coterie audit A B` is `coterie audit release A B`; `coterie audit method NAME` attacks a method."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            args = ["release", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=ReleaseByDefault,
    no_args_is_help=True,
    help="Attack a release or a method, and say what an attacker still gets.\n\n"
    "coterie audit ORIGINAL RELEASED --schema S --output DIR\n\n"
    "coterie audit method dp-synthetic --epsilon 1 --output DIR",
)
Output = Annotated[Path, Option("--output", "-o", help="Folder for audit.html, audit.json and audit.png.")]
Known = Annotated[float, Option(help="Share of people whose released row the attacker knows already.")]
Seconds = Annotated[
    float | None, Option("--seconds", help="Time budget in seconds; attacks that did not fit are listed.")
]
Only = Annotated[list[str] | None, Option("--attack", help="Run only this attack; may be repeated.")]
Seed = Annotated[int, Option(help="For the attackers' samples: the same seed gives the same audit.")]


@app.command("release")
def release_command(
    original: options.OriginalTable,
    released: Annotated[str, Argument(metavar="RELEASED", help="The released table.")],
    schema: options.SchemaFile,
    output: Output,
    table: options.SourceTable = None,
    query: options.Query = None,
    released_table: options.ReleasedTable = None,
    control: Annotated[
        str | None, Option(help="People of the same population who are not in the release.")
    ] = None,
    known: Known = 0.04,
    order: Annotated[
        Path | None,
        Option(
            help="For shuffled rows: a file with one line for each released row, the original row's number from 0."
        ),
    ] = None,
    certificate: options.Certificate = None,
    k: options.GroupSize = None,
    seconds: Seconds = None,
    attacks: Only = None,
    seed: Seed = 1,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Attack a released table beside its original. This is what `coterie audit ORIGINAL RELEASED` does."""
    given = options.asked(locals(), "output", "force")
    _attack(lambda tell: coterie.audit(**given, progress=tell), output, force=force, as_json=as_json)


@app.command("method")
def method_command(
    method: Annotated[str, Argument(metavar="NAME", help="A method (`coterie methods`).")],
    epsilon: Annotated[str, Option("--epsilon", "-e", help="Total privacy budget.")],
    output: Output,
    k: options.GroupSize = None,
    population: Annotated[
        str | None, Option("--data", help="A population to try it on; else the demo's.")
    ] = None,
    schema: Annotated[Path | None, Option("--schema", "-s", help="The schema of --data.")] = None,
    shuffle: Annotated[bool, Option("--shuffle", help="Rows are released in random order.")] = False,
    neighbours: Annotated[
        tuple[str, str] | None, Option(help="Two tables that differ in one record, for the empirical ε.")
    ] = None,
    runs: Annotated[int, Option(help="Runs on each neighbour for the empirical ε.")] = 1000,
    known: Known = 0.04,
    seconds: Seconds = None,
    attacks: Only = None,
    seed: Seed = 1,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Attack a method: its release of a population, and what many runs of it give away."""
    given = options.asked(locals(), "output", "force")
    if (population is None) != (schema is None):
        raise ParameterError("--data and --schema belong together.", "Give both, or neither.")
    _attack(lambda tell: coterie.audit_method(**given, progress=tell), output, force=force, as_json=as_json)


def _attack(
    attack: Callable[[Callable[[str], None]], Audit], output: Path, *, force: bool, as_json: bool
) -> None:
    refuse_existing(output, AUDIT_FILES, force=force)
    with spinner("Reading", quiet=as_json) as tell:
        audit = attack(tell)
    coterie.write_report(audit, output, force=force)
    if as_json:
        print_json(audit.to_dict())
        return
    rows = (
        (
            finding.attack,
            f"[{LEVEL_STYLE[finding.level]}]{finding.level.value}[/]",
            shown(finding.estimate, finding.unit),
            shown(finding.baseline, finding.unit),
        )
        for finding in audit.findings
    )
    title, caption = f"Audit of the {audit.subject}", f"{audit.people:,} people, {audit.seconds:.1f} s"
    headings = ("attack", "found", "measured (95 % interval)", "baseline")
    console.print(table_of(rows, headings, whole=("attack",), title=title, caption=caption))
    for words in audit.notes:
        note(words)
    reasons: dict[str, list[str]] = {}
    for missed in audit.not_run:
        reasons.setdefault(missed.reason, []).append(missed.attack)
    for reason, names in reasons.items():
        note(f"{', '.join(names)}: {reason}.", before="Not run")
    if audit.promised:
        console.print(promise_line(audit.promised.status, audit.promised.label))
        console.print(escape(audit.promised.odds))
    console.print(f"[{LEVEL_STYLE[audit.level]}]{audit.level.value.capitalize()}.[/] {escape(audit.verdict)}")
    if audit.correction:
        console.print(escape(audit.correction))
    console.print(f"The page is [bold]{output}/audit.html[/] [bold #D55E00](do not publish)[/].")
