"""What the data are, and what about them is public: attributes, domains, categories, roles."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, model_validator

from coterie.errors import ParameterError, SchemaError, nearest
from coterie.schema.attribute_type import AttributeType as AttributeType
from coterie.schema.dialect import Dialect
from coterie.schema.exact import parse_epsilon
from coterie.schema.moments import as_number, typed_bound
from coterie.schema.origin import Parameters as Parameters
from coterie.schema.origin import Public
from coterie.schema.origin import Source as Source


class Role(StrEnum):
    PROTECT = "protect"  # goes through the method
    IDENTIFIER = "identifier"  # always dropped
    KEEP = "keep"  # released untouched, and named on the certificate


class Search(StrEnum):
    """Which bounds a `source: dp` domain looks for; the other one is public as written."""

    BOTH = "both"
    LOWER = "lower"
    UPPER = "upper"


class Missing(StrEnum):
    ERROR = "error"
    DROP_ROW = "drop row"
    OWN_CATEGORY = (
        "own category"  # 'missing' is an outcome like any other; numbers: methods for whole tables only
    )
    IMPUTE = "impute"  # a public value of the domain stands in


class Outside(StrEnum):
    ERROR = "error"
    CLIP = "clip"


class Order(StrEnum):
    """By which order categories are ranked where a method ranks them."""

    MARGINALITY = "marginality"  # distance to the most marginal label of the domain (001 §3.4)
    PATH = "path"  # a short walk through the domain: least noise for the proved variant
    LISTED = "listed"  # as written in the schema
    FREQUENCY = "frequency"  # by frequency in the data (003 §5.1): discloses it


_PRICE_OF_BOUNDS = Fraction(1, 5)


def _exact_weight(value: object) -> Fraction:
    return _exact(value, "weight")


def _exact_share(value: object) -> Fraction | None:
    return None if value is None else _exact(value, "share")


def _exact(value: object, name: str) -> Fraction:
    try:
        return parse_epsilon(value, name)  # type: ignore[arg-type]
    except ParameterError as error:
        raise ValueError(error.problem) from None


def _as_written(value: object) -> object:
    return str(value).lower() if isinstance(value, bool) else value


def _texts(value: object) -> object:
    """A mark such as -9 may be written without quotes."""
    return tuple(str(entry) for entry in value) if isinstance(value, list | tuple) else value


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


Side = Literal["lower", "upper"]
SIDES: tuple[Side, Side] = ("lower", "upper")


class Domain(Public):
    """The public range of an attribute, as numbers (dates: days since 1970, timestamps: seconds)."""

    lower: Annotated[float, BeforeValidator(as_number)]
    upper: Annotated[float, BeforeValidator(as_number)]
    source: Source = Source.DECLARED
    search: Search | None = None  # `source: dp` only; both sides unless said otherwise
    share: Annotated[Fraction | None, BeforeValidator(_exact_share)] = (
        None  # of the attribute's ε, for its bounds
    )
    from_data: tuple[Side, ...] | None = None  # the bounds that came from the data; `source: data` means both

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.source == Source.DATA and self.from_data is not None:
            raise ValueError("`source: data` means both bounds: leave out from_data, or leave out source")
        if isinstance(self.public_because, tuple) and not {part for part, _ in self.public_because} <= {
            *SIDES
        }:
            raise ValueError("public_because is one sentence, or one for lower and one for upper")
        if self.source != Source.DP and (self.search is not None or self.share is not None):
            raise ValueError("search and share belong to a domain with `source: dp`")
        if self.share is not None and self.share >= 1:
            raise ValueError("the share of ε for bounds must be below 1: the values need some too")
        if self.lower > self.upper:
            raise ValueError("the domain is inverted: lower is above upper; swap them")
        if self.lower == self.upper:
            raise ValueError("the domain is empty: lower equals upper; widen it, or drop the attribute")
        return self

    @property
    def taken(self) -> tuple[str, ...]:
        """The bounds that came from the data, whatever was said about them since."""
        return SIDES if self.source == Source.DATA else tuple(self.from_data or ())

    @property
    def leaks(self) -> tuple[str, ...]:
        """The bounds that came from the data without a reason why they are public all the same."""
        return self.unexplained(self.taken)

    @property
    def price(self) -> Fraction:
        """The part of the attribute's ε that finding its bounds costs."""
        if self.source != Source.DP:
            return Fraction(0)
        return self.share if self.share is not None else _PRICE_OF_BOUNDS

    @property
    def width(self) -> Fraction:
        """Δ, exactly: the difference of the two doubles."""
        return _width(self.lower, self.upper)


