"""All commands, mounted in one place. Each is imported when it is asked for: `coterie --help` waits for no array library."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
from typer import Option
from typer.core import TyperCommand, TyperGroup

from coterie._version import __version__
from coterie.errors import MissingExtra

GUIDE = """Publish personal data so that nobody in it can be singled out, and know what that promise is worth.

From a table to a release that you can defend:

  1. coterie schema draft data.csv --output schema.yaml   then fill in what is public

  2. coterie recommend data.csv --schema schema.yaml      which release to publish, and the command

  3. coterie protect data.csv --schema schema.yaml --method dp-synthetic --epsilon 1 --output out.csv

  4. coterie evaluate data.csv out.csv --schema schema.yaml --output checks

  5. coterie audit data.csv out.csv --schema schema.yaml --control others.csv --output checks

  6. coterie dossier out.csv                              two pages for whoever must sign

Exit codes: 0 done · 2 command line · 3 schema · 4 data · 5 parameter · 6 output · 7 certificate · 8 ledger ·
9 budget exceeded · 10 optional part missing · 11–19 several owners (see `coterie owner`) · 1 anything unexpected.
"""

# The line that stands for each command in the guide; a test compares it with the command's own.
COMMANDS = {
    "risk": "How easily people in a table are re-identified, before and after recoding. Stays on this machine.",
    "recommend": "Say which release to publish, from public facts alone. No value of the table is looked at.",
    "protect": "Protect a table and write the release with its certificate: both, or nothing.",
    "demo": "Protect an invented population of 5,000 people, check the release, and write its dossier; then every other "
    "method.",
    "compare": "Try several methods, k and ε on one table. An interrupted run continues where it stopped.",
    "reproduce": "Repeat experiments of the papers: the figure, its data, and a verdict on every claim.",
    "evaluate": "Compare a release with its original. The figures come from the original data: do not publish them.",
    "studio": "Take a table to a release in the browser: load, describe, choose, look, audit, release.",
    "audit": "Attack a release or a method, and say what an attacker still gets.",
    "dossier": "Write two printable pages about a release, as HTML and PDF, for whoever must sign it.",
    "stats": "Publish summary statistics with the best possible split of the budget.",
    "methods": "What each method does and what it really promises. `coterie methods show NAME` tells the whole story.",
    "schema": "Describe a table: types, roles and public bounds, in a YAML file that you can read and sign off.",
    "certificate": "A certificate says what was promised, under which assumptions, over which bytes.",
    "ledger": "Every release about the same people adds up. A ledger adds, and refuses the release that would be too much.",
    "aggregator": "Several owners, one release: the aggregator asks, collects and joins. It never sees a raw row.",
    "owner": "Take part in a study without showing anybody a raw row. This process only connects outward; "
    "no port is opened.",
}
EXTRAS = {"aggregator": "The aggregator", "owner": "An owner of a federation"}  # need the extra `federation`


def load(name: str) -> Any:
    """The command of coterie/cli/NAME.py: its `app`, or its one function."""
    try:
        module = import_module(f"coterie.cli.{name}")
    except ImportError:
        if name in EXTRAS:
            raise MissingExtra.named("federation", EXTRAS[name]) from None
        raise
    parent = typer.Typer(add_completion=False, rich_markup_mode="markdown")
    parent.callback()(lambda: None)
    if hasattr(module, "app"):
        parent.add_typer(module.app, name=name)
    else:
        parent.command(name)(getattr(module, f"{name}_command"))
    return typer.main.get_group(parent).commands[name]


class CommandsOnDemand(TyperGroup):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for name, summary in COMMANDS.items():
            self.add_command(TyperCommand(name=name, callback=None, help=summary))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return load(cmd_name) if cmd_name in COMMANDS else None

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self._listed().format_help(ctx, formatter)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        listed = self._listed()
        light = typer.Context(listed, info_name=ctx.info_name, resilient_parsing=True)
        return listed.shell_complete(light, incomplete)

    def _listed(self) -> TyperGroup:
        """The same group with lines in the place of commands."""
        settings = {name: getattr(self, name) for name in ("name", "params", "help", "rich_markup_mode")}
        return TyperGroup(commands=dict(self.commands), **settings)


app = typer.Typer(
    name="coterie",
    cls=CommandsOnDemand,
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
        bool, Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    pass
