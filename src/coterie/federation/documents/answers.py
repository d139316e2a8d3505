"""What owners and aggregator sign about a study: answers, group keys, parcels, manifests, receipts."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import Field, model_validator

from coterie.federation.documents.canonical import Document, signed_from
from coterie.federation.documents.study import AttributeName, Moment, OwnerName, Study, StudyId
from coterie.federation.documents.wire import (
    LARGEST_CHUNK,
    MOST_CHUNKS,
    MOST_PARCELS,
    MOST_ROWS_IN_CHUNK,
    POINTS_IN_PARCEL,
)
from coterie.federation.errors import FederationError
from coterie.promise.certificate import Promised

Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Figure = Literal["requested", "remaining", "limit", "count"]
Text = Annotated[str, Field(max_length=2000)]


class Answer(Document):
    """Step 2 of Del Vasto-Terrientes et al.: which attributes an owner is willing to share; or why it is not.

    `disjoint` is a statement about people, signed: they are at no other owner of this study, and who is here does
    not depend on the attributes. Only then does the composed ε stay the largest instead of the sum.
    `promise` is what this owner's part will promise, in words that are the same for every number of rows. The joined
    certificate prints it in place of the owner's own certificate, unless `rows_public` says that the number is no secret.
    """

    coterie_answer: Literal[1] = 1
    study: StudyId
    owner: OwnerName
    decision: Literal["approve", "refuse"]
    attributes: Annotated[tuple[AttributeName, ...], Field(max_length=1000)] = ()
    disjoint: bool = False
    promise: Promised | None = None  # studies of protocol 2
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
        """Without the entries that protocol 1 does not know, unless they say something."""
        content = super().content()
        return {
            name: value for name, value in content.items() if value or name not in ("promise", "rows_public")
        }

    @property
    def told(self) -> str | None:
        """Why not, with the figures: what the administrator and the board are told."""
        # Canonical form sorts names; people read what was asked first.
        shown = ", ".join(f"{name} {self.figures[name]}" for name in get_args(Figure) if name in self.figures)
        return f"{self.reason} ({shown})" if self.reason is not None and shown else self.reason


class SealedKey(Document):
    owner: OwnerName
    sealed: Annotated[str, Field(max_length=400)]


class GroupKey(Document):
    """The lead owner's key for the pseudonyms, sealed to each other owner. The aggregator only carries it."""

    coterie_group_key: Literal[1] = 1
    study: StudyId
    lead: OwnerName
    sealed: Annotated[tuple[SealedKey, ...], Field(max_length=1000)]


class Step(StrEnum):
    BLINDED = "blinded"  # an owner's ids, blinded with its key, in ascending order
    RETURNED = "returned"  # the other owner's, blinded again, in the order in which they came


class Parcel(Document):
    """What one owner of a blinded study sends the other, sealed. The aggregator only carries it."""

    coterie_parcel: Literal[1] = 1
    study: StudyId
    owner: OwnerName
    to: OwnerName
    step: Step
    number: Annotated[int, Field(ge=0, lt=MOST_PARCELS)]
    count: Annotated[int, Field(ge=1, le=MOST_PARCELS)]
    sealed: Annotated[str, Field(max_length=2 * 32 * POINTS_IN_PARCEL)]

    @property
    def purpose(self) -> str:
        """Bound into the seal, so that a parcel opens in its own place only."""
        return f"{self.study} {self.step.value} {self.number}"


class Chunk(Document):
    sha256: Sha256
    size: Annotated[int, Field(ge=1, le=LARGEST_CHUNK)]
    rows: Annotated[int, Field(ge=1, le=MOST_ROWS_IN_CHUNK)]


class Manifest(Document):
    """Exactly which bytes an owner contributes, and the certificate about them."""

    coterie_manifest: Literal[1] = 1
    study: StudyId
    owner: OwnerName
    chunks: Annotated[tuple[Chunk, ...], Field(min_length=1, max_length=MOST_CHUNKS)]
    certificate: Annotated[str, Field(max_length=500_000)]

    @property
    def rows(self) -> int:
        return sum(chunk.rows for chunk in self.chunks)


class Receipt(Document):
    """The aggregator has everything that this manifest names."""

    coterie_receipt: Literal[1] = 1
    study: StudyId
    owner: OwnerName
    manifest: Sha256
    rows: int
    at: Moment


def opened_group_key(text: str, study: Study) -> GroupKey:
    """The group key, if the lead owner of this study signed it."""
    lead = study.entry(study.lead or "")
    if lead is None:
        raise FederationError("The study has no lead owner.", "Ask the aggregator's administrator.")
    return signed_from(text).opened("group key", GroupKey, key=lead.key)
