"""Recoding: a public step before anything else, declared per attribute and applied to every cell alone.

    recode: {top: 85, bottom: 15}              numbers, dates: what lies beyond counts as the limit
    recode: {round_to: 5}                      numbers: the nearest multiple; dates: month, quarter or year
    recode: {bands: [0, 15, 30, 45, 60]}       numbers and dates become ordered labels: '0 to 14', '15 to 29', …
    recode: {labels: {married: partnered, cohabiting: partnered}}
    recode: {level: 2}                         labels of a taxonomy: deeper ones are named by their ancestor there

`type`, `domain` and `categories` of an attribute are those *after* recoding, so methods, statistics, measures and proofs
know nothing else. `in_file` is the attribute as the file has it: only who reads cells or writes the schema asks for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Self, cast

from pydantic import BeforeValidator, PlainSerializer, PrivateAttr, model_validator

from coterie.errors import enumerated
from coterie.schema.codebook import Codebook, pairs_of
from coterie.schema.domain import AttributeType, Frozen, as_number
from coterie.schema.recoded import MOMENTS, after, shown

if TYPE_CHECKING:
    from coterie.schema.attributes import Attribute


def _limit(value: object) -> float | None:
    return None if value is None else as_number(value)


def _edges(value: object) -> tuple[float, ...] | None:
    if value is not None and not isinstance(value, list | tuple):
        raise ValueError("bands is a list of the numbers at which a band begins, such as [0, 15, 30]")
    return None if value is None else tuple(as_number(edge) for edge in value)


def _width(value: object) -> object:
    if isinstance(value, str) and value.isalpha():
        return value
    number = _limit(value)
    if number is not None and number <= 0:
        raise ValueError("round_to is a number above 0, such as 5")
    return number


def _level(value: object) -> object:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        raise ValueError("level is a whole number from 1 up; 1 stands just below the root of the taxonomy")
    return value


class Recoding(Frozen):
    """How the values of one attribute are made coarser. Every entry is public, and none may come from the data."""

    top: Annotated[float | None, BeforeValidator(_limit)] = None
    bottom: Annotated[float | None, BeforeValidator(_limit)] = None
    round_to: Annotated[float | str | None, BeforeValidator(_width)] = None
    bands: Annotated[tuple[float, ...] | None, BeforeValidator(_edges)] = None
    labels: Annotated[
        tuple[tuple[str, str], ...] | None,
        BeforeValidator(pairs_of),
        PlainSerializer(lambda value: None if value is None else dict(value)),
    ] = None
    level: Annotated[int | None, BeforeValidator(_level)] = None

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        limits = self.top is not None or self.bottom is not None or self.round_to is not None
        ways = [limits, *(entry is not None for entry in (self.bands, self.labels, self.level))]
        if sum(ways) != 1:
            raise ValueError(
                "recode names one way: top and bottom (with or without round_to), round_to, bands, labels or level"
            )
        if self.top is not None and self.bottom is not None and self.top <= self.bottom:
            raise ValueError("top is not above bottom; swap them")
        if self.bands is not None and (
            len(self.bands) < 1 or any(b <= a for a, b in zip(self.bands, self.bands[1:], strict=False))
        ):
            raise ValueError("bands must rise from one number to the next, such as [0, 15, 30]")
        if self.labels is not None and not (self.labels and all(new.strip() for _, new in self.labels)):
            raise ValueError("recode.labels gives old labels their new one, such as {married: partnered}")
        return self

    def written(self, kind: AttributeType) -> dict[str, Any]:
        """The recoding as a schema file has it: whole numbers without a point, moments as such."""

        def plain(value: Any) -> Any:
            if isinstance(value, tuple):
                return [plain(edge) for edge in value]
            if not isinstance(value, float):
                return value
            return shown(value, kind) if kind in MOMENTS else int(value) if value == int(value) else value

        return {name: plain(value) for name, value in self.model_dump(exclude_none=True).items()}

    def in_words(self, kind: AttributeType, *, labels_public: bool = True) -> str:
        """What is done, for a certificate; `kind` is the type in the file. Nothing here comes from the data."""
        if self.bands is not None:
            return f"in bands that begin at {enumerated([shown(edge, kind) for edge in self.bands])}"
        if self.level is not None:
            return f"labels deeper than level {self.level} of the taxonomy are named by their ancestor there"
        if self.labels is not None:
            merged: dict[str, list[str]] = {}
            for old, new in self.labels:
                merged.setdefault(new, []).append(old)
            told = [f"{enumerated(olds)} as {new}" for new, olds in merged.items()]
            return "; ".join(told) if labels_public else "labels merged"
        parts = []
        if self.bottom is not None:
            parts.append(f"values below {shown(self.bottom, kind)} as {shown(self.bottom, kind)}")
        if self.top is not None:
            parts.append(f"values above {shown(self.top, kind)} as {shown(self.top, kind)}")
        if isinstance(self.round_to, str):
            parts.append(f"moments as the beginning of their {self.round_to}")
        elif self.round_to is not None:
            parts.append(f"rounded to multiples of {shown(self.round_to, AttributeType.CONTINUOUS)}")
        return "; ".join(parts)


class Recodable(Codebook):
    """The part of an attribute that says how it is recoded."""

    recode: Recoding | None = None
    _in_file: Any = PrivateAttr(default=None)  # the attribute before recoding, where it was applied

    @property
    def is_recoded(self) -> bool:
        return self._in_file is not None

    @property
    def in_file(self) -> Self:
        """The attribute as the file has it."""
        return cast(Self, self._in_file or self)

    @property
    def as_released(self) -> Self:
        """The attribute of a table whose cells are recoded already: a release."""
        if self._in_file is None:
            return self
        relabelled = self.recode is not None and (self.recode.bands or self.recode.labels)
        marks = {"missing_marks": ()} if relabelled else {}
        plain = self.model_copy(update={"recode": None, **marks})
        plain._in_file = None
        return plain

    @property
    def recoded_in_words(self) -> str | None:
        """What recoding does, or nothing where there is none."""
        if self.recode is None:
            return None
        before = cast("Attribute", self.in_file)
        public = before.categories is None or not before.categories.leaks
        return self.recode.in_words(before.type, labels_public=public)

    def amended(self, **update: Any) -> Self:
        """The same with other entries of the description in the file, recoded as before."""
        if self._in_file is None:
            return self.model_copy(update=update)
        made = self._in_file.model_copy(update={**update, "recode": self.recode})
        apply_recoding(made)
        return cast(Self, made)


def apply_recoding(attribute: Attribute) -> None:
    """Make `type`, `domain` and `categories` those after recoding, once. The attribute is just being made."""
    recode = attribute.recode
    if recode is None or attribute.is_recoded:
        return
    before = attribute.model_copy(update={"recode": None})
    attribute.__dict__.update(after(before, recode))
    attribute.__dict__.pop("codes_by_words", None)  # cached for the codes before
    attribute._in_file = before
