"""What was promised, under which assumptions, over which bytes.

A certificate holds no value and no statistic of the original data: only what the user declared, what follows from the
number of released rows and k, and a digest of the release. All numbers that are not whole are exact text, so its
canonical form (RFC 8785: sorted keys, no blanks) is the same in every language.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from coterie._version import __version__
from coterie.budget import as_text
from coterie.errors import CertificateError
from coterie.guarantee import Facts, Guarantee
from coterie.methods.recipe import Method
from coterie.noise.sampler import Sampler
from coterie.schema import Attribute, Role, Schema, Source

CERTIFICATE_VERSION = 1


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Digest(_Frozen):
    """SHA-256 over the bytes of a file, or over the canonical form of a table (docs/reference/digest)."""

    algorithm: Literal["sha256"] = "sha256"
    over: Literal["file bytes", "canonical table"]
    value: str = Field(pattern="^[0-9a-f]{64}$")


class Released(_Frozen):
    rows: int
    columns: tuple[str, ...]
    shuffled: bool
    digest: Digest


class ClusterSizes(_Frozen):
    size: int
    clusters: int


class Clusters(_Frozen):
    """Per attribute; they follow from the number of rows and k, so they disclose nothing."""

    count: int
    sizes: tuple[ClusterSizes, ...]


class Bounds(_Frozen):
    lower: str
    upper: str
    source: Source


class CertifiedAttribute(_Frozen):
    name: str
    role: Role
    type: str
    unit: str | None
    epsilon: str | None
    mechanism: str | None
    domain: Bounds | None
    missing: str
    outside: str | None


class Promised(_Frozen):
    model: str
    value: str
    status: Literal["proved", "bounded", "conditional", "heuristic", "refuted", "none"]
    scope: str
    label: str
    assumptions: tuple[str, ...]
    citation: str
    neighbours: str


class Multiplier(_Frozen):
    """idp-cbls: by how much the claimed individual-DP loss of the centroid list is understated."""

    clusters: int
    lower: str
    upper: str


class Certificate(_Frozen):
    coterie_certificate: Literal[1] = CERTIFICATE_VERSION
    tool: str
    issued: str
    method: str
    method_title: str
    papers: str
    epsilon: str
    k: int
    clusters: Clusters
    guarantee: Promised
    effective_multiplier: Multiplier | None = None
    attributes: tuple[CertifiedAttribute, ...]
    dropped: tuple[str, ...]
    kept: tuple[str, ...]
    sampler: str
    reproducible: bool
    notes: tuple[str, ...]
    release: Released
    signature: dict[str, str] | None = None

    def to_json(self) -> str:
        return json.dumps(self.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> Certificate:
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            fault = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, fault["loc"])) or "the document"
            raise CertificateError(
                f"This is not a certificate that this Coterie can read ({place}: {fault['msg'].lower()}).",
                "Give the JSON file that `coterie protect` wrote, unchanged.",
            ) from None

    def canonical(self) -> bytes:
        """The signed bytes: everything but the signature, in RFC 8785 form (there are no floats inside)."""
        content = self.model_dump(mode="json", exclude={"signature"})
        return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def certify(
    guarantee: Guarantee,
    facts: Facts,
    schema: Schema,
    method: Method,
    shares: Mapping[str, Fraction],
    sampler: Sampler,
    columns: tuple[str, ...],
    issued: datetime,
    digest: Digest,
) -> Certificate:
    """Everything that was promised, over the bytes that `digest` names."""
    clusters = _clusters(facts.records, facts.k)
    return Certificate(
        tool=f"coterie {__version__}",
        issued=issued.astimezone(UTC).isoformat(timespec="seconds"),
        method=method.name,
        method_title=method.title,
        papers=method.papers,
        epsilon=as_text(facts.epsilon),
        k=facts.k,
        clusters=clusters,
        guarantee=Promised.model_validate(asdict(guarantee)),
        effective_multiplier=_multiplier(method, clusters.count),
        attributes=tuple(_attribute(attribute, method, shares) for attribute in schema.attributes),
        dropped=tuple(attribute.name for attribute in schema.with_role(Role.IDENTIFIER)),
        kept=facts.kept,
        sampler=sampler.name,
        reproducible=not sampler.private,
        notes=_notes(facts),
        release=Released(rows=facts.records, columns=columns, shuffled=facts.shuffled, digest=digest),
    )


def _clusters(records: int, k: int) -> Clusters:
    count, rest = divmod(records, k)
    sizes = [ClusterSizes(size=k, clusters=count if rest == 0 else count - 1)]
    if rest:
        sizes.append(ClusterSizes(size=k + rest, clusters=1))
    return Clusters(count=count, sizes=tuple(entry for entry in sizes if entry.clusters))


def _multiplier(method: Method, clusters: int) -> Multiplier | None:
    if method.name != "idp-cbls":
        return None
    return Multiplier(clusters=clusters, lower=as_text(Fraction(clusters, 2)), upper=str(clusters))


def _attribute(attribute: Attribute, method: Method, shares: Mapping[str, Fraction]) -> CertifiedAttribute:
    protected = attribute.role is Role.PROTECT
    domain = attribute.domain if protected else None
    return CertifiedAttribute(
        name=attribute.name,
        role=attribute.role,
        type=attribute.type.value,
        unit=attribute.unit,
        epsilon=as_text(shares[attribute.name]) if protected else None,
        mechanism=method.numeric.stages if protected else None,
        domain=Bounds(lower=repr(domain.lower), upper=repr(domain.upper), source=domain.source)
        if domain
        else None,
        missing=attribute.missing.value,
        outside=attribute.outside.value if protected else None,
    )


def _notes(facts: Facts) -> tuple[str, ...]:
    notes = []
    if not facts.private_noise:
        notes.append("reproducible: not private")
    if facts.bounds_from_data:
        notes.append(
            f"bounds of {', '.join(facts.bounds_from_data)} were taken from the data: they disclose its extremes"
        )
    if facts.kept:
        notes.append(f"released untouched: {', '.join(facts.kept)}")
    if facts.rows_may_drop:
        notes.append("rows with missing values were dropped; their number is not disclosed here")
    return tuple(notes)


def json_schema() -> dict[str, Any]:
    """The published JSON Schema of a certificate."""
    return Certificate.model_json_schema()
