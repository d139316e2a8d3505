"""What owners may do with a study: answer, give the group key, report, send chunks, seal, give the part key, withdraw."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, TypeVar

from pydantic import Field
from sqlalchemy import Connection

from coterie.federation.aggregator.home import Aggregator, Fault, require_room, row_bytes
from coterie.federation.documents.certificate import require_no_stronger, verified
from coterie.federation.documents.messages import (
    Answer,
    Delivery,
    ExchangeStep,
    Manifest,
    NewKeys,
    OfOwner,
    Parcel,
    PartKey,
    Receipt,
    opened_group_key,
)
from coterie.federation.documents.signed import Document, Signed, parsed, sha256, signed_from, validated
from coterie.federation.documents.states import SHOWN, STUDY, ContributionState, StudyState
from coterie.federation.documents.wire import now, stamp
from coterie.federation.errors import Conflict, FederationError
from coterie.federation.secrets.keys import require_sound
from coterie.federation.storage import parties, studies
from coterie.federation.storage.parties import Owner
from coterie.table.digest import file_sha256
from coterie.table.hidden_files import write_whole

_C = ContributionState
_LOOK, _ASK = "Look at its present state.", "Send what the protocol describes."
D = TypeVar("D", bound=OfOwner)
Part = tuple[studies.StudyRow, studies.Contribution]


def answer(aggregator: Aggregator, owner: Owner, body: bytes, study: str) -> dict[str, str]:
    """Approve (which attributes, whether the people are nowhere else) or refuse (why).

    Step 2 of Del Vasto-Terrientes et al., or a refusal at any point before the noise is drawn. Repeating it changes nothing.
    """
    signed, opened = _opened(aggregator, owner, body, study, Answer)
    state = _C.APPROVED if opened.decision == "approve" else _C.REFUSED
    with _updating(aggregator, owner, study) as (connection, row, mine):
        if mine.answer is not None and signed_from(mine.answer).document == signed.document:
            return {"state": mine.state.value}
        _require_open(row)
        if state is _C.APPROVED:
            asked = {attribute.name for attribute in row.study.attributes}
            if not asked.issuperset(opened.attributes):
                raise FederationError("The answer offers attributes that the study does not have.", _ASK)
            if (opened.promise is None) != (row.study.protocol == 1):
                raise FederationError("From protocol 2 on, and only there, an approval has a promise.", _ASK)
            if opened.promise is not None:
                require_no_stronger(row.study, owner.name, opened.promise)
        studies.move_contribution(connection, mine, state, answer=signed.text(), reason=opened.told)
    return {"state": state.value}


def group_key(aggregator: Aggregator, owner: Owner, body: bytes, study: str) -> dict[str, str]:
    """The lead owner's key for the pseudonyms, sealed to each other owner."""
    signed = signed_from(body)
    with _updating(aggregator, owner, study) as (connection, row, _):
        if row.study.lead != owner.name:
            raise Conflict("Only the lead owner of a vertical study makes the group key.", _LOOK)
        if row.group_key is not None and signed_from(row.group_key).document == signed.document:
            return {"state": "kept"}
        key = opened_group_key(signed, row.study)
        expected = sorted(entry.owner for entry in row.study.roster if entry.owner != owner.name)
        if key.study != study or sorted(entry.owner for entry in key.sealed) != expected:
            raise FederationError("The group key is not sealed to each other owner exactly once.", _ASK)
        _require_open(row)
        studies.set_group_key(connection, study, owner.name, signed)
    return {"state": "kept"}


class ProgressReport(Document):
    kind = "report"
    state: ContributionState


def progress(aggregator: Aggregator, owner: Owner, body: bytes, study: str) -> dict[str, str]:
    """RESERVED, COMPUTED or WITHDRAWN."""
    state = validated(ProgressReport, parsed(body)).state
    if state not in (_C.RESERVED, _C.COMPUTED, _C.WITHDRAWN):
        raise FederationError("Only RESERVED, COMPUTED and WITHDRAWN are reported.", _ASK)
    with _updating(aggregator, owner, study) as (connection, row, mine):
        if mine.state is state:
            return {"state": state.value}
        if state is not _C.WITHDRAWN:
            require_collecting(row)
        elif not studies.may_withdraw(row, mine):
            raise Conflict(f"A contribution that is {mine.state} cannot be taken back any more.", _LOOK)
        studies.move_contribution(connection, mine, state)
    return {"state": state.value}


