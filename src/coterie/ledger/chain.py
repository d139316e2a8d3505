"""Each event is sealed with the hash of the one before it, so no earlier line can be changed unnoticed.

This shows tampering to whoever kept a later seal; it does not prevent it: someone who may write the file
can also write a whole new chain. `coterie ledger check --seal` compares with a seal that was noted
elsewhere.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from coterie.errors import LedgerError

Event: TypeAlias = Mapping[str, Any]

GENESIS = hashlib.sha256(b"coterie ledger, version 1").hexdigest()

# What we write begins and ends with the braces; json.loads takes twice as long, to look for space around them.
_decode = json.JSONDecoder().raw_decode


def canonical(event: Event) -> str:
    """One text for one meaning: sorted keys, no spaces, ASCII."""
    return json.dumps(event, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def seal(previous: str, content: str) -> str:
    return hashlib.sha256(f"{previous}\n{content}".encode()).hexdigest()


def verified(
    rows: Iterable[tuple[int, str, str]], after: int = 0, last: str = GENESIS
) -> Iterator[tuple[Event, str]]:
    """The events with their seals, or a refusal that names the first line that does not fit.

    `after` and `last` are the number and the seal of the event before the first row. Every opening of the ledger
    comes through here for each event, so nothing is done twice.
    """
    for expected, (number, content, claimed) in enumerate(rows, start=after + 1):
        if number != expected or not isinstance(content, str):
            raise broken(expected)
        last = seal(last, content)
        if last != claimed:
            raise broken(expected)
        try:
            event, end = _decode(content)
        except (ValueError, RecursionError):
            raise broken(expected) from None
        if end != len(content) or not isinstance(event, dict):
            raise broken(expected)
        yield event, last


def broken(number: int) -> LedgerError:
    return LedgerError(
        f"The ledger is damaged: its event {number} was changed, removed or cannot be read.",
        "Nothing was charged or released. Restore the ledger from a backup, and count the releases made "
        "since then before any of its populations is used again.",
    )
