"""coterie ledger: what each population has spent, and what is left of its lifetime ε."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table
from typer import Argument, Option

from coterie.cli.options import AsJson, asked
from coterie.cli.output import STATUS_STYLE, console, note, print_json, say, styled_status, table_of, warn
from coterie.errors import LedgerError
from coterie.promise.loss import ROW, Loss, LossModel, NeighbourRelation
from coterie.publication.ledger import (
    BEFORE_UNITS,
    Balance,
    Book,
    Entry,
    Ledger,
    ReleaseState,
    Terms,
    loss_event,
)
from coterie.schema.exact import as_text, brief

GUIDE = """Every release about the same people adds up. A ledger adds, and refuses the release that would be too much.

  1. coterie ledger init ledger.sqlite --population patients --lifetime 10

  2. coterie protect … --epsilon 1 --ledger ledger.sqlite --population patients

  3. coterie ledger show ledger.sqlite

A release without a proof (heuristic, refuted) is noted outside the account; `init --refuse-unproved` refuses it.

A release is charged before its file appears. If the machine stops in between, the next command that opens the
ledger finishes that release, or gives its epsilon back when nothing was published. Nothing is charged twice.
"""

app = typer.Typer(help=GUIDE, no_args_is_help=True, rich_markup_mode="markdown")
LedgerFile = Annotated[Path, Argument(metavar="LEDGER", help="The ledger's file, such as ledger.sqlite.")]
Population = Annotated[str, Option(help="Name of the people in the table, such as patients-2026.")]

_LARGE_DELTA = Fraction(1, 1000)
_BEFORE = " †"  # marks charges of older versions

# What a steward wants to know of each state, beside its name.
MEANING = {
    ReleaseState.RESERVED: "under way, or interrupted before it was charged",
    ReleaseState.READY: "charged, not all in place yet: run its command again, or `coterie ledger check`",
    ReleaseState.RELEASED: "",
    ReleaseState.LOST: "charged, its files are gone",
    ReleaseState.ABANDONED: "given back, nothing was published",
}


@app.command("init")
def init_command(
    ledger: LedgerFile,
    population: Population,
    lifetime: Annotated[
        str, Option(help="Epsilon that all their releases together may never pass. It cannot be changed.")
    ],
    delta: Annotated[
        str | None,
        Option(
            help="Lifetime delta, below 1/(number of people). Without it only releases in pure epsilon count."
        ),
    ] = None,
    relation: Annotated[
        NeighbourRelation,
        Option(help="Which tables count as neighbours. All methods for rows are proved for replace-one."),
    ] = NeighbourRelation.REPLACE_ONE,
    unit: Annotated[str, Option(help="Whom the promise is about: row, person, household …")] = ROW,
    rows_per_unit: Annotated[
        int,
        Option(
            help="At most this many rows belong to one unit. A release proved for rows counts this many times."
        ),
    ] = 1,
    individual_lifetime: Annotated[
        str | None,
        Option(
            help="Another limit than the lifetime for individual differential privacy, which has a total of its own."
        ),
    ] = None,
    refuse_unproved: Annotated[
        bool, Option("--refuse-unproved", help="Take no release without a proof (heuristic, refuted, none).")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Add a population with its lifetime epsilon; makes the ledger if there is none.

    Example: coterie ledger init ledger.sqlite --population patients --lifetime 3 --delta 1e-6
    """
    balance = Ledger.add_population(ledger, **asked(locals(), "ledger"))
    terms = balance.terms
    with_delta = f" at delta {as_text(terms.delta)}" if terms.delta is not None else ""
    say(
        {"ledger": str(ledger), **balance.to_dict()},
        f"Population [bold]{escape(population)}[/] may spend epsilon {as_text(terms.lifetime)}{with_delta} in its lifetime "
        f"({escape(str(terms))}). Charge a release with --ledger {escape(str(ledger))} --population {escape(population)}.",
        as_json=as_json,
    )
    if as_json:
        return
    if terms.unit != ROW and terms.rows_per_unit == 1:
        warn(
            f"each {escape(terms.unit)} counts with one row. If one may have more, make the account with --rows-per-unit."
        )
    if terms.delta is None:
        console.print(
            "It takes releases in pure epsilon only; releases in rho or with delta need --delta here."
        )
    elif terms.delta > _LARGE_DELTA:
        warn(
            f"a delta of {as_text(terms.delta)} permits publishing a random person's record in full where there are "
            f"{math.ceil(1 / terms.delta)} people or more."
        )


