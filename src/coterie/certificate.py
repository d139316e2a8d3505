"""What was promised, under which assumptions, over which bytes.

A certificate holds no value and no statistic of the original data: only what the user declared as public, what follows
from the number of released rows and k, and a digest of the release. All numbers that are not whole are exact text, so its
canonical form (RFC 8785: sorted keys, no blanks) is the same in every language.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
)

from coterie._version import __version__
from coterie.budget import as_text
from coterie.budget_warnings import release_warnings
from coterie.errors import CertificateError
from coterie.guarantee import Facts, Guarantee
from coterie.methods import all_methods
from coterie.methods.grouping import Grouping
from coterie.methods.recipe import Method
from coterie.noise.sampler import Sampler
from coterie.schema import (
    Attribute,
    AttributeType,
    Missing,
    Order,
    Outside,
    Role,
    Schema,
    Source,
)
from coterie.schema_file import shown_bound

_EXACT = r"^[0-9]+(\.[0-9]+|/[0-9]+)?$"


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Digest(_Frozen):
    """SHA-256 over the bytes of a file, over all part files of a folder, or over the canonical form of a table."""

    algorithm: Literal["sha256"] = "sha256"
    over: Literal["file bytes", "canonical table", "part files"]
    value: str = Field(pattern="^[0-9a-f]{64}$")


class Released(_Frozen):
    rows: int = Field(ge=1)
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


class _Origin(_Frozen):
    """Entries that certificates had not from the first are absent, not null: older ones keep their signed bytes."""

    from_data: tuple[str, ...] | None = None
    public_because: str | dict[str, str] | None = None

    @model_serializer(mode="wrap")
    def _as_signed(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        content: dict[str, Any] = dump(self)
        return {name: value for name, value in content.items() if value is not None or name not in _LATER}


_LATER = frozenset(_Origin.model_fields)


class Bounds(_Origin):
    """Bounds that were taken from the data are not repeated here: they are a statistic of it.

    `from_data`: which one, where only one of them was. Only where somebody stated why it is public (`public_because`)
    does it stand here. `epsilon`: what finding them cost, where the source is dp; beside the attribute's own.
    """

    lower: str | None
    upper: str | None
    source: Source
    epsilon: str | None = None


class Labels(_Origin):
    """The declared labels or taxonomy. Labels that were taken from the data are not repeated here.

    `from_data`: those of them that somebody stated to be public, where not all labels came from the data.
    """

    taxonomy: str | None
    labels: tuple[str, ...] | None
    order: Order
    source: Source
    sha256: str | None = None  # of the tree of labels, in its canonical form


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
    missing_marks: tuple[str, ...] = ()
    imputed: str | None = None  # the public value that stands in for a missing one, where the schema names it
    outside: Outside | None = None


class Dependence(_Frozen):
    """Synthetic rows: how the attributes hang together, and what ε that cost. With the attributes' ε it makes the whole."""

    mechanism: str
    epsilon: str


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
    beside: tuple[Promised, ...] = ()  # what is known of another object than the one released

    @model_serializer(mode="wrap")
    def _without_empty(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Certificates from before there was a `beside` keep their canonical form, and so their signature."""
        content: dict[str, Any] = write(self)
        if not self.beside:
            content.pop("beside", None)
        return content


class Multiplier(_Frozen):
    """idp-cbls: by how much the claimed individual-DP loss of the centroid list is understated.

    `lower` counts on noise in every cluster; clusters of equal values have none and are released exactly.
    """

    clusters: int
    lower: str
    upper: str


class Signature(_Frozen):
    """Over the canonical form of everything else."""

    algorithm: Literal["Ed25519"]
    public_key: str
    fingerprint: str
    value: str


class Certificate(_Frozen):
    coterie_certificate: Literal[1] = 1
    tool: str
    issued: str
    method: str
    method_title: str
    papers: str
    epsilon: str | None = Field(pattern=_EXACT)  # null: no noise was added, so no ε describes the release
    k: int = Field(ge=1)
    clusters: Clusters
    guarantee: Promised
    effective_multiplier: Multiplier | None = None
    attributes: tuple[CertifiedAttribute, ...]
    dependence: Dependence | None = None
    dropped: tuple[str, ...]
    kept: tuple[str, ...]
    sampler: str
    reproducible: bool
    notes: tuple[str, ...]
    release: Released
    signature: Signature | None = None

    def to_json(self) -> str:
        return json.dumps(self.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> Certificate:
        try:
            # Two entries of one name would let a reader see another certificate than the one that was signed.
            return cls.model_validate(json.loads(text, object_pairs_hook=_once))
        except (ValueError, RecursionError) as error:
            if not isinstance(error, ValidationError):
                raise CertificateError(
                    "This is not a certificate: it is no JSON document, or names an entry twice.",
                    "Give the JSON file that `coterie protect` wrote, unchanged.",
                ) from None
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


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError("an entry appears twice")
    return content


def certify(
    guarantee: Guarantee,
    facts: Facts,
    schema: Schema,
    method: Method,
    shares: Mapping[str, Fraction],
    bounds: Mapping[str, Fraction],
    dependence: Fraction,
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
        epsilon=as_text(method.cost(facts.epsilon, len(facts.protected))) if method.adds_noise else None,
        k=facts.k,
        clusters=clusters,
        guarantee=Promised.model_validate(asdict(guarantee)),
        effective_multiplier=_multiplier(method, facts),
        attributes=tuple(
            _attribute(attribute, method, shares, bounds, dict(facts.taxonomies).get(attribute.name))
            for attribute in schema.attributes
        ),
        dependence=Dependence(mechanism=method.synthesis.stages, epsilon=as_text(dependence))
        if method.synthesis
        else None,
        dropped=tuple(attribute.name for attribute in schema.with_role(Role.IDENTIFIER)),
        kept=facts.kept,
        sampler=sampler.name if method.adds_noise else "none: no noise was added",
        reproducible=not facts.private_noise,
        notes=(
            *_notes(facts, method),
            *(note for a in schema.protected for note in a.stated),
            *_warnings(method, facts, shares, schema, guarantee),
        ),
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


def _attribute(
    attribute: Attribute,
    method: Method,
    shares: Mapping[str, Fraction],
    bounds: Mapping[str, Fraction],
    tree: str | None,
) -> CertifiedAttribute:
    if attribute.role is not Role.PROTECT:
        return CertifiedAttribute(
            name=attribute.name, role=attribute.role, type=attribute.type, unit=attribute.unit
        )
    mechanism = method.categorical if attribute.type.labelled else method.numeric
    return CertifiedAttribute(
        name=attribute.name,
        role=attribute.role,
        type=attribute.type,
        unit=attribute.unit,
        epsilon=as_text(shares[attribute.name]) if method.adds_noise else None,
        mechanism=f"{method.grouping.name} · {mechanism.stages}",
        caution=mechanism.caution,
        domain=_bounds(attribute, bounds.get(attribute.name)),
        categories=_labels(attribute, tree),
        missing=attribute.missing,
        missing_marks=attribute.missing_marks,
        imputed=None if attribute.impute is None else str(attribute.impute),
        outside=attribute.outside if attribute.type.ranged else None,
    )


def _bounds(attribute: Attribute, paid: Fraction | None) -> Bounds | None:
    domain, kind = attribute.domain, attribute.type
    if domain is None:
        return None
    return Bounds(
        lower=None if "lower" in domain.leaks else shown_bound(domain.lower, kind),
        upper=None if "upper" in domain.leaks else shown_bound(domain.upper, kind),
        source=domain.source,
        epsilon=None if paid is None else as_text(paid),
        from_data=domain.from_data,
        public_because=domain.reasons,
    )


def _labels(attribute: Attribute, tree: str | None) -> Labels | None:
    declared = attribute.categories
    if declared is None:
        return None
    public = not declared.leaks
    return Labels(
        taxonomy=declared.taxonomy,
        labels=declared.labels if public else None,
        sha256=tree if public else None,
        order=declared.order,
        source=declared.source if public else Source.DATA,
        from_data=declared.from_data if public else None,
        public_because=declared.reasons,
    )


def _notes(facts: Facts, method: Method) -> tuple[str, ...]:
    notes = []
    if not method.splits_budget:
        each = as_text(facts.epsilon)
        notes.append(f"as published, each attribute gets the whole ε = {each}, whatever its weight")
    if not facts.private_noise:
        notes.append("reproducible: not private")
    if not facts.clipped:
        notes.append("released numbers are not cut to their domain")
    if facts.bounds_from_data:
        notes.append(
            f"{', '.join(facts.bounds_from_data)} taken from the data: this discloses extremes or labels"
        )
    if facts.bounds_paid:
        notes.append(
            f"bounds of {', '.join(facts.bounds_paid)} found by a DP quantile, paid from their part of ε"
        )
    if facts.order_from_data:
        notes.append(f"category order of {', '.join(facts.order_from_data)} taken from the data (003 §5.1)")
    if facts.parameters_from_data:
        notes.append(
            "method, ε and k chosen by comparing results on these data: the choice shows something of them"
        )
    if facts.parameters_public_because:
        notes.append(facts.parameters_public_because)
    if facts.synthetic:
        notes.append(
            "rows are synthetic: no row stands for a record, and kept columns have no relation to them"
        )
    if facts.kept:
        notes.append(f"released untouched: {', '.join(facts.kept)}")
    if facts.rows_may_drop:
        notes.append("rows with missing values were dropped; their number is not disclosed here")
    return tuple(notes)


def _warnings(
    method: Method, facts: Facts, shares: Mapping[str, Fraction], schema: Schema, promise: Guarantee
) -> tuple[str, ...]:
    labelled = frozenset(a.name for a in schema.protected if a.type.labelled)
    cost = method.cost(facts.epsilon, len(facts.protected))
    return release_warnings(method, cost, shares, labelled, facts.records, facts.k, promise)


def warnings_on(certificate: Certificate) -> tuple[str, ...]:
    """The notes of a certificate that warn of its budget, told from the others."""
    protected = [a for a in certificate.attributes if a.epsilon is not None]
    if certificate.epsilon is None or certificate.method not in all_methods():
        return ()
    found = release_warnings(
        all_methods()[certificate.method],
        Fraction(certificate.epsilon),
        {a.name: Fraction(a.epsilon or 0) for a in protected},
        frozenset(a.name for a in protected if a.type.labelled),
        certificate.release.rows,
        certificate.k,
        certificate.guarantee,
    )
    return tuple(warning for warning in found if warning in certificate.notes)


def json_schema() -> dict[str, Any]:
    """The published JSON Schema of a certificate."""
    return Certificate.model_json_schema()
