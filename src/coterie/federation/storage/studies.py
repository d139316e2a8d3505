"""Studies and contributions: read them, and move them from state to state by compare-and-set."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, func, insert, select, update

from coterie.federation.documents.messages import Answer, ExchangeStep, Manifest, Parcel, PartKey
from coterie.federation.documents.signed import Signed, signed_from
from coterie.federation.documents.states import ContributionState, StudyState, is_final, may_follow
from coterie.federation.documents.study import Study
from coterie.federation.documents.wire import now, stamp
from coterie.federation.errors import Conflict
from coterie.federation.secrets.keys import raw_key
from coterie.federation.storage.database import Database, contributions, owners, parcels, studies
from coterie.federation.storage.parties import note
from coterie.promise.certificate import Certificate


@dataclass(frozen=True)
class StudyRow:
    id: str
    signed: Signed
    study: Study
    state: StudyState
    version: int
    reason: str | None
    group_key: str | None
    shuffle_key: str | None
    certificate: str | None
    release_sha256: str | None
    release_size: int | None
    changed: str
    faults: int
    attention: str | None
    opening: str | None

    @property
    def release(self) -> dict[str, Any] | None:
        """What everybody may know of the joined file, once it is there."""
        return {"sha256": self.release_sha256, "size": self.release_size} if self.release_sha256 else None


@dataclass(frozen=True)
class Contribution:
    study: str
    owner: int
    name: str
    state: ContributionState
    version: int
    changed: str
    answer: str | None
    reason: str | None
    manifest: str | None
    receipt: str | None
    delivery: str | None
    part_key: str | None
    left: str | None  # when its owner left, and its key ended
    suspended: str | None  # since when its owner is turned away

    # What the owner signed, opened with the key that the roster of its study names.

    def opened_answer(self, study: Study) -> Answer:
        assert self.answer is not None
        return Answer.opened(signed_from(self.answer), study, self.name)

    def opened_manifest(self, study: Study) -> Manifest:
        assert self.manifest is not None
        return Manifest.opened(signed_from(self.manifest), study, self.name)

    def opened_key(self, study: Study) -> bytes | None:
        """What opens a sealed part, once it is here."""
        return None if self.part_key is None else raw_key(self._part_key(study).key)

    def opened_certificate(self, study: Study) -> Certificate:
        """The owner's certificate about its part: in the manifest, or with the key of a sealed part."""
        holder = self.opened_manifest(study) if self.part_key is None else self._part_key(study)
        return Certificate.from_json(holder.certificate)

    def _part_key(self, study: Study) -> PartKey:
        assert self.part_key is not None
        return PartKey.opened(signed_from(self.part_key), study, self.name)


def add_study(connection: Connection, signed: Signed, study: Study) -> None:
    """DRAFT, with one INVITED contribution per owner."""
    at = stamp(now())
    if connection.execute(select(studies.c.id).where(studies.c.id == study.id)).first():
        raise Conflict(
            "This very study exists already.", "A new one differs at least in its time of creation."
        )
    connection.execute(
        insert(studies).values(
            id=study.id, signed=signed.text(), state=StudyState.DRAFT, version=1, created=at, changed=at
        )
    )
    for entry in study.roster:
        owner = connection.execute(select(owners.c.id).where(owners.c.key == entry.key)).scalar_one()
        connection.execute(
            insert(contributions).values(
                study=study.id, owner=owner, state=ContributionState.INVITED, version=1, changed=at
            )
        )
    note(connection, "study", study=study.id, state=StudyState.DRAFT.value)


def study_row(connection: Connection, study: str) -> StudyRow | None:
    row = connection.execute(select(studies).where(studies.c.id == study)).first()
    return None if row is None else _study(row)


def known_study(connection: Connection, study: str) -> StudyRow:
    """One that is there: its id came out of this database, or was looked up before."""
    row = study_row(connection, study)
    assert row is not None
    return row


def all_studies(connection: Connection, states: frozenset[StudyState] | None = None) -> list[StudyRow]:
    query = select(studies).order_by(studies.c.created, studies.c.id)
    if states is not None:
        query = query.where(studies.c.state.in_(sorted(states)))
    return [_study(row) for row in connection.execute(query)]


def contributions_of(connection: Connection, study: str) -> list[Contribution]:
    """In the order of enrolment."""
    return _contributions(connection, contributions.c.study == study)


def contributions_by(connection: Connection, owner: int, *, closed: bool = False) -> list[Contribution]:
    """All but those that the owner has closed; or all."""
    condition = contributions.c.owner == owner
    return _contributions(connection, condition if closed else condition & contributions.c.closed.is_(None))


def contribution(connection: Connection, study: str, owner: int) -> Contribution | None:
    found = _contributions(connection, (contributions.c.study == study) & (contributions.c.owner == owner))
    return found[0] if found else None


