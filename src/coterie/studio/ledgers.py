"""Ledgers as the pages show them: each population with its balance and releases; and the ledger of the last release."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coterie.promise.loss import NeighbourRelation
from coterie.publication.ledger import Balance, Entry, Ledger, Purpose, ReleaseState, Terms
from coterie.schema.attributes import Schema
from coterie.schema.exact import brief
from coterie.studio.desk.desk import Desk, ReleasedStatistics
from coterie.studio.project import PastRelease, Project

MEANING = {
    ReleaseState.RESERVED: "under way, or interrupted before it was charged",
    ReleaseState.READY: "charged, not all in place yet",
    ReleaseState.RELEASED: "released",
    ReleaseState.LOST: "charged, its files are gone",
    ReleaseState.ABANDONED: "given back: nothing was published",
}


def account_of(schema: Schema) -> dict[str, Any]:
    """Options of a new account for this table: the unit that the schema names, or none."""
    if schema.unit is None or not schema.unit.column.isidentifier():  # what no account can be named by
        return {}
    unit = {"unit": schema.unit.column, "rows_per_unit": schema.unit.at_most}
    return {"relation": NeighbourRelation.EXCHANGE, **unit}


@dataclass(frozen=True, slots=True)
class ShownAccount:
    """An account with all releases of its population."""

    balance: Balance
    entries: list[Entry]

    def cost(self, entry: Entry) -> str:
        """The cost as the account counts it; of a release without a proof, as its noise was set."""
        loss = entry.purpose.loss
        return (self.balance.terms.counted(loss)[1] or loss).amount(brief)


def accounts(ledger: Path) -> list[ShownAccount]:
    """List the accounts of a ledger for release_parts.html. Read only: nothing is settled by looking."""
    book = Ledger.inspect(ledger)
    return [
        ShownAccount(balance, book.releases(population))
        for population in sorted(book.lifetimes)
        for balance in book.balances(population)
    ]


def counted(purpose: Purpose, terms: Terms) -> str:
    """What an account will make of a release, in words."""
    dp, individual = terms.counted(purpose.loss)
    if individual is None:
        return "outside the account: there is no proof, so nothing is counted"
    if dp is None:
        return f"{individual} in the total of individual differential privacy, nothing in that of differential privacy"
    return str(dp)


def last_account(project: Project) -> tuple[str, str]:
    """Ledger and population of the last release, of rows or of statistics, or two empty texts: the next goes there too."""
    entries: list[PastRelease | ReleasedStatistics] = [*project.state.released, *Desk(project).state.released]
    counted = [(entry.at, entry.ledger, entry.population) for entry in entries if entry.ledger]
    _, ledger, population = max(counted, key=lambda found: found[0], default=("", "", ""))
    return ledger or "", population or ""