@app.command("policy")
def policy_command(
    ledger: LedgerFile,
    population: Population,
    refuse_unproved: Annotated[
        bool,
        Option("--refuse-unproved/--accept-unproved", help="Whether releases without a proof are refused."),
    ],
    as_json: AsJson = False,
) -> None:
    """Refuse releases without a proof from now on, or take them again. The ledger keeps every change.

    Example: coterie ledger policy ledger.sqlite --population patients --refuse-unproved
    """
    balance = Ledger.set_policy(ledger, population, refuse_unproved=refuse_unproved)
    accepts = "takes releases without a proof, outside the account"
    does = "takes no release without a proof" if refuse_unproved else accepts
    told = f"Population [bold]{escape(population)}[/] {does}."
    say({"ledger": str(ledger), **balance.to_dict()}, told, as_json=as_json)


@app.command("show")
def show_command(
    ledger: LedgerFile,
    population: Annotated[str | None, Option(help="Only this population.")] = None,
    as_json: AsJson = False,
) -> None:
    """Print every account and release: what is spent, what remains, what is outside. Changes nothing.

    Example: coterie ledger show ledger.sqlite --population patients
    """
    book = Ledger.inspect(ledger)
    names = sorted(book.lifetimes) if population is None else [population]
    if as_json:
        shown = [account for name in names for account in accounts(book, name)]
        print_json({"ledger": str(ledger), "seal": book.seal, "populations": shown})
        return
    for name in names:
        print_population(book, name)
    console.print(
        f"Seal: {book.seal}\nNote it elsewhere; `coterie ledger check --seal` compares with it later."
    )