def move_study(connection: Connection, row: StudyRow, state: StudyState, **values: Any) -> None:
    """Compare-and-set on the version: of two writers that move the same row, the later one gets a Conflict."""
    if not may_follow(row.state, state):
        raise Conflict(f"A study that is {row.state} cannot become {state}.", "Look at its present state.")
    _set_study(connection, row, state=state, faults=0, attention=None, **values)
    reason = {"reason": values["reason"]} if values.get("reason") else {}
    note(connection, "study", study=row.id, state=state.value, **reason)


def note_fault(connection: Connection, row: StudyRow, kind: str, attention: str | None) -> None:
    """The aggregator itself failed at this study: how often in this state, and what a person should know by now."""
    _set_study(connection, row, faults=row.faults + 1, attention=attention)
    note(connection, "fault", study=row.id, state=row.state.value, kind=kind, attempt=row.faults + 1)


def try_again(connection: Connection, row: StudyRow) -> None:
    if row.attention is None:
        raise Conflict("The study does not wait for anybody's attention.", "Look at its present state.")
    _set_study(connection, row, faults=0, attention=None)
    note(connection, "retried", study=row.id)


def _set_study(connection: Connection, row: StudyRow, **values: Any) -> None:
    done = connection.execute(
        update(studies)
        .where(studies.c.id == row.id, studies.c.version == row.version)
        .values(version=row.version + 1, changed=stamp(now()), **values)
    )
    _once(done.rowcount)


def move_contribution(
    connection: Connection, row: Contribution, state: ContributionState, **values: Any
) -> None:
    if not may_follow(row.state, state):
        raise Conflict(
            f"A contribution that is {row.state} cannot become {state}.", "Look at its present state."
        )
    done = connection.execute(
        update(contributions)
        .where(_is(row), contributions.c.version == row.version)
        .values(state=state, version=row.version + 1, changed=stamp(now()), **values)
    )
    _once(done.rowcount)
    reason = {"reason": values["reason"]} if values.get("reason") else {}
    note(connection, "contribution", study=row.study, owner=row.name, state=state.value, **reason)


def may_withdraw(row: StudyRow, mine: Contribution) -> bool:
    """What nobody can read may be taken back; not when the others are giving their keys because it is there."""
    if mine.state is ContributionState.DELIVERED and (not row.study.sealed or row.opening is not None):
        return False
    return may_follow(mine.state, ContributionState.WITHDRAWN)


def withdraw_all(connection: Connection, owner: int, **values: Any) -> None:
    """Withdraw everything that an owner who leaves may take back."""
    for mine in contributions_by(connection, owner, closed=True):
        row = study_row(connection, mine.study)
        if row is not None and not is_final(row.state) and may_withdraw(row, mine):
            move_contribution(connection, mine, ContributionState.WITHDRAWN, **values)


def close_contribution(connection: Connection, row: Contribution) -> None:
    """The owner need not hear of this study again."""
    _set_once(connection, row, "closed", closed=stamp(now()))


def begin_opening(connection: Connection, row: StudyRow) -> None:
    """All have delivered: from now on owners give the keys of their parts, and nobody delivers any more."""
    _set_study(connection, row, opening=stamp(now()))
    note(connection, "opening", study=row.id)


def keep_part_key(connection: Connection, row: Contribution, signed: Signed) -> None:
    """The part has one key."""
    _set_once(connection, row, "part key", part_key=signed.text())


def _set_once(connection: Connection, row: Contribution, event: str, **value: str) -> None:
    """What is there already stays; saying it twice changes nothing."""
    [name] = value
    query = update(contributions).where(_is(row), contributions.c[name].is_(None)).values(**value)
    if connection.execute(query).rowcount:
        note(connection, event, study=row.study, owner=row.name)


def _is(row: Contribution) -> ColumnElement[bool]:
    return (contributions.c.study == row.study) & (contributions.c.owner == row.owner)


# What nobody needs any more when a study has ended: the keys of parts, and what the owners of a blinded study exchanged.
_ENDED = select(studies.c.id).where(studies.c.state.in_([s.value for s in StudyState if is_final(s)]))
_KEYS_OF_ENDED = contributions.c.part_key.is_not(None) & contributions.c.study.in_(_ENDED)
_PARCELS_OF_ENDED = parcels.c.study.in_(_ENDED)


def secrets_of_ended(connection: Connection) -> bool:
    keys = select(contributions.c.study).where(_KEYS_OF_ENDED).limit(1)
    exchanged = select(parcels.c.study).where(_PARCELS_OF_ENDED).limit(1)
    return any(connection.execute(query).first() for query in (keys, exchanged))


