"""Survey weights: what a weight column must be, and the public totals that the weights of synthetic rows are raked to.

    totals: {sex: {man: 5100000, woman: 5300000}, region: {north: 4400000, south: 6000000}}

or only how many there are: `totals: 10400000`. Totals are known without the table: a census, a register.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import Field, model_validator

from coterie.errors import SchemaError, nearest
from coterie.schema.domain import AttributeType, Domain, Frozen, Source

if TYPE_CHECKING:
    from coterie.schema.attributes import Attribute

AGREE = 0.001  # published totals are rounded: sums that differ by more contradict each other
_EXAMPLE = "{sex: {man: 5100000, woman: 5300000}}, or one number"


class Totals(Frozen):
    """How many people there are: in all, or by the labels of some attributes."""

    population: float
    by: dict[str, dict[str, float]] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _written(cls, content: Any) -> Any:
        """One number, or numbers by attribute and label."""
        if not isinstance(content, Mapping):
            return {"population": _count(content)}
        if not content or not all(isinstance(counts, Mapping) and counts for counts in content.values()):
            raise ValueError(f"these are numbers by attribute and label: {_EXAMPLE}")
        by = {
            str(name): {str(label): _count(number) for label, number in counts.items()}
            for name, counts in content.items()
        }
        sums = {name: math.fsum(counts.values()) for name, counts in by.items()}
        first = next(iter(sums))
        for name, total in sums.items():
            if abs(total - sums[first]) > AGREE * sums[first]:
                raise ValueError(
                    f"those of '{first}' and of '{name}' add up to different populations; both must count the same people"
                )
        return {"population": sums[first], "by": by}

    @property
    def attributes(self) -> tuple[str, ...]:
        return tuple(self.by)

    def of(self, attribute: Attribute, labels: Sequence[str]) -> list[float]:
        """The total of each label, which may be named by its code or in words."""
        written, codes = self.by[attribute.name], attribute.codes_by_words
        counts = {label if label in labels else codes.get(label, label): n for label, n in written.items()}
        for label in counts:
            if label not in labels:
                raise SchemaError(
                    f"totals: '{attribute.name}' has no label '{label}'.", nearest(label, list(labels))
                )
        for label in labels:
            if label not in counts:
                raise SchemaError(
                    f"totals: '{attribute.name}' has a label '{label}' without a total.",
                    "Give every label a number above 0, or take a label that nobody has out of the categories.",
                )
        return [counts[label] for label in labels]

    def document(self) -> Any:
        """The totals as a schema writes them."""
        if not self.by:
            return _plain(self.population)
        return {name: {label: _plain(n) for label, n in counts.items()} for name, counts in self.by.items()}


def _count(value: object) -> float:
    try:
        number = math.nan if isinstance(value, bool) else float(str(value).replace("_", ""))
    except ValueError:
        number = math.nan
    if not 0 < number < 1e15:
        raise ValueError(f"a total is a number of people, above 0: {_EXAMPLE}")
    return number


def _plain(number: float) -> int | float:
    return int(number) if number.is_integer() else number


def check_weight(kind: AttributeType, domain: Domain | None, *, gaps: bool) -> None:
    """What a column of weights is: a number above 0 with declared bounds, and no row without one."""
    if not kind.has_zero:
        raise ValueError("a weight is a number: write `type: continuous` or `type: integer`")
    if gaps:
        raise ValueError("every row has a weight: `missing: error` is the only choice")
    if domain is not None and domain.source is Source.DP:
        raise ValueError("the bounds of a weight are declared, not searched for")
    if domain is not None and domain.lower <= 0:
        raise ValueError(
            "a weight is above 0, and so is its lower bound; the upper one is the largest weight possible"
        )


def check_weights(attributes: Sequence[Attribute], totals: Totals | None) -> None:
    """At most one weight, and totals of labels that are declared."""
    named = [attribute for attribute in attributes if attribute.role == "weight"]
    if len(named) > 1:
        raise ValueError(
            f"'{named[0].name}' and '{named[1].name}' both have `role: weight`; a table has one weight"
        )
    if totals is None:
        return
    if not named:
        raise ValueError("totals: no attribute has `role: weight`, which would add up to them")
    if named[0].type is not AttributeType.CONTINUOUS:
        raise ValueError(
            f"totals: weights that add up to them are no whole numbers; write `type: continuous` for '{named[0].name}'"
        )
    described = {attribute.name: attribute for attribute in attributes}
    for name in totals.attributes:
        attribute = described.get(name)
        if attribute is None:
            raise ValueError(f"totals: no attribute is named '{name}'")
        if attribute.type.ranged or attribute.role != "protect":
            raise ValueError(f"totals: '{name}' is not a protected attribute with labels")
        labels = attribute.categories.labels if attribute.categories else None
        if attribute.type is AttributeType.BOOLEAN:
            labels = ("false", "true")
        if labels is not None:
            try:
                totals.of(attribute, labels)
            except SchemaError as error:
                raise ValueError(f"{error.problem.rstrip('.')}. {error.advice.rstrip('.')}") from None
