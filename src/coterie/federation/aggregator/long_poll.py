"""The long poll of owners: what is wanted of each, and the bell that wakes them when a contribution or a study moved."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from contextlib import suppress
from typing import Any

from coterie.federation.aggregator.home import Aggregator
from coterie.federation.documents.canonical import canonical, sha256
from coterie.federation.documents.wire import StudyState
from coterie.federation.storage.parties import Owner, parcels_there
from coterie.federation.storage.studies import contributions_by, study_row


class Bell:
    """With hundreds of owners, waking all of them at every chunk of one would be most of the work."""

    def __init__(self) -> None:
        self._events: defaultdict[int, asyncio.Event] = defaultdict(asyncio.Event)

    def ring(self, owner: int) -> None:
        self._events.pop(owner, asyncio.Event()).set()

    def ring_all(self) -> None:
        for owner in list(self._events):
            self.ring(owner)

    async def heard(self, owner: int, seconds: float) -> None:
        """Return at the next ring for this owner, or after so many seconds."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._events[owner].wait(), seconds)


# What the aggregator wants of one owner: always the whole picture, never an event, so nothing can be missed.


def desired(aggregator: Aggregator, owner: Owner) -> dict[str, Any]:
    """Every study that this owner has not closed, with its state and what the aggregator holds of the contribution."""
    found = []
    with aggregator.database.reading() as connection:
        for contribution in contributions_by(connection, owner.id):
            row = study_row(connection, contribution.study)
            if row is None or row.state is StudyState.DRAFT:
                continue
            found.append(
                {
                    "id": row.id,
                    "study": row.signed.content(),
                    "state": row.state.value,
                    "reason": row.reason,
                    "attention": row.attention,
                    "contribution": contribution.state.value,
                    "contribution_reason": contribution.reason,
                    "parcels": parcels_there(connection, row.id) if row.study.blinded else None,
                    "group_key": json.loads(row.group_key) if row.group_key else None,
                    "receipt": json.loads(contribution.receipt) if contribution.receipt else None,
                    "release": _release(row.release_sha256, row.release_size),
                }
            )
    content = {"owner": owner.name, "studies": found}
    return {"version": sha256(canonical(content))[:32], **content}


def _release(digest: str | None, size: int | None) -> dict[str, Any] | None:
    return None if digest is None else {"sha256": digest, "size": size}
