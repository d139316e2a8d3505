"""What must hold before a specification is planned: known names and columns, bounds, values that filters may ask for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from coterie.errors import ParameterError, SchemaError, nearest
from coterie.schema.attributes import Attribute, AttributeType, Missing, Schema, Source
from coterie.schema.domain import as_number, typed_bound
from coterie.schema.exact import as_text
from coterie.schema.taxonomy.loading import declared_taxonomy
from coterie.statistics.prediction.derivation import domain_of
from coterie.statistics.specification.equations import in_order, names_in
from coterie.statistics.specification.filters import Between, Condition, Filter, OneOf, Value, reachable
from coterie.statistics.specification.specification import Route, Specification, Statistic, StatisticKind
from coterie.table.checked import MISSING_LABEL
from coterie.table.columns.column import canonical_number as canonical


def unchecked_columns(specification: Specification) -> list[str]:
    """Columns filtered by a text of which nobody has declared the labels."""
    found = set()
    for statistic in specification.statistics:
        for column, condition in statistic.counted.conditions:
            attribute = specification.schema[column]
            # A boolean has its two labels by itself; nobody can declare them.
            own = ("true", "false") if attribute.type is AttributeType.BOOLEAN else ()
            values = condition.values if isinstance(condition, OneOf) else ()
            if attribute.categories is None and any(isinstance(v, str) and v not in own for v in values):
                found.add(column)
    return sorted(found)


_COLUMNS = {
    StatisticKind.COUNT: (0,),
    StatisticKind.PROPORTION: (0,),
    StatisticKind.SUM: (1, 2),
    **{kind: (2,) for kind in StatisticKind if kind.of_two_columns},
}


def check(specification: Specification) -> None:
    """Refuse what cannot be planned, with the place and the cure."""
    _check_delta(specification)
    names = [statistic.name for statistic in specification.statistics]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ParameterError(f"Statistic '{twice[0]}' appears twice.", "Give each group its own label.")
    for statistic in specification.statistics:
        _check_statistic(specification, statistic)
    called = [equation.name for equation in specification.equations]
    known = [*names, *called]
    for equation in specification.equations:
        if called.count(equation.name) > 1:
            raise ParameterError(f"Equation '{equation.name}' appears twice.", "Rename one.")
        if not equation.name.isprintable() or not equation.name.strip():
            raise ParameterError("An equation's name is empty or has a line break.", "Give it a plain name.")
        if equation.name in names:
            raise ParameterError(f"'{equation.name}' is both a statistic and an equation.", "Rename one.")
        for name in names_in(equation.expression):
            if name not in known:
                raise ParameterError(
                    f"Equation '{equation.name}' uses the unknown statistic '{name}'.", nearest(name, known)
                )
    in_order({equation.name: equation.expression for equation in specification.equations})


def _check_delta(specification: Specification) -> None:
    """With δ = 1/n, publishing a record drawn at random would keep the promise."""
    delta, records = specification.budget.delta, specification.records
    if delta is None:
        return
    if records is None:
        raise ParameterError(
            "The budget has a delta, and nothing says that it is below 1/records.",
            "State `records:` (under add-remove neighbours a public upper estimate), or use epsilon or rho alone.",
        )
    if delta * records >= 1:
        raise ParameterError(
            f"delta = {as_text(delta)} is not below 1/records: it would permit publishing a whole record.",
            f"Use a delta far below 1/{records}, e.g. 1e-{len(str(records)) + 2}.",
        )


def _check_statistic(specification: Specification, statistic: Statistic) -> None:
    where = f"Statistic '{statistic.name}'"
    wanted = _COLUMNS.get(statistic.kind, (1,))
    if len(statistic.columns) not in wanted:
        number = " or ".join(str(count) for count in wanted)
        raise ParameterError(
            f"{where} ({statistic.kind}) has {len(statistic.columns)} columns under `of`, but needs {number}.",
            "Correct `of`." if wanted != (0,) else "Drop `of`; choose records with `where`.",
        )
    if statistic.kind.of_two_columns and len(set(statistic.columns)) < 2:
        raise ParameterError(
            f"{where} names one column twice.", "Name two different ones under `of`: [y, x]."
        )
    if statistic.kind.of_two_columns and statistic.route is Route.DIRECT:
        raise ParameterError(
            f"{where} cannot be measured directly: one record could move it by any amount.", "Drop `route`."
        )
    for column in statistic.columns:
        attribute = specification.schema[column]
        if attribute.type not in (AttributeType.CONTINUOUS, AttributeType.INTEGER):
            raise SchemaError(
                f"{where} needs numbers, but '{column}' is {attribute.type.value}.", "Use a count by value."
            )
        if attribute.domain is None:
            raise SchemaError(
                f"{where} needs public bounds of '{column}', and the schema has none.",
                "Write domain: {lower: …, upper: …} for it. Sensitivities come from bounds, never from the data.",
            )
        if attribute.domain.source is Source.DP:
            raise SchemaError(
                f"{where}: bounds of '{column}' are to be searched for (`source: dp`), which statistics do not pay for.",
                "Write public bounds with `source: declared`; values beyond them are clipped with `outside: clip`.",
            )
    if statistic.kind is StatisticKind.PROPORTION and (statistic.that is None or statistic.that.everyone):
        raise ParameterError(f"{where} does not say which records count.", 'Write that: {smoker: "yes"}.')
    if statistic.kind is not StatisticKind.PROPORTION and statistic.that is not None:
        raise ParameterError(f"{where} has `that`, but is no proportion.", "Use `where`.")
    for chosen in (statistic.where, statistic.counted):
        for column, _ in chosen.conditions:
            specification.schema[column]
        if not _satisfiable(chosen):
            raise ParameterError(
                f"{where} has an empty filter: no record can satisfy it.",
                "Its conditions exclude one another; correct `where`, `by` or `that`.",
            )
    unknown_size = specification.neighbours.size_is_public and specification.records is None
    if statistic.where.everyone and unknown_size:
        raise ParameterError(
            f"{where} is about all records, whose number replace-one neighbours make public.",
            "State `records:`, or choose neighbours: add-remove.",
        )
    if specification.records is not None and (statistic.at_least or 0) > specification.records:
        raise ParameterError(f"{where}: at_least is above the number of records.", "Lower it.")


def check_expected(specification: Specification, statistic: Statistic) -> None:
    """An expectation that cannot come true would make the plan aim past it."""
    domain = domain_of(specification, statistic)
    possible = statistic.possible
    stated = [statistic.expected] if possible is None else [possible.lower, possible.upper]
    if any(value is not None and value not in domain for value in stated):
        raise ParameterError(
            f"Statistic '{statistic.name}' is expected where it cannot lie: outside {domain.lower:g} to "
            f"{domain.upper:g}.",
            "Correct `expected`, the schema's domain, `records` or `at_least`.",
        )


def _satisfiable(chosen: Filter) -> bool:
    single = [Filter((entry,)) for entry in chosen.conditions]
    kinds = reachable(single)
    return kinds is None or (1 << len(single)) - 1 in kinds


# The values that filters ask for, seen against the schema: what each means for its column, before any data are opened.
#
# A misspelt label would be paid for and find nobody. Whether a value occurs in the data is not public: the schema decides.

MISSING = "\x00missing"  # no text of a file or a filter
_TRUTH = {"true": "true", "yes": "true", "1": "true", "false": "false", "no": "false", "0": "false"}


def check_asked_values(specification: Specification) -> None:
    """Refuse what no record can have, and two spellings of one label: groups that look disjoint would not be."""
    spelled: dict[tuple[str, Value, bool], Value] = {}  # a text and a number are never counted as disjoint
    for chosen in specification.filters:
        for column, condition in chosen.conditions:
            attribute = specification.schema[column]
            if isinstance(condition, Between):
                _check_range(attribute, condition)
                continue
            for value in condition.values:
                (meant,) = resolved(OneOf((value,)), attribute, specification.schema).values  # type: ignore[union-attr]
                if spelled.setdefault((column, meant, isinstance(value, str)), value) != value:
                    raise SchemaError(
                        f"Filters spell one value of '{column}' in two ways.",
                        "Choose one spelling everywhere.",
                    )


def is_labelled(attribute: Attribute, asked: set[str]) -> bool:
    """Whether a filter's column is read as labels: it has them, or texts are asked of a column without bounds."""
    if not attribute.type.ranged:
        return True
    return attribute.domain is None and attribute.type is AttributeType.CONTINUOUS and bool(asked)


