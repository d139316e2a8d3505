"""What must hold before a specification is planned: known names, known columns, bounds, room for the floors."""

from __future__ import annotations

from collections.abc import Iterator

from coterie.errors import ParameterError, SchemaError, nearest
from coterie.schema.attributes import Attribute, AttributeType, Source
from coterie.schema.exact import as_text
from coterie.statistics.prediction.derivation import domain_of
from coterie.statistics.specification.equations import names_in
from coterie.statistics.specification.filters import Filter, OneOf, Value, reachable
from coterie.statistics.specification.specification import Specification, Statistic, StatisticKind


def unchecked_columns(specification: Specification) -> list[str]:
    """Columns filtered by a text of which nobody has declared the labels."""
    return sorted(
        {
            attribute.name
            for statistic in specification.statistics
            for attribute, value in _asked(specification, statistic)
            if isinstance(value, str) and attribute.categories is None and not _is_truth(attribute, value)
        }
    )


def _is_truth(attribute: Attribute, value: str) -> bool:
    """A boolean has its two labels by itself; nobody can declare them."""
    return attribute.type is AttributeType.BOOLEAN and value in ("true", "false")


def _asked(specification: Specification, statistic: Statistic) -> Iterator[tuple[Attribute, Value]]:
    chosen = statistic.where & (statistic.that or Filter())
    for column, condition in chosen.conditions:
        if isinstance(condition, OneOf):
            for value in condition.values:
                yield specification.schema[column], value


_COLUMNS = {
    StatisticKind.COUNT: (0,),
    StatisticKind.PROPORTION: (0,),
    StatisticKind.SUM: (1, 2),
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
    for equation in specification.equations:
        if called.count(equation.name) > 1:
            raise ParameterError(f"Equation '{equation.name}' appears twice.", "Rename one.")
        if not equation.name.isprintable() or not equation.name.strip():
            raise ParameterError("An equation's name is empty or has a line break.", "Give it a plain name.")
        if equation.name in names:
            raise ParameterError(f"'{equation.name}' is both a statistic and an equation.", "Rename one.")
        for name in names_in(equation.expression):
            if name not in names:
                raise ParameterError(
                    f"Equation '{equation.name}' uses the unknown statistic '{name}'.", nearest(name, names)
                )


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
            f"Use a delta far below 1/{records}, e.g. {_small(records)}.",
        )


def _small(records: int) -> str:
    return f"1e-{len(str(records)) + 2}"


def _check_statistic(specification: Specification, statistic: Statistic) -> None:
    where = f"Statistic '{statistic.name}'"
    wanted = _COLUMNS.get(statistic.kind, (1,))
    if len(statistic.columns) not in wanted:
        number = " or ".join(str(count) for count in wanted)
        raise ParameterError(
            f"{where} ({statistic.kind}) has {len(statistic.columns)} columns under `of`, but needs {number}.",
            "Correct `of`." if wanted != (0,) else "Drop `of`; choose records with `where`.",
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
    for chosen in (statistic.where, statistic.where & (statistic.that or Filter())):
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
    _check_expected(specification, statistic)
    if specification.records is not None and (statistic.at_least or 0) > specification.records:
        raise ParameterError(f"{where}: at_least is above the number of records.", "Lower it.")


def _check_expected(specification: Specification, statistic: Statistic) -> None:
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
