"""What a population has spent so far, and the refusal to spend more than its lifetime ε.

    with Ledger.open("ledger.sqlite") as ledger:
        with ledger.charge(Purpose("patients", Loss.pure(Fraction(1)), "laplace", "proved", "out.csv")) as charge:
            ...                                   # compute, draw the noise, write temporary files
            charge.publish([certificate, data])   # charge, then rename, certificate first and data last

One rule: **the bytes of a release are charged before they can be seen, and only those bytes.**

    reserved ──▶ ready ──▶ released      ε is held │ charged │ charged
       │           └─────▶ lost          charged: the noise was drawn, its files are gone
       └─────▶ abandoned                 given back: nothing was published

A charge is a `Loss`: its model, neighbours, unit, and ε, ρ or (ε, δ). An account counts it after the conversions of
`coterie.promise.loss`, or refuses it; a release without a proof is noted outside the account.

The ledger is an append-only list of events (`storage`), each sealed with the hash of the one before it
(`seals`). What a population has spent is computed from them (`book`, `account`). A dead process is known by its lock, which
the kernel has freed; the next process that opens the ledger finishes or gives back what it left (`charge`).
"""

from coterie.publication.ledger.account import Balance, Terms
from coterie.publication.ledger.book import BEFORE_UNITS, Book, Entry, Purpose, ReleaseState, loss_event
from coterie.publication.ledger.charge import Charge, Recovered
from coterie.publication.ledger.ledger import Ledger, journal_purpose, open_journal
from coterie.publication.staging import StagedRecord
from coterie.table.address import without_credentials

__all__ = [
    "BEFORE_UNITS",
    "Balance",
    "Book",
    "Charge",
    "Entry",
    "Ledger",
    "Purpose",
    "Recovered",
    "ReleaseState",
    "StagedRecord",
    "Terms",
    "journal_purpose",
    "loss_event",
    "open_journal",
    "without_credentials",
]