def asked_texts(condition: Condition) -> set[str]:
    """Texts that a column without declared labels is asked for."""
    if isinstance(condition, Between):
        return set()
    return {canonical(value.strip()) for value in condition.values if isinstance(value, str)}


def asked_labels(attribute: Attribute, folder: Path) -> tuple[str, ...] | None:
    """The declared labels; None where nobody declared any."""
    if attribute.type is AttributeType.BOOLEAN:
        return ("false", "true")
    if attribute.categories is None:
        return None
    if attribute.categories.labels is not None:
        return attribute.categories.labels
    return tuple(declared_taxonomy(attribute.categories, folder).categories)


def resolved(condition: Condition, attribute: Attribute, schema: Schema) -> Condition:
    """The condition in the values of the typed column: labels as declared, or numbers."""
    if isinstance(condition, Between):
        return condition
    texts = asked_texts(condition)
    if not is_labelled(attribute, texts):
        return replace(condition, values=tuple(_asked_number(value, attribute) for value in condition.values))
    labels = asked_labels(attribute, schema.folder)
    return replace(
        condition, values=tuple(_asked_label(value, attribute, labels) for value in condition.values)
    )


def _asked_number(value: Value, attribute: Attribute) -> Value:
    if isinstance(value, str) and value in attribute.missing_marks:
        return MISSING
    moments = attribute.type in (AttributeType.DATE, AttributeType.TIMESTAMP)
    try:
        if isinstance(value, str) and moments:
            number = as_number(typed_bound(value, timestamp=attribute.type is AttributeType.TIMESTAMP))
        else:
            number = float(value)
    except (TypeError, ValueError):
        raise SchemaError(
            f"A filter asks for '{attribute.name}' = '{value}', which is not a {attribute.type.value} value.",
            "Correct the filter, or the attribute's type.",
        ) from None
    domain = attribute.domain
    if domain is not None and not domain.lower <= number <= domain.upper:
        raise SchemaError(
            f"A filter asks for '{attribute.name}' = {value}, which lies outside its declared domain.",
            "Correct the filter, or the domain.",
        )
    return number


