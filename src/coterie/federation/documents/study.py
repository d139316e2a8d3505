"""A study: everything that the owners agree to, in one immutable document. Its hash is its name."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from coterie.errors import CoterieError
from coterie.federation.documents.signed import Document, sha256
from coterie.federation.documents.wire import moment
from coterie.federation.secrets.keys import raw_key
from coterie.methods import WITHDRAWN, get_method
from coterie.schema.attributes import (
    Attribute,
    AttributeType,
    Categories,
    Domain,
    Order,
    Outside,
    Role,
    Schema,
)
from coterie.schema.exact import as_text, parse_epsilon

SMALLEST_K = 3  # Del Vasto-Terrientes et al., §4.2, step 4 of both protocols


def _epsilon(text: str) -> str:
    """Exact and in one spelling: the text is part of what is hashed."""
    try:
        value = parse_epsilon(text)
    except CoterieError as error:
        raise ValueError(error.problem) from None
    if as_text(value) != text:
        raise ValueError(f"write it as '{as_text(value)}'")
    return text


def _checked(check: Callable[[str], object]) -> AfterValidator:
    """The text as it is, if the check does not raise ValueError."""

    def same(text: str) -> str:
        check(text)
        return text

    return AfterValidator(same)


def _plain_name(text: str) -> str:
    if not re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?", text):
        raise ValueError("a name of an owner has small letters, digits and hyphens, at most 40")
    return text


Epsilon = Annotated[str, Field(max_length=100), AfterValidator(_epsilon)]
Moment = Annotated[str, Field(max_length=40), _checked(moment)]
PublicKey = Annotated[str, _checked(raw_key)]
OwnerName = Annotated[str, AfterValidator(_plain_name)]
StudyId = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
AttributeName = Annotated[str, Field(min_length=1, max_length=200)]


class Fragmentation(StrEnum):
    HORIZONTAL = "horizontal"  # the same attributes of different people
    VERTICAL = "vertical"  # different attributes of the same people


class Join(StrEnum):
    """How a vertical study finds the rows of one person without real ids."""

    GROUP_KEY = "group key"  # any number of owners; each can compute everybody's pseudonym
    BLINDED_IDS = "blinded ids"  # two owners; they find the people in common, and nobody can test other ids
    SIDE_BY_SIDE = "side by side"  # nobody is matched: synthetic columns stand beside the others'


class StudyAttribute(Document):
    """One protected attribute. Bounds are text, so that every language reads the same number."""

    name: AttributeName
    type: AttributeType
    lower: Annotated[str, Field(max_length=60)] | None = None
    upper: Annotated[str, Field(max_length=60)] | None = None
    labels: Annotated[tuple[Annotated[str, Field(max_length=200)], ...], Field(max_length=1000)] | None = None
    order: Order | None = None
    decimals: int | None = None
    unit: Annotated[str, Field(max_length=60)] | None = None
    weight: Epsilon = "1"
    outside: Outside = Outside.ERROR

    @model_validator(mode="after")
    def _possible(self) -> Self:
        self.as_attribute()
        return self

    def as_attribute(self) -> Attribute:
        if (self.lower is None) != (self.upper is None) or self.type.ranged != (self.lower is not None):
            raise ValueError("numbers and dates need lower and upper; others have neither")
        if (self.labels is not None) != (self.type in (AttributeType.CATEGORICAL, AttributeType.ORDINAL)):
            raise ValueError("categorical and ordinal attributes need labels; others have none")
        categories = None
        if self.labels is not None:
            default = Order.LISTED if self.type is AttributeType.ORDINAL else Order.MARGINALITY
            categories = Categories(labels=self.labels, order=self.order or default)
        domain = None
        if self.lower is not None:
            domain = Domain.model_validate({"lower": self.lower, "upper": self.upper})
        same = {name: getattr(self, name) for name in ("name", "type", "decimals", "unit", "outside")}
        weight = parse_epsilon(self.weight, "weight")
        return Attribute(**same, role=Role.PROTECT, domain=domain, categories=categories, weight=weight)


class Rostered(Document):
    """An owner who is asked. In a vertical study, with the attributes that it holds and its share of ε."""

    owner: OwnerName
    key: PublicKey
    sealing_key: PublicKey
    attributes: tuple[AttributeName, ...] | None = None
    weight: Epsilon = "1"


class Study(Document):
    kind = "study"
    coterie_study: Literal[1] = 1
    # 1: the joined certificate holds each owner's number of rows; 2: parts are not sealed until all have delivered
    protocol: Literal[1, 2, 3] = 3
    title: Annotated[str, Field(min_length=1, max_length=200)]
    aggregator: PublicKey
    created: Moment
    fragmentation: Fragmentation
    method: Annotated[str, Field(max_length=60)]
    epsilon: Epsilon
    k: Annotated[int, Field(ge=SMALLEST_K, le=1_000_000)]
    neighbours: Literal["replace one record; the number of records is public"] = (
        "replace one record; the number of records is public"
    )
    attributes: Annotated[tuple[StudyAttribute, ...], Field(min_length=1, max_length=1000)]
    identifier: AttributeName | None = None
    join: Join | None = None
    lead: OwnerName | None = None
    roster: Annotated[tuple[Rostered, ...], Field(min_length=2, max_length=1000)]
    minimum: Annotated[int, Field(ge=2)]
    deadline: Moment
    at_deadline: Literal["expire", "go on with the minimum"] = "expire"
    seed: Annotated[int, Field(ge=0, le=2**53 - 1)] | None = None

    @model_validator(mode="after")
    def _sound(self) -> Self:
        names = [entry.owner for entry in self.roster]
        if len(set(names)) < len(names) or len({entry.key for entry in self.roster}) < len(names):
            raise ValueError("an owner or a key appears twice in the roster")
        if self.minimum > len(names):
            raise ValueError("the minimum is larger than the roster")
        known = [attribute.name for attribute in self.attributes]
        if len(set(known)) < len(known):
            raise ValueError("an attribute appears twice")
        self._require_method()
        vertical = self.fragmentation is Fragmentation.VERTICAL
        if vertical != (self.join is not None):
            raise ValueError("a vertical study, and only that, says how it is joined")
        if self.matched != (self.identifier is not None):
            raise ValueError("a study that matches people, and only that, names an identifier")
        if (self.join is Join.GROUP_KEY) != (self.lead is not None):
            raise ValueError("a vertical study with a group key, and only that, names a lead owner")
        if self.join is Join.BLINDED_IDS and len(names) != 2:
            raise ValueError("ids are blinded between exactly two owners; more need `join: group key`")
        held = [name for entry in self.roster for name in entry.attributes or ()]
        if any((entry.attributes is not None) != vertical for entry in self.roster):
            raise ValueError("in a vertical study, and only there, each owner has its own attributes")
        if vertical and sorted(held) != sorted(known):
            raise ValueError("in a vertical study each attribute is held by exactly one owner")
        if self.lead is not None and self.lead not in names:
            raise ValueError("the lead must be in the roster")
        if self.identifier in known:
            raise ValueError("the identifier must not be an attribute")
        return self

    def _require_method(self) -> None:
        """A method that can be charged, that groups or synthesises; joined rows must stand for people."""
        if self.method in WITHDRAWN:  # its certificate can be verified; no owner can answer it any more
            return
        try:
            recipe = get_method(self.method)
        except CoterieError as error:
            raise ValueError(error.problem) from None
        if not recipe.adds_noise:
            raise ValueError(f"method '{self.method}' adds no noise, so no epsilon describes it")
        if recipe.fixed_k is not None and not recipe.synthetic:
            raise ValueError(f"method '{self.method}' groups nobody, and a study needs groups of k")
        if recipe.synthetic and self.matched:
            raise ValueError(
                f"rows of method '{self.method}' stand for nobody, so people cannot be matched: write "
                f"`join: {Join.SIDE_BY_SIDE}`"
            )
        if self.join is Join.SIDE_BY_SIDE and not recipe.synthetic:
            raise ValueError(
                f"rows of method '{self.method}' stand for people, and must be matched by an identifier"
            )

    @cached_property
    def id(self) -> str:
        return sha256(self.canonical())

    def __copy__(self) -> Self:
        """Copy without the id: a copy is made to be changed."""
        copied = super().__copy__()
        copied.__dict__.pop("id", None)
        return copied

    @property
    def keys(self) -> dict[str, str]:
        """The key that each owner signs with."""
        return {entry.owner: entry.key for entry in self.roster}

    @property
    def due(self) -> datetime:
        return moment(self.deadline)

    @property
    def vertical(self) -> bool:
        return self.fragmentation is Fragmentation.VERTICAL

    @property
    def matched(self) -> bool:
        """Rows of one person are found by an identifier and joined."""
        return self.vertical and self.join is not Join.SIDE_BY_SIDE

    @property
    def sealed(self) -> bool:
        """Parts are encrypted until all owners have delivered. Only then does each give its key, and is charged."""
        return self.protocol >= 3

    @property
    def blinded(self) -> bool:
        return self.join is Join.BLINDED_IDS

    def other(self, owner: str) -> Rostered:
        """The other one of two owners."""
        return next(entry for entry in self.roster if entry.owner != owner)

    def entry(self, owner: str) -> Rostered | None:
        return next((entry for entry in self.roster if entry.owner == owner), None)

    def asked_of(self, owner: str) -> tuple[StudyAttribute, ...]:
        """The attributes that this owner is asked for, in the order of the study."""
        entry = self.entry(owner)
        if entry is None or entry.attributes is None:
            return self.attributes
        return tuple(attribute for attribute in self.attributes if attribute.name in entry.attributes)

    def schema_for(self, owner: str) -> Schema:
        return Schema(attributes=tuple(attribute.as_attribute() for attribute in self.asked_of(owner)))

    def share(self, owner: str) -> Fraction:
        """ε of one owner: the same for all (Del Vasto-Terrientes et al., Theorem 2), or split over them (Theorem 1)."""
        total = parse_epsilon(self.epsilon)
        if not self.vertical:
            return total
        weights = {entry.owner: parse_epsilon(entry.weight, "weight") for entry in self.roster}
        return total * weights[owner] / sum(weights.values())

    def charge(self, owner: str) -> Fraction:
        """What this owner's ledger pays and its certificate says: some methods cost the whole ε for each attribute.

        The one place that owner, aggregator and reader of a certificate ask.
        """
        share = self.share(owner)
        if self.method in WITHDRAWN:
            return share
        return get_method(self.method).cost(share, len(self.asked_of(owner)))

    @property
    def part_k(self) -> int:
        """The k on each owner's certificate: the study's, or the method's own where k plays no part."""
        return self.k if self.method in WITHDRAWN else get_method(self.method).fixed_k or self.k
