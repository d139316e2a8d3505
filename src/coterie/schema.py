"""What the data are, and what about them is public: attributes, domains, roles. YAML in and out."""

from __future__ import annotations

import math
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Self

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from coterie.budget import as_text, parse_epsilon
from coterie.errors import ParameterError, SchemaError, nearest

SCHEMA_VERSION = 1
# Sums over a billion records of this size stay finite in double precision.
LARGEST_BOUND = 1e290


class AttributeType(StrEnum):
    CONTINUOUS = "continuous"
    INTEGER = "integer"


class Role(StrEnum):
    PROTECT = "protect"  # goes through the method
    IDENTIFIER = "identifier"  # always dropped
    KEEP = "keep"  # released untouched, and named on the certificate


class Source(StrEnum):
    DECLARED = "declared"  # public knowledge, written by the user
    DATA = "data"  # a function of the data: leaks, and the certificate says so


class Missing(StrEnum):
    ERROR = "error"
    DROP_ROW = "drop row"


class Outside(StrEnum):
    ERROR = "error"
    CLIP = "clip"


def _exact_weight(value: object) -> Fraction:
    try:
        return parse_epsilon(value, "weight")  # type: ignore[arg-type]
    except ParameterError as error:
        raise ValueError(error.problem) from None


def _finite(value: object) -> float:
    if isinstance(value, bool) or value is None:
        raise ValueError("a bound must be a number")
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise ValueError("a bound must be a number") from None
    if not math.isfinite(number) or abs(number) > LARGEST_BOUND:
        raise ValueError(f"a bound must be finite and below {LARGEST_BOUND:g}")
    return number + 0.0  # -0.0 becomes 0.0


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Domain(_Frozen):
    """The public range of an attribute. `source` says where the bounds come from."""

    lower: Annotated[float, BeforeValidator(_finite)]
    upper: Annotated[float, BeforeValidator(_finite)]
    source: Source = Source.DECLARED

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.lower > self.upper:
            raise ValueError("the domain is inverted: lower is above upper; swap them")
        if self.lower == self.upper:
            raise ValueError("the domain is empty: lower equals upper; widen it, or drop the attribute")
        return self

    @property
    def width(self) -> Fraction:
        """Δ, exactly: the difference of the two doubles."""
        return Fraction(self.upper) - Fraction(self.lower)


class Attribute(_Frozen):
    """One column: its type, what happens to it, and its public range."""

    name: str = Field(min_length=1)
    type: AttributeType = AttributeType.CONTINUOUS
    role: Role
    domain: Domain | None = None
    unit: str | None = None
    weight: Annotated[Fraction, BeforeValidator(_exact_weight)] = Fraction(1)
    missing: Missing = Missing.ERROR
    outside: Outside = Outside.ERROR

    @model_validator(mode="after")
    def _whole_bounds(self) -> Self:
        if self.type is AttributeType.INTEGER and self.domain is not None:
            if self.domain.lower != int(self.domain.lower) or self.domain.upper != int(self.domain.upper):
                raise ValueError("an integer attribute needs whole numbers as bounds")
            if max(abs(self.domain.lower), abs(self.domain.upper)) > 2**53:
                raise ValueError("an integer attribute needs bounds within ±2^53, where doubles are exact")
        return self

    def bounds(self) -> Domain:
        """The domain, which a protected attribute must have."""
        if self.domain is None:
            raise SchemaError(
                f"Attribute '{self.name}' is protected but has no domain.",
                "Write its public bounds in the schema: domain: {lower: …, upper: …}. "
                "(Bounds taken from the data leak them: `coterie schema draft --bounds-from-data` marks such.)",
            )
        return self.domain


