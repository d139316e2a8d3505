"""ε that is held for parts which are drawn and sealed, but which nobody else can read yet.

The ledger holds it from before anything is drawn until the key of the part leaves this machine, and is charged then. A
study that ends before gives it back: the part's key is destroyed.
"""

from __future__ import annotations

import json
from pathlib import Path

from coterie.federation.owner.home import OwnerHome
from coterie.federation.secrets.keys import keep_private
from coterie.publication.ledger import Ledger, Purpose
from coterie.publication.ledger.book import purpose_of_event

HELD, SECRET, KEY = "held.json", "part.secret", "part-key.json"


def hold(home: OwnerHome, study: str, ledger: Path, purpose: Purpose) -> None:
    """Before anything is drawn. The study's folder says first where: what is held must be found again."""
    default = ledger.resolve() == home.default_ledger.resolve()  # wherever the folder may be restored to
    content = {"ledger": None if default else str(ledger.resolve())}
    keep_private(home.study(study) / HELD, json.dumps(content).encode())
    with Ledger.open(ledger) as opened:
        opened.hold(purpose)


def held_studies(home: OwnerHome) -> list[str]:
    return sorted(path.parent.name for path in (home.folder / "studies").glob(f"*/{HELD}"))


def let_go(home: OwnerHome, study: str) -> None:
    """The ledger has charged it now."""
    (home.study(study) / HELD).unlink(missing_ok=True)


def give_back(home: OwnerHome, study: str) -> bool:
    """The study ended, or we withdrew, before our key left: destroy the key and the part. True if ε was held.

    The key goes first. From then on nobody can ever read what the aggregator may still have.
    """
    folder = home.study(study)
    if not (folder / HELD).exists() or (folder / KEY).exists():
        return False
    for path in [folder / SECRET, *sorted(folder.glob("chunk-*.parquet")), folder / "manifest.json"]:
        path.unlink(missing_ok=True)
    ledger = json.loads((folder / HELD).read_bytes())["ledger"] or home.default_ledger
    if Path(ledger).exists():
        with Ledger.open(ledger) as opened:
            opened.give_back(study)
    (folder / HELD).unlink()
    home.journal.note("given back", study=study, reason="the part was never readable by others")
    return True


def hold_in_ledger(home: OwnerHome) -> None:
    """Earlier versions kept the held ε in the study's folder alone: enter it where everybody counts it."""
    for study in held_studies(home):
        path = home.study(study) / HELD
        content = json.loads(path.read_bytes())
        if "event" in content:
            hold(home, study, Path(content["ledger"]), purpose_of_event(content["event"]))
