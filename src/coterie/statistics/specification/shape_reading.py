"""`shape:` of a quantile, as written in a specification: stated quantiles, a distribution, values, or a public sample."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from coterie.errors import DataError, ParameterError, nearest
from coterie.schema.attributes import Schema
from coterie.statistics.releasing.records import Kinds, open_records, typed
from coterie.statistics.specification.asked_values import asked_texts
from coterie.statistics.specification.fields import members, number_of, of_group, positive_of
from coterie.statistics.specification.filters import Filter
from coterie.statistics.specification.ranges import Range
from coterie.statistics.specification.shape import (
    DISTRIBUTIONS,
    Shape,
    from_quantiles,
    from_sample,
    from_values,
)

_FORMS = ("quantiles", "distribution", "values", "sample")
_ENTRIES = (*_FORMS, "mean", "std", "step")
_ADVICE = (
    "Write shape: {quantiles: {0.25: 9, 0.5: 15, 0.75: 24}}, {distribution: gamma, mean: 16, std: 11}, "
    "{values: {0: 0.4, 1: 0.6}} or {sample: FILE}."
)


@dataclass
class ShapeReader:
    """Reads shapes of one specification; remembers which files they were taken from."""

    schema: Schema
    folder: Path
    samples: list[str] = field(default_factory=list)

    def read(
        self, content: object, label: str, column: str, chosen: Filter, expected: float | None, where: str
    ) -> Shape:
        """`label` is the group's: a mapping from labels gives each group its own shape."""
        if isinstance(content, dict) and label and not set(content) & set(_ENTRIES):
            content = of_group(content, label, where)
        place = f"{where}, shape"
        if not isinstance(content, dict):
            raise ParameterError(f"{place}: nothing is said about it.", _ADVICE)
        members(content, _ENTRIES, place)
        if sum(form in content for form in _FORMS) != 1:
            raise ParameterError(f"{place}: needs exactly one of {', '.join(_FORMS)}.", _ADVICE)
        if "distribution" not in content and ("mean" in content or "std" in content):
            raise ParameterError(f"{place}: `mean` and `std` belong to a `distribution`.", _ADVICE)
        bounds = self.schema[column].bounds()
        domain = Range(bounds.lower, bounds.upper)
        if "quantiles" in content:
            shape = from_quantiles(_quantiles(content["quantiles"], domain, place), domain)
        elif "values" in content:
            shape = from_values(_shares(content["values"], domain, place))
        elif "sample" in content:
            shape = self._sample(content["sample"], column, chosen, domain, place)
        else:
            shape = _distribution(content, expected, place)
        return replace(shape, step=positive_of(content.get("step"), f"{place}, step"))

    def _sample(self, content: object, column: str, chosen: Filter, domain: Range, place: str) -> Shape:
        """The column of a public file, filtered as the data will be."""
        if not isinstance(content, str):
            raise ParameterError(f"{place}: `sample` names a file.", "Write sample: last-year.csv.")
        if not (self.folder / content).is_file():
            raise DataError(
                f"{place}: there is no file {content}.",
                "Check its path, seen from the specification's folder.",
            )
        records = open_records(self.folder / content)
        asked = {name: asked_texts(condition, self.schema[name]) for name, condition in chosen.conditions}
        people = typed(records.read(self.schema, {column, *asked}), self.schema, {column}, asked)
        inside = Kinds.of(people, [chosen], self.schema).mask(chosen)
        values = np.clip(people.numbers(column)[inside], domain.lower, domain.upper)
        self.samples.append(records.identity)
        if len(values) < 2:
            raise ParameterError(
                f"{place}: the sample has fewer than two numbers for this group.",
                "Give another sample, or say `quantiles` instead.",
            )
        return from_sample(values)


def _quantiles(content: object, domain: Range, place: str) -> dict[float, float]:
    known = _numbers(content, f"{place}, quantiles", "Write quantiles: {0.25: 9, 0.5: 15, 0.75: 24}.")
    if not all(0 <= p <= 1 for p in known) or not any(0 < p < 1 for p in known):
        raise ParameterError(f"{place}: quantiles lie between 0 and 1.", "At least one of them inside.")
    ordered = [known[p] for p in sorted(known)]
    if ordered != sorted(ordered) or ordered[0] not in domain or ordered[-1] not in domain:
        raise ParameterError(
            f"{place}: quantiles must rise, and stay between {domain.lower:g} and {domain.upper:g}.",
            "Correct them, or the schema's domain.",
        )
    return known


def _shares(content: object, domain: Range, place: str) -> dict[float, float]:
    shares = _numbers(content, f"{place}, values", "Write values: {0: 0.4, 1: 0.6}.")
    if any(value not in domain for value in shares):
        raise ParameterError(f"{place}: a value lies outside the domain.", "Correct it, or the domain.")
    if min(shares.values()) < 0 or sum(shares.values()) <= 0:
        raise ParameterError(f"{place}: shares are not negative, and not all zero.", "Correct them.")
    return shares


def _distribution(content: Mapping[str, Any], expected: float | None, place: str) -> Shape:
    name = str(content["distribution"])
    known = (*DISTRIBUTIONS, "exponential")
    if name not in known:
        raise ParameterError(f"{place}: there is no distribution '{name}'.", nearest(name, known))
    movable = name in ("normal", "uniform")  # `expected` says where it lies, so the mean may be left out
    given = content.get("mean", expected if movable else None)
    if given is None:
        raise ParameterError(f"{place}: the distribution has no mean.", "Write mean: … beside it.")
    mean = number_of(given, f"{place}, mean")
    std = mean if name == "exponential" else positive_of(content.get("std"), f"{place}, std")
    if std is None:
        raise ParameterError(f"{place}: the distribution has no spread.", "Write std: … beside it.")
    if not movable and mean <= 0:
        raise ParameterError(f"{place}: the mean of a {name} distribution is above 0.", "Correct it.")
    if name == "exponential" and "std" in content:
        raise ParameterError(f"{place}: an exponential distribution has a mean only.", "Drop `std`.")
    return DISTRIBUTIONS["gamma" if name == "exponential" else name](mean, std)


def _numbers(content: object, place: str, advice: str) -> dict[float, float]:
    if not isinstance(content, dict) or not content:
        raise ParameterError(f"{place} is not a mapping of numbers.", advice)
    return {number_of(key, place): number_of(value, place) for key, value in content.items()}
