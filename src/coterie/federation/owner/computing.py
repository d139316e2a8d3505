"""Steps 5 and 6 of Del Vasto-Terrientes et al. at one owner: protect once, charge once, keep the bytes. A retry only
ever resends them.

The ledger is charged and the chunks become visible in one go (coterie.publication.ledger): chunks first, the manifest
last. A contribution is finished exactly when its manifest is there; after a kill, opening the ledger finishes or undoes
it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from coterie.chain.noise.seeded import owner_seed
from coterie.errors import BudgetExceeded, CoterieError, DataError
from coterie.federation.documents.answers import ExchangeStep, Manifest, Parcel, arrow_schema, as_sent, packed
from coterie.federation.documents.signed import Signed, validated
from coterie.federation.documents.study import Study
from coterie.federation.documents.wire import MOST_PARCELS, POINTS_IN_PARCEL
from coterie.federation.errors import FederationError
from coterie.federation.owner.answering import Prepared, require_budget, study_purpose
from coterie.federation.owner.client import Client
from coterie.federation.owner.home import OwnerHome
from coterie.federation.owner.policy import UNFIT, OwnerSource, Refusal
from coterie.federation.secrets.blinding import (
    COLUMN,
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
from coterie.promise.certificate import Digest
from coterie.promise.signing import sign
from coterie.publication.ledger import Ledger, ReleaseState
from coterie.publication.protect import protect
from coterie.publication.publishing import publish_files
from coterie.publication.release import Release
from coterie.table.digest import table_digest

# An owner's part in a blinded study: find the people that the other owner holds too, and keep only those.
#
# Everything that leaves is written down first and only ever sent again, so that a kill changes nothing and the other owner
# gets one answer to one list: whoever could ask twice could try other people's ids.


@dataclass(frozen=True)
class Exchange:
    """`there`: for each owner and step, how many parcels the aggregator has, of how many."""

    home: OwnerHome
    client: Client
    study: Study
    there: dict[str, dict[str, dict[str, int]]]

    def advance(self, prepared: Prepared) -> bool:
        """Send what is due; True if something was sent."""
        assert prepared.ids is not None
        sent = False
        if not self._complete(self.home.owner, ExchangeStep.BLINDED):
            self._send(ExchangeStep.BLINDED, sorted(self._blinded(prepared.ids)))
            sent = True
        other = self.study.other(self.home.owner).owner
        if self._complete(other, ExchangeStep.BLINDED) and not self._complete(
            self.home.owner, ExchangeStep.RETURNED
        ):
            self._send(ExchangeStep.RETURNED, self._theirs())
            sent = True
        return sent

    def finished(self) -> bool:
        other = self.study.other(self.home.owner).owner
        return all(self._complete(owner, step) for owner in (self.home.owner, other) for step in ExchangeStep)

    def common(self, prepared: Prepared) -> tuple[Prepared, Pseudonyms]:
        """Only the people whom both owners hold, and a name for each that neither could have made alone."""
        assert prepared.ids is not None
        mine = self._blinded(prepared.ids)
        returned = self._fetched(ExchangeStep.RETURNED)
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
        values = pa.array([names[rows[place]] for place in order], pa.binary(LENGTH))
        return kept, Pseudonyms(values, np.array(order, dtype=np.int64))

    def _blinded(self, ids: Sequence[str]) -> list[bytes]:
        """In the order of the rows. The list that was sent is kept, and a table that does not fit it is refused."""
        points = blinded(ids, self._key(), self.study.id)
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
            keep_private(path, b"".join(blinded_again(self._fetched(ExchangeStep.BLINDED), self._key())))
        return split(path.read_bytes())

    def _key(self) -> bytes:
        path = self._folder / "blinding.key"
        if not path.exists():
            keep_private(path, new_blinding_key())
        return path.read_bytes()

    def _send(self, step: ExchangeStep, points: Sequence[bytes]) -> None:
        parts = in_parcels(points, POINTS_IN_PARCEL)
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
                keep_private(path, Signed.of(parcel, "parcel", self.home.keys).canonical())
            self.client.put(f"/v1/studies/{self.study.id}/parcels/{step.value}/{number}", path.read_bytes())
        self.home.journal.note("exchanged", study=self.study.id, step=step.value, ids=len(points))

    def _fetched(self, step: ExchangeStep) -> list[bytes]:
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

    def _complete(self, owner: str, step: ExchangeStep) -> bool:
        found = self.there.get(owner, {}).get(step.value)
        return found is not None and found["there"] == found["count"]

    @property
    def _folder(self) -> Path:
        return self.home.study(self.study.id)


def finished(home: OwnerHome, study: str) -> Signed | None:
    """The manifest of a finished contribution."""
    path = home.study(study) / "manifest.json"
    return validated(Signed, json.loads(path.read_bytes()), "manifest") if path.exists() else None


def settle_ledger(home: OwnerHome, source: OwnerSource) -> None:
    """After a kill: what was charged is put in place, what was only reserved is given back."""
    path = Path(source.ledger or home.default_ledger)
    if path.exists():
        with Ledger.open(path) as ledger:
            for recovered in ledger.recovered:
                home.journal.note(
                    "recovered", state=str(recovered.entry.state), study=recovered.entry.purpose.fingerprint
                )


def contribute(
    home: OwnerHome,
    study: Study,
    source: OwnerSource,
    prepared: Prepared,
    names: Pseudonyms | None,
    reserved: Callable[[], None],
) -> None:
    """Reserve, compute, charge, keep. `reserved` is called while ε is held and nothing is drawn yet.

    `names` (vertical): a pseudonym for each row of the prepared table.
    """

    def make() -> dict[Path, bytes]:
        reserved()
        return _made(home, study, prepared, names)

    if study.seed is not None:
        # An experiment: its noise can be repeated by anyone, so there is nothing to charge.
        publish_files(make, force=True, private=True)
        return
    with Ledger.open(source.ledger or home.default_ledger) as ledger:
        if _paid(home, study, ledger):
            return
        try:
            purpose = study_purpose(home, study, source, prepared.table.num_rows)
            publish_files(make, ledger=ledger, purpose=purpose, force=True, private=True)
        except BudgetExceeded:
            require_budget(home, study, source)
            raise Refusal("the population's lifetime budget would be exceeded") from None
    home.journal.note("computed", study=study.id)


def _paid(home: OwnerHome, study: Study, ledger: Ledger) -> bool:
    """Charged for this study before, and the bytes are here; gone bytes are never drawn again."""
    for entry in ledger.book().releases(fingerprint=study.id):
        if entry.state.charged:
            if entry.state is ReleaseState.RELEASED and finished(home, study.id) is not None:
                return True
            raise FederationError(
                "This study was charged before, but its bytes are not in place.",
                "They are never drawn again: that would spend the budget twice. Restore the folder from a backup, "
                "or withdraw.",
            )
    return False


def _protected(home: OwnerHome, study: Study, prepared: Prepared) -> Release:
    return protect(
        prepared.table,
        prepared.schema,
        method=study.method,
        epsilon=study.share(home.owner),
        k=study.part_k,
        seed=None if study.seed is None else owner_seed(study.seed, home.owner),
        # The aggregator must not learn in which order the owner keeps its rows; pseudonyms give another random order.
        shuffle=not study.vertical,
    )


def _sent(study: Study, owner: str, release: Release, names: Pseudonyms | None) -> pa.Table:
    attributes = study.asked_of(owner)
    table = as_sent(release.table, arrow_schema(attributes, pseudonymous=False))
    if names is None:
        return table
    sorted_rows = table.take(pa.array(names.order))
    columns = [names.values, *sorted_rows.columns]
    return pa.table(columns, schema=arrow_schema(attributes, pseudonymous=True))


def _made(home: OwnerHome, study: Study, prepared: Prepared, names: Pseudonyms | None) -> dict[Path, bytes]:
    """Everything that this owner will ever send: the chunks, and last the manifest with the signed certificate."""
    release = _protected(home, study, prepared)
    sent = _sent(study, home.owner, release, names)
    plain = sent.drop_columns([COLUMN]) if study.vertical else sent
    certificate = sign(
        release.certify(Digest(over="canonical table", value=table_digest(plain))), home.signing_file
    )
    pieces = list(packed(sent))
    manifest = Manifest(
        study=study.id,
        owner=home.owner,
        chunks=tuple(chunk for chunk, _ in pieces),
        certificate=certificate.to_json(),
    )
    files = {home.chunk(study.id, number): data for number, (_, data) in enumerate(pieces)}
    files[home.study(study.id) / "manifest.json"] = Signed.of(manifest, "manifest", home.keys).canonical()
    return files
