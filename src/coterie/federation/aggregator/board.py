"""What the status page and `study show` tell: states, deadlines, the diary. No owner's rows or their number, no secrets."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, func, select

from coterie.budget import as_text
from coterie.federation.aggregator.home import Aggregator
from coterie.federation.answers import Manifest
from coterie.federation.certificate import KIND, FederatedCertificate
from coterie.federation.envelope import signed_from
from coterie.federation.storage.audit import entries
from coterie.federation.storage.studies import (
    Contribution,
    StudyRow,
    all_studies,
    contributions_of,
    study_row,
)
from coterie.federation.storage.tables import chunks
from coterie.federation.wire import now, stamp


def board(aggregator: Aggregator) -> dict[str, Any]:
    with aggregator.database.reading() as connection:
        rows = all_studies(connection)
        found = [_study(connection, row) for row in reversed(rows)]
        diary = entries(connection, last=50)[::-1]
    return {"studies": found, "diary": diary, "aggregator": aggregator.fingerprint, "at": stamp(now())}


def detail(aggregator: Aggregator, study: str) -> dict[str, Any] | None:
    with aggregator.database.reading() as connection:
        row = study_row(connection, study)
        if row is None:
            return None
        shown = _study(connection, row)
        diary = entries(connection, study=study)[::-1]
    return {"study": shown, "diary": diary, "aggregator": aggregator.fingerprint, "at": stamp(now())}


def _study(connection: Connection, row: StudyRow) -> dict[str, Any]:
    study = row.study
    guarantee = None
    if row.certificate:
        signed = signed_from(row.certificate)
        opened = signed.opened(KIND, FederatedCertificate, key=study.aggregator)
        guarantee = {"status": opened.guarantee.status, "label": opened.guarantee.label, "rows": opened.rows}
    return {
        "id": row.id,
        "title": study.title,
        "state": row.state.value,
        "reason": row.reason,
        "attention": row.attention,
        "fragmentation": study.fragmentation.value,
        "method": study.method,
        "epsilon": study.epsilon,
        "k": study.k,
        "attributes": [attribute.name for attribute in study.attributes],
        "deadline": study.deadline,
        "minimum": study.minimum,
        "release": {"sha256": row.release_sha256, "size": row.release_size} if row.release_sha256 else None,
        "guarantee": guarantee,
        "owners": [_part(connection, row, part) for part in contributions_of(connection, row.id)],
    }


def _part(connection: Connection, row: StudyRow, part: Contribution) -> dict[str, Any]:
    expected = 0
    if part.manifest:
        expected = len(Manifest.model_validate(signed_from(part.manifest).document).chunks)
    query = select(func.count()).select_from(chunks)
    there = connection.execute(
        query.where(chunks.c.study == row.id, chunks.c.owner == part.owner)
    ).scalar_one()
    return {
        "owner": part.name,
        "state": part.state.value,
        "reason": part.reason,
        "changed": part.changed,
        "epsilon": as_text(row.study.charge(part.name)),
        # In hundredths: how many chunks or bytes there are would tell how many rows.
        "received_percent": 100 * there // expected if expected else 0,
    }
