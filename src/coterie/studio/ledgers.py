"""Ledgers as the pages show them: each population with its balance and releases; and the ledger of the last release."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from coterie.promise.loss import LossModel, NeighbourRelation
from coterie.publication.ledger import Balance, Entry, Ledger, Purpose, ReleaseState, Terms
from coterie.schema.attributes import Schema
from coterie.schema.exact import brief, readable
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


def accounts(ledger: Path) -> list[dict[str, Any]]:
    """For release_parts.html. Read only: nothing is settled by looking."""
    book = Ledger.inspect(ledger)
    return [
        _account(balance, book.releases(population))
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


def _account(balance: Balance, entries: Iterable[Entry]) -> dict[str, Any]:
    terms = balance.terms
    individual = (balance.individual_spent, balance.individual_held)
    alone = individual != (balance.spent, balance.held)
    return {
        "population": terms.population,
        "terms": str(terms) + (f", δ = {brief(terms.delta)}" if terms.delta is not None else ""),
        **{name: readable(getattr(balance, name)) for name in ("lifetime", "spent", "held", "remaining")},
        "individual": readable(individual[0] + individual[1])
        if alone
        else "",  # individual differential privacy
        "refuses_unproved": balance.refuses_unproved,
        "lines": [_line(entry, terms) for entry in entries],
    }


def _line(entry: Entry, terms: Terms) -> dict[str, Any]:
    purpose = entry.purpose
    return {
        "at": entry.changed_at[:16].replace("T", " "),
        "method": purpose.method,
        "costs": (terms.counted(purpose.loss)[1] or purpose.loss).amount(brief),
        "counts": entry.state.charged or entry.state is ReleaseState.RESERVED,
        "outside": purpose.loss.model is LossModel.NONE,
        "meaning": MEANING[entry.state],
        "status": purpose.status,
        "target": purpose.target,
    }


def last_account(project: Project) -> tuple[str, str]:
    """Ledger and population of the last release, of rows or of statistics, or two empty texts: the next goes there too."""
    entries: list[PastRelease | ReleasedStatistics] = [*project.state.released, *Desk(project).state.released]
    counted = [(entry.at, entry.ledger, entry.population) for entry in entries if entry.ledger]
    _, ledger, population = max(counted, key=lambda found: found[0], default=("", "", ""))
    return ledger or "", population or ""
