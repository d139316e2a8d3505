"""Filters and columns as SQL. Values become literals here and nowhere else; names are always quoted."""

from __future__ import annotations

import math
from dataclasses import dataclass

from coterie.errors import ParameterError
from coterie.io.address import quoted
from coterie.statistics.filters import Between, Condition, Filter
from coterie.statistics.ranges import Range


@dataclass(frozen=True)
class Dialect:
    """The few words that differ between engines. `{}` stands for the quoted column."""

    number: str
    text: str
    precise_sum: str
    floor: str = "FLOOR({})"


# CSV columns arrive as text: what is not a number becomes missing. NaN counts as missing, too.
DUCKDB = Dialect(
    number="(CASE WHEN isnan(TRY_CAST({0} AS DOUBLE)) THEN NULL ELSE TRY_CAST({0} AS DOUBLE) END)",
    text="CAST({} AS VARCHAR)",
    precise_sum="fsum({})",  # compensated: the rounding of a long sum must not outgrow the noise
)
POSTGRESQL = Dialect(
    number="NULLIF(CAST({0} AS DOUBLE PRECISION), 'NaN')",
    text="CAST({} AS TEXT)",
    precise_sum="CAST(SUM(CAST({} AS NUMERIC)) AS DOUBLE PRECISION)",
)


def number_column(dialect: Dialect, column: str) -> str:
    return dialect.number.format(quoted(column))


def clipped(dialect: Dialect, column: str, domain: Range, stand_in: float | None = None) -> str:
    """The value inside its declared bounds: what every sensitivity rests on."""
    value = number_column(dialect, column)
    if stand_in is not None:
        value = f"COALESCE({value}, {literal(stand_in)})"
    return f"LEAST(GREATEST({value}, {literal(domain.lower)}), {literal(domain.upper)})"


def condition_sql(dialect: Dialect, chosen: Filter) -> str:
    """A condition that is true or false, never unknown."""
    parts = [_condition(dialect, column, condition) for column, condition in chosen.conditions]
    return " AND ".join(f"COALESCE({part}, FALSE)" for part in parts) or "TRUE"


def _condition(dialect: Dialect, column: str, condition: Condition) -> str:
    number = number_column(dialect, column)
    if isinstance(condition, Between):
        ends = []
        if math.isfinite(condition.start):
            ends.append(f"{number} >= {literal(condition.start)}")
        if math.isfinite(condition.below):
            ends.append(f"{number} < {literal(condition.below)}")
        return f"({' AND '.join(ends) or 'TRUE'})"
    texts = [value for value in condition.values if isinstance(value, str)]
    numbers = [value for value in condition.values if isinstance(value, float)]
    choices = []
    if texts:
        listed = ", ".join(literal(value) for value in texts)
        choices.append(f"{dialect.text.format(quoted(column))} IN ({listed})")
    if numbers:
        choices.append(f"{number} IN ({', '.join(literal(value) for value in numbers)})")
    return f"({' OR '.join(choices)})"


def literal(value: str | float) -> str:
    if isinstance(value, float):
        return f"CAST({value!r} AS DOUBLE PRECISION)"
    if "\0" in value or "\\" in value:
        raise ParameterError("A filter value holds a character that no database compares.", "Remove it.")
    return "'" + value.replace("'", "''") + "'"
