"""The exact measurements, computed where the records are, in one pass. Nothing here is released."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from coterie.errors import DataError
from coterie.schema import Missing, Outside
from coterie.statistics.derivation import column_range
from coterie.statistics.design import Design
from coterie.statistics.filters import Filter
from coterie.statistics.measurement import Measurement
from coterie.statistics.sensitivity import Kind
from coterie.statistics.sources import Source, naming_columns, relation_without_missing, require_columns
from coterie.statistics.specification import Specification
from coterie.statistics.sql import clipped, condition_sql, literal, number_column


@dataclass
class _Query:
    """Aggregates asked for so far, each once; one statement answers all of them."""

    aggregates: dict[str, int] = field(default_factory=dict)

    def ask(self, expression: str) -> int:
        return self.aggregates.setdefault(expression, len(self.aggregates))

    def run(self, source: Source, relation: str) -> list[float]:
        columns = ", ".join(f"{expression} AS a{index}" for expression, index in self.aggregates.items())
        (row,) = source.rows(f"SELECT {columns} FROM {relation}")
        return [float(value) if value is not None else 0.0 for value in row]


def compute(design: Design, source: Source) -> dict[str, float | NDArray[np.int64]]:
    """Every measurement by name; a quantile is returned as the counts of its public grid."""
    with naming_columns(source, _number_columns(design.specification)):
        return _compute(design, source)


def _compute(design: Design, source: Source) -> dict[str, float | NDArray[np.int64]]:
    specification = design.specification
    relation = check_data(specification, source, design)
    query = _Query()
    asked = {
        m.name: _ask(query, source, m, specification)
        for m in design.measurements
        if m.kind is not Kind.QUANTILE
    }
    answers = query.run(source, relation) if query.aggregates else []
    results: dict[str, float | NDArray[np.int64]] = {}
    for m in design.measurements:
        if m.kind is Kind.QUANTILE:
            results[m.name] = _grid_counts(source, relation, m, specification)
        else:
            results[m.name] = _finish(m, [answers[index] for index in asked[m.name]])
    return results


def _ask(query: _Query, source: Source, m: Measurement, specification: Specification) -> list[int]:
    dialect = source.dialect
    condition = condition_sql(dialect, m.where)
    count = f"COUNT(*) FILTER (WHERE {condition})"
    if m.kind is Kind.COUNT:
        return [query.ask(count)]
    if m.indicator is not None:
        inside = condition_sql(dialect, m.where & m.indicator)
        return [query.ask(count), query.ask(f"COUNT(*) FILTER (WHERE {inside})")]
    factors = [
        f"({clipped(dialect, column, domain, stand_in(specification, column))}"
        f" - {literal(centre if m.kind is Kind.SUM else domain.middle)})"
        for (column, centre), domain in zip(m.terms, m.domains, strict=True)
    ]

    def total(parts: list[str]) -> int:
        term = f"CASE WHEN {condition} THEN {' * '.join(parts)} END"
        return query.ask(dialect.precise_sum.format(term))

    if m.kind is Kind.SUM:
        return [total(factors)]
    first = [query.ask(count), total(factors)]
    return first if m.kind is Kind.MEAN else [*first, total(factors * 2)]


def _finish(m: Measurement, answers: list[float]) -> float:
    """Padded with the middle value up to `at_least` records: see coterie.statistics.sensitivity."""
    if m.kind in (Kind.COUNT, Kind.SUM):
        return answers[0]
    size = max(answers[0], float(m.at_least))
    if m.indicator is not None:
        return (answers[1] + 0.5 * (size - answers[0])) / size
    if m.kind is Kind.MEAN:
        return m.domains[0].middle + answers[1] / size
    variance = max(answers[2] - answers[1] ** 2 / size, 0.0) / (size - 1.0)
    return variance if m.kind is Kind.VARIANCE else math.sqrt(variance)


def _grid_counts(
    source: Source, relation: str, m: Measurement, specification: Specification
) -> NDArray[np.int64]:
    """How many records of the group lie in each cell of the public grid."""
    domain, cells = m.domains[0], m.candidates
    column = m.terms[0][0]
    value = clipped(source.dialect, column, domain, stand_in(specification, column))
    # A value on a grid point counts as not below it, whatever the last digit of the division says.
    place = f"FLOOR(({value} - {literal(domain.lower)}) / {literal(domain.width / cells)} + {literal(1e-9)})"
    statement = (
        f"SELECT cell, COUNT(*) FROM (SELECT {place} AS cell FROM {relation} "
        f"WHERE {condition_sql(source.dialect, m.where)}) AS placed WHERE cell IS NOT NULL GROUP BY cell"
    )
    counts = np.zeros(cells, dtype=np.int64)
    for cell, count in source.rows(statement):
        counts[min(max(int(cell), 0), cells - 1)] += int(count)
    return counts


def _number_columns(specification: Specification) -> set[str]:
    """Columns that statistics add up, or that filters compare with numbers."""
    filters = {f for s in specification.statistics for f in (s.where, s.that or Filter())}
    compared = {c for f in filters for c, condition in f.conditions if condition.compares_numbers}
    return compared | {c for s in specification.statistics for c in s.columns}


def check_data(specification: Specification, source: Source, design: Design) -> str:
    """Refuse data that do not keep what the specification declares; return the relation to compute on."""
    if source.identity in specification.samples:
        raise DataError(
            "The file that `shape` calls a public sample holds these very data.",
            "Give a sample that is public, for instance last year's release, or state `quantiles`.",
        )
    numeric = {c for s in specification.statistics for c in s.columns}
    filters = {f for s in specification.statistics for f in (s.where, s.that or Filter())}
    filters |= {f for group in specification.disjoint for f in group}
    require_columns(source, numeric | {c for f in filters for c, _ in f.conditions})
    dropping = [c for c in sorted(numeric) if specification.schema[c].missing is Missing.DROP_ROW]
    relation = relation_without_missing(source, dropping)
    query = _Query()
    checks: list[tuple[int, str, str]] = []

    def never(condition: str, problem: str, advice: str) -> None:
        checks.append((query.ask(f"COUNT(*) FILTER (WHERE {condition})"), problem, advice))

    for column in sorted(numeric):
        value, domain = number_column(source.dialect, column), column_range(specification, column)
        if stand_in(specification, column) is None:
            never(
                f"{value} IS NULL",
                f"Column '{column}' has missing values or values that are not numbers.",
                "Clean it, or set `missing: drop row` or `impute` for it in the schema.",
            )
        if specification.schema[column].outside is Outside.ERROR:
            never(
                f"{value} < {literal(domain.lower)} OR {value} > {literal(domain.upper)}",
                f"Column '{column}' has values outside its declared domain.",
                "Widen the domain, or set `outside: clip` for it in the schema.",
            )
    for group in specification.disjoint:
        members = " + ".join(
            f"CASE WHEN {condition_sql(source.dialect, chosen)} THEN 1 ELSE 0 END" for chosen in group
        )
        never(
            f"{members} > 1",
            "Groups declared disjoint share records.",
            "Remove them from `disjoint`, or correct their filters: the budget would be understated.",
        )
    for total in specification.totals:
        parts = [condition_sql(source.dialect, specification[name].where) for name in total.parts]
        base = (
            "TRUE" if total.whole is None else condition_sql(source.dialect, specification[total.whole].where)
        )
        inside = " OR ".join(f"({part})" for part in parts)
        never(
            f"({base}) AND NOT ({inside})",
            "Groups declared complete miss some records.",
            "Add the missing values to `by` or `bins`, or drop `complete`.",
        )
    records = query.ask("COUNT(*)")
    answers = query.run(source, relation)
    for index, problem, advice in checks:
        if answers[index] > 0:
            raise DataError(problem, advice)
    if specification.size is not None and answers[records] != specification.size:
        raise DataError(
            "The data have another number of records than the specification says.", "Correct `records`."
        )
    return relation


def stand_in(specification: Specification, column: str) -> float | None:
    """The public value in the place of a missing one, where the schema says `missing: impute`."""
    attribute = specification.schema[column]
    if attribute.missing is not Missing.IMPUTE:
        return None
    return column_range(specification, column).middle if attribute.impute is None else float(attribute.impute)
