"""YAML or a mapping → Specification. Every fault names its place and says what to write instead."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from coterie.errors import ParameterError, SchemaError, nearest
from coterie.schema.attributes import Schema
from coterie.schema.document import parse_yaml
from coterie.schema.exact import parse_epsilon
from coterie.statistics.prediction.measurement import Neighbours
from coterie.statistics.prediction.metric import Summary
from coterie.statistics.specification.asked_values import check_asked_values
from coterie.statistics.specification.checking import check
from coterie.statistics.specification.equations import formula_of, names_in, parse
from coterie.statistics.specification.expanding import expand
from coterie.statistics.specification.fields import members, number_of, one_of, positive_integer, positive_of
from coterie.statistics.specification.filters import Filter, read_filter
from coterie.statistics.specification.shape_reading import ShapeReader
from coterie.statistics.specification.specification import Budget, Equation, RelativeTo, Specification

VERSION = 1
_TOP = (
    *("coterie_statistics", "release", "population", "schema", "records", "neighbours", "budget", "floor"),
    *("relative_to", "statistics", "equations", "disjoint", "pilot", "expected_from"),
)
_EQUATION = ("formula", "ready", "of", "weight", "tolerance", "summary", "guard")


def read_specification(source: str | Path | Mapping[str, Any], schema: Schema | None = None) -> Specification:
    """Read a YAML file (a path), YAML text (with a line break), or the mapping itself."""
    folder = Path()
    if isinstance(source, Mapping):
        document: Any = dict(source)
    else:
        if isinstance(source, Path) or "\n" not in source:
            folder = Path(source).parent
            text = _text(Path(source))
        else:
            text = source
        document = parse_yaml(text, "The specification", ParameterError)
    if not isinstance(document, dict) or not isinstance(document.get("statistics"), dict):
        raise ParameterError(
            "This is not a statistics specification.",
            "It needs mappings `budget:` and `statistics:`; see docs/how-to/publish-statistics.md.",
        )
    members(document, _TOP, "The specification")
    if document.get("coterie_statistics", VERSION) != VERSION:
        raise ParameterError(
            "The specification has another version.", f"This Coterie reads version {VERSION}."
        )
    return _build(document, schema or _schema(document, folder), folder)


def _build(document: dict[str, Any], schema: Schema, folder: Path) -> Specification:
    shapes = ShapeReader(schema, folder)
    neighbours = one_of(document.get("neighbours"), Neighbours, "`neighbours`")
    exact = neighbours.size_is_public and document.get("records") is not None
    statistics, totals = expand(document["statistics"], exact, shapes)
    equations = document.get("equations") or {}
    if not isinstance(equations, dict):
        raise ParameterError("`equations` must be a mapping from names to formulas.", "Write name: formula.")
    specification = Specification(
        release=str(document.get("release", "statistics")),
        population=str(document.get("population", "default")),
        schema=schema,
        neighbours=neighbours,
        budget=_budget(document.get("budget")),
        statistics=statistics,
        equations=tuple(_equation(str(name), content) for name, content in equations.items()),
        records=positive_integer(document.get("records"), "`records`"),
        floor=_floor(document.get("floor")),
        relative_to=one_of(document.get("relative_to", "scale"), RelativeTo, "`relative_to`"),
        disjoint=_disjoint(document.get("disjoint") or [], {s.name: s.where for s in statistics}),
        totals=totals,
        pilot=_pilot(document.get("pilot")),
        expected_from=str(document.get("expected_from", "the publisher's expectation")),
        samples=tuple(sorted(set(shapes.samples))),
        document=document,
    )
    check(specification)
    check_asked_values(specification)
    return specification


def _budget(content: object) -> Budget:
    advice = "Write budget: {epsilon: 1}, {rho: 0.1} or {epsilon: 1, delta: 1e-6}."
    if not isinstance(content, dict) or not content:
        raise ParameterError("The specification has no budget.", advice)
    members(content, ("epsilon", "rho", "delta"), "`budget`")
    numbers = {key: parse_epsilon(value, key) for key, value in content.items()}
    if set(numbers) not in ({"epsilon"}, {"rho"}, {"epsilon", "delta"}):
        raise ParameterError("The budget mixes units, or has a delta without an epsilon.", advice)
    if numbers.get("delta", Fraction(0)) >= Fraction(1, 10):
        raise ParameterError("delta is too large to promise anything.", "Use less than 1/records, e.g. 1e-6.")
    return Budget(**numbers)


def _floor(content: object) -> Fraction:
    return Fraction(0) if content in (None, 0, "0") else parse_epsilon(content, "floor")  # type: ignore[arg-type]


def _pilot(content: object) -> Fraction:
    if content in (None, 0, "0"):
        return Fraction(0)
    share = parse_epsilon(content, "pilot")  # type: ignore[arg-type]
    if share > Fraction(1, 2):
        raise ParameterError("The pilot would take more than half of the budget.", "Use about 0.1.")
    return share


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
        summary=one_of(entry.get("summary", "mean"), Summary, f"{where}, summary"),
        guard=positive_of(entry.get("guard"), f"{where}, guard"),
    )


def _disjoint(content: object, filters: Mapping[str, Filter]) -> tuple[tuple[Filter, ...], ...]:
    """Groups declared to share no record: lists of statistics' names, or of filters."""
    if not isinstance(content, list):
        raise ParameterError("`disjoint` must be a list of lists.", "Write disjoint: [[stat_a, stat_b]].")
    groups = []
    for number, group in enumerate(content, start=1):
        if not isinstance(group, list) or len(group) < 2:
            raise ParameterError(
                f"`disjoint`, entry {number}: name at least two groups.", "Correct that entry."
            )
        chosen = []
        for item in group:
            if isinstance(item, str) and item not in filters:
                raise ParameterError(
                    f"`disjoint` names the unknown statistic '{item}'.", nearest(item, filters)
                )
            chosen.append(filters[item] if isinstance(item, str) else read_filter(item, "`disjoint`"))
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


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ParameterError(
            f"The specification {path} cannot be read ({error.strerror}).", "Check the path."
        ) from None
    except UnicodeDecodeError:
        raise ParameterError("The specification is not UTF-8 text.", "Save it as UTF-8.") from None