class Schema(_Frozen):
    """All attributes, in the order of the release."""

    attributes: tuple[Attribute, ...] = Field(min_length=1)

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

    def __getitem__(self, name: str) -> Attribute:
        for attribute in self.attributes:
            if attribute.name == name:
                return attribute
        known = [attribute.name for attribute in self.attributes]
        raise SchemaError(f"The schema has no attribute '{name}'.", nearest(name, known))

    @classmethod
    def from_dict(cls, document: object) -> Schema:
        """Read the YAML document's content; every fault is a SchemaError that names the place."""
        if not isinstance(document, dict) or not isinstance(document.get("attributes"), dict):
            raise SchemaError(
                "This is not a Coterie schema.",
                "It needs a mapping `attributes:`; `coterie schema draft DATA --output FILE` writes one.",
            )
        unknown = set(document) - {"coterie_schema", "attributes"}
        if unknown:
            raise SchemaError(
                f"The schema has an unknown entry '{sorted(map(str, unknown))[0]}'.",
                "Only `coterie_schema` and `attributes` stand at the top.",
            )
        version = document.get("coterie_schema", SCHEMA_VERSION)
        if version != SCHEMA_VERSION:
            raise SchemaError(
                f"The schema says version {version}; this Coterie reads version {SCHEMA_VERSION}.",
                "Install the Coterie that wrote it, or draft it anew.",
            )
        attributes = [_attribute(str(name), content) for name, content in document["attributes"].items()]
        try:
            return cls(attributes=tuple(attributes))
        except ValidationError as error:
            raise SchemaError(f"The schema is wrong: {_first_fault(error)}.", "Correct that line.") from None

    @classmethod
    def from_yaml(cls, source: str | Path) -> Schema:
        """Read a schema file (a path) or YAML text (a string with a line break)."""
        if isinstance(source, Path) or "\n" not in source:
            try:
                text = Path(source).read_text(encoding="utf-8")
            except OSError as error:
                raise SchemaError(
                    f"The schema file cannot be read ({error.strerror}).",
                    "Check the path given as the schema.",
                ) from None
            except UnicodeDecodeError:
                raise SchemaError("The schema file is not UTF-8 text.", "Save it as UTF-8.") from None
        else:
            text = source
        try:
            return cls.from_dict(yaml.load(text, _StrictLoader))
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            place = f" at line {mark.line + 1}" if mark else ""
            reason = getattr(error, "problem", None) or "it cannot be parsed"
            raise SchemaError(
                f"The schema is not valid YAML{place}: {reason}.", "Correct that line."
            ) from None

    def to_dict(self) -> dict[str, Any]:
        return {
            "coterie_schema": SCHEMA_VERSION,
            "attributes": {attribute.name: _plain(attribute) for attribute in self.attributes},
        }

    def to_yaml(self) -> str:
        return yaml.safe_dump(self.to_dict(), sort_keys=False, allow_unicode=True)


def _attribute(name: str, content: object) -> Attribute:
    if not isinstance(content, dict):
        raise SchemaError(
            f"Attribute '{name}' has no description.",
            "Give it at least `role: protect`, `keep` or `identifier`.",
        )
    for entry in content:
        if entry not in Attribute.model_fields or entry == "name":
            raise SchemaError(
                f"Attribute '{name}' has an unknown entry '{entry}'.",
                nearest(str(entry), [field for field in Attribute.model_fields if field != "name"]),
            )
    if "role" not in content:
        raise SchemaError(
            f"Attribute '{name}' has no role.",
            "Write `role: protect` (goes through the method), `identifier` (dropped) or `keep` (released untouched).",
        )
    domain = content.get("domain")
    if isinstance(domain, dict) and (domain.get("lower") is None or domain.get("upper") is None):
        content = {**content, "domain": None}  # a draft whose bounds are still open
    try:
        return Attribute(name=name, **content)
    except ValidationError as error:
        raise SchemaError(f"Attribute '{name}': {_first_fault(error)}.", "Correct its entry.") from None


def _first_fault(error: ValidationError) -> str:
    fault = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in fault["loc"])
    message = fault["msg"].removeprefix("Value error, ").rstrip(".")
    return f"{place}: {message}" if place else message


def _plain(attribute: Attribute) -> dict[str, Any]:
    content = attribute.model_dump(mode="json", exclude={"name", "weight"}, exclude_none=True)
    if attribute.weight != 1:
        content["weight"] = as_text(attribute.weight)
    return content


class _StrictLoader(yaml.SafeLoader):
    """Safe loading that refuses an attribute described twice instead of keeping the last."""


def _no_duplicates(loader: yaml.SafeLoader, node: yaml.MappingNode) -> dict[Any, Any]:
    mapping: dict[Any, Any] = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, str | int | float | bool):
            raise yaml.constructor.ConstructorError(None, None, "a name must be text", key_node.start_mark)
        if key in mapping:
            raise yaml.constructor.ConstructorError(None, None, f"'{key}' appears twice", key_node.start_mark)
        mapping[key] = loader.construct_object(value_node, deep=True)
    return mapping


_StrictLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _no_duplicates)