def forget_secrets_of_ended(connection: Connection) -> None:
    connection.execute(update(contributions).where(_KEYS_OF_ENDED).values(part_key=None))
    connection.execute(delete(parcels).where(_PARCELS_OF_ENDED))


def set_group_key(connection: Connection, study: str, lead: str, signed: Signed) -> None:
    """Once: a second key would give the owners different pseudonyms."""
    done = connection.execute(
        update(studies)
        .where(studies.c.id == study, studies.c.group_key.is_(None))
        .values(group_key=signed.text())
    )
    if done.rowcount != 1:
        raise Conflict("The study has its group key already.", "Use the one that is there.")
    note(connection, "group key", study=study, owner=lead)


def stages(database: Database) -> object:
    """What owners see of all studies; a change wakes them. Version, group key, and how many parcels."""
    with database.reading() as connection:
        counted = connection.execute(select(parcels.c.study, func.count()).group_by(parcels.c.study)).all()
        query = select(studies.c.id, studies.c.version, studies.c.group_key.is_not(None))
        return set(counted), set(connection.execute(query).all())


def _contributions(connection: Connection, condition: Any) -> list[Contribution]:
    rows = connection.execute(
        select(contributions, owners.c.name, owners.c.left, owners.c.suspended)
        .join(owners, owners.c.id == contributions.c.owner)
        .where(condition)
        .order_by(contributions.c.study, owners.c.id)
    )
    return [Contribution(**_named(Contribution, row, state=ContributionState(row.state))) for row in rows]


@lru_cache(maxsize=256)
def _opened(text: str) -> tuple[Signed, Study]:
    """A study never changes, and with hundreds of owners its document is long: read it once."""
    signed = signed_from(text)
    return signed, signed.opened(Study, key=signed.key)


def _study(row: Any) -> StudyRow:
    signed, study = _opened(row.signed)
    return StudyRow(**_named(StudyRow, row, signed=signed, study=study, state=StudyState(row.state)))


def _named(kind: type, row: Any, **given: Any) -> dict[str, Any]:
    """The fields of a dataclass: as given, else the columns of their names."""
    return {field.name: row._mapping[field.name] for field in fields(kind) if field.name not in given} | given


def _once(changed: int) -> None:
    if changed != 1:
        raise Conflict("Somebody else moved it first.", "Read its state again.")


# Parcels of blinded studies: kept while two owners exchange them, forgotten when the study has ended.


def keep_parcel(connection: Connection, owner: int, signed: Signed, parcel: Parcel) -> None:
    """Once: another parcel in the same place is refused, and sending the same one again changes nothing."""
    place = _of_step(parcel.study, owner, parcel.step)
    there = parcel_text(connection, parcel.study, owner, parcel.step, parcel.number)
    if there is not None:
        if there != signed.text():
            raise Conflict("Another parcel was given for this place.", "Send the first one again.")
        return
    counts = set(connection.execute(select(parcels.c.count).where(place)).scalars())
    if counts - {parcel.count}:
        raise Conflict(
            "The parcels of one step differ about how many they are.", "Send the first ones again."
        )
    values = parcel.model_dump(mode="json", include={"study", "step", "number", "count"})
    connection.execute(insert(parcels).values(owner=owner, signed=signed.text(), **values))
    if step_complete(connection, parcel.study, owner, parcel.step):
        note(connection, "exchanged", study=parcel.study, owner=parcel.owner, step=parcel.step.value)


def _of_step(study: str, owner: int, step: ExchangeStep) -> ColumnElement[bool]:
    return (parcels.c.study == study) & (parcels.c.owner == owner) & (parcels.c.step == step.value)


def step_complete(connection: Connection, study: str, owner: int, step: ExchangeStep) -> bool:
    """All parcels of one step of one owner are here."""
    query = select(parcels.c.count).where(_of_step(study, owner, step))
    counts = list(connection.execute(query).scalars())
    return bool(counts) and len(counts) == counts[0]


def parcel_text(
    connection: Connection, study: str, owner: int, step: ExchangeStep, number: int
) -> str | None:
    query = select(parcels.c.signed).where(_of_step(study, owner, step), parcels.c.number == number)
    return connection.execute(query).scalar()


def parcels_there(connection: Connection, study: str) -> dict[str, dict[str, dict[str, int]]]:
    """owner → step → how many are here, of how many."""
    found: dict[str, dict[str, dict[str, int]]] = {}
    query = (
        select(owners.c.name, parcels.c.step, func.count(), func.max(parcels.c.count))
        .join(owners, owners.c.id == parcels.c.owner)
        .where(parcels.c.study == study)
        .group_by(owners.c.name, parcels.c.step)
        .order_by(owners.c.name, parcels.c.step)
    )
    for name, step, there, count in connection.execute(query):
        found.setdefault(name, {})[step] = {"there": there, "count": count}
    return found
