"""All commands, mounted in one place."""

from __future__ import annotations

from typing import Annotated

import typer

from coterie._version import __version__
from coterie.cli import (
    audit,
    certificate,
    compare,
    demo,
    evaluate,
    ledger,
    methods,
    protect,
    reproduce,
    schema,
    stats,
    studio,
)
from coterie.cli.federation_guides import AGGREGATOR, OWNER, mounted_later

GUIDE = """Publish personal data so that nobody in it can be singled out, and know what that promise is worth.

A first release takes four steps:

  1. coterie schema draft data.csv --output schema.yaml   then fill in the public bounds

  2. coterie methods                                      what each method promises

  3. coterie protect data.csv --schema schema.yaml --method idp-cbls --epsilon 1 --k 10 --output out.csv

  4. coterie certificate verify out.csv out.csv.certificate.json

Exit codes: 0 done · 2 command line · 3 schema · 4 data · 5 parameter · 6 output · 7 certificate · 8 ledger ·
9 budget exceeded · 10 optional part missing · 11–19 several owners (see `coterie owner`) · 1 anything unexpected.
"""

app = typer.Typer(
    name="coterie",
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


app.command("protect")(protect.protect_command)
app.command("demo")(demo.demo_command)
app.command("compare")(compare.compare_command)
app.command("reproduce")(reproduce.reproduce_command)
app.command("evaluate")(evaluate.evaluate_command)
app.command("studio")(studio.studio_command)
app.add_typer(audit.app, name="audit")
app.add_typer(stats.app, name="stats")
app.add_typer(methods.app, name="methods")
app.add_typer(schema.app, name="schema")
app.add_typer(certificate.app, name="certificate")
app.add_typer(ledger.app, name="ledger")
app.add_typer(mounted_later("coterie.cli.aggregator", AGGREGATOR), name="aggregator")
app.add_typer(mounted_later("coterie.cli.owner", OWNER), name="owner")
