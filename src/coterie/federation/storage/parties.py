"""Who may speak: invitations, owners, their processes, the nonces they used, and the tokens of readers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Connection, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from coterie.federation.documents.invitation import token_hash
from coterie.federation.documents.wire import CLOCK_TOLERANCE_SECONDS, SESSION_SECONDS, moment, now, stamp
from coterie.federation.errors import Conflict
from coterie.federation.storage.audit import note
from coterie.federation.storage.tables import invitations, nonces, owners, tokens


@dataclass(frozen=True)
class Owner:
    id: int
    name: str
    key: str
    sealing_key: str
    left: str | None


def invite(connection: Connection, name: str, token: str, expires: str) -> None:
    connection.execute(insert(invitations).values(token_hash=token_hash(token), name=name, expires=expires))
    note(connection, "invited", owner=name, expires=expires)


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
    taken = connection.execute(select(owners.c.id).where(owners.c.name == row.name)).first()
    if taken is not None:
        return None
    connection.execute(
        update(invitations).where(invitations.c.token_hash == row.token_hash).values(used_by=key)
    )
    connection.execute(
        insert(owners).values(name=row.name, key=key, sealing_key=sealing_key, enrolled=stamp(now()))
    )
    note(connection, "enrolled", owner=row.name, key=key)
    return str(row.name)


def owner_by_key(connection: Connection, key: str) -> Owner | None:
    return _owner(connection, owners.c.key == key)


def owner_by_name(connection: Connection, name: str) -> Owner | None:
    return _owner(connection, owners.c.name == name)


def _owner(connection: Connection, condition: object) -> Owner | None:
    row = connection.execute(select(owners).where(condition)).first()  # type: ignore[arg-type]
    return None if row is None else Owner(row.id, row.name, row.key, row.sealing_key, row.left)


def leave(connection: Connection, owner: Owner) -> None:
    connection.execute(update(owners).where(owners.c.id == owner.id).values(left=stamp(now()), session=None))
    note(connection, "left", owner=owner.name)


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

    `busy`: the process before it has a request open at this moment, so it has not ended, whatever is claimed.
    """
    row = connection.execute(
        select(owners.c.session, owners.c.session_seen).where(owners.c.id == owner.id)
    ).one()
    seen = stamp(now())
    if row.session not in (None, session):
        silent = moment(row.session_seen) < now() - timedelta(seconds=SESSION_SECONDS)
        if not silent and (busy or replaces != row.session):
            return False
    connection.execute(
        update(owners).where(owners.c.id == owner.id).values(session=session, session_seen=seen)
    )
    return True


def current_session(connection: Connection, owner: Owner) -> str | None:
    return connection.execute(select(owners.c.session).where(owners.c.id == owner.id)).scalar()


def add_token(connection: Connection, token: str, label: str) -> None:
    connection.execute(insert(tokens).values(token_hash=token_hash(token), label=label))
    note(connection, "token", label=label)


def known_token(connection: Connection, token: str) -> bool:
    """By its hash: how long the search takes says nothing about the token."""
    return (
        connection.execute(select(tokens.c.label).where(tokens.c.token_hash == token_hash(token))).first()
        is not None
    )
