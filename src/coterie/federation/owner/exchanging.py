"""An owner's part in a blinded study: find the people that the other owner holds too, and keep only those.

Everything that leaves is written down first and only ever sent again, so that a kill changes nothing and the other owner
gets one answer to one list: whoever could ask twice could try other people's ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from coterie.errors import CoterieError, DataError
from coterie.federation.documents.answers import Parcel, Step
from coterie.federation.documents.canonical import Signed, validated
from coterie.federation.documents.study import Study
from coterie.federation.documents.wire import MOST_PARCELS, POINTS_IN_PARCEL
from coterie.federation.errors import FederationError
from coterie.federation.owner.client import Client
from coterie.federation.owner.home import Home
from coterie.federation.owner.refusal import UNFIT, refusal
from coterie.federation.owner.table import Prepared
from coterie.federation.secrets.blinding import (
    LENGTH,
    Pseudonyms,
    blinded,
    blinded_again,
    in_parcels,
    new_blinding_key,
    pseudonym,
    split,
)
from coterie.federation.secrets.keys import keep_private, seal, unseal
from coterie.methods import get_method


@dataclass(frozen=True)
class Exchange:
    """`there`: for each owner and step, how many parcels the aggregator has, of how many."""

    home: Home
    client: Client
    study: Study
    there: dict[str, dict[str, dict[str, int]]]

    def advance(self, prepared: Prepared) -> bool:
        """Send what is due; True if something was sent."""
        assert prepared.ids is not None
        sent = False
        if not self._complete(self.home.owner, Step.BLINDED):
            self._send(Step.BLINDED, sorted(self._blinded(prepared.ids)))
            sent = True
        other = self.study.other(self.home.owner).owner
        if self._complete(other, Step.BLINDED) and not self._complete(self.home.owner, Step.RETURNED):
            self._send(Step.RETURNED, self._theirs())
            sent = True
        return sent

    def finished(self) -> bool:
        other = self.study.other(self.home.owner).owner
        return all(self._complete(owner, step) for owner in (self.home.owner, other) for step in Step)

    def common(self, prepared: Prepared) -> tuple[Prepared, Pseudonyms]:
        """Only the people whom both owners hold, and a name for each that neither could have made alone."""
        assert prepared.ids is not None
        mine = self._blinded(prepared.ids)
        returned = self._fetched(Step.RETURNED)
        if len(returned) != len(mine) or len(set(returned)) != len(mine):
            raise FederationError(
                "The other owner returned another number of blinded ids than it was sent.",
                "Nothing was computed or charged. Tell its administrator.",
            )
        twice = dict(zip(sorted(mine), returned, strict=True))
        theirs = set(self._theirs())
        names = {
            row: pseudonym(twice[point], self.study.id)
            for row, point in enumerate(mine)
            if twice[point] in theirs
        }
        if len(names) < 2 * self.study.k:
            # How many there were is not said: a small overlap tells about single people.
            raise refusal(UNFIT) from DataError(
                "Fewer than 2k people are held by both owners.", "Nothing was computed or charged."
            )
        try:
            get_method(self.study.method).check_k(self.study.part_k, len(names))
        except CoterieError as error:
            raise refusal(UNFIT) from error
        rows = sorted(names)
        kept = replace(prepared, table=prepared.table.take(pa.array(rows)), ids=None)
        order = sorted(range(len(rows)), key=lambda place: names[rows[place]])
        values = pa.array([names[rows[place]] for place in order], pa.binary(LENGTH))
        return kept, Pseudonyms(values, np.array(order, dtype=np.int64))

    def _blinded(self, ids: Sequence[str]) -> list[bytes]:
        """In the order of the rows. The list that was sent is kept, and a table that does not fit it is refused."""
        points = blinded(ids, self._key(), self.study.id)
        path = self._folder / "blinded.points"
        if not path.exists():
            keep_private(path, b"".join(sorted(points)))
        elif path.read_bytes() != b"".join(sorted(points)):
            raise refusal(UNFIT) from DataError(
                "The ids in the table changed while the owners looked for the people in common.",
                "Leave the table alone until the study has ended.",
            )
        return points

    def _theirs(self) -> list[bytes]:
        """The other owner's people, blinded by both, in the order in which they came: computed once."""
        path = self._folder / "returned.points"
        if not path.exists():
            keep_private(path, b"".join(blinded_again(self._fetched(Step.BLINDED), self._key())))
        return split(path.read_bytes())

    def _key(self) -> bytes:
        path = self._folder / "blinding.key"
        if not path.exists():
            keep_private(path, new_blinding_key())
        return path.read_bytes()

    def _send(self, step: Step, points: Sequence[bytes]) -> None:
        parts = in_parcels(points, POINTS_IN_PARCEL)
        if len(parts) > MOST_PARCELS:
            raise refusal(UNFIT) from DataError(
                "The table has more rows than can be blinded.", "A study with a group key has no such limit."
            )
        to = self.study.other(self.home.owner)
        for number, part in enumerate(parts):
            path = self._folder / f"{step.value}-{number:05d}.json"
            if not path.exists():
                place = {"study": self.study.id, "owner": self.home.owner, "to": to.owner, "step": step}
                empty = Parcel(**place, number=number, count=len(parts), sealed="")
                parcel = empty.model_copy(update={"sealed": seal(part, to.sealing_key, empty.purpose)})
                keep_private(path, Signed.of(parcel, "parcel", self.home.keys).canonical())
            self.client.put(f"/v1/studies/{self.study.id}/parcels/{step.value}/{number}", path.read_bytes())
        self.home.journal.note("exchanged", study=self.study.id, step=step.value, ids=len(points))

    def _fetched(self, step: Step) -> list[bytes]:
        """All points of one step of the other owner, which signed each parcel for this place."""
        other = self.study.other(self.home.owner)
        points: list[bytes] = []
        for number in range(self.there[other.owner][step.value]["count"]):
            target = f"/v1/studies/{self.study.id}/parcels/{step.value}/{number}"
            signed = validated(Signed, self.client.get(target), "parcel")
            parcel = signed.opened("parcel", Parcel, key=other.key)
            place: tuple[Any, ...] = (parcel.study, parcel.owner, parcel.to, parcel.step, parcel.number)
            if place != (self.study.id, other.owner, self.home.owner, step, number):
                raise FederationError(
                    "A parcel belongs to another place.", "Ask the aggregator's administrator."
                )
            points += split(unseal(parcel.sealed, self.home.keys.sealing, parcel.purpose))
        return points

    def _complete(self, owner: str, step: Step) -> bool:
        found = self.there.get(owner, {}).get(step.value)
        return found is not None and found["there"] == found["count"]

    @property
    def _folder(self) -> Path:
        return self.home.study(self.study.id)
