"""What an administrator does beside studies: owners, invitations, tokens, keys, and what must reach a person."""

from __future__ import annotations

import json
import logging
import secrets
import shutil
from collections.abc import Mapping
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

import httpx
from sqlalchemy import Connection, Table, delete, func, select, update

from coterie._version import __version__
from coterie.federation.aggregator.home import NEXT_TLS, Aggregator
from coterie.federation.documents.states import ContributionState, StudyState
from coterie.federation.documents.wire import moment, now, stamp
from coterie.federation.errors import FederationError
from coterie.federation.secrets import tls
from coterie.federation.secrets.keys import peer_fingerprint
from coterie.federation.storage.database import audit, contributions, invitations, owners, studies, tokens
from coterie.federation.storage.parties import Owner, add_token, diary_head, leave, note, owner_by_name
from coterie.federation.storage.studies import withdraw_all
from coterie.table.hidden_files import put_file

log = logging.getLogger("coterie.aggregator")


def listed_owners(connection: Connection) -> list[dict[str, Any]]:
    """Everybody who has joined, with the fingerprint that owners compare with each other."""
    rows = connection.execute(select(owners).order_by(owners.c.name))
    return [
        {
            "owner": row.name,
            "state": "left" if row.left else "suspended" if row.suspended else "active",
            "fingerprint": peer_fingerprint(row.key, row.sealing_key),
            "enrolled": row.enrolled,
            "seen": row.session_seen,
        }
        for row in rows
    ]


def suspend(connection: Connection, name: str, *, suspended: bool) -> None:
    """A suspended owner keeps its identity and its place in studies, and is answered 403 until it is let in again."""
    owner = _owner(connection, name)
    value = stamp(now()) if suspended else None
    connection.execute(update(owners).where(owners.c.id == owner.id).values(suspended=value))
    note(connection, "suspended" if suspended else "resumed", owner=name)


def remove(connection: Connection, name: str) -> None:
    """Remove an owner as if it had left: it withdraws from what it has not delivered, and its key is refused from now on."""
    owner = _owner(connection, name)
    withdraw_all(connection, owner.id, reason="removed by the administrator")
    leave(connection, owner)


def _owner(connection: Connection, name: str) -> Owner:
    owner = owner_by_name(connection, name)
    if owner is None or owner.left is not None:
        raise FederationError(f"There is no owner '{name}'.", "`coterie aggregator owners list` names them.")
    return owner


_OPEN = select(invitations).where(invitations.c.used_by.is_(None))


def listed_invitations(connection: Connection) -> list[dict[str, Any]]:
    """List the invitations that could still be used."""
    rows = connection.execute(_OPEN)
    return sorted(
        ({"owner": row.name, "expires": row.expires, "expired": moment(row.expires) < now()} for row in rows),
        key=lambda entry: str(entry["owner"]),
    )


def cancel_invitations(connection: Connection, name: str | None) -> int:
    """All open ones of a name; without a name, those that have expired. How many there were."""
    found = 0
    for row in connection.execute(_OPEN).all():
        if row.name == name if name is not None else moment(row.expires) < now():
            connection.execute(delete(invitations).where(invitations.c.token_hash == row.token_hash))
            note(connection, "invitation cancelled", owner=row.name)
            found += 1
    return found


def rotate_token(connection: Connection, label: str) -> str:
    """A new token for the status page and the metrics; all earlier ones are worthless from now on."""
    connection.execute(delete(tokens))
    token = secrets.token_urlsafe(32)
    add_token(connection, token, label)
    return token


def rotate_tls(aggregator: Aggregator) -> str:
    """A new TLS key and certificate. Owners learn it from the old one: start `serve` anew when all have asked.

    The new pair waits beside the old one. `desired` tells it to every owner, signed by the aggregator's own key, and
    each keeps it as a second certificate to trust.
    """
    folder = aggregator.folder / NEXT_TLS
    if folder.exists():
        raise FederationError(
            "A new TLS certificate is waiting already.", "Use it: coterie aggregator rotate tls FOLDER --use"
        )
    folder.mkdir(mode=0o700)
    host = urlsplit(aggregator.url).hostname or "localhost"
    tls.make_certificate(folder, [host, "localhost"])
    with aggregator.database.writing() as connection:
        note(connection, "new TLS certificate announced")
    return (folder / tls.CERTIFICATE).read_text()