@app.command("check")
def check_command(
    ledger: LedgerFile,
    seal: Annotated[
        str | None, Option(help="A seal noted earlier: shows whether the past since then was rewritten.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Verify every event, and settle releases that were interrupted. Exit code 8 if the ledger is not sound.

    Example: coterie ledger check ledger.sqlite --seal 5f2c…
    """
    if seal is not None and seal.strip().lower() not in Ledger.inspect(ledger).seals[1:]:
        raise LedgerError(
            "The seal does not occur in this ledger: events before it were removed or rewritten.",
            "Compare with a backup, and do not release from it until you know why. (Or it is another ledger's seal.)",
        )
    with Ledger.open(ledger) as opened:
        book, messages = opened.book(), [recovered.message for recovered in opened.recovered]
    if as_json:
        content = {"ledger": str(ledger), "sound": True, "seal": book.seal, "releases": len(book.entries)}
        print_json({**content, "recovered": messages})
        return
    for message in messages:
        note(message)
    console.print(
        f"[bold #009E73]The ledger is sound:[/] {book.events} events, {len(book.entries)} releases."
    )
    console.print(f"Seal: {book.seal}")


def account_table(balance: Balance) -> Table:
    """What one account promises, and what is left of it: a line for each total."""
    terms = balance.terms
    at = f" at δ = {brief(terms.delta)}" if terms.delta is not None else ""
    numbers = (terms.lifetime, balance.spent, balance.held, balance.remaining)
    rows = [(f"differential privacy{at}", *map(brief, numbers[:3]), f"[bold]{brief(numbers[3])}[/]")]
    limit, left = terms.individual_lifetime, balance.individual_remaining
    if limit not in (None, terms.lifetime) or balance.individual_differs:
        used = map(brief, (balance.individual_spent, balance.individual_held))
        most, rest = "no limit" if limit is None else brief(limit), "" if left is None else brief(left)
        rows.append(("individual DP, with the above", most, *used, rest))
    headings = ("", "lifetime ε", "spent", "held", "left")
    look: dict[str, Any] = {"box": None, "padding": (0, 2), "pad_edge": True, "header_style": "dim"}
    return table_of(rows, headings, right=headings[1:], **look)


def print_population(book: Book, population: str) -> None:
    """Print a population's accounts, then its releases: those that count, and those outside."""
    balances = book.balances(population)
    for balance in balances:
        refusing = " · refuses unproved" if balance.refuses_unproved else ""
        console.print(f"[bold]{escape(population)}[/] · {escape(str(balance.terms))}{refusing}")
        console.print(account_table(balance))
    entries, terms = book.releases(population), balances[0].terms
    inside = [entry for entry in entries if entry.purpose.proved]
    outside = [entry for entry in entries if entry.purpose.loss.model is LossModel.NONE]
    counted = [entry for entry in entries if entry not in inside and entry not in outside]
    for heading, listed in (
        ("Inside the account", inside),
        ("Rows without a proof; their list of group means counts as individual DP", counted),
        ("Outside the account: no proof. ε only says how the noise was set.", outside),
    ):
        if listed:
            console.print(f"\n  {heading}")
            console.print(_releases(listed, terms))
    for state in {entry.state: None for entry in entries}:
        if MEANING[state]:
            console.print(f"  {state}: {MEANING[state]}")
    if any("→" in _cost(entry.purpose.loss, terms) for entry in [*inside, *counted]):
        console.print("  →: as it counts for the neighbours and the unit of this account")
    if any(_BEFORE in _cost(entry.purpose.loss, terms) for entry in inside):
        console.print(
            f"  {_BEFORE.strip()}: {BEFORE_UNITS}: the ε it was charged, even where the promise is refuted, of a\n"
            "     list, or for other neighbours; status as written then"
        )
    if any(entry.purpose.loss.status == "conditional" for entry in inside):
        console.print("  conditional: the value holds only under the condition on the certificate")
    if any(entry.purpose.loss.model is LossModel.IDP for entry in entries):
        console.print("  iDP: individual differential privacy, weaker, with a total of its own")
    if terms.delta is not None and inside:
        console.print("  The total at δ holds if no budget was chosen after a look at earlier results.")
    console.print()


def _releases(entries: list[Entry], terms: Terms) -> Table:
    """At most 80 characters wide where names are of a usual length; a column that says nothing new is left out."""
    columns = {
        "date": [entry.reserved_at[:10] for entry in entries],
        "method": [escape(entry.purpose.method) for entry in entries],
        "costs": [_cost(entry.purpose.loss, terms) for entry in entries],
        "promise": [
            styled_status(status) if status in STATUS_STYLE else escape(status)
            for status in (entry.purpose.status for entry in entries)
        ],
        "state": [str(e.state) for e in entries]
        if {e.state for e in entries} != {ReleaseState.RELEASED}
        else [],
        "file": [escape(Path(entry.purpose.target).name) for entry in entries],
    }
    shown = {heading: cells for heading, cells in columns.items() if cells}
    rows = zip(*shown.values(), strict=True)
    whole = shown.keys() - {"file"}
    return table_of(rows, [*shown], whole=whole, box=None, padding=(0, 1), pad_edge=True, header_style="dim")


def _cost(loss: Loss, terms: Terms) -> str:
    """The cost as the release states it; and behind an arrow as the account counts it, where that is more."""
    stated, counted = loss.amount(brief), terms.counted(loss)[1]
    model = " iDP" if loss.model is LossModel.IDP else _BEFORE if loss.status == BEFORE_UNITS else ""
    if counted is None or counted.amount(brief) == stated:
        return stated + model
    pure = counted.delta is None and counted.epsilon is not None
    return f"{stated} → {counted.amount(brief).removeprefix('ε ') if pure else counted.amount(brief)}{model}"


def accounts(book: Book, population: str) -> list[dict[str, Any]]:
    """Every account of a population, each with all releases as it counts them."""
    entries = book.releases(population)
    return [
        {**balance.to_dict(), "releases": [_release(entry, balance.terms) for entry in entries]}
        for balance in book.balances(population)
    ]


def _release(entry: Entry, terms: Terms) -> dict[str, Any]:
    loss = entry.purpose.loss
    counted = [None if part is None else loss_event(part) for part in terms.counted(loss)]
    return {
        "release": entry.release,
        "loss": loss_event(loss),
        "counts": dict(zip(("differential_privacy", "individual"), counted, strict=True)),
        "inside": entry.purpose.proved,
        "method": entry.purpose.method,
        "status": entry.purpose.status,
        "state": str(entry.state),
        "charged": entry.state.charged and loss.model is not LossModel.NONE,
        "target": entry.purpose.target,
        "reserved_at": entry.reserved_at,
        "changed_at": entry.changed_at,
        "files": [{"target": part.target, "sha256": part.sha256} for part in entry.staged],
    }
