"""How accounts are written down: their terms, and a snapshot of all sums. Texts are exact, and one for one meaning."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from fractions import Fraction

from coterie.promise.loss import ROW, NeighbourRelation
from coterie.publication.ledger.account import LedgerAccount, Tally, Terms
from coterie.publication.ledger.seals import Event, canonical
from coterie.schema.exact import as_text, parse_epsilon


def snapshot_of(accounts: Mapping[str, Iterable[LedgerAccount]], refusing: Iterable[str]) -> str:
    """Every account and its sums, in the order in which they were made. Nothing is held while a snapshot is taken."""
    written = [
        {"terms": terms_event(account.terms), "spent": [_sums(tally) for tally in account.spent]}
        for several in accounts.values()
        for account in several
    ]
    return canonical({"accounts": written, "refusing": sorted(refusing)})


def accounts_of(content: str) -> tuple[dict[str, list[LedgerAccount]], set[str]]:
    read = json.loads(content)
    accounts: dict[str, list[LedgerAccount]] = {}
    for written in read["accounts"]:
        account = LedgerAccount(terms_of(written["terms"]))
        for tallies in (account.spent, account.everything):
            for tally, sums in zip(tallies, written["spent"], strict=True):
                for name, value in sums.items():
                    getattr(tally, name).add(Fraction(value), 1)
        accounts.setdefault(account.terms.population, []).append(account)
    return accounts, set(read["refusing"])


def digest_of(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()


def _sums(tally: Tally) -> dict[str, str]:
    return {name: str(getattr(tally, name).value) for name in Tally.SUMS}


def terms_event(terms: Terms) -> dict[str, object]:
    optional = {"delta": terms.delta, "individual_lifetime": terms.individual_lifetime}
    return {
        "population": terms.population,
        "lifetime": as_text(terms.lifetime),
        "relation": terms.relation,
        "unit": terms.unit,
        "rows_per_unit": terms.rows_per_unit,
        **{name: as_text(value) for name, value in optional.items() if value is not None},
    }


def terms_of(event: Event) -> Terms:
    """Also of a population from before units were kept: replace-one, one row per person, no δ, one lifetime for all."""
    delta, individual = (
        parse_epsilon(event[name], name) if name in event else None
        for name in ("delta", "individual_lifetime")
    )
    if "relation" not in event:
        individual = parse_epsilon(event["lifetime"])
    return Terms(
        event["population"],
        parse_epsilon(event["lifetime"]),
        delta,
        NeighbourRelation(event.get("relation", NeighbourRelation.REPLACE_ONE)),
        event.get("unit", ROW),
        whole_count(event.get("rows_per_unit", 1)),
        individual,
    )


def whole_count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError
    return value