def manifest(aggregator: Aggregator, owner: Owner, body: bytes, study: str) -> dict[str, object]:
    """Which chunks will come; answers which are missing."""
    signed, opened = _opened(aggregator, owner, body, study, Manifest)
    with _updating(aggregator, owner, study) as (connection, row, mine):
        if mine.manifest is not None:
            if _manifest_digest(mine) != sha256(signed.canonical()):
                raise Fault(409, "manifest changed", "Another manifest was given for this contribution.")
        else:
            require_collecting(row)
            # Also unpacked and joined: before anybody is charged for a study that this disk could never hold.
            unpacked = opened.rows * row_bytes(row.study.asked_of(owner.name))
            require_room(aggregator.folder, max(sum(chunk.size for chunk in opened.chunks), unpacked))
            studies.move_contribution(connection, mine, _C.UPLOADING, manifest=signed.text())
    chunks = [aggregator.chunk(study, owner.id, number) for number in range(len(opened.chunks))]
    missing = [] if mine.receipt else [number for number, path in enumerate(chunks) if not path.exists()]
    return {"missing": missing}


def chunk(aggregator: Aggregator, owner: Owner, body: bytes, study: str, number: int) -> dict[str, object]:
    """One chunk; sending it again changes nothing."""
    row, mine = _seen(aggregator, owner, study)
    if mine.state is not _C.UPLOADING:
        if mine.receipt is not None:
            return {"number": number}
        raise Conflict(f"A contribution that is {mine.state} takes no chunks.", "Send the manifest first.")
    claimed = mine.opened_manifest(row.study).chunks
    if number >= len(claimed):
        raise Fault(404, "not found", "The manifest has no such chunk.")
    if len(body) != claimed[number].size or sha256(body) != claimed[number].sha256:
        raise Fault(
            422, "chunk", "The chunk is not the one that the manifest names.", "Send it again.", number=number
        )
    require_collecting(row)
    path = aggregator.chunk(study, owner.id, number)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_whole(path, body)
    return {"number": number}


def seal(aggregator: Aggregator, owner: Owner, body: bytes, study: str) -> dict[str, object]:
    """Verify all chunks; answers with a signed receipt. From protocol 3 on with a signed delivery, before without a body."""
    row, mine = _seen(aggregator, owner, study)
    if mine.receipt is not None:
        return signed_from(mine.receipt).content()
    if mine.manifest is None:
        raise Conflict("There is nothing to seal yet.", "Send the manifest and its chunks first.")
    opened = mine.opened_manifest(row.study)
    require_collecting(row)
    digest, values = _manifest_digest(mine), {}
    if row.study.sealed:  # the owner's word for the others that this very part is here
        delivery, said = _opened(aggregator, owner, body, study, Delivery)
        if said.manifest != digest:
            raise FederationError("The delivery is about another manifest.", _ASK)
        values = {"delivery": delivery.text()}
    missing = []
    for number, claimed in enumerate(opened.chunks):
        # Read back from the disk: the receipt is about what is kept, not about what once arrived.
        path = aggregator.chunk(study, owner.id, number)
        if not path.exists() or file_sha256(path) != claimed.sha256:
            path.unlink(missing_ok=True)
            missing.append(number)
    if missing:
        raise Fault(409, "incomplete", "Some chunks are missing.", "Send them, then seal.", missing=missing)
    receipt = Receipt(study=study, owner=owner.name, manifest=digest, rows=opened.rows, at=stamp(now()))
    signed = Signed.of(receipt, aggregator.keys)
    with _updating(aggregator, owner, study) as (connection, current, _):
        if current.opening is not None:
            raise Conflict("The others have begun to open their parts; this one came too late.", _LOOK)
        studies.move_contribution(connection, mine, _C.DELIVERED, receipt=signed.text(), **values)
    return signed.content()


