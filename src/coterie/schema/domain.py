"""What is public about a column: its type, the range of its numbers or its labels, and where that knowledge comes from."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from enum import Enum, StrEnum
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PrivateAttr,
    model_validator,
)

from coterie.errors import ParameterError
from coterie.schema import exact
from coterie.schema.exact import parse_epsilon


class AttributeType(StrEnum):
    CONTINUOUS = "continuous"
    INTEGER = "integer"
    DATE = "date"  # a number of days in a declared range
    TIMESTAMP = "timestamp"  # a number of seconds in a declared range
    ORDINAL = "ordinal"  # categories with an order: their ranks are numbers
    CATEGORICAL = "categorical"
    BOOLEAN = "boolean"

    def __init__(self, name: str) -> None:
        # Whether 0 means nothing of it: a date or a rank counts from a place that somebody chose.
        self.has_zero = name in ("continuous", "integer")
        self.ranged = self.has_zero or name in ("date", "timestamp")  # the domain has two bounds
        self.labelled = name in ("categorical", "boolean")  # labels without a number of their own


# Bounds as numbers: plain ones, dates as days since 1970-01-01, timestamps as seconds since then (UTC).

# Sums over a billion records of this size stay finite in double precision.
LARGEST_BOUND = 1e290
_DAY_ONE = date(1970, 1, 1)


def as_number(value: object) -> float:
    """A bound written as a number, a date or a timestamp (ISO text or Python value)."""
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    if isinstance(value, date):
        return float((value - _DAY_ONE).days)
    if isinstance(value, bool) or value is None:
        raise ValueError("a bound must be a number or a date")
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return as_number(_moment(str(value)))
    if not math.isfinite(number) or abs(number) > LARGEST_BOUND:
        raise ValueError(f"a bound must be finite and below {exact.number(LARGEST_BOUND)}")
    return number + 0.0  # -0.0 becomes 0.0


def _moment(text: str) -> date | datetime:
    try:
        return date.fromisoformat(text) if len(text) == 10 else datetime.fromisoformat(text)
    except ValueError:
        raise ValueError("a bound must be a number, or a date such as 2026-01-31") from None


def typed_bound(value: object, *, timestamp: bool) -> object:
    """A bound of a date or a timestamp attribute as the right kind of moment: 2000-01-01 can mean either."""
    moment = _moment(value) if isinstance(value, str) and not reads_as_number(value) else value
    if timestamp and isinstance(moment, date) and not isinstance(moment, datetime):
        return datetime(moment.year, moment.month, moment.day, tzinfo=UTC)
    if not timestamp and isinstance(moment, datetime):
        raise ValueError("the bound of a date is a date such as 2026-01-31, without a time")
    return moment


def as_text(value: object) -> str:
    """A label or a code: YAML reads yes, no and 1 as other things than text."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def as_texts(value: object) -> object:
    return tuple(map(as_text, value)) if isinstance(value, list | tuple) else value


def reads_as_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def as_date(days: float) -> str:
    return (_DAY_ONE + timedelta(days=int(days))).isoformat()


def as_timestamp(seconds: float) -> str:
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)).isoformat()


# Where what should be public comes from: declared, or taken from the data; and why it is public all the same.

_LONGEST_REASON = 500


class Source(StrEnum):
    DECLARED = "declared"  # public knowledge, written by the user
    DATA = "data"  # all of it is a function of the data: leaks, and the certificate says so
    DP = "dp"  # found inside a wide public range by a differentially private quantile, paid from ε


def _reasons(value: object) -> object:
    """One sentence for everything, or one for each part (a bound, a label)."""
    if isinstance(value, Mapping):
        value = tuple(value.items())
    if isinstance(value, tuple) and value:
        return tuple((as_text(part), _reason(text)) for part, text in value)
    return None if value is None else _reason(value)


def _reason(text: object) -> str:
    # A dash or an invisible sign is no reason.
    if not isinstance(text, str) or not any(map(str.isalpha, text)):
        raise ValueError("say where anybody can read it, such as 'the form allows 0 to 120'")
    if len(text) > _LONGEST_REASON:
        raise ValueError(f"a reason has at most {_LONGEST_REASON} characters")
    return " ".join(text.split())


Reasons = Annotated[
    str | tuple[tuple[str, str], ...] | None,
    BeforeValidator(_reasons),
    PlainSerializer(lambda value: dict(value) if isinstance(value, tuple) else value),
]


class Frozen(BaseModel):
    """A model that never changes and refuses unknown entries: what is not understood is not agreed to."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """What was said, not what was left at its default."""
        for name, value in super().__repr_args__():
            usual = type(self).model_fields.get(name or "")
            if usual is None or value != usual.default:
                yield name, value.value if isinstance(value, Enum) else value

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with other entries. What follows from the entries (`cached_property`) is computed anew."""
        copied = super().model_copy(update=update, deep=deep)
        for name in copied.__dict__.keys() - type(self).model_fields.keys():
            del copied.__dict__[name]
        return copied


