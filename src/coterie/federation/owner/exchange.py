"""An owner's part in a blinded study: find the people that the other owner holds too, and keep only those.

Everything that leaves is written down first and only ever sent again, so that a kill changes nothing and the other owner
gets one answer to one list: whoever could ask twice could try other people's ids. Each owner first says how many ids it
brings and commits to them; more than the other allows ends the study before any blinded id is sent.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from coterie.errors import CoterieError, DataError
from coterie.federation.documents.messages import ExchangeStep, Parcel
from coterie.federation.documents.signed import Signed, validated
from coterie.federation.documents.study import Study
from coterie.federation.documents.wire import MOST_PARCELS, POINTS_IN_PARCEL
from coterie.federation.errors import FederationError
from coterie.federation.owner.answering import Prepared
from coterie.federation.owner.client import Client
from coterie.federation.owner.home import OwnerHome
from coterie.federation.owner.peers import require_exchange, require_peers
from coterie.federation.owner.policy import UNFIT, OwnerSource, Refusal
from coterie.federation.secrets import blinding
from coterie.federation.secrets.keys import keep_private, seal, unseal
from coterie.methods import get_method

_COUNT_BYTES = 8
_TIMES_OUR_OWN = 2  # so many ids the other owner may bring, unless a person or the policy says another number


@dataclass(frozen=True)
class Exchange:
    """`there`: for each owner and step, how many parcels the aggregator has, of how many."""

    home: OwnerHome
    client: Client
    study: Study
    source: OwnerSource
    there: dict[str, dict[str, dict[str, int]]]

    def advance(self, prepared: Prepared) -> bool:
        """Send what is due; True if something was sent."""
        assert prepared.ids is not None
        if self.study.protocol < 3:
            raise Refusal("blinded ids are exchanged without commitments before protocol 3")
        require_peers(self.home, self.study, approved=True)
        require_exchange(self.home, self.study, self.source.exchanges)
        other = self.study.other(self.home.owner).owner
        sent = False
        if not self._complete(self.home.owner, ExchangeStep.COMMITTED):
            points = sorted(self._blinded(prepared.ids))
            self._send(ExchangeStep.COMMITTED, [_commitment(points)], len(points))
            sent = True
        if not self._complete(other, ExchangeStep.COMMITTED):
            return sent
        if not self._complete(self.home.owner, ExchangeStep.BLINDED):
            self._require_few(len(prepared.ids))
            # Those that we committed to.
            points = blinding.split((self._folder / "blinded.points").read_bytes())
            self._send(ExchangeStep.BLINDED, blinding.in_parcels(points, POINTS_IN_PARCEL), len(points))
            sent = True
        if self._complete(other, ExchangeStep.BLINDED) and not self._complete(
            self.home.owner, ExchangeStep.RETURNED
        ):
            points = self._theirs()
            self._send(ExchangeStep.RETURNED, blinding.in_parcels(points, POINTS_IN_PARCEL), len(points))
            sent = True
        return sent

    def _require_few(self, own: int) -> None:
        """The other owner may hold more people than we do, but not so many that it could be trying them all."""
        most = self.source.peer_ids or _TIMES_OUR_OWN * own
        brought = int.from_bytes(self._their_commitment()[:_COUNT_BYTES], "big")
        self.home.journal.note("peer committed", study=self.study.id, ids=brought, most=most)
        if brought > most:
            raise Refusal("the other owner brings more ids than this owner allows")

    def _their_commitment(self) -> bytes:
        """Kept when it is first seen: another one is not taken."""
        path = self._folder / "their.commitment"
        if not path.exists():
            keep_private(path, b"".join(self._fetched(ExchangeStep.COMMITTED)))
        return path.read_bytes()

    def finished(self) -> bool:
        other = self.study.other(self.home.owner).owner
        return all(self._complete(owner, step) for owner in (self.home.owner, other) for step in ExchangeStep)

    def common(self, prepared: Prepared) -> tuple[Prepared, blinding.Pseudonyms]:
        """Only the people whom both owners hold, and a name for each that neither could have made alone."""
        assert prepared.ids is not None
        mine = self._blinded(prepared.ids)
        returned = blinding.split(b"".join(self._fetched(ExchangeStep.RETURNED)))
        if len(returned) != len(mine) or len(set(returned)) != len(mine):
            raise FederationError(
                "The other owner returned another number of blinded ids than it was sent.",
                "Nothing was computed or charged. Tell its administrator.",
            )
        twice = dict(zip(sorted(mine), returned, strict=True))
        theirs = set(self._theirs())
        names = {
            row: blinding.pseudonym(twice[point], self.study.id)
            for row, point in enumerate(mine)
            if twice[point] in theirs
        }
        if len(names) < 2 * self.study.k:
            # How many there were is not said: a small overlap tells about single people.
            raise Refusal(UNFIT) from DataError(
                "Fewer than 2k people are held by both owners.", "Nothing was computed or charged."
            )
        try:
            get_method(self.study.method).check_k(self.study.part_k, len(names))
        except CoterieError as error:
            raise Refusal(UNFIT) from error
        rows = sorted(names)
        kept = replace(prepared, table=prepared.table.take(pa.array(rows)), ids=None)
        order = sorted(range(len(rows)), key=lambda place: names[rows[place]])
        values = pa.array([names[rows[place]] for place in order], pa.binary(blinding.LENGTH))
        return kept, blinding.Pseudonyms(values, np.array(order, dtype=np.int64))

    def _blinded(self, ids: Sequence[str]) -> list[bytes]:
        """In the order of the rows. The list that was sent is kept, and a table that does not fit it is refused."""
        points = blinding.blinded(ids, self._key(), self.study.id)
        path = self._folder / "blinded.points"
        if not path.exists():
            keep_private(path, b"".join(sorted(points)))
        elif path.read_bytes() != b"".join(sorted(points)):
            raise Refusal(UNFIT) from DataError(
                "The ids in the table changed while the owners looked for the people in common.",
                "Leave the table alone until the study has ended.",
            )
        return points

    def _theirs(self) -> list[bytes]:
        """The other owner's people, blinded by both, in the order in which they came: computed once."""
        path = self._folder / "returned.points"
        if not path.exists():
            came = blinding.split(b"".join(self._fetched(ExchangeStep.BLINDED)))
            if _commitment(came) != self._their_commitment() or sorted(set(came)) != came:
                raise Refusal("the other owner's blinded ids are not those that it had committed to")
            keep_private(path, b"".join(blinding.blinded_again(came, self._key())))
        return blinding.split(path.read_bytes())

    def _key(self) -> bytes:
        path = self._folder / "blinding.key"
        if not path.exists():
            keep_private(path, blinding.new_blinding_key())
        return path.read_bytes()

    def _send(self, step: ExchangeStep, parts: Sequence[bytes], ids: int) -> None:
        if len(parts) > MOST_PARCELS:
            raise Refusal(UNFIT) from DataError(
                "The table has more rows than can be blinded.", "A study with a group key has no such limit."
            )
        to = self.study.other(self.home.owner)
        for number, part in enumerate(parts):
            path = self._folder / f"{step.value}-{number:05d}.json"
            if not path.exists():
                place = {"study": self.study.id, "owner": self.home.owner, "to": to.owner, "step": step}
                empty = Parcel(**place, number=number, count=len(parts), sealed="")
                parcel = empty.model_copy(update={"sealed": seal(part, to.sealing_key, empty.purpose)})
                keep_private(path, Signed.of(parcel, self.home.keys).canonical())
            self.client.put(f"/v1/studies/{self.study.id}/parcels/{step.value}/{number}", path.read_bytes())
        self.home.journal.note("exchanged", study=self.study.id, step=step.value, ids=ids)

    def _fetched(self, step: ExchangeStep) -> list[bytes]:
        """What came in one step of the other owner, which signed each parcel for this place."""
        other = self.study.other(self.home.owner)
        came: list[bytes] = []
        for number in range(self.there[other.owner][step.value]["count"]):
            target = f"/v1/studies/{self.study.id}/parcels/{step.value}/{number}"
            signed = validated(Signed, self.client.get(target))
            parcel = Parcel.opened(signed, self.study, other.owner)
            if (parcel.to, parcel.step, parcel.number) != (self.home.owner, step, number):
                raise FederationError(
                    "A parcel belongs to another place.", "Ask the aggregator's administrator."
                )
            came.append(unseal(parcel.sealed, self.home.keys.sealing, parcel.purpose))
        return came

    def _complete(self, owner: str, step: ExchangeStep) -> bool:
        found = self.there.get(owner, {}).get(step.value)
        return found is not None and found["there"] == found["count"]

    @property
    def _folder(self) -> Path:
        return self.home.study(self.study.id)


def _commitment(points: Sequence[bytes]) -> bytes:
    """The number of ids, and the hash of all of them blinded, ascending. Blinded ids are random: nothing shows through."""
    return len(points).to_bytes(_COUNT_BYTES, "big") + hashlib.sha256(b"".join(points)).digest()