def _asked_label(value: Value, attribute: Attribute, labels: tuple[str, ...] | None) -> str:
    text = value.strip() if isinstance(value, str) else canonical(repr(value))
    if text in attribute.missing_marks:
        return MISSING_LABEL if attribute.missing is Missing.OWN_CATEGORY else MISSING
    if labels is None or text in labels:
        return canonical(text) if labels is None else text
    if attribute.missing is Missing.OWN_CATEGORY and text == MISSING_LABEL:
        return MISSING_LABEL
    if attribute.type is AttributeType.BOOLEAN and text.casefold() in _TRUTH:
        return _TRUTH[text.casefold()]
    for label in labels:
        if canonical(label) == canonical(text):
            return label
    tree = attribute.categories is not None and attribute.categories.taxonomy is not None
    place = "categories of the taxonomy" if tree else "labels"
    raise SchemaError(
        f"A filter asks for '{attribute.name}' = '{text}', which is not among the {place} that the schema declares.",
        nearest(text, labels),
    )


def _check_range(attribute: Attribute, condition: Between) -> None:
    domain = attribute.domain
    if domain is not None and (condition.start > domain.upper or condition.below <= domain.lower):
        raise SchemaError(
            f"A filter asks for a range of '{attribute.name}' that lies outside its declared domain.",
            "Correct the filter, or the domain.",
        )
