"""YAML or a mapping → Specification. Every fault names its place and says what to write instead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from coterie.errors import DataError, ParameterError, SchemaError, nearest, reading
from coterie.schema.attributes import Schema
from coterie.schema.document import parse_yaml
from coterie.schema.exact import number, parse_epsilon
from coterie.statistics.prediction.derivation import with_least_spreads
from coterie.statistics.releasing.records import Kinds, open_records, typed
from coterie.statistics.specification.asked_values import asked_values, one_spelling
from coterie.statistics.specification.calculus import Range
from coterie.statistics.specification.checking import check, check_asked_values, check_expected
from coterie.statistics.specification.entries import expand, mean_weight, of_group, weighted
from coterie.statistics.specification.equations import formula_of, names_in, parse
from coterie.statistics.specification.fields import (
    fairness_of,
    floor_of,
    members,
    name_of,
    number_of,
    one_of,
    pilot_of,
    positive_integer,
    positive_of,
)
from coterie.statistics.specification.filters import Filter, read_filter
from coterie.statistics.specification.shape import (
    DISTRIBUTIONS,
    ENTRIES,
    FORMS,
    ValueShape,
    from_quantiles,
    from_sample,
    from_values,
    of_distribution,
)
from coterie.statistics.specification.specification import (
    Equation,
    ErrorSummary,
    Neighbours,
    PrivacyBudget,
    RelativeTo,
    Specification,
    Statistic,
    StatisticKind,
)

VERSION = 1
_LEAST = Fraction(1, 10**12)  # ε; noise of a smaller one is wider than whole numbers of a file can be
_TOP = (
    *(
        "coterie_statistics",
        "release",
        "population",
        "schema",
        "records",
        "neighbours",
        "budget",
        "floor",
        "fairness",
    ),
    *("relative_to", "statistics", "equations", "disjoint", "pilot", "expected_from"),
    *("weighted", "mean_weight"),
)
_EQUATION = ("formula", "ready", "of", "weight", "tolerance", "summary", "guard")


def read_specification(source: str | Path | Mapping[str, Any], schema: Schema | None = None) -> Specification:
    """Read what is to be published.

    Parameters
    ----------
    source : str, Path or dict
        A YAML file (a path), YAML text (with a line break), or the mapping itself.
    schema : Schema, optional
        In place of the one that the specification names.

    Returns
    -------
    Specification

    Raises
    ------
    ParameterError
        Where an entry is missing, unknown or impossible.

    Examples
    --------
    >>> import coterie
    >>> specification = {
    ...     "neighbours": "add-remove",
    ...     "budget": {"epsilon": 1},
    ...     "statistics": {"average": {"kind": "mean", "of": "rent", "expected": 300}},
    ... }
    >>> coterie.statistics.read_specification(specification, coterie.demo_schema())["average"].kind.value
    'mean'
    """
    folder = Path()
    if isinstance(source, Mapping):
        document: Any = dict(source)
    else:
        if isinstance(source, Path) or "\n" not in source:
            folder = Path(source).parent
            text = _file_text(Path(source))
        else:
            text = source
        document = parse_yaml(text, "The specification", ParameterError)
    if not isinstance(document, dict) or not isinstance(document.get("statistics"), dict):
        raise ParameterError(
            "This is not a statistics specification.",
            "It needs mappings `budget:` and `statistics:`; see docs/how-to/publish-statistics.md.",
        )
    if not {"epsilon", "rho", "delta"}.isdisjoint(document):
        raise ParameterError("ε, ρ and δ stand under `budget`.", "Write budget: {epsilon: 1}.")
    members(document, _TOP, "The specification")
    if document.get("coterie_statistics", VERSION) != VERSION:
        raise ParameterError(
            "The specification has another version.", f"This Coterie reads version {VERSION}."
        )
    return _build(document, schema or _schema(document, folder), folder)


def _build(document: dict[str, Any], schema: Schema, folder: Path) -> Specification:
    shapes = ShapeReader(schema, folder)
    neighbours = _neighbours(document.get("neighbours"), schema)
    by_weight = weighted(document.get("weighted", False), "The specification")
    statistics, complete = expand(document["statistics"], schema, shapes.read, by_weight)
    records = positive_integer(document.get("records"), "`records`")
    equations = document.get("equations") or {}
    if not isinstance(equations, dict):
        raise ParameterError("`equations` must be a mapping from names to formulas.", "Write name: formula.")
    specification = Specification(
        release=name_of(document, "release", "statistics"),
        population=name_of(document, "population", "default"),
        schema=schema,
        neighbours=neighbours,
        budget=_with_thresholds(_budget(document.get("budget")), statistics),
        statistics=statistics,
        equations=tuple(_equation(str(name), content) for name, content in equations.items()),
        records=records,
        mean_weight=mean_weight(document.get("mean_weight"), schema, records),
        floor=floor_of(document.get("floor")),
        fairness=fairness_of(document.get("fairness")),
        relative_to=one_of(document.get("relative_to", "scale"), RelativeTo, "`relative_to`"),
        disjoint=_disjoint(document.get("disjoint") or [], {s.name: s.where for s in statistics}, schema),
        complete=complete,
        pilot=pilot_of(document.get("pilot")),
        expected_from=str(document.get("expected_from", "the publisher's expectation")),
        samples=tuple(sorted(set(shapes.samples))),
        document=document,
    )
    check(specification)
    check_asked_values(specification)
    specification = with_least_spreads(specification)
    for statistic in specification.statistics:
        check_expected(specification, statistic)
    return specification


def _neighbours(content: object, schema: Schema) -> Neighbours:
    if schema.unit is None:
        return one_of(content, Neighbours, "`neighbours`")
    if content not in (None, Neighbours.EXCHANGE.value):
        raise ParameterError(
            f"The schema names a unit, so neighbours exchange one {schema.unit.word} for any other, or for none.",
            "Leave out `neighbours`, or write neighbours: exchange.",
        )
    return Neighbours.EXCHANGE


def _budget(content: object) -> PrivacyBudget:
    advice = "Write budget: {epsilon: 1}, {rho: 0.1} or {epsilon: 1, delta: 1e-6}."
    if not isinstance(content, dict) or not content:
        raise ParameterError("The specification has no budget.", advice)
    members(content, ("epsilon", "rho", "delta"), "`budget`")
    numbers = {key: parse_epsilon(value, key) for key, value in content.items()}
    if set(numbers) not in ({"epsilon"}, {"rho"}, {"epsilon", "delta"}):
        raise ParameterError("The budget mixes units, or has a delta without an epsilon.", advice)
    if numbers.get("epsilon", 1) < _LEAST or numbers.get("rho", 1) < _LEAST**2:
        raise ParameterError("The budget is so small that every figure would be noise alone.", advice)
    if numbers.get("delta", Fraction(0)) >= Fraction(1, 10):
        raise ParameterError("delta is too large to promise anything.", "Use less than 1/records, e.g. 1e-6.")
    return PrivacyBudget(numbers.get("epsilon"), numbers.get("rho"), numbers.get("delta"))


def _with_thresholds(budget: PrivacyBudget, statistics: tuple[Statistic, ...]) -> PrivacyBudget:
    """Half of δ is for the thresholds of private keys, where there are any; the noise has the other half."""
    keys = sum(statistic.kind is StatisticKind.KEYS for statistic in statistics)
    return (
        replace(budget, keys=keys, key_delta=budget.delta / (2 * keys)) if keys and budget.delta else budget
    )


def _equation(name: str, content: object) -> Equation:
    where = f"Equation '{name}'"
    entry = {"formula": content} if isinstance(content, str) else content
    if not isinstance(entry, dict):
        raise ParameterError(f"{where} has no formula.", "Write a formula, or ready: and of:.")
    members(entry, _EQUATION, where)
    if ("formula" in entry) == ("ready" in entry):
        raise ParameterError(f"{where} needs either `formula` or `ready`.", "Give one of the two.")
    formula = (
        str(entry["formula"])
        if "formula" in entry
        else formula_of(str(entry["ready"]), entry.get("of"), where)
    )
    expression = parse(formula, where)
    if not names_in(expression):
        raise ParameterError(f"{where} uses no statistic.", "Name at least one.")
    return Equation(
        name,
        formula,
        expression,
        weight=number_of(entry.get("weight", 1.0), f"{where}, weight", at_least=0.0),
        tolerance=positive_of(entry.get("tolerance"), f"{where}, tolerance"),
        summary=one_of(entry.get("summary", "mean"), ErrorSummary, f"{where}, summary"),
        guard=positive_of(entry.get("guard"), f"{where}, guard"),
    )


def _disjoint(
    content: object, filters: Mapping[str, Filter], schema: Schema
) -> tuple[tuple[Filter, ...], ...]:
    """Groups declared to share no record: lists of statistics' names, or of filters."""
    if not isinstance(content, list):
        raise ParameterError("`disjoint` must be a list of lists.", "Write disjoint: [[stat_a, stat_b]].")
    groups = []
    for place, group in enumerate(content, start=1):
        if not isinstance(group, list) or len(group) < 2:
            raise ParameterError(
                f"`disjoint`, entry {place}: name at least two groups.", "Correct that entry."
            )
        chosen = []
        for item in group:
            if isinstance(item, str) and item not in filters:
                raise ParameterError(
                    f"`disjoint` names the unknown statistic '{item}'.", nearest(item, filters)
                )
            read = filters[item] if isinstance(item, str) else read_filter(item, "`disjoint`")
            chosen.append(one_spelling(read, schema))
        groups.append(tuple(dict.fromkeys(chosen)))
    return tuple(groups)


