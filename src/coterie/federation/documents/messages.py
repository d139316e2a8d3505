"""What owners and aggregator send each other: invitations, answers, group keys, parcels, manifests, part keys, receipts."""

from __future__ import annotations

import base64
import binascii
import hashlib
from enum import StrEnum
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import Field, model_validator

from coterie.federation.documents import wire
from coterie.federation.documents.chunks import Chunk, Sha256
from coterie.federation.documents.signed import Document, Signed, parsed, validated
from coterie.federation.documents.study import (
    AttributeName,
    Moment,
    OwnerName,
    PublicKey,
    Study,
    StudyId,
)
from coterie.federation.errors import FederationError
from coterie.promise.certificate import CertifiedPromise

Figure = Literal["requested", "remaining", "limit", "count"]
Text = Annotated[str, Field(max_length=2000)]


class OfOwner(Document):
    """What an owner says about its part in a study."""

    study: StudyId
    owner: OwnerName

    @classmethod
    def opened(cls, signed: Signed, study: Study, owner: str) -> Self:
        """What this owner signed about its part in this study, with the key that the roster names."""
        said = signed.opened(cls, key=study.keys[owner])
        if (said.study, said.owner) != (study.id, owner):
            raise FederationError(
                f"The {cls.kind} is about another study or owner.", "Ask its sender for a correct one."
            )
        return said


class Answer(OfOwner):
    """Step 2 of Del Vasto-Terrientes et al.: which attributes an owner is willing to share; or why it is not.

    `disjoint` is a statement about people, signed: they are at no other owner of this study, and who is here does
    not depend on the attributes. Only then does the composed ε stay the largest instead of the sum.
    `promise` is what this owner's part will promise, in words that are the same for every number of rows. The joined
    certificate prints it in place of the owner's own certificate, unless `rows_public` says that the number is no secret.
    """

    kind = "answer"
    coterie_answer: Literal[1] = 1
    decision: Literal["approve", "refuse"]
    attributes: Annotated[tuple[AttributeName, ...], Field(max_length=1000)] = ()
    disjoint: bool = False
    promise: CertifiedPromise | None = None  # studies of protocol 2
    rows_public: bool = False
    reason: Text | None = None
    figures: dict[Figure, Annotated[str, Field(max_length=100)]] = Field(default_factory=dict)
    at: Moment

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if (self.decision == "refuse") != (self.reason is not None):
            raise ValueError("a refusal, and only that, has a reason")
        if (self.decision == "approve") != bool(self.attributes):
            raise ValueError("an approval, and only that, names attributes")
        return self

    def content(self) -> dict[str, Any]:
        """Leave out the entries that protocol 1 does not know, unless they say something."""
        content = super().content()
        return {
            name: value for name, value in content.items() if value or name not in ("promise", "rows_public")
        }

    @property
    def told(self) -> str | None:
        """Why not, with the figures, as the administrator and the status page show it."""
        # Canonical form sorts names; people read what was asked first.
        shown = ", ".join(f"{name} {self.figures[name]}" for name in get_args(Figure) if name in self.figures)
        return f"{self.reason} ({shown})" if self.reason is not None and shown else self.reason


class Succession(Document):
    """The aggregator's new key, signed with the old one. Owners who pinned the old one pin the new one."""

    kind = "succession"
    coterie_succession: Literal[1] = 1
    old: PublicKey
    new: PublicKey
    at: Moment


class NewKeys(Document):
    """An owner's new keys, signed with the new one. The request that brings them is signed with the old one."""

    kind = "new keys"
    coterie_new_keys: Literal[1] = 1
    old: PublicKey
    new: PublicKey
    sealing_key: PublicKey


class SealedKey(Document):
    owner: OwnerName
    sealed: Annotated[str, Field(max_length=400)]


class GroupKey(Document):
    """The lead owner's key for the pseudonyms, sealed to each other owner. The aggregator only carries it."""

    kind = "group key"
    coterie_group_key: Literal[1] = 1
    study: StudyId
    lead: OwnerName
    sealed: Annotated[tuple[SealedKey, ...], Field(max_length=1000)]


