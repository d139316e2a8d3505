"""What owners and aggregator send each other: invitations, answers, group keys, parcels, manifests, chunks, receipts."""

from __future__ import annotations

import base64
import binascii
import hashlib
import io
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal, Self, get_args

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import Field, model_validator

from coterie.federation.documents import wire
from coterie.federation.documents.signed import Document, Signed, parsed, sha256, validated
from coterie.federation.documents.study import (
    AttributeName,
    Moment,
    OwnerName,
    PublicKey,
    Study,
    StudyAttribute,
    StudyId,
)
from coterie.federation.errors import FederationError
from coterie.federation.secrets.blinding import COLUMN, LENGTH
from coterie.federation.secrets.keys import OVERHEAD_BYTES
from coterie.promise.certificate import CertifiedPromise
from coterie.schema.attributes import AttributeType

Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
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


class Succession(Document):
    """The aggregator's new key, in the hand of the old one. Who had pinned the old one pins the new."""

    kind = "succession"
    coterie_succession: Literal[1] = 1
    old: PublicKey
    new: PublicKey
    at: Moment


class NewKeys(Document):
    """An owner's new keys, in the hand of the new one; the request that brings them is signed with the old."""

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


class Chunk(Document):
    sha256: Sha256
    size: Annotated[int, Field(ge=1, le=wire.LARGEST_CHUNK)]
    rows: Annotated[int, Field(ge=1, le=wire.MOST_ROWS_IN_CHUNK)]


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
    """An owner says that its sealed part is with the aggregator. The others see it before they give their keys."""

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


# Contributions in pieces: tables to Parquet (zstd) of about 4 MB, and back with every claim checked.

_TYPES = {
    AttributeType.CONTINUOUS: pa.float64(),
    AttributeType.INTEGER: pa.int64(),
    AttributeType.DATE: pa.date32(),
    AttributeType.TIMESTAMP: pa.timestamp("us", "UTC"),
    AttributeType.ORDINAL: pa.string(),
    AttributeType.CATEGORICAL: pa.string(),
    AttributeType.BOOLEAN: pa.bool_(),
}


def arrow_schema(attributes: Sequence[StudyAttribute], *, pseudonymous: bool) -> pa.Schema:
    """One type per attribute, whatever each owner's files use."""
    fields = [pa.field(a.name, _TYPES[a.type], nullable=False) for a in attributes]
    if pseudonymous:
        fields.insert(0, pa.field(COLUMN, pa.binary(LENGTH), nullable=False))
    return pa.schema(fields)


def as_sent(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The released table in the types of the study."""
    columns = []
    for field in schema:
        column, moment = table.column(field.name), pa.types.is_timestamp(field.type)
        columns.append(pc.assume_timezone(column, "UTC") if moment else column.cast(field.type))
    return pa.table(columns, schema=schema)


def packed(table: pa.Table, target: int = wire.CHUNK_BYTES) -> Iterator[tuple[Chunk, bytes]]:
    """Pieces of about `target` bytes. Deterministic: the same table gives the same pieces."""
    sample = table.slice(0, min(table.num_rows, 50_000))
    per_row = max(len(canonical_parquet(sample)) / sample.num_rows, 0.01)
    # What hardly needs room packed may need much unpacked.
    unpacked_row = max(table.nbytes / table.num_rows, 1.0)
    rows = max(
        1, min(int(target / per_row), int(wire.UNPACKED_CHUNK_BYTES / unpacked_row), wire.MOST_ROWS_IN_CHUNK)
    )
    for start in range(0, table.num_rows, rows):
        part = table.slice(start, rows)
        data = canonical_parquet(part)
        if len(data) > wire.LARGEST_CHUNK - OVERHEAD_BYTES and part.num_rows > 1:
            yield from packed(part, target // 2)  # far denser than the first rows
        else:
            yield Chunk(sha256=sha256(data), size=len(data), rows=part.num_rows), data


def canonical_parquet(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd", write_page_index=False, store_schema=False)
    return sink.getvalue()


def unpacked(chunk: Path | BinaryIO, claimed: Chunk, schema: pa.Schema) -> pa.Table:
    """One received chunk. A header can lie about what the file unpacks to: only a process with limits calls this."""
    try:
        file = pq.ParquetFile(chunk)
        header = file.metadata
        size = sum(header.row_group(group).total_byte_size for group in range(header.num_row_groups))
        if size > wire.LARGEST_UNPACKED_CHUNK or header.num_rows != claimed.rows:
            raise _wrong_chunk("its header does not fit the manifest")
        if file.schema_arrow.names != schema.names:
            raise _wrong_chunk("its columns are not those of the study")
        if [field.type for field in file.schema_arrow] != [field.type for field in schema]:
            raise _wrong_chunk("a column has another type than the study says")
        table = file.read()
    except pa.ArrowMemoryError:
        raise
    except (pa.ArrowException, OSError):
        raise _wrong_chunk("it is not a Parquet file that can be read") from None
    if table.num_rows != claimed.rows or any(column.null_count for column in table.columns):
        raise _wrong_chunk("it misses values or rows")
    return table.cast(schema)


def require_domain(table: pa.Table, attributes: Sequence[StudyAttribute]) -> None:
    """Values that no owner who followed the protocol could send. Named by column only."""
    for attribute in attributes:
        column = table.column(attribute.name)
        declared = attribute.as_attribute()
        if declared.domain is not None:
            numbers = _numbers(column)
            low, high = pc.less(numbers, declared.domain.lower), pc.greater(numbers, declared.domain.upper)
            outside = pc.or_(pc.or_(low, high), pc.is_nan(numbers))
        elif attribute.labels is not None:
            outside = pc.invert(pc.is_in(column, pa.array(attribute.labels, pa.string())))
        else:
            continue
        if pc.any(outside).as_py():
            raise _wrong_chunk(f"column '{attribute.name}' has values outside the declared domain")


def _numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_date32(column.type):
        return column.cast(pa.int32()).cast(pa.float64())
    if pa.types.is_timestamp(column.type):
        return pc.divide(column.cast(pa.int64()).cast(pa.float64(), safe=False), 1e6)
    return column.cast(pa.float64(), safe=False)


def _wrong_chunk(reason: str) -> FederationError:
    return FederationError(f"A chunk of the contribution is wrong: {reason}.", "Ask the owner what it sent.")