def _schema(document: Mapping[str, Any], folder: Path) -> Schema:
    content = document.get("schema")
    if isinstance(content, dict):
        return Schema.load(content)
    if isinstance(content, str):
        return Schema.load(folder / content)
    raise SchemaError(
        "The specification names no schema.",
        "Write schema: FILE (relative to the specification), or the schema itself under `schema:`.",
    )


def _file_text(path: Path) -> str:
    with reading(f"The specification {path}", ParameterError):
        return path.read_text(encoding="utf-8")


# `shape:` of a quantile, as written in a specification: stated quantiles, a distribution, values, or a public sample.

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
        self,
        content: object,
        label: str,
        column: str,
        chosen: Filter,
        quantile: float,
        expected: float | None,
        where: str,
    ) -> tuple[ValueShape, float]:
        """The shape, and where its quantile is expected. A mapping from labels gives each group (`label`) its own."""
        if isinstance(content, dict) and label and not set(content) & set(ENTRIES):
            content = of_group(content, label, where)
        place = f"{where}, shape"
        if not isinstance(content, dict):
            raise ParameterError(f"{place}: nothing is said about it.", _ADVICE)
        members(content, ENTRIES, place)
        if sum(form in content for form in FORMS) != 1:
            raise ParameterError(f"{place}: needs exactly one of {', '.join(FORMS)}.", _ADVICE)
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
        if expected is None:
            expected = min(max(shape.at(quantile), domain.lower), domain.upper)
        return replace(shape, step=positive_of(content.get("step"), f"{place}, step")), expected

    def _sample(self, content: object, column: str, chosen: Filter, domain: Range, place: str) -> ValueShape:
        """The column of a public file, filtered as the data will be."""
        if not isinstance(content, str):
            raise ParameterError(f"{place}: `sample` names a file.", "Write sample: last-year.csv.")
        if not (self.folder / content).is_file():
            raise DataError(
                f"{place}: there is no file {content}.",
                "Check its path, seen from the specification's folder.",
            )
        records = open_records(self.folder / content)
        asked = {name: asked_values(condition) for name, condition in chosen.conditions}
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
            f"{place}: quantiles must rise, and stay between {number(domain.lower, 12)} and {number(domain.upper, 12)}.",
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


def _distribution(content: Mapping[str, Any], expected: float | None, place: str) -> ValueShape:
    name = str(content["distribution"])
    if name not in DISTRIBUTIONS:
        raise ParameterError(f"{place}: there is no distribution '{name}'.", nearest(name, DISTRIBUTIONS))
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
    return of_distribution(name, mean, std)


def _numbers(content: object, place: str, advice: str) -> dict[float, float]:
    if not isinstance(content, dict) or not content:
        raise ParameterError(f"{place} is not a mapping of numbers.", advice)
    return {number_of(key, place): number_of(value, place) for key, value in content.items()}