@lru_cache(maxsize=4096)
def _width(lower: float, upper: float) -> Fraction:
    """Remembered: a grid asks for it once a method, k and attribute."""
    return Fraction(upper) - Fraction(lower)


class Categories(Public):
    """The public labels of an attribute: a list, or a taxonomy (a file, or `adult:occupation`)."""

    labels: tuple[str, ...] | None = None
    taxonomy: str | None = None
    source: Source = Source.DECLARED
    order: Order = Order.MARGINALITY
    most: int = Field(default=1000, ge=2)  # more labels than this are probably not categories
    from_data: tuple[str, ...] | None = None  # the labels that came from the data; `source: data` means all

    @model_validator(mode="after")
    def _one_domain(self) -> Self:
        if (self.labels is None) == (self.taxonomy is None):
            raise ValueError("give either labels (a list) or taxonomy (a file), not both or neither")
        if self.source == Source.DP:
            raise ValueError("`source: dp` is for bounds; labels must be declared")
        if self.labels is not None and len(set(self.labels)) < len(self.labels):
            raise ValueError("a label is listed twice")
        if self.order is Order.LISTED and self.labels is None:
            raise ValueError("order: listed needs a list of labels")
        if self.source == Source.DATA and self.from_data is not None:
            raise ValueError("`source: data` means all labels: leave out from_data, or leave out source")
        if not set(self.from_data or ()) <= set(self.labels or ()):
            raise ValueError(
                "from_data names a label that is not listed; one that was retyped is still from the data"
            )
        if isinstance(self.public_because, tuple) and not {part for part, _ in self.public_because} <= set(
            self.labels or ()
        ):
            raise ValueError("public_because names a label that is not listed")
        return self

    @property
    def taken(self) -> tuple[str, ...]:
        """The labels (or the taxonomy) that came from the data, whatever was said about them since."""
        parts = self.labels if self.labels is not None else (self.taxonomy or "",)
        named = self.from_data or ()
        # One that is not listed any more was retyped, and nobody can say which of the others it became.
        return parts if self.source == Source.DATA or not set(named) <= set(parts) else named

    @property
    def leaks(self) -> tuple[str, ...]:
        """Those of them without a reason why they are public all the same."""
        return self.unexplained(self.taken)


