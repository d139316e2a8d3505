"""Who may send requests: invitations, owners, their processes, nonces and tokens; and the aggregator's diary."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from coterie.federation.documents.messages import token_hash
from coterie.federation.documents.signed import canonical
from coterie.federation.documents.wire import CLOCK_TOLERANCE_SECONDS, SESSION_SECONDS, moment, now, stamp
from coterie.federation.errors import Conflict
from coterie.federation.storage.database import audit, invitations, nonces, owners, tokens
from coterie.publication.ledger.seals import seal

# The aggregator's diary: who did what to which study, each line sealed with the hash of the one before.

_DIARY = re.compile(r"[0-9]{1,15}:[0-9a-f]{64}")
GENESIS = hashlib.sha256(b"coterie audit, version 1").hexdigest()


def note(connection: Connection, event: str, **content: Any) -> None:
    """Write a line of the diary inside a writing transaction: what is noted and what is done are committed together."""
    number, previous = diary_head(connection)
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


@dataclass(frozen=True)
class Owner:
    id: int
    name: str
    key: str
    sealing_key: str
    left: str | None
    suspended: str | None = None
    witness: str | None = None


def invite(connection: Connection, name: str, token: str, expires: str) -> None:
    connection.execute(insert(invitations).values(token_hash=token_hash(token), name=name, expires=expires))
    note(connection, "invited", owner=name, expires=expires)


def invited(connection: Connection, token: str) -> bool:
    """Whether there was ever such an invitation: strangers who guess must not take the place of those who write."""
    query = select(invitations.c.name).where(invitations.c.token_hash == token_hash(token))
    return connection.execute(query).first() is not None


def enrol(connection: Connection, token: str, key: str, sealing_key: str) -> str | None:
    """The owner's name; None when the invitation is spent. Repeating it with the same keys changes nothing."""
    row = connection.execute(select(invitations).where(invitations.c.token_hash == token_hash(token))).first()
    if row is None:
        return None
    known = connection.execute(select(owners).where(owners.c.key == key)).first()
    if row.used_by is not None:
        # The answer to the first attempt was lost on the way: the same keys get it again.
        return str(row.name) if row.used_by == key and known and known.sealing_key == sealing_key else None
    if moment(row.expires) < now():
        return None
    if known is not None:
        raise Conflict(
            "This key is another owner's already.",
            "Two owners cannot share a key: join in a new folder, which makes new ones. The invitation is still good.",
        )
    taken = connection.execute(select(owners).where(owners.c.name == row.name)).first()
    if taken is not None and taken.left is None:
        return None
    connection.execute(
        update(invitations).where(invitations.c.token_hash == row.token_hash).values(used_by=key)
    )
    values = {"key": key, "sealing_key": sealing_key, "enrolled": stamp(now())}
    if taken is None:
        connection.execute(insert(owners).values(name=row.name, **values))
    else:
        # It had left, and comes back with new keys. What it delivered is checked by the keys in those studies.
        gone = dict.fromkeys(("left", "session", "session_seen", "witness", "suspended"))
        connection.execute(update(owners).where(owners.c.id == taken.id).values(**values, **gone))
    note(connection, "enrolled", owner=row.name, key=key)
    return str(row.name)


def owner_by_key(connection: Connection, key: str) -> Owner | None:
    return _owner(connection, owners.c.key == key)


def owner_by_name(connection: Connection, name: str) -> Owner | None:
    return _owner(connection, owners.c.name == name)


def _owner(connection: Connection, condition: ColumnElement[bool]) -> Owner | None:
    columns = [owners.c[field.name] for field in fields(Owner)]
    row = connection.execute(select(*columns).where(condition)).first()
    return None if row is None else Owner(*row)


def leave(connection: Connection, owner: Owner) -> None:
    connection.execute(update(owners).where(owners.c.id == owner.id).values(left=stamp(now()), session=None))
    note(connection, "left", owner=owner.name)


def change_keys(connection: Connection, owner: Owner, key: str, sealing_key: str) -> None:
    if owner_by_key(connection, key) is not None:
        raise Conflict("This key is an owner's already.", "Make new ones.")
    values = {"key": key, "sealing_key": sealing_key}
    connection.execute(update(owners).where(owners.c.id == owner.id).values(**values))
    note(connection, "new keys", owner=owner.name, key=key)


def fresh(connection: Connection, key: str, nonce: str) -> bool:
    """Remember a nonce; False when it was used before. Older ones are forgotten: their time is refused anyway."""
    seconds = int(now().timestamp())
    connection.execute(delete(nonces).where(nonces.c.seen < seconds - 4 * CLOCK_TOLERANCE_SECONDS))
    try:
        with connection.begin_nested():
            connection.execute(insert(nonces).values(key=key, nonce=nonce, seen=seconds))
    except IntegrityError:
        return False
    return True


def hold_session(connection: Connection, owner: Owner, session: str, replaces: str, *, busy: bool) -> bool:
    """Whether this process may act for the owner: it did so before, follows the one that did, or nobody does.

    `replaces`: the processes before it, all ended; which of them was heard last it may not know.
    `busy`: the process before it has a request open at this moment, so it has not ended, whatever is claimed.
    """
    row = connection.execute(
        select(owners.c.session, owners.c.session_seen).where(owners.c.id == owner.id)
    ).one()
    seen = stamp(now())
    if row.session not in (None, session):
        silent = moment(row.session_seen) < now() - timedelta(seconds=SESSION_SECONDS)
        if not silent and (busy or row.session not in replaces.split(",")):
            return False
    connection.execute(
        update(owners).where(owners.c.id == owner.id).values(session=session, session_seen=seen)
    )
    return True


def diary_head(connection: Connection) -> tuple[int, str]:
    """Number and seal of the diary's last line."""
    query = select(audit.c.number, audit.c.seal).order_by(audit.c.number.desc()).limit(1)
    last = connection.execute(query).first()
    return (last.number, last.seal) if last else (0, GENESIS)


def diary_line(connection: Connection, number: str) -> tuple[int, str] | None:
    if not number.isdecimal() or len(number) > 15:
        return None
    row = connection.execute(
        select(audit.c.number, audit.c.seal).where(audit.c.number == int(number))
    ).first()
    return None if row is None else (row.number, row.seal)


def keep_witness(connection: Connection, owner: Owner, told: str) -> None:
    """How far the owner's diary has come. One that is shorter than we know does not replace it: it was restored."""
    if not _DIARY.fullmatch(told) or told == owner.witness:
        return
    if owner.witness and int(told.partition(":")[0]) <= int(owner.witness.partition(":")[0]):
        return
    connection.execute(update(owners).where(owners.c.id == owner.id).values(witness=told))


def begin_witness(connection: Connection, owner: Owner, told: str) -> None:
    """After a restore that a person has dealt with: count from this line on."""
    if _DIARY.fullmatch(told):
        connection.execute(update(owners).where(owners.c.id == owner.id).values(witness=told))
        note(connection, "rolled back", owner=owner.name)


def current_session(connection: Connection, owner: Owner) -> str | None:
    return connection.execute(select(owners.c.session).where(owners.c.id == owner.id)).scalar()


def add_token(connection: Connection, token: str, label: str) -> None:
    connection.execute(insert(tokens).values(token_hash=token_hash(token), label=label))
    note(connection, "token", label=label)


def known_token(connection: Connection, token: str) -> bool:
    """Look a token up by its hash: how long the search takes says nothing about the token."""
    query = select(tokens.c.label).where(tokens.c.token_hash == token_hash(token))
    return connection.execute(query).first() is not None