def part_key(aggregator: Aggregator, owner: Owner, body: bytes, study: str) -> dict[str, str]:
    """What opens a sealed part, when all owners have delivered."""  # until then nobody needs it, and it costs ε
    signed, opened = _opened(aggregator, owner, body, study, PartKey)
    with _updating(aggregator, owner, study) as (connection, row, mine):
        if row.opening is None or mine.receipt is None or mine.manifest is None:
            raise Conflict("Keys are given when all owners have delivered.", "Keep it until then.")
        if opened.manifest != _manifest_digest(mine):
            raise FederationError("The key is about another manifest.", _ASK)
        if mine.state is _C.DELIVERED:
            studies.keep_part_key(connection, mine, signed)
    return {"state": "kept"}


def released(aggregator: Aggregator, owner: Owner, study: str) -> studies.StudyRow:
    """Step 8: owners get a copy. Only owners who were asked, and only when it is out."""
    row, _ = _seen(aggregator, owner, study)
    if row.state is not StudyState.RELEASED:
        raise Conflict(f"The study is {row.state}; there is no release.", _LOOK)
    return row


def certificate(aggregator: Aggregator, owner: Owner, study: str) -> dict[str, object]:
    """The certificate of the joined release, signed by the aggregator."""
    return signed_from(released(aggregator, owner, study).certificate or "").content()


def released_before(aggregator: Aggregator, owner: Owner, body: bytes, study: str) -> dict[str, str]:
    """The certificate of a release that the aggregator has forgotten, by a restore: the study ends."""
    signed = signed_from(body)
    with _updating(aggregator, owner, study) as (connection, row, _):
        if verified(signed, row.study.aggregator).study.document != row.signed.document:
            raise FederationError("The certificate is about another study.", _ASK)
        require_collecting(row)
        reason = "it was released before this aggregator was restored from a backup; owners hold the release"
        studies.move_study(connection, row, StudyState.FAILED, reason=reason)
    return {"state": StudyState.FAILED.value}


def closed(aggregator: Aggregator, owner: Owner, _: bytes, study: str) -> dict[str, str]:
    """The owner knows how the study ended and holds its copy: `desired` leaves it out from now on."""
    with _updating(aggregator, owner, study) as (connection, row, mine):
        if STUDY[row.state]:
            raise Conflict(f"The study is {row.state}; it has not ended.", _LOOK)
        studies.close_contribution(connection, mine)
    return {"state": row.state.value}


def own_part(connection: Connection, owner: Owner, study: str) -> Part:
    """A study that this owner is in; for all others it does not exist."""
    row = studies.study_row(connection, study)
    mine = studies.contribution(connection, study, owner.id)
    if row is None or mine is None or row.state is StudyState.DRAFT:
        raise Fault(404, "not found", "There is no such study for you.")
    return row, mine


def _seen(aggregator: Aggregator, owner: Owner, study: str) -> Part:
    with aggregator.database.reading() as connection:
        return own_part(connection, owner, study)


@contextmanager
def _updating(
    aggregator: Aggregator, owner: Owner, study: str
) -> Iterator[tuple[Connection, studies.StudyRow, studies.Contribution]]:
    """The study and this owner's part in it, in one transaction."""
    with aggregator.database.writing() as connection:
        yield connection, *own_part(connection, owner, study)


def _opened(
    aggregator: Aggregator, owner: Owner, body: bytes, study: str, model: type[D]
) -> tuple[Signed, D]:
    """What the owner signed about its part in this study. The key of the roster counts; it may have another one by now."""
    row, _ = _seen(aggregator, owner, study)
    signed = signed_from(body)
    return signed, model.opened(signed, row.study, owner.name)


def _manifest_digest(mine: studies.Contribution) -> str:
    assert mine.manifest is not None
    return sha256(signed_from(mine.manifest).canonical())


def _require_open(row: studies.StudyRow) -> None:
    if row.state not in SHOWN - {StudyState.ASSEMBLING, StudyState.RELEASED}:
        raise Conflict(f"The study is {row.state}.", _LOOK)


def require_collecting(row: studies.StudyRow) -> None:
    if row.state is not StudyState.COLLECTING:
        raise Conflict(f"The study is {row.state}; it does not collect.", _LOOK)


class RecoveryReport(Document):
    kind = "report"
    diary: Annotated[str, Field(max_length=100)]


