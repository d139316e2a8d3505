"""All commands, mounted in one place."""

from __future__ import annotations

from typing import Annotated

import typer

from coterie._version import __version__
from coterie.cli.loading import Deferred, group_of

GUIDE = """Publish personal data so that nobody in it can be singled out, and know what that promise is worth.

A first release takes four steps:

  1. coterie schema draft data.csv --output schema.yaml   then fill in the public bounds

  2. coterie methods                                      what each method promises

  3. coterie protect data.csv --schema schema.yaml --method dp-synthetic --epsilon 1 --output out.csv

  4. coterie certificate verify out.csv out.csv.certificate.json

Exit codes: 0 done · 2 command line · 3 schema · 4 data · 5 parameter · 6 output · 7 certificate · 8 ledger ·
9 budget exceeded · 10 optional part missing · 11–19 several owners (see `coterie owner`) · 1 anything unexpected.
"""

COMMANDS = {
    "protect": Deferred(
        "coterie.cli.protect:protect_command",
        "Protect a table and write the release with its certificate: both, or nothing.",
    ),
    "demo": Deferred(
        "coterie.cli.demo:demo_command",
        "Protect an invented population of 5,000 people by every method, and look at the difference.",
    ),
    "compare": Deferred(
        "coterie.cli.compare:compare_command",
        "Try several methods, k and ε on one table. An interrupted run continues where it stopped.",
    ),
    "reproduce": Deferred(
        "coterie.cli.reproduce:reproduce_command",
        "Repeat experiments of the papers: the figure, its data, and one line 'reproduced' or 'differs'.",
    ),
    "evaluate": Deferred(
        "coterie.cli.evaluate:evaluate_command",
        "Compare a release with its original. The figures come from the original data: do not publish them.",
    ),
    "studio": Deferred(
        "coterie.cli.studio:studio_command",
        "Take a table to a release in the browser: load, describe, choose, look, audit, release.",
    ),
    "audit": Deferred(
        "coterie.cli.audit:app",
        "Attack a release or a method, and say what an attacker still gets.",
    ),
    "stats": Deferred(
        "coterie.cli.stats:app",
        "Publish summary statistics with the best possible split of the budget.",
    ),
    "methods": Deferred(
        "coterie.cli.methods:app",
        "What each method does and what it really promises. `coterie methods show NAME` tells the whole story.",
    ),
    "schema": Deferred(
        "coterie.cli.schema:app",
        "Describe a table: types, roles and public bounds, in a YAML file that you can read and sign off.",
    ),
    "certificate": Deferred(
        "coterie.cli.certificate:app",
        "A certificate says what was promised, under which assumptions, over which bytes.",
    ),
    "ledger": Deferred(
        "coterie.cli.ledger:app",
        "Every release about the same people adds up. A ledger adds, and refuses the release that would be too much.",
    ),
    "aggregator": Deferred(
        "coterie.cli.aggregator:app",
        "Several owners, one release: the aggregator asks, collects and joins. It never sees a raw row.",
    ),
    "owner": Deferred(
        "coterie.cli.owner:app",
        "Take part in a study without showing anybody a raw row. This process only connects outward; no port is opened.",
    ),
}

app = typer.Typer(
    name="coterie",
    cls=group_of(COMMANDS),
    help=GUIDE,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(show: bool) -> None:
    if show:
        print(f"coterie {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    pass
