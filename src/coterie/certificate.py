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
from coterie.methods.grouping import Grouping
from coterie.methods.recipe import Method
from coterie.noise.sampler import Sampler
from coterie.schema import Attribute, AttributeType, Missing, Order, Outside, Role, Schema, Source
from coterie.schema_file import shown_bound


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Digest(_Frozen):
    """SHA-256 over the bytes of a file, over all part files of a folder, or over the canonical form of a table."""

    algorithm: Literal["sha256"] = "sha256"
    over: Literal["file bytes", "canonical table", "part files"]
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
    """Per attribute. Given where they follow from the number of rows and k, and so disclose nothing; else null."""

    grouping: str
    count: int | None
    sizes: tuple[ClusterSizes, ...] | None


class Bounds(_Frozen):
    lower: str
    upper: str
    source: Source


class Labels(_Frozen):
    """The declared labels or taxonomy. Labels that were taken from the data are not repeated here."""

    taxonomy: str | None
    labels: tuple[str, ...] | None
    order: Order
    source: Source


class CertifiedAttribute(_Frozen):
    name: str
    role: Role
    type: AttributeType
    unit: str | None
    epsilon: str | None = None
    mechanism: str | None = None
    caution: str | None = None
    domain: Bounds | None = None
    categories: Labels | None = None
    missing: Missing | None = None
    outside: Outside | None = None


class Promised(_Frozen):
    model: str
    value: str
    status: Literal["proved", "bounded", "conditional", "heuristic", "refuted", "none"]
    scope: str
    label: str
    assumptions: tuple[str, ...]
    citation: str
    neighbours: str
    rests_on_noise: bool


class Multiplier(_Frozen):
    """idp-cbls: by how much the claimed individual-DP loss of the centroid list is understated."""

    clusters: int
    lower: str
    upper: str


class Certificate(_Frozen):
    coterie_certificate: Literal[1] = 1
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
    clusters = _clusters(method.grouping, facts)
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
        effective_multiplier=_multiplier(method, facts),
        attributes=tuple(_attribute(attribute, method, shares) for attribute in schema.attributes),
        dropped=tuple(attribute.name for attribute in schema.with_role(Role.IDENTIFIER)),
        kept=facts.kept,
        sampler=sampler.name,
        reproducible=not sampler.private,
        notes=_notes(facts),
        release=Released(rows=facts.records, columns=columns, shuffled=facts.shuffled, digest=digest),
    )


def _clusters(grouping: Grouping, facts: Facts) -> Clusters:
    if grouping.sizes is None:
        return Clusters(grouping=grouping.name, count=None, sizes=None)
    sizes = [
        ClusterSizes(size=size, clusters=count) for size, count in grouping.sizes(facts.records, facts.k)
    ]
    return Clusters(grouping=grouping.name, count=sum(entry.clusters for entry in sizes), sizes=tuple(sizes))


def _multiplier(method: Method, facts: Facts) -> Multiplier | None:
    if method.name != "idp-cbls" or facts.sizes_from_data:
        return None
    q = facts.clusters
    return Multiplier(clusters=q, lower=as_text(Fraction(q, 2)), upper=str(q))


def _attribute(attribute: Attribute, method: Method, shares: Mapping[str, Fraction]) -> CertifiedAttribute:
    if attribute.role is not Role.PROTECT:
        return CertifiedAttribute(
            name=attribute.name, role=attribute.role, type=attribute.type, unit=attribute.unit
        )
    labelled = attribute.type in (AttributeType.CATEGORICAL, AttributeType.BOOLEAN)
    mechanism = method.categorical if labelled else method.numeric
    return CertifiedAttribute(
        name=attribute.name,
        role=attribute.role,
        type=attribute.type,
        unit=attribute.unit,
        epsilon=as_text(shares[attribute.name]),
        mechanism=f"{method.grouping.name} · {mechanism.stages}",
        caution=mechanism.caution,
        domain=_bounds(attribute),
        categories=_labels(attribute),
        missing=attribute.missing,
        outside=attribute.outside if attribute.type.ranged else None,
    )


def _bounds(attribute: Attribute) -> Bounds | None:
    domain, kind = attribute.domain, attribute.type
    if domain is None:
        return None
    return Bounds(
        lower=shown_bound(domain.lower, kind), upper=shown_bound(domain.upper, kind), source=domain.source
    )


def _labels(attribute: Attribute) -> Labels | None:
    declared = attribute.categories
    if declared is None:
        return None
    return Labels(
        taxonomy=declared.taxonomy,
        labels=declared.labels if declared.source is Source.DECLARED else None,
        order=declared.order,
        source=declared.source,
    )


def _notes(facts: Facts) -> tuple[str, ...]:
    notes = []
    if not facts.private_noise:
        notes.append("reproducible: not private")
    if facts.bounds_from_data:
        notes.append(
            f"domain of {', '.join(facts.bounds_from_data)} taken from the data: it discloses extremes or labels"
        )
    if facts.order_from_data:
        notes.append(f"category order of {', '.join(facts.order_from_data)} taken from the data (003 §5.1)")
    if facts.kept:
        notes.append(f"released untouched: {', '.join(facts.kept)}")
    if facts.rows_may_drop:
        notes.append("rows with missing values were dropped; their number is not disclosed here")
    return tuple(notes)


def json_schema() -> dict[str, Any]:
    """The published JSON Schema of a certificate."""
    return Certificate.model_json_schema()
