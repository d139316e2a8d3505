"""The aggregator's diary: who did what to which study, each line sealed with the hash of the one before."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from sqlalchemy import Connection, insert, select

from coterie.federation.documents.canonical import canonical
from coterie.federation.documents.wire import now, stamp
from coterie.federation.storage.tables import audit
from coterie.publication.ledger.book import seal

GENESIS = hashlib.sha256(b"coterie audit, version 1").hexdigest()


def note(connection: Connection, event: str, **content: Any) -> None:
    """Inside a writing transaction: what is noted and what is done are committed together."""
    last = connection.execute(
        select(audit.c.number, audit.c.seal).order_by(audit.c.number.desc()).limit(1)
    ).first()
    number, previous = (last.number, last.seal) if last else (0, GENESIS)
    text = canonical({"event": event, "at": stamp(now()), **content}).decode()
    connection.execute(insert(audit).values(number=number + 1, content=text, seal=seal(previous, text)))


def entries(connection: Connection, *, study: str | None = None, last: int = 200) -> list[dict[str, Any]]:
    rows = connection.execute(select(audit).order_by(audit.c.number.desc()).limit(5000 if study else last))
    found = []
    for row in rows:
        content = json.loads(row.content)
        if study is None or content.get("study") == study:
            found.append({"number": row.number, "seal": row.seal, **content})
    return found[:last][::-1]


def first_broken(connection: Connection) -> int | None:
    """The number of the first line that does not fit the one before it, or None."""
    previous = GENESIS
    rows = connection.execute(select(audit).order_by(audit.c.number))
    for expected, row in enumerate(rows, start=1):
        if row.number != expected or seal(previous, row.content) != row.seal:
            return expected
        previous = row.seal
    return None
