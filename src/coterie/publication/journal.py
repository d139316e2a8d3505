"""A journal: a ledger of one population that counts releases instead of ε, so that one which no ledger counts is safe too.

What was begun is finished or given back by whoever opens the journal next, and a request is never drawn twice.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from coterie.promise.loss import Loss
from coterie.publication.ledger import Ledger, Purpose
from coterie.table.hidden_files import put_file

JOURNAL = "releases that no ledger counts"  # its one population
_ENOUGH = 10**300


def journal_purpose(method: str, target: str, fingerprint: str) -> Purpose:
    return Purpose(JOURNAL, Loss.pure(Fraction(1)), method, "", target, fingerprint)


def open_journal(path: Path) -> Ledger:
    """The journal at this path; made where there is none, whole or not at all: one that is there has its account."""
    if not path.exists():
        new = path.with_name(f"{path.stem}.new")
        for left in (new, new.with_name(f"{new.name}-journal")):
            left.unlink(missing_ok=True)
        Ledger.add_population(new, JOURNAL, _ENOUGH)
        put_file(new, path)
    return Ledger.open(path)