class Public(Frozen):
    """What should be public knowledge. Where a value came from the data, it stays so through every edit.

    Only a stated reason (`public_because`) makes it public; take the reason away, and it is from the data again. A reason
    for labels also covers the order in which they are listed.
    """

    public_because: Reasons = None

    def unexplained(self, taken: tuple[str, ...]) -> tuple[str, ...]:
        """The parts for which nobody said why they are public."""
        because = self.public_because
        if isinstance(because, tuple):
            known = {part for part, text in because if any(map(str.isalpha, text))}
            return tuple(part for part in taken if part not in known)
        return () if because and any(map(str.isalpha, because)) else taken

    @property
    def reasons(self) -> str | dict[str, str] | None:
        """Why it is public, as the certificate repeats it."""
        because = self.public_because
        return dict(because) if isinstance(because, tuple) else because

    def notes(self, name: str) -> list[str]:
        """The same as sentences about the attribute of this name."""
        because = self.public_because
        each = because if isinstance(because, tuple) else (("", because),) if because else ()
        return [f"{name}{part and f' ({part})'}: public because {text}" for part, text in each]


class Parameters(Public):
    """Where method, ε and k come from, if somebody chose them by comparing results on these very data."""

    source: Literal[Source.DECLARED, Source.DATA] = Source.DECLARED

    @property
    def leaks(self) -> bool:
        return self.source == Source.DATA and bool(self.unexplained(("parameters",)))


class Search(StrEnum):
    """Which bounds a `source: dp` domain looks for; the other one is public as written."""

    BOTH = "both"
    LOWER = "lower"
    UPPER = "upper"


class Order(StrEnum):
    """The order by which categories are ranked, where a method ranks them."""

    MARGINALITY = "marginality"  # distance to the most marginal label (Sánchez et al. 2016, §3.4)
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
    """The public range of an attribute, as numbers (dates: days since 1970, timestamps: seconds).

    Parameters
    ----------
    lower, upper : number, date or datetime
        The smallest and largest value that anybody could name without having seen the table.
    source : {"declared", "dp", "data"}, default "declared"
        Whether somebody said so, private quantiles found it, or it was taken from the data. The last leaks the data.
    public_because : str, optional
        Why the bounds are public, such as "the form allows 0 to 120".
    search : optional
        Where private quantiles look, with `source="dp"`.
    share : optional
        The part of the attribute's ε that they cost.

    Examples
    --------
    >>> import coterie
    >>> coterie.Domain(lower=0, upper=120)
    Domain(lower=0.0, upper=120.0)
    """

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

    @cached_property
    def width(self) -> Fraction:
        """Δ, exactly: the difference of the two doubles."""
        return Fraction(self.upper) - Fraction(self.lower)

    @cached_property
    def middle(self) -> float:
        return self.lower + (self.upper - self.lower) / 2

    def limits(self, step: float | None) -> tuple[float, float]:
        """The smallest and the largest value that may be released: whole multiples of the step, where any lie inside."""
        found = None if step is None else multiples(self.lower, self.upper, step)
        if step is None or found is None:
            return self.lower, self.upper
        return found[0] / round(1 / step), found[1] / round(1 / step)


def multiples(lower: float, upper: float, step: float) -> tuple[float, float] | None:
    """The first and the last whole multiple of `step` (1, 0.1, 0.01 …) from `lower` to `upper`; None where there is none.

    A decimal such as 1.1 is the double nearest to 11/10, so that division, not multiplication, decides what lies inside.
    """
    per_unit = round(1 / step)
    first, last = float(round(lower * per_unit)), float(round(upper * per_unit))
    first += first / per_unit < lower
    last -= last / per_unit > upper
    return (first, last) if first <= last else None


class Categories(Public):
    """The public labels of an attribute: a list, or a taxonomy (a file, or `adult:occupation`)."""

    labels: Annotated[tuple[str, ...] | None, BeforeValidator(as_texts)] = None
    taxonomy: str | None = None
    source: Source = Source.DECLARED
    order: Order = Order.MARGINALITY
    most: int = Field(default=1000, ge=2)  # more labels than this are probably not categories
    # the labels that came from the data; `source: data` means all
    from_data: Annotated[tuple[str, ...] | None, BeforeValidator(as_texts)] = None
    _level: int = PrivateAttr(default=0)  # at which the taxonomy is cut; 0: not at all

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
    def level(self) -> int:
        return self._level

    def cut_at(self, level: int) -> Self:
        """The same taxonomy without what lies deeper than this level."""
        cut = self.model_copy()
        cut._level = level
        return cut

    @property
    def taken(self) -> tuple[str, ...]:
        """The labels (or the taxonomy) that came from the data, whatever was said about them since."""
        parts = self.labels if self.labels is not None else (self.taxonomy or "",)
        named = self.from_data or ()
        # One that is not listed any more was retyped, and nobody can say which of the others it became.
        return parts if self.source == Source.DATA or not set(named) <= set(parts) else named

    @property
    def leaks(self) -> tuple[str, ...]:
        """The labels from the data without a reason why they are public all the same."""
        return self.unexplained(self.taken)
