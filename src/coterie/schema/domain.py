"""What is public about a column: the range of its numbers, or its labels."""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from coterie.errors import ParameterError
from coterie.schema.exact import parse_epsilon
from coterie.schema.moments import as_number
from coterie.schema.origin import Public, Source


class Search(StrEnum):
    """Which bounds a `source: dp` domain looks for; the other one is public as written."""

    BOTH = "both"
    LOWER = "lower"
    UPPER = "upper"


class Order(StrEnum):
    """By which order categories are ranked where a method ranks them."""

    MARGINALITY = (
        "marginality"  # distance to the most marginal label of the domain (Sánchez et al. 2016, §3.4)
    )
    PATH = "path"  # a short walk through the domain: least noise for the proved variant
    LISTED = "listed"  # as written in the schema
    FREQUENCY = "frequency"  # by frequency in the data (Del Vasto-Terrientes et al., §5.1): discloses it


_PRICE_OF_BOUNDS = Fraction(1, 5)


def _exact_share(value: object) -> Fraction | None:
    return None if value is None else exactly(value, "share")


def exactly(value: object, name: str) -> Fraction:
    try:
        return parse_epsilon(value, name)  # type: ignore[arg-type]
    except ParameterError as error:
        raise ValueError(error.problem) from None


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
