"""Parcels of blinded studies: kept while two owners exchange them, forgotten when the study has ended."""

from __future__ import annotations

from sqlalchemy import Connection, delete, func, insert, select

from coterie.federation.documents.answers import Parcel, Step
from coterie.federation.documents.canonical import Signed
from coterie.federation.documents.states import StudyState, is_final
from coterie.federation.errors import Conflict
from coterie.federation.storage.tables import owners, parcels, studies


def keep_parcel(connection: Connection, owner: int, signed: Signed, parcel: Parcel) -> None:
    """Once: another parcel in the same place is refused, and sending the same one again changes nothing."""
    there = parcel_text(connection, parcel.study, owner, parcel.step, parcel.number)
    if there is not None:
        if there != signed.text():
            raise Conflict("Another parcel was given for this place.", "Send the first one again.")
        return
    place = (parcels.c.study == parcel.study) & (parcels.c.owner == owner) & (parcels.c.step == parcel.step)
    counts = set(connection.execute(select(parcels.c.count).where(place)).scalars())
    if counts - {parcel.count}:
        raise Conflict(
            "The parcels of one step differ about how many they are.", "Send the first ones again."
        )
    connection.execute(
        insert(parcels).values(
            study=parcel.study,
            owner=owner,
            step=parcel.step.value,
            number=parcel.number,
            count=parcel.count,
            signed=signed.text(),
        )
    )


def parcel_text(connection: Connection, study: str, owner: int, step: Step, number: int) -> str | None:
    query = select(parcels.c.signed).where(
        parcels.c.study == study,
        parcels.c.owner == owner,
        parcels.c.step == step.value,
        parcels.c.number == number,
    )
    return connection.execute(query).scalar()


def parcels_there(connection: Connection, study: str) -> dict[str, dict[str, dict[str, int]]]:
    """owner → step → how many are here, of how many."""
    found: dict[str, dict[str, dict[str, int]]] = {}
    query = (
        select(
            owners.c.name,
            parcels.c.step,
            func.count().label("there"),
            func.max(parcels.c.count).label("count"),
        )
        .join(owners, owners.c.id == parcels.c.owner)
        .where(parcels.c.study == study)
        .group_by(owners.c.name, parcels.c.step)
        .order_by(owners.c.name, parcels.c.step)
    )
    for name, step, there, count in connection.execute(query):
        found.setdefault(name, {})[step] = {"there": there, "count": count}
    return found


def ended_with_parcels(connection: Connection) -> list[str]:
    ended = [state.value for state in StudyState if is_final(state)]
    query = (
        select(parcels.c.study)
        .distinct()
        .join(studies, studies.c.id == parcels.c.study)
        .where(studies.c.state.in_(ended))
    )
    return list(connection.execute(query).scalars())


def forget_parcels(connection: Connection, study: str) -> None:
    connection.execute(delete(parcels).where(parcels.c.study == study))
