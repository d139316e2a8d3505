"""Other owners, known by keys that people compared over another channel. The aggregator introduces; it does not vouch.

Only studies that match people need it: there an owner shows them, blinded or as pseudonyms, to whoever is in the roster.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

from coterie.federation.documents.study import Rostered, Study
from coterie.federation.documents.wire import now
from coterie.federation.errors import FederationError
from coterie.federation.owner.home import OwnerHome
from coterie.federation.owner.policy import Limit, Refusal, read_policy
from coterie.federation.secrets.keys import keep_private, peer_fingerprint

_PEERS, _FORMER = "peers.json", "peers-former.json"
_FINGERPRINT = re.compile(r"SHA256:[0-9a-f]{32}")
OPENED, EXCHANGE = "table opened", "exchange"


def pinned_peers(home: OwnerHome) -> dict[str, str]:
    """Name → fingerprint: what `coterie owner trust` pinned, and what the policy names."""
    path = home.folder / _PEERS
    try:
        pinned = {str(name): str(key) for name, key in _kept(path).items()}
    except (OSError, ValueError, TypeError):
        raise FederationError(
            f"{path} cannot be read.", "Restore it, or compare the fingerprints again."
        ) from None
    policy = read_policy(home.policy_file)
    return pinned | (policy.peers if policy is not None else {})


def pin_peer(home: OwnerHome, name: str, fingerprint: str) -> None:
    """After two people have compared it. A new fingerprint for a known name replaces the old one, and is noted."""
    if not _FINGERPRINT.fullmatch(fingerprint):
        raise FederationError(
            "This is not the fingerprint of an owner.", "It reads SHA256: and 32 hexadecimal digits."
        )
    path, former = home.folder / _PEERS, home.folder / _FORMER
    known, kept = _kept(path), _kept(former)
    if name in known:
        # A study that was approved with the former keys goes on with them.
        kept[name] = sorted({*kept.get(name, ()), known[name]} - {fingerprint})
        keep_private(former, json.dumps(kept, indent=2).encode())
    keep_private(path, json.dumps({**known, name: fingerprint}, indent=2).encode())
    home.journal.note("peer pinned", peer=name, key=fingerprint)


def _kept(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_bytes())) if path.exists() else {}


def unknown_peers(home: OwnerHome, study: Study) -> list[str]:
    """The other owners of the roster whose keys are not the pinned ones."""
    pinned = pinned_peers(home)
    return [
        entry.owner for entry in _others(home, study) if pinned.get(entry.owner) != entry_fingerprint(entry)
    ]


def shown_peers(home: OwnerHome, study: Study) -> dict[str, str]:
    """Each other owner with its fingerprint, and whether it is the pinned one: for people who compare."""
    pinned = pinned_peers(home)
    words = {}
    for entry in _others(home, study):
        found = entry_fingerprint(entry)
        known = pinned.get(entry.owner)
        word = (
            "pinned" if known == found else "NOT PINNED" if known is None else f"OTHER THAN PINNED ({known})"
        )
        words[entry.owner] = f"{found} {word}"
    return words


def require_peers(home: OwnerHome, study: Study, *, approved: bool = False) -> None:
    """`approved`: with peers who were the pinned ones then, and may have new keys since."""
    if not study.matched:
        return
    unknown = unknown_peers(home, study)
    if approved and unknown:
        former = _kept(home.folder / _FORMER)
        keys = {entry.owner: entry_fingerprint(entry) for entry in study.roster}
        unknown = [name for name in unknown if keys[name] not in former.get(name, ())]
    if unknown:
        names = ", ".join(repr(name) for name in unknown[:10])
        raise Refusal(f"this owner has not pinned the keys that the roster gives for {names}")


def entry_fingerprint(entry: Rostered) -> str:
    return peer_fingerprint(entry.key, entry.sealing_key)


def own_fingerprint(home: OwnerHome) -> str:
    """What this owner tells the others."""
    return peer_fingerprint(home.keys.public, home.keys.sealing_public)


def _others(home: OwnerHome, study: Study) -> Iterable[Rostered]:
    return (entry for entry in study.roster if entry.owner != home.owner)


# Limits by number and time, counted in the diary. A deleted line breaks its chain of seals.


def require_rate(home: OwnerHome, study: Study, limit: Limit) -> None:
    """Before the table is opened. Studies that were refused unopened have asked nothing of the data."""
    if _counted(home, OPENED, study.id, limit) >= limit.most:
        raise Refusal("this owner's limit on studies is reached", limit=str(limit))


def note_opened(home: OwnerHome, study: Study) -> None:
    if not _noted(home, OPENED, study.id):
        home.journal.note(OPENED, study=study.id)


def require_exchange(home: OwnerHome, study: Study, limit: Limit) -> None:
    """One more exchange of blinded ids with this peer? Counted when it begins, whether or not it is finished."""
    peer = study.other(home.owner).owner
    if _noted(home, EXCHANGE, study.id):
        return
    if _counted(home, EXCHANGE, study.id, limit, peer=peer) >= limit.most:
        raise Refusal("this owner's limit on exchanges of blinded ids is reached", limit=str(limit))
    home.journal.note(EXCHANGE, study=study.id, peer=peer)


def _noted(home: OwnerHome, event: str, study: str) -> bool:
    return any(line["study"] == study for line in home.journal.noted(event))


def _counted(home: OwnerHome, event: str, study: str, limit: Limit, **same: str) -> int:
    """Other studies with this event inside the limit's days."""
    lines = home.journal.noted(event, now() - timedelta(days=limit.days))
    return len(
        {
            line["study"]
            for line in lines
            if line["study"] != study and all(line.get(name) == value for name, value in same.items())
        }
    )