def recovered(aggregator: Aggregator, owner: Owner, body: bytes) -> dict[str, str]:
    """After a restore: the owner has charged again what was spent, and its diary goes on from here."""
    said = validated(RecoveryReport, parsed(body))
    with aggregator.database.writing() as connection:
        parties.begin_witness(connection, owner, said.diary)
    return {"state": "kept"}


def spent(aggregator: Aggregator, owner: Owner) -> dict[str, object]:
    """Studies for which this owner's part could be read: they are spent.

    Parts that were accepted, rejected after a look, or delivered under a protocol without seals.
    """
    with aggregator.database.reading() as connection:
        found = []
        for mine in studies.contributions_by(connection, owner.id, closed=True):
            row = studies.known_study(connection, mine.study)
            read = mine.state in (_C.ACCEPTED, _C.REJECTED) or mine.part_key is not None
            if mine.manifest is not None and (read or not row.study.sealed):
                proof = signed_from(mine.manifest).content()  # signed by the owner itself
                found.append({"id": row.id, "study": row.signed.content(), "manifest": proof})
    return {"studies": found}


def new_keys(aggregator: Aggregator, owner: Owner, body: bytes) -> dict[str, str]:
    """New keys of this owner, signed with them; the request is signed with the old ones.

    From now on requests are signed with the new key, and new studies name it. Studies under way keep the old one.
    """
    signed = signed_from(body)
    said = signed.opened(NewKeys, key=signed.key)
    require_sound(said.new, said.sealing_key)
    if said.new != signed.key or said.old != owner.key:
        raise FederationError("The new keys are not signed by themselves, or not this owner's.", _ASK)
    with aggregator.database.writing() as connection:
        parties.change_keys(connection, owner, said.new, said.sealing_key)
    return {"owner": owner.name, "key": said.new}


def leave_all(aggregator: Aggregator, owner: Owner, _: bytes) -> dict[str, str]:
    """Withdraw from everything that is not delivered; this key is not accepted again."""
    with aggregator.database.writing() as connection:
        studies.withdraw_all(connection, owner.id)
        parties.leave(connection, owner)
    return {"owner": owner.name, "state": "left"}


# Between two owners of a blinded study: the aggregator carries sealed parcels, and can neither read nor forge them.

_EXCHANGING = (ContributionState.APPROVED, ContributionState.RESERVED)


def give_parcel(
    aggregator: Aggregator, owner: Owner, body: bytes, study: str, step: ExchangeStep, number: int
) -> dict[str, object]:
    """Blinded ids for the other owner of a blinded study, sealed; sending it again changes nothing."""
    signed, parcel = _opened(aggregator, owner, body, study, Parcel)
    with _updating(aggregator, owner, study) as (connection, row, mine):
        _require_blinded(row)
        expected = (row.study.other(owner.name).owner, step, number)
        if (parcel.to, parcel.step, parcel.number) != expected or number >= parcel.count:
            raise FederationError("The parcel is for another owner, step or place.", _ASK)
        require_collecting(row)
        if mine.state not in _EXCHANGING:
            raise Conflict(f"A contribution that is {mine.state} exchanges nothing.", _LOOK)
        studies.keep_parcel(connection, owner.id, signed, parcel)
    return {"step": step.value, "number": number}


def take_parcel(
    aggregator: Aggregator, owner: Owner, study: str, step: ExchangeStep, number: int
) -> dict[str, object]:
    """A parcel that the other owner of a blinded study sent."""
    with aggregator.database.reading() as connection:
        row, _ = own_part(connection, owner, study)
        _require_blinded(row)
        if step is ExchangeStep.RETURNED and not studies.step_complete(connection, study, owner.id, step):
            raise Conflict("Each owner gets what comes back when both have sent theirs.", _LOOK)
        other = parties.owner_by_name(connection, row.study.other(owner.name).owner)
        text = studies.parcel_text(connection, study, other.id, step, number) if other else None
    if text is None:
        raise Fault(404, "not found", "The other owner has sent no such parcel.")
    return signed_from(text).content()


def _require_blinded(row: studies.StudyRow) -> None:
    if not row.study.blinded:
        raise Conflict("The owners of this study exchange no parcels.", _LOOK)
