"""The chain of a ledger: each event is sealed with the hash of the one before it.

No earlier line can be changed unnoticed. Whoever kept a later seal sees tampering (`coterie ledger check --seal`).
Someone who may write the file can still write a whole new chain.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from coterie.errors import LedgerError

Row: TypeAlias = tuple[int, str, str]  # number, content, seal
Event: TypeAlias = Mapping[str, Any]

GENESIS = hashlib.sha256(b"coterie ledger, version 1").hexdigest()

# What we write begins and ends with the braces; json.loads takes twice as long, to look for space around them.
_decode = json.JSONDecoder().raw_decode


def canonical(event: Event) -> str:
    """One text for one meaning: sorted keys, no spaces, ASCII."""
    return json.dumps(event, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def seal(previous: str, content: str) -> str:
    return hashlib.sha256(f"{previous}\n{content}".encode()).hexdigest()


def sealed(rows: Iterable[Row], after: int = 0, last: str = GENESIS) -> Iterator[tuple[str, str]]:
    """The contents with their seals, or a refusal that names the first line that does not fit.

    `after` and `last` are the number and the seal of the event before the first row. Every opening of the ledger
    comes through here for each event, so nothing is done twice.
    """
    for expected, (number, content, claimed) in enumerate(rows, start=after + 1):
        if number != expected or not isinstance(content, str):
            raise broken(expected)
        last = seal(last, content)
        if last != claimed:
            raise broken(expected)
        yield content, last


def decoded(contents: Iterable[tuple[str, str]], after: int = 0) -> Iterator[tuple[Event, str]]:
    """The events that `sealed` gives as texts."""
    for number, (content, seal) in enumerate(contents, start=after + 1):
        try:
            event, end = _decode(content)
        except (ValueError, RecursionError):
            raise broken(number) from None
        if end != len(content) or not isinstance(event, dict):
            raise broken(number)
        yield event, seal


def first_broken(rows: Iterable[Row], last: str) -> int | None:
    """The number of the first line of a sealed diary that does not fit the one before it, or None."""
    for expected, (number, content, claimed) in enumerate(rows, start=1):
        last = seal(last, content)
        if number != expected or last != claimed:
            return expected
    return None


def broken(number: int) -> LedgerError:
    return LedgerError(
        f"The ledger is damaged: its event {number} was changed, removed or cannot be read.",
        "Nothing was charged or released. Restore the ledger from a backup, and count the releases made "
        "since then before any of its populations is used again.",
    )
