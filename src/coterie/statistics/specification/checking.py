"""What must hold before a specification is planned: known names and columns, bounds, values that filters may ask for."""

from __future__ import annotations

import math

from coterie.errors import ParameterError, SchemaError, nearest
from coterie.schema import exact
from coterie.schema.attributes import Attribute, AttributeType, Source
from coterie.schema.domain import reads_as_number
from coterie.schema.exact import as_text
from coterie.statistics.prediction.derivation import domain_of
from coterie.statistics.specification.asked_values import asked_labels, resolved
from coterie.statistics.specification.cells import reachable
from coterie.statistics.specification.equations import in_order, names_in
from coterie.statistics.specification.filters import Between, Filter, OneOf, Value
from coterie.statistics.specification.specification import (
    Neighbours,
    Notion,
    Route,
    Specification,
    Statistic,
    StatisticKind,
)


def unchecked_columns(specification: Specification) -> list[str]:
    """Columns filtered by a text of which nobody has declared the labels."""
    found = set()
    for column, condition in specification.conditions:
        attribute = specification.schema[column]
        # A boolean has its two labels by itself; nobody can declare them.
        own = ("true", "false") if attribute.type is AttributeType.BOOLEAN else ()
        values = condition.values if isinstance(condition, OneOf) else ()
        if attribute.categories is None and any(isinstance(v, str) and v not in own for v in values):
            found.add(column)
    return sorted(found)


