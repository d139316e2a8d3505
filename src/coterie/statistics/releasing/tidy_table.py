"""Released figures as a table, one row per figure; the same content as CSV, JSON, Parquet and Arrow.

    name  statistic  kind  of  <one column per column grouped or filtered by>  value  lower_95  upper_95  …

A statistic over all values of a column has ALL in its cell; an equation, which mixes groups, has no value there. Whole
numbers are written without a decimal point; counts and their intervals are whole.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from coterie.publication.staging import table_bytes
from coterie.statistics.releasing.consistency import LEVEL
from coterie.statistics.releasing.releasing import StatisticsRelease
from coterie.statistics.specification.filters import Between, Condition, number_text
from coterie.statistics.specification.groups import ALL as TOTAL
from coterie.statistics.specification.specification import Specification, Statistic, StatisticKind

ENDINGS = (".csv", ".json", ".parquet", ".arrow")
ALL = "(all)"
EQUATION = "equation"
PERCENT = round(100 * LEVEL)
LOWER, UPPER, ERROR = f"lower_{PERCENT}", f"upper_{PERCENT}", "expected_absolute_error"
_WHOLE = (StatisticKind.COUNT, StatisticKind.COUNT_DISTINCT)
_COUNTS = ("value", LOWER, UPPER)  # whole where every figure is a count
PAID = {"ε": "epsilon_of_measurements", "ρ": "rho_of_measurements"}
_FIRST = ("name", "statistic", "kind", "of")
_NUMBERS = (*_COUNTS, ERROR, *PAID.values())
_TAKEN = frozenset((*_FIRST, *_NUMBERS, "measurements", "what"))
_FROM, _TO = "_from", "_to"
MEANING = (
    "the budget of all measurements that a figure is computed from; figures with the same `measurements` share it, so "
    "it must not be added up over rows"
)


def figures_table(made: StatisticsRelease) -> pa.Table:
    """One row per statistic and equation, in the order of the specification."""
    plan, design = made.plan, made.plan.design
    specification = plan.specification
    statistics = {s.name: s for s in specification.statistics}
    formulas = {e.name: e.formula for e in specification.equations}
    groups = group_columns(specification)
    mark = all_mark(specification)
    sources = design.metric.source_of
    measured = {e.target.name: sorted({int(sources[i]) for i in e.inputs}) for e in design.metric.errors}
    rows = []
    for figure in made.values:
        asked = figure.statistic or figure.name
        statistic = statistics.get(asked)
        row: dict[str, Any] = {"name": figure.name, "statistic": figure.name.partition("[")[0]}
        row["kind"] = EQUATION if statistic is None else kind_of(statistic)
        row["of"] = formulas[figure.name] if statistic is None else of_what(statistic)
        for column, shown in groups.items():
            row |= _cells(column, shown, statistic, mark, figure.key)
        lower, upper = figure.lower, figure.upper
        if row["kind"] in _WHOLE:  # the whole numbers of the interval
            lower, upper = math.ceil(lower - 1e-6), math.floor(upper + 1e-6)
        row |= {"value": figure.value, LOWER: lower, UPPER: upper}
        row[ERROR] = float(f"{figure.expected_error:.4g}")
        used = measured.get(asked, [])
        row["measurements"] = "; ".join(design.measurements[i].name for i in used)
        row[PAID[specification.budget.currency]] = float(sum(plan.budgets[i] for i in used))
        rows.append(row)
    paid = PAID[specification.budget.currency]
    return typed(rows, [*_FIRST, *groups.values(), *_COUNTS, ERROR, "measurements", paid])


def kind_of(statistic: Statistic) -> str:
    median = statistic.kind is StatisticKind.QUANTILE and statistic.quantile == 0.5
    if statistic.kind is StatisticKind.KEYS:
        return StatisticKind.COUNT.value
    if statistic.weighted_by:  # a weighted count is the sum of the weights
        counts = statistic.columns == (statistic.weighted_by,)
        return f"weighted {(StatisticKind.COUNT if counts else statistic.kind).value}"
    return (StatisticKind.MEDIAN if median else statistic.kind).value


def of_what(statistic: Statistic) -> str:
    """The columns that are computed with; of a share, which records count."""
    if statistic.kind is StatisticKind.KEYS:
        return ""
    regressed = statistic.kind in (StatisticKind.SLOPE, StatisticKind.INTERCEPT)
    between = " on " if regressed else " and " if statistic.kind.of_two_columns else " × "
    columns = between.join(column for column in statistic.columns if column != statistic.weighted_by)
    if statistic.that is not None:
        return str(statistic.that)
    if kind_of(statistic) == StatisticKind.QUANTILE:
        return f"{number_text(statistic.quantile)} of {columns}"
    return columns


def group_columns(specification: Specification) -> dict[str, str]:
    """The columns that statistics are grouped or filtered by, and how the table calls them."""
    statistics = specification.statistics
    found = dict.fromkeys(column for s in statistics for column, _ in (*s.group, *s.where.conditions))
    found |= dict.fromkeys(s.columns[0] for s in statistics if s.kind is StatisticKind.KEYS)
    taken, named = set(_TAKEN), dict[str, str]()
    for column in found:
        shown = column
        while {shown, shown + _FROM, shown + _TO} & taken:
            shown = f"group_{shown}"
        named[column] = shown
        taken |= {shown, shown + _FROM, shown + _TO}
    return named


def all_mark(specification: Specification) -> str:
    """What stands for all values of a column; brackets are added where a value is called so itself."""
    conditions = (c for s in specification.statistics for _, c in s.where.conditions)
    labels, mark = {condition_text(c) for c in conditions}, ALL
    while mark in labels:
        mark = f"({mark})"
    return mark


def condition_text(condition: Condition) -> str:
    """A group as people read it: yes; north or west; 18..40."""
    if not isinstance(condition, Between):
        return " or ".join(v if isinstance(v, str) else number_text(v) for v in condition.values)
    start, end = ends_of(condition)
    return str(condition) if start is None or end is None else f"{number_text(start)}..{number_text(end)}"


def ends_of(condition: Condition) -> tuple[float | None, float | None]:
    """From and to of a range. The last bin of a histogram holds its end, and is written with it."""
    if not isinstance(condition, Between):
        return None, None
    start, end = (end if math.isfinite(end) else None for end in (condition.start, condition.below))
    if end is not None:
        last = math.nextafter(end, -math.inf)
        end = last if len(number_text(last)) < len(number_text(end)) else end
    return start, end


def _cells(column: str, shown: str, statistic: Statistic | None, mark: str, key: str = "") -> dict[str, Any]:
    """A group column; and from and to as numbers, which `typed` leaves out where no row has them."""
    if statistic is None:
        return {shown: None, shown + _FROM: None, shown + _TO: None}
    here = [condition for name, condition in statistic.where.conditions if name == column]
    text = dict(statistic.group).get(column, TOTAL)
    if statistic.kind is StatisticKind.KEYS and column == statistic.columns[0]:
        text = key
    elif text == TOTAL:  # over the values that the filter leaves
        text = " and ".join(map(condition_text, here)) or mark
    starts, ends = zip(*map(ends_of, here), strict=True) if here else ((), ())
    return {
        shown: text,
        shown + _FROM: max((e for e in starts if e is not None), default=None),
        shown + _TO: min((e for e in ends if e is not None), default=None),
    }


def typed(rows: list[dict[str, Any]], without_rows: Iterable[str] = ()) -> pa.Table:
    """Texts and numbers; whole numbers where every figure is a count. Private keys may leave no row at all."""
    names = list(rows[0] if rows else without_rows)
    ranges = [name for name in names if _is_end(name, names)]
    counts = all(row.get("kind") in _WHOLE for row in rows)
    columns = {}
    for name in names:
        cells = [row[name] for row in rows]
        if name in _NUMBERS:
            whole = counts and name in _COUNTS
            kind = pa.int64() if whole else pa.float64()
            columns[name] = pa.array([int(c) if whole else float(c) for c in cells], kind)
        elif name not in ranges:
            columns[name] = pa.array(cells, pa.string())
        elif any(cell is not None for cell in cells):
            columns[name] = pa.array([None if c is None else float(c) for c in cells], pa.float64())
    return pa.table(columns)


def _is_end(name: str, names: Iterable[str]) -> bool:
    columns = set(names) - _TAKEN
    return any(name.endswith(end) and name.removesuffix(end) in columns for end in (_FROM, _TO))


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    """The table row by row, whole numbers as such."""
    columns = [map(whole_if_whole, table.column(name).to_pylist()) for name in table.column_names]
    return [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def whole_if_whole(cell: Any) -> Any:
    return int(cell) if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53 else cell


def written(table: pa.Table, ending: str, about: Mapping[str, Any]) -> bytes:
    """The file; `about` (release, promise, plan) stands on top of JSON and in the schema of Parquet and Arrow."""
    rows = rows_of(table) if ending in (".csv", ".json") else []
    paid = {name: MEANING for name in PAID.values() if name in table.column_names}
    about = {**about, **paid}
    if ending == ".csv":
        buffer = io.StringIO(newline="")
        writer = csv.DictWriter(buffer, table.column_names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return buffer.getvalue().encode()
    if ending == ".json":
        if not rows:
            about["columns"] = table.column_names
        return (json.dumps({**about, "values": rows}, indent=2, ensure_ascii=False) + "\n").encode()
    described = table.replace_schema_metadata({"coterie": json.dumps(about, ensure_ascii=False)})
    return table_bytes(described, Path(f"figures{ending}"))


def read(content: bytes, ending: str) -> pa.Table:
    """What `written` wrote, and what earlier versions did; ValueError for anything else."""
    try:
        if ending in (".csv", ".json"):
            text = content.decode()
            if ending == ".json":
                found = json.loads(text)
                table = typed(found["values"], found.get("columns", ()))
            else:
                table = typed(_from_csv(text), next(csv.reader(io.StringIO(text)), ()))
        elif ending == ".parquet":
            table = pq.ParquetFile(pa.BufferReader(content)).read()
        else:
            table = pa.ipc.open_file(pa.BufferReader(content)).read_all()
        table.select(["name", "value"])
        return table.replace_schema_metadata()
    except (KeyError, TypeError, AttributeError, OSError, csv.Error, pa.ArrowException) as error:
        raise ValueError("no table of released figures") from error


def _from_csv(text: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [*csv.DictReader(io.StringIO(text))]
    for row in rows:
        equation = row.get("kind") == EQUATION
        for name in row:
            absent = row[name] == "" and (_is_end(name, row) or (equation and name not in _TAKEN))
            row[name] = None if absent else row[name]
    return rows