def use_next_tls(aggregator: Aggregator) -> None:
    """Put the announced pair in the place of the old one: key first, so that a kill in between is seen at once."""
    folder = aggregator.folder / NEXT_TLS
    if not (folder / tls.CERTIFICATE).exists():
        raise FederationError(
            "No new TLS certificate was announced.", "First: coterie aggregator rotate tls FOLDER"
        )
    for name in (tls.KEY, tls.CERTIFICATE):
        put_file(folder / name, aggregator.folder / name)
    shutil.rmtree(folder)
    with aggregator.database.writing() as connection:
        note(connection, "new TLS certificate in use")


# Figures for Prometheus: states and counts of studies and owners, never of rows or ids.


def metrics(aggregator: Aggregator) -> str:
    with aggregator.database.reading() as connection:
        attention = select(func.count()).select_from(studies).where(studies.c.attention.is_not(None))
        people = [entry["state"] for entry in listed_owners(connection)]
        shown: dict[str, tuple[str, Mapping[str, int]]] = {
            "studies": ("Studies by state", _by_state(connection, studies, StudyState)),
            "contributions": (
                "Contributions by state",
                _by_state(connection, contributions, ContributionState),
            ),
            "owners": (
                "Owners by state",
                {state: people.count(state) for state in ("active", "suspended", "left")},
            ),
            "studies_needing_attention": (
                "Studies that wait for a person",
                {"": connection.scalar(attention) or 0},
            ),
            "diary_lines_total": ("Lines of the diary", {"": diary_head(connection)[0]}),
        }
    free = shutil.disk_usage(aggregator.folder).free
    shown["disk_free_bytes"] = "Room left where chunks and releases are kept", {"": free}
    text = "# HELP coterie_info Version of this aggregator.\n# TYPE coterie_info gauge\n"
    text += f'coterie_info{{version="{__version__}"}} 1\n'
    for name, (told, figures) in shown.items():
        kind = "counter" if name.endswith("_total") else "gauge"
        text += f"# HELP coterie_{name} {told}.\n# TYPE coterie_{name} {kind}\n"
        for state, value in figures.items():
            label = f'{{state="{state}"}}' if state else ""
            text += f"coterie_{name}{label} {value}\n"
    return text


def _by_state(connection: Connection, table: Table, states: type[StrEnum]) -> dict[str, int]:
    counted = connection.execute(select(table.c.state, func.count()).group_by(table.c.state)).tuples()
    return {state.value: 0 for state in states} | dict(counted.all())


# The webhook: one POST for each diary line that needs a person.

_FOR_PEOPLE = frozenset({"quarantined", "second process", "rolled back", "fault"})
_SECONDS = 10


class Webhook:
    """Posts `{"event", "at", "study", "owner"}` as JSON. What cannot be delivered is logged, and not tried again."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("https", "http") or not parts.hostname:
            raise FederationError("The webhook is not an address.", "Give https://HOST/PATH.")
        self._url = url
        self._seen: int | None = None

    def tell(self, aggregator: Aggregator) -> int:
        """What has come into the diary since the last call; how many were sent."""
        with aggregator.database.reading() as connection:
            last = connection.scalar(select(func.max(audit.c.number))) or 0
            if self._seen is None:
                self._seen = last
            rows = connection.execute(
                select(audit.c.content).where(audit.c.number > self._seen).order_by(audit.c.number)
            ).scalars()
            lines = [json.loads(text) for text in rows]
        self._seen = last
        told = [line for line in lines if line["event"] in _FOR_PEOPLE or _ended_badly(line)]
        for line in told:
            self._post(
                {name: line[name] for name in ("event", "at", "study", "owner", "state") if name in line}
            )
        return len(told)

    def _post(self, content: dict[str, Any]) -> None:
        try:
            # A redirect is an error: the receiver must not send this machine to addresses of its own network.
            httpx.post(self._url, json=content, timeout=_SECONDS, follow_redirects=False).raise_for_status()
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            log.error("the webhook did not take an event (%s)", type(error).__name__)


def _ended_badly(line: dict[str, Any]) -> bool:
    return line["event"] == "study" and line.get("state") in ("FAILED", "EXPIRED")