class ExchangeStep(StrEnum):
    COMMITTED = "committed"  # how many ids will come, and the SHA-256 of them blinded: before either sees any
    BLINDED = "blinded"  # an owner's ids, blinded with its key, in ascending order
    RETURNED = "returned"  # the other owner's, blinded again, in the order in which they came


class Parcel(OfOwner):
    """What one owner of a blinded study sends the other, sealed. The aggregator only carries it."""

    kind = "parcel"
    coterie_parcel: Literal[1] = 1
    to: OwnerName
    step: ExchangeStep
    number: Annotated[int, Field(ge=0, lt=wire.MOST_PARCELS)]
    count: Annotated[int, Field(ge=1, le=wire.MOST_PARCELS)]
    sealed: Annotated[str, Field(max_length=2 * 32 * wire.POINTS_IN_PARCEL)]

    @property
    def purpose(self) -> str:
        """Bound into the seal, so that a parcel opens in its own place only."""
        return f"{self.study} {self.step.value} {self.number}"


class Manifest(OfOwner):
    """Exactly which bytes an owner contributes, and the certificate about them (empty while the part is sealed: it holds
    the part's hash)."""

    kind = "manifest"
    coterie_manifest: Literal[1] = 1
    chunks: Annotated[tuple[Chunk, ...], Field(min_length=1, max_length=wire.MOST_CHUNKS)]
    certificate: Annotated[str, Field(max_length=500_000)]

    @property
    def rows(self) -> int:
        return sum(chunk.rows for chunk in self.chunks)


class Delivery(OfOwner):
    """An owner states that its sealed part is with the aggregator. The others see it before they give their keys."""

    kind = "delivery"
    coterie_delivery: Literal[1] = 1
    manifest: Sha256


class PartKey(OfOwner):
    """What opens an owner's sealed part, and the certificate about it. From then on the part counts as spent."""

    kind = "part key"
    coterie_part_key: Literal[1] = 1
    manifest: Sha256
    key: PublicKey  # 32 bytes
    certificate: Annotated[str, Field(max_length=500_000)]


class Receipt(OfOwner):
    """The aggregator has everything that this manifest names."""

    kind = "receipt"
    coterie_receipt: Literal[1] = 1
    manifest: Sha256
    rows: int
    at: Moment


def opened_group_key(signed: Signed, study: Study) -> GroupKey:
    """The group key, if the lead owner of this study signed it."""
    lead = study.entry(study.lead or "")
    if lead is None:
        raise FederationError("The study has no lead owner.", "Ask the aggregator's administrator.")
    return signed.opened(GroupKey, key=lead.key)


# A one-time invitation: where the aggregator is, which keys to pin, and a secret that works once.

_PREFIX = "coterie-invitation:"


class Invitation(Document):
    kind = "invitation"
    coterie_invitation: Literal[1] = 1
    owner: OwnerName
    url: Annotated[str, Field(pattern=r"^https://[^\s/]+$", max_length=300)]
    aggregator: PublicKey
    tls: Annotated[str, Field(max_length=5000)]  # the certificate to pin, PEM
    token: Annotated[str, Field(min_length=20, max_length=100)]
    expires: Moment

    def to_text(self) -> str:
        return _PREFIX + base64.urlsafe_b64encode(self.canonical()).decode().rstrip("=")

    @classmethod
    def from_text(cls, text: str) -> Invitation:
        body = "".join(text.split())
        if not body.startswith(_PREFIX) or len(body) > 20_000:
            raise FederationError(
                "This is not an invitation.",
                "Give the text (or file) that `coterie aggregator invite` wrote.",
            )
        body = body.removeprefix(_PREFIX)
        try:
            raw = base64.urlsafe_b64decode(body + "=" * (-len(body) % 4))
        except (binascii.Error, ValueError):
            raise FederationError("The invitation is damaged.", "Copy it whole, or ask again.") from None
        return validated(cls, parsed(raw))


class Enrolment(Document):
    """What the owner sends once: the secret, and both public keys. The request is signed with the new key."""

    kind = "enrolment"
    token: Annotated[str, Field(min_length=20, max_length=100)]
    key: PublicKey
    sealing_key: PublicKey


def token_hash(token: str) -> str:
    """Tokens have 256 random bits, so one round of hashing is enough to store them by."""
    return hashlib.sha256(b"coterie token\n" + token.encode()).hexdigest()