class Attribute(_Frozen):
    """One column: its type, what happens to it, and what about it is public."""

    name: str = Field(min_length=1)
    type: AttributeType = AttributeType.CONTINUOUS
    role: Role
    domain: Domain | None = None
    categories: Categories | None = None
    decimals: int | None = Field(default=None, ge=0, le=15)  # released values are rounded to so many places
    unit: str | None = None
    weight: Annotated[Fraction, BeforeValidator(_exact_weight)] = Fraction(1)
    missing: Missing = Missing.ERROR
    missing_marks: Annotated[
        tuple[str, ...], BeforeValidator(_texts)
    ] = ()  # texts that mean 'missing', such as "?"; an empty cell always does
    impute: Annotated[str | int | float | None, BeforeValidator(_as_written)] = (
        None  # default: the middle of the domain, the most central label
    )
    outside: Outside = Outside.ERROR

    @model_validator(mode="before")
    @classmethod
    def _moments(cls, content: Any) -> Any:
        """Dates and timestamps are spelled alike; the type says which one a bound is."""
        if not isinstance(content, dict) or content.get("type") not in ("date", "timestamp"):
            return content
        timestamp, domain = content["type"] == "timestamp", content.get("domain")
        if isinstance(domain, Mapping):
            typed = {
                side: typed_bound(domain[side], timestamp=timestamp)
                for side in ("lower", "upper")
                if domain.get(side) is not None
            }
            content = {**content, "domain": {**domain, **typed}}
        if content.get("impute") is not None:
            content = {**content, "impute": as_number(typed_bound(content["impute"], timestamp=timestamp))}
        return content

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        whole = self.type in (AttributeType.INTEGER, AttributeType.DATE)
        if self.domain is not None and not self.type.ranged:
            raise ValueError(f"a {self.type} attribute has categories, not a domain with bounds")
        if self.categories is not None and self.type not in (
            AttributeType.CATEGORICAL,
            AttributeType.ORDINAL,
        ):
            raise ValueError(f"a {self.type} attribute has no categories")
        if self.type is AttributeType.ORDINAL and self.categories and self.categories.labels is None:
            raise ValueError("an ordinal attribute needs its labels in order: categories: {labels: […]}")
        if whole and self.domain is not None:
            if self.domain.lower != int(self.domain.lower) or self.domain.upper != int(self.domain.upper):
                raise ValueError("an integer attribute needs whole numbers as bounds")
            if max(abs(self.domain.lower), abs(self.domain.upper)) > 2**53:
                raise ValueError("an integer attribute needs bounds within ±2^53, where doubles are exact")
        if self.decimals is not None and self.type is not AttributeType.CONTINUOUS:
            raise ValueError("only a continuous attribute has decimals")
        if self.impute is not None and self.missing is not Missing.IMPUTE:
            raise ValueError("a value to impute needs `missing: impute`")
        return self

    def bounds(self) -> Domain:
        """The domain, which a protected range must have."""
        if self.domain is None:
            raise SchemaError(
                f"Attribute '{self.name}' is protected but has no domain.",
                "Write its public bounds in the schema: domain: {lower: …, upper: …}. "
                "(Bounds taken from the data leak them: `coterie schema draft --bounds-from-data` marks such.)",
            )
        return self.domain

    def require_public(self) -> None:
        """A protected attribute must say what is public about it: bounds, or labels."""
        if self.type.ranged:
            self.bounds()
        elif self.type is not AttributeType.BOOLEAN and self.categories is None:
            raise SchemaError(
                f"Attribute '{self.name}' is protected but its labels are not declared.",
                "Write categories: {labels: […]} or categories: {taxonomy: FILE} in the schema.",
            )

    @property
    def from_data(self) -> str:
        """What was taken from the data without a reason why it is public, such as "upper bound of age"; else nothing."""
        if self.domain is not None and self.domain.leaks:
            sides = self.domain.leaks
            return f"bounds of {self.name}" if len(sides) > 1 else f"{sides[0]} bound of {self.name}"
        if self.categories is not None and self.categories.leaks:
            every = len(self.categories.leaks) == len(self.categories.labels or ("",))
            return f"{'labels' if every else 'some labels'} of {self.name}"
        return ""

    @property
    def domain_from_data(self) -> bool:
        """Whether any part of what should be public knowledge was taken from the data, without a reason."""
        return bool(self.from_data)

    @property
    def stated(self) -> list[str]:
        """Why what is written here is public, as somebody said."""
        public = self.domain or self.categories
        return public.notes(self.name) if public else []

    @property
    def ranked_by_frequency(self) -> bool:
        return self.categories is not None and self.categories.order == Order.FREQUENCY

    @property
    def order_from_data(self) -> bool:
        """Counted in the data, or the order of a list that came from the data."""
        listed = self.type is AttributeType.ORDINAL or (
            self.categories is not None and self.categories.order == Order.LISTED
        )
        return self.ranked_by_frequency or (
            listed and self.categories is not None and bool(self.categories.leaks)
        )


class Schema(_Frozen):
    """All attributes, in the order of the release."""

    attributes: tuple[Attribute, ...] = Field(min_length=1)
    parameters: Parameters | None = None
    dialect: Dialect = Dialect()  # of text files
    _folder: Path = PrivateAttr(default=Path())  # taxonomy files are named relative to the schema's own place

    @model_validator(mode="after")
    def _unique(self) -> Self:
        names = [attribute.name for attribute in self.attributes]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"described twice: {', '.join(twice)}")
        return self

    def with_role(self, role: Role) -> tuple[Attribute, ...]:
        return tuple(attribute for attribute in self.attributes if attribute.role is role)

    @property
    def protected(self) -> tuple[Attribute, ...]:
        return self.with_role(Role.PROTECT)

    @property
    def with_default_dialect(self) -> Schema:
        """The same for a text file that Coterie wrote, whatever the original looked like."""
        return self.model_copy(update={"dialect": Dialect()})

    @property
    def folder(self) -> Path:
        return self._folder

    def __getitem__(self, name: str) -> Attribute:
        for attribute in self.attributes:
            if attribute.name == name:
                return attribute
        known = [attribute.name for attribute in self.attributes]
        raise SchemaError(f"The schema has no attribute '{name}'.", nearest(name, known))

    @classmethod
    def from_yaml(cls, source: str | Path) -> Schema:
        """Read a schema file (a path) or YAML text (a string with a line break)."""
        from coterie.schema.document import read_schema

        return read_schema(source)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Schema:
        from coterie.schema.document import schema_from

        return schema_from(document)

    def to_dict(self) -> dict[str, Any]:
        from coterie.schema.document import schema_document

        return schema_document(self)

    def to_yaml(self) -> str:
        from coterie.schema.document import schema_text

        return schema_text(self)
