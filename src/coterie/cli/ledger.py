"""coterie ledger: what each population has spent, and what is left of its lifetime ε."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from coterie.budget import as_text, readable
from coterie.cli.output import STATUS_STYLE, console, print_json, styled_status
from coterie.errors import LedgerError
from coterie.ledger import Balance, Book, Entry, Ledger, State

GUIDE = """Every release about the same people adds up. A ledger adds, and refuses the release that would be too much.

  1. coterie ledger init ledger.sqlite --population patients --lifetime 10

  2. coterie protect … --epsilon 1 --ledger ledger.sqlite --population patients

  3. coterie ledger show ledger.sqlite

A release is charged before its file appears. If the machine stops in between, the next command that opens the
ledger finishes that release, or gives its epsilon back when nothing was published. Nothing is charged twice.
"""

app = typer.Typer(help=GUIDE, no_args_is_help=True, rich_markup_mode="markdown")
LedgerFile = Annotated[
    Path, typer.Argument(metavar="LEDGER", help="The ledger's file, such as ledger.sqlite.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]

# What a steward wants to know of each state, beside its name.
MEANING = {
    State.RESERVED: "under way, or interrupted before it was charged",
    State.READY: "charged, not all in place yet: run its command again, or `coterie ledger check`",
    State.RELEASED: "",
    State.LOST: "charged, its files are gone",
    State.ABANDONED: "given back, nothing was published",
}


@app.command("init")
def init_command(
    ledger: LedgerFile,
    population: Annotated[str, typer.Option(help="Name of the people in the table, such as patients-2026.")],
    lifetime: Annotated[
        str,
        typer.Option(help="Epsilon that all their releases together may never pass. It cannot be changed."),
    ],
    as_json: AsJson = False,
) -> None:
    """Add a population with its lifetime epsilon; makes the ledger if there is none.

    Example: coterie ledger init ledger.sqlite --population patients --lifetime 10
    """
    balance = Ledger.add_population(ledger, population, lifetime)
    if as_json:
        print_json({"ledger": str(ledger), **_figures(balance)})
        return
    console.print(
        f"Population [bold]{escape(population)}[/] may spend epsilon {as_text(balance.lifetime)} in its lifetime. "
        f"Charge a release with --ledger {escape(str(ledger))} --population {escape(population)}."
    )


@app.command("show")
def show_command(
    ledger: LedgerFile,
    population: Annotated[str | None, typer.Option(help="Only this population.")] = None,
    as_json: AsJson = False,
) -> None:
    """Print every release with its epsilon, what is spent and what remains. Changes nothing.

    Example: coterie ledger show ledger.sqlite --population patients
    """
    book = Ledger.inspect(ledger)
    names = sorted(book.lifetimes) if population is None else [population]
    balances = [book.balance(name) for name in names]
    if as_json:
        print_json(
            {"ledger": str(ledger), "seal": book.seal, "populations": [account(book, b) for b in balances]}
        )
        return
    for balance in balances:
        console.print(releases_table(book, balance))
        console.print(balance_line(balance))
    console.print(
        f"Seal: {book.seal}\nNote it elsewhere; `coterie ledger check --seal` compares with it later."
    )


@app.command("check")
def check_command(
    ledger: LedgerFile,
    seal: Annotated[
        str | None,
        typer.Option(help="A seal noted earlier: shows whether the past since then was rewritten."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Verify every event, and settle releases that were interrupted. Exit code 8 if the ledger is not sound.

    Example: coterie ledger check ledger.sqlite --seal 5f2c…
    """
    if seal is not None:
        _require_seal(Ledger.inspect(ledger), seal.strip().lower())
    with Ledger.open(ledger) as opened:
        book, messages = opened.book(), [recovered.message for recovered in opened.recovered]
    if as_json:
        content = {"ledger": str(ledger), "sound": True, "seal": book.seal, "releases": len(book.entries)}
        print_json({**content, "recovered": messages})
        return
    for message in messages:
        console.print(f"[#E69F00]Note:[/] {escape(message)}")
    console.print(
        f"[bold #009E73]The ledger is sound:[/] {book.events} events, {len(book.entries)} releases."
    )
    console.print(f"Seal: {book.seal}")


def _require_seal(book: Book, seal: str) -> None:
    if seal not in book.seals[1:]:
        raise LedgerError(
            "The seal does not occur in this ledger: events before it were removed or rewritten.",
            "Compare with a backup, and do not release from it until you know why. (Or it is another ledger's seal.)",
        )


def releases_table(book: Book, balance: Balance) -> Table:
    """Every release of one population, the promise it makes, and what became of it."""
    table = Table(title=f"Population {escape(balance.population)}", title_justify="left", expand=False)
    for heading in ("when (UTC)", "release", "ε", "method", "promise", "state", "target"):
        table.add_column(heading, justify="right" if heading == "ε" else "left", overflow="fold")
    for entry in book.releases(balance.population):
        status = entry.purpose.status
        meaning = MEANING[entry.state]
        table.add_row(
            entry.reserved_at[:16].replace("T", " "),
            entry.release[:8],
            readable(entry.purpose.epsilon),
            escape(entry.purpose.method),
            styled_status(status) if status in STATUS_STYLE else escape(status),
            f"{entry.state} ({meaning})" if meaning else str(entry.state),
            escape(entry.purpose.target),
        )
    return table


def balance_line(balance: Balance) -> str:
    held = f" · held {readable(balance.held)}" if balance.held else ""
    return (
        f"  lifetime {readable(balance.lifetime)} · spent {readable(balance.spent)}{held} · "
        f"[bold]remaining {readable(balance.remaining)}[/]\n"
    )


def _figures(balance: Balance) -> dict[str, str]:
    names = ("lifetime", "spent", "held", "remaining")
    return {"population": balance.population, **{name: as_text(getattr(balance, name)) for name in names}}


def account(book: Book, balance: Balance) -> dict[str, Any]:
    return {**_figures(balance), "releases": [_release(entry) for entry in book.releases(balance.population)]}


def _release(entry: Entry) -> dict[str, Any]:
    return {
        "release": entry.release,
        "epsilon": as_text(entry.purpose.epsilon),
        "method": entry.purpose.method,
        "status": entry.purpose.status,
        "state": str(entry.state),
        "charged": entry.state.charged,
        "target": entry.purpose.target,
        "reserved_at": entry.reserved_at,
        "changed_at": entry.changed_at,
        "files": [{"target": part.target, "sha256": part.sha256} for part in entry.staged],
    }
