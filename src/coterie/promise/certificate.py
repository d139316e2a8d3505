"""What was promised, under which assumptions, over which bytes.

A certificate holds no value and no statistic of the original data: only what the user declared as public, what follows
from the number of released rows and k, and a digest of the release. All numbers that are not whole are exact text, so its
canonical form (RFC 8785: sorted keys, no blanks) is the same in every language.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import ConfigDict, Field, SerializerFunctionWrapHandler, ValidationError, model_serializer

from coterie.errors import CertificateError, counted, reading
from coterie.schema.attributes import AttributeType, Missing, Order, Outside, Role, Source
from coterie.schema.domain import Frozen

_EXACT = r"^[0-9]+(\.[0-9]+|/[0-9]+)?$"


class _Extended(Frozen):
    """Entries in `later` were not there from the first. At their default they are absent: older ones keep their bytes."""

    later: ClassVar[tuple[str, ...]] = ()

    def left_out(self) -> set[str]:
        return {name for name in self.later if getattr(self, name) == type(self).model_fields[name].default}

    @model_serializer(mode="wrap")
    def _as_signed(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        content: dict[str, Any] = write(self)
        absent = self.left_out()
        return {name: value for name, value in content.items() if name not in absent}


class Digest(Frozen):
    """SHA-256 over the bytes of a file, over all part files of a folder, or over the canonical form of a table."""

    algorithm: Literal["sha256"] = "sha256"
    over: Literal["file bytes", "canonical table", "part files"]
    value: str = Field(pattern="^[0-9a-f]{64}$")


class CertifiedRelease(Frozen):
    rows: int = Field(ge=1)
    columns: tuple[str, ...]
    shuffled: bool
    digest: Digest


class ClusterSizes(Frozen):
    size: int
    clusters: int


class CertifiedClusters(Frozen):
    """Per attribute. Given where they follow from the number of rows and k, and so disclose nothing; else null."""

    grouping: str
    count: int | None
    sizes: tuple[ClusterSizes, ...] | None


class _Origin(_Extended):
    later = ("from_data", "public_because")

    from_data: tuple[str, ...] | None = None
    public_because: str | dict[str, str] | None = None


class Bounds(_Origin):
    """Bounds that were taken from the data are not repeated here: they are a statistic of it.

    `from_data`: which one, where only one of them was. Only where somebody stated why it is public (`public_because`)
    does it stand here. `epsilon`: what finding them cost, where the source is dp; beside the attribute's own.
    """

    lower: str | None
    upper: str | None
    source: Source
    epsilon: str | None = None


class CertifiedLabels(_Origin):
    """The declared labels or taxonomy. Labels that were taken from the data are not repeated here.

    `from_data`: those of them that somebody stated to be public, where not all labels came from the data.
    """

    taxonomy: str | None
    labels: tuple[str, ...] | None
    order: Order
    source: Source
    sha256: str | None = None  # of the tree of labels, in its canonical form


class CertifiedAttribute(_Extended):
    later = ("rho", "recoded")

    name: str
    role: Role
    type: AttributeType
    unit: str | None
    epsilon: str | None = None
    rho: str | None = None  # instead of ε, where noise is counted in ρ
    mechanism: str | None = None
    caution: str | None = None
    domain: Bounds | None = None
    categories: CertifiedLabels | None = None
    missing: Missing | Literal["drop row"] | None = None  # rows were dropped up to version 0.1 only
    missing_marks: tuple[str, ...] = ()
    imputed: str | None = None  # the public value that stands in for a missing one, where the schema names it
    outside: Outside | None = None
    # How every value was made coarser first; type, domain and categories are those after it.
    recoded: str | None = None


class Dependence(_Extended):
    """Synthetic rows: how the attributes hang together, and what that cost. With the attributes' parts it makes the whole.

    In ρ where noise is counted in it: parts of ρ add up, parts of ε do not.
    """

    later = ("rho",)

    mechanism: str
    epsilon: str | None
    rho: str | None = None


class NumberOfRows(_Extended):
    """The number of rows, which is private with a privacy unit: `found` was measured, and its cost is part of the whole."""

    later = ("rho",)

    found: int = Field(ge=1)
    mechanism: str
    epsilon: str | None
    rho: str | None = None


class CertifiedPromise(_Extended):
    later = ("beside", "delta", "rho", "unit", "relation", "rows_per_unit", "policy")

    model: str
    value: str
    status: Literal["proved", "bounded", "conditional", "heuristic", "refuted", "none"]
    scope: str
    label: str
    assumptions: tuple[str, ...]
    citation: str
    neighbours: str
    rests_on_noise: bool
    beside: tuple[CertifiedPromise, ...] = ()  # what is known of another object than the one released
    delta: str | None = Field(default=None, pattern=_EXACT)  # null: pure ε
    # What the noise was calibrated for, where there is a δ.
    rho: str | None = Field(default=None, pattern=_EXACT)
    # Whom it is promised to, where that is not one row: all four, or none.
    unit: str | None = None
    relation: str | None = None
    rows_per_unit: int = Field(default=1, ge=1)
    policy: Literal["truncate", "refuse"] | None = None

    def left_out(self) -> set[str]:
        return super().left_out() - ({"rows_per_unit"} if self.unit is not None else set())


class Multiplier(Frozen):
    """idp-cbls: by how much the claimed individual-DP loss of the centroid list is understated.

    `lower` counts on noise in every cluster; clusters of equal values have none and are released exactly.
    """

    clusters: int
    lower: str
    upper: str


class Signature(Frozen):
    """Over the canonical form of everything else."""

    algorithm: Literal["Ed25519"]
    public_key: str
    fingerprint: str
    value: str


class Signable(_Extended):
    """A certificate that its issuer can sign: its file, and the bytes under the signature."""

    def to_json(self) -> str:
        return json.dumps(self.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n"

    def canonical(self) -> bytes:
        """The signed bytes: everything but the signature, in RFC 8785 form (there are no floats inside)."""
        content = self.model_dump(mode="json", exclude={"signature"})
        return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


class Certificate(Signable):
    """What a release promises, under which assumptions, and for which bytes. Made with the release; never by hand.

    Attributes
    ----------
    guarantee : CertifiedPromise
        `status`, `label`, `model`, `value` and `assumptions`.
    method, epsilon, k
        How the release was made.
    attributes : tuple
        What was done to each protected column, and what about it is public.
    release : CertifiedRelease
        How many rows, and the digest of their bytes.
    signature : Signature or None
        Who vouches for it.

    Examples
    --------
    >>> import coterie
    >>> people, schema = coterie.demo_population(people=100), coterie.demo_schema()
    >>> certificate = coterie.protect(people, schema, method="laplace", epsilon=1).certificate
    >>> str(certificate.guarantee.status), certificate.release.rows
    ('proved', 100)
    >>> coterie.Certificate.from_json(certificate.to_json().encode()) == certificate
    True
    """

    model_config = ConfigDict(json_schema_extra=lambda schema: schema.pop("description", None))

    later = ("number_of_rows", "rules")

    coterie_certificate: Literal[1] = 1
    tool: str
    issued: str
    method: str
    method_title: str
    papers: str
    epsilon: str | None = Field(pattern=_EXACT)  # null: no noise was added, so no ε describes the release
    k: int = Field(ge=1)
    clusters: CertifiedClusters
    guarantee: CertifiedPromise
    effective_multiplier: Multiplier | None = None
    attributes: tuple[CertifiedAttribute, ...]
    dependence: Dependence | None = None
    number_of_rows: NumberOfRows | None = None
    dropped: tuple[str, ...]
    kept: tuple[str, ...]
    rules: tuple[str, ...] = ()  # public ones that every released row satisfies, at no cost
    sampler: str
    reproducible: bool
    notes: tuple[str, ...]
    release: CertifiedRelease
    signature: Signature | None = None

    def __repr__(self) -> str:
        promise = self.guarantee
        return f"<Certificate: {counted(self.release.rows, 'row')}, method {self.method}, {promise.status}: {promise.label}>"

    __str__ = __repr__

    @classmethod
    def read(cls, path: str | Path) -> Certificate:
        """The certificate in a file."""
        with reading(f"The certificate {path}", CertificateError):
            return cls.from_json(Path(path).read_bytes())

    @classmethod
    def from_json(cls, text: str | bytes) -> Certificate:
        try:
            # Two entries of one name would let a reader see another certificate than the one that was signed.
            return cls.model_validate(json.loads(text, object_pairs_hook=named_once))
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


def named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The content of a JSON object, refused if a name appears twice."""
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError("a name appears twice")
    return content
