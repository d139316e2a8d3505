"""ε that is held for parts which are drawn and sealed, but which nobody else can read yet.

The ledger is charged when the key of a part leaves this machine. Until then the study's folder says what it will cost,
so that two studies cannot count on the same ε. A study that ends before gives it back: the part's key is destroyed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from coterie.federation.owner.home import OwnerHome
from coterie.federation.secrets.keys import keep_private
from coterie.publication.ledger import Book, Purpose
from coterie.publication.ledger.book import loss_event

HELD, SECRET, KEY = "held.json", "part.secret", "part-key.json"


def hold(home: OwnerHome, study: str, ledger: Path, purpose: Purpose) -> None:
    """Before anything is drawn."""
    event = {
        "event": "reserved",
        "release": f"held for study {study}",
        "population": purpose.population,
        "loss": loss_event(purpose.loss),
        "method": purpose.method,
        "status": purpose.status,
        "target": purpose.target,
        "fingerprint": purpose.fingerprint,
        "at": "",
    }
    keep_private(
        home.study(study) / HELD, json.dumps({"ledger": str(ledger.resolve()), "event": event}).encode()
    )


def count_held(home: OwnerHome, book: Book, ledger: Path, *, but: str) -> None:
    """Enter into this copy of the ledger what other studies hold."""
    for study, content in _held(home):
        if study != but and content["ledger"] == str(ledger.resolve()):
            book.enter([(content["event"], "")])


def is_held(home: OwnerHome, study: str) -> bool:
    return (home.study(study) / HELD).exists()


def held_studies(home: OwnerHome) -> list[str]:
    return [study for study, _ in _held(home)]


def let_go(home: OwnerHome, study: str) -> None:
    """The ledger has it now."""
    (home.study(study) / HELD).unlink(missing_ok=True)


def give_back(home: OwnerHome, study: str) -> bool:
    """The study ended, or we withdrew, before our key left: destroy the key and the part. True if ε was held.

    The key goes first. From then on nobody can ever read what the aggregator may still have.
    """
    folder = home.study(study)
    if not (folder / HELD).exists() or (folder / KEY).exists():
        return False
    for path in [
        folder / SECRET,
        *sorted(folder.glob("chunk-*.parquet")),
        folder / "manifest.json",
        folder / HELD,
    ]:
        path.unlink(missing_ok=True)
    home.journal.note("given back", study=study, reason="the part was never readable by others")
    return True


def _held(home: OwnerHome) -> Iterator[tuple[str, dict[str, Any]]]:
    for path in sorted((home.folder / "studies").glob(f"*/{HELD}")):
        yield path.parent.name, json.loads(path.read_bytes())