_COLUMNS = {
    StatisticKind.COUNT: (0,),
    StatisticKind.TABLE: (0,),
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
    private = {s.name for s in specification.statistics if s.kind is StatisticKind.KEYS}
    large = {s.name for s in specification.statistics if s.table is not None}
    for equation in specification.equations:
        if called.count(equation.name) > 1:
            raise ParameterError(f"Equation '{equation.name}' appears twice.", "Rename one.")
        if not equation.name.isprintable() or not equation.name.strip():
            raise ParameterError("An equation's name is empty or has a line break.", "Give it a plain name.")
        if equation.name in names:
            raise ParameterError(f"'{equation.name}' is both a statistic and an equation.", "Rename one.")
        for name in names_in(equation.expression):
            if name.partition("[")[0] in private:
                raise ParameterError(
                    f"Equation '{equation.name}' uses '{name}', a count by private keys: the release finds them.",
                    "Compute it from the released figures, or list the public values under `by`.",
                )
            if name.partition("[")[0] in large:
                raise ParameterError(
                    f"Equation '{equation.name}' uses '{name}', of a table that is measured as a whole.",
                    "Compute it from the released figures, or ask for that figure as a statistic of its own.",
                )
            if name not in known:
                raise ParameterError(
                    f"Equation '{equation.name}' uses the unknown statistic '{name}'.",
                    nearest(name, [other for other in known if other != equation.name]),
                )
    in_order({equation.name: equation.expression for equation in specification.equations})


def _check_delta(specification: Specification) -> None:
    """Refuse δ ≥ 1/n: publishing a record drawn at random would keep the promise."""
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
    if statistic.kind is StatisticKind.KEYS:
        _check_keys(specification, statistic, where)
    if statistic.table is not None:
        for column in statistic.table.columns:
            specification.schema[column]
        if specification.pilot:
            raise ParameterError(
                f"{where} has {statistic.table.cells:,} cells, of which a pilot would tell nothing.",
                "Drop `pilot`.",
            )
    if statistic.kind is StatisticKind.COUNT_DISTINCT and math.isinf(specification.most_values(statistic)):
        raise SchemaError(
            f"{where}: nothing says how many values '{statistic.columns[0]}' can have.",
            "Declare its labels in the schema (or integer, or `decimals`, with a domain), or write at_most: a public bound.",
        )
    for column in () if statistic.kind.of_keys else statistic.columns:
        attribute = specification.schema[column]
        if attribute.type not in (AttributeType.CONTINUOUS, AttributeType.INTEGER):
            raise SchemaError(
                f"{where} needs numbers, but '{column}' is {attribute.type.value}.", "Use a count by value."
            )
        if attribute.not_applicable is not None:
            raise SchemaError(
                f"{where} adds up '{column}', of which the schema says where it does not apply.",
                "Leave not_applicable out, write `missing: own category`, and ask for the others: where: {age: {from: 15}}.",
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


def _check_keys(specification: Specification, statistic: Statistic, where: str) -> None:
    column = statistic.columns[0]
    public = f"list the public values under `by: {{{column}: […]}}`"
    # Several records of one unit may share a key that nobody else has.
    if specification.schema.unit is not None:
        raise ParameterError(
            f"{where} is by private keys, whose threshold is proved for one record, and the schema names a unit of several.",
            f"{public[0].upper()}{public[1:]}.",
        )
    if specification.neighbours is not Neighbours.ADD_REMOVE:
        raise ParameterError(
            f"{where} is by private keys, which {specification.neighbours.value} neighbours do not allow.",
            f"Choose neighbours: add-remove, or {public}.",
        )
    if specification.budget.notion is not Notion.APPROXIMATE:
        raise ParameterError(
            f"{where} is by private keys: one that a single record has is shown with a small probability, the δ.",
            f"Write budget: {{epsilon: …, delta: 1e-6}}, or {public}.",
        )
    if specification.pilot:
        raise ParameterError(
            f"{where} is by private keys, which a pilot would look at twice.",
            "Drop `pilot`, or the statistic.",
        )
    if asked_labels(specification.schema[column], specification.schema.folder) is not None:
        raise ParameterError(
            f"{where}: the schema declares the labels of '{column}', so they are public.",
            f"Write by: {{{column}: declared}}. If they are not public, take `categories` out of the schema.",
        )


def check_expected(specification: Specification, statistic: Statistic) -> None:
    """An expectation that cannot come true would make the plan aim past it."""
    domain = domain_of(specification, statistic)
    possible = statistic.possible
    stated = [statistic.expected] if possible is None else [possible.lower, possible.upper]
    if any(value is not None and value not in domain for value in stated):
        least, most = exact.number(domain.lower, 12), exact.number(domain.upper, 12)
        beyond = f"outside {least} to {most}" if math.isfinite(domain.upper) else f"below {least}"
        raise ParameterError(
            f"Statistic '{statistic.name}' is expected where it cannot lie: {beyond}.",
            "Correct `expected`, the schema's domain, `records` or `at_least`.",
        )


def _satisfiable(chosen: Filter) -> bool:
    single = [Filter((entry,)) for entry in chosen.conditions]
    kinds = reachable(single)
    return kinds is None or (1 << len(single)) - 1 in kinds


# A misspelt label would be paid for and find nobody. Whether a value occurs in the data is not public: the schema decides.


def check_asked_values(specification: Specification) -> None:
    """Refuse what no record can have, and two spellings of one label: groups that look disjoint would not be."""
    labels: dict[str, tuple[str, ...] | None] = {}
    spelled: dict[tuple[str, Value, bool], Value] = {}  # a text and a number are never counted as disjoint
    for column, condition in specification.conditions:
        attribute = specification.schema[column]
        if isinstance(condition, Between):
            if column not in labels:
                labels[column] = asked_labels(attribute, specification.schema.folder)
            _check_range(attribute, condition, labels[column])
            continue
        for value in condition.values:
            (meant,) = resolved(OneOf((value,)), attribute, specification.schema).values  # type: ignore[union-attr]
            if spelled.setdefault((column, meant, isinstance(value, str)), value) != value:
                raise SchemaError(
                    f"Filters spell one value of '{column}' in two ways.", "Choose one spelling everywhere."
                )


def _check_range(attribute: Attribute, condition: Between, labels: tuple[str, ...] | None) -> None:
    domain = attribute.domain
    numbers = (float(label) for label in labels or () if reads_as_number(label))
    if labels is not None and not any(condition.accepts(None, number) for number in numbers):
        raise SchemaError(
            f"A filter asks for a range of '{attribute.name}', and none of its declared labels lies there.",
            f"List labels: {attribute.name}: [{', '.join(labels[:3])}].",
        )
    finite = math.isfinite(condition.start)
    if attribute.type is AttributeType.INTEGER and finite and math.ceil(condition.start) >= condition.below:
        raise SchemaError(
            f"A filter asks for a range of '{attribute.name}' that holds no whole number: nobody matches.",
            "Widen it: `from` is included, `below` is not.",
        )
    if domain is not None and (condition.start > domain.upper or condition.below <= domain.lower):
        raise SchemaError(
            f"A filter asks for a range of '{attribute.name}' that lies outside its declared domain.",
            "Correct the filter, or the domain.",
        )
