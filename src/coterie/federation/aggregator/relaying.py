"""Between two owners of a blinded study: the aggregator carries sealed parcels, and can neither read nor forge them."""

from __future__ import annotations

from coterie.federation.aggregator.faults import Fault
from coterie.federation.aggregator.home import Aggregator
from coterie.federation.aggregator.receiving import own_part, require_collecting
from coterie.federation.documents.answers import Parcel, Step
from coterie.federation.documents.canonical import signed_from
from coterie.federation.documents.states import ContributionState
from coterie.federation.storage.parcels import keep_parcel, parcel_text
from coterie.federation.storage.parties import Owner, owner_by_key

_EXCHANGING = (ContributionState.APPROVED, ContributionState.RESERVED)


def give(
    aggregator: Aggregator, owner: Owner, body: bytes, study: str, step: Step, number: int
) -> dict[str, object]:
    """One parcel for the other owner. Sending it again changes nothing."""
    signed = signed_from(body)
    parcel = signed.opened("parcel", Parcel, key=owner.key)
    with aggregator.database.writing() as connection:
        row, contribution = own_part(connection, owner, study)
        _require_blinded(row.study.blinded)
        place = (parcel.study, parcel.owner, parcel.to, parcel.step, parcel.number)
        expected = (study, owner.name, row.study.other(owner.name).owner, step, number)
        if place != expected or parcel.number >= parcel.count:
            raise Fault(422, "unacceptable", "The parcel is for another study, owner, step or place.")
        require_collecting(row)
        if contribution.state not in _EXCHANGING:
            raise Fault(409, "conflict", f"A contribution that is {contribution.state} exchanges nothing.")
        keep_parcel(connection, owner.id, signed, parcel)
    return {"step": step.value, "number": number}


def take(aggregator: Aggregator, owner: Owner, study: str, step: Step, number: int) -> dict[str, object]:
    """One parcel of the other owner."""
    with aggregator.database.reading() as connection:
        row, _ = own_part(connection, owner, study)
        _require_blinded(row.study.blinded)
        other = owner_by_key(connection, row.study.other(owner.name).key)
        text = parcel_text(connection, study, other.id, step, number) if other else None
    if text is None:
        raise Fault(404, "not found", "The other owner has sent no such parcel.")
    return signed_from(text).content()


def _require_blinded(blinded: bool) -> None:
    if not blinded:
        raise Fault(409, "conflict", "The owners of this study exchange no parcels.")
