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
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from coterie.publication.staging import table_bytes
from coterie.schema.exact import number_text
from coterie.statistics.releasing.consistency import LEVEL
from coterie.statistics.releasing.large_tables import ReleasedTable
from coterie.statistics.releasing.releasing import StatisticsRelease
from coterie.statistics.specification.filters import Between, Condition, OneOf
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
    """One row per statistic and equation, in the order of the specification; large tables come last."""
    plan, design = made.plan, made.plan.design
    specification = plan.specification
    statistics = {s.name: s for s in specification.statistics}
    formulas = {e.name: e.formula for e in specification.equations}
    groups = group_columns(specification)
    mark, paid = all_mark(specification), PAID[specification.budget.currency]
    sources = design.metric.source_of
    measured = {e.target.name: sorted({int(sources[i]) for i in e.inputs}) for e in design.metric.errors}
    names = (*_FIRST, *(shown + end for shown in groups.values() for end in ("", _FROM, _TO)))
    columns: dict[str, list[Any]] = {name: [] for name in (*names, *_COUNTS, ERROR, "measurements", paid)}
    for figure in made.values:
        asked = figure.statistic or figure.name
        statistic = statistics.get(asked)
        used = measured.get(asked, [])
        row: dict[str, Any] = {
            "name": figure.name,
            "statistic": figure.name.partition("[")[0],
            "kind": EQUATION if statistic is None else kind_of(statistic),
            "of": formulas[figure.name] if statistic is None else of_what(statistic),
            "value": figure.value,
            LOWER: figure.lower,
            UPPER: figure.upper,
            ERROR: _shown_error(figure.expected_error),
            "measurements": "; ".join(design.measurements[i].name for i in used),
            paid: float(sum(plan.budgets[i] for i in used)),
        }
        if row["kind"] in _WHOLE:  # the whole numbers of the interval
            row |= {LOWER: math.ceil(figure.lower - 1e-6), UPPER: math.floor(figure.upper + 1e-6)}
        for column, shown in groups.items():
            row |= _cells(column, shown, statistic, mark, figure.key)
        for name, cell in row.items():
            columns[name].append(cell)
    tables = [typed(columns)] if made.values or not made.tables else []
    for name, released in made.tables.items():
        base = {column: _cells(column, shown, statistics[name], mark) for column, shown in groups.items()}
        cost = float(plan.split[released.measured])
        tables.append(_of_large_table(released, base, groups, mark, {paid: cost}))
    found = pa.concat_tables(tables, promote_options="permissive")
    return found.select([name for name in columns if name in found.column_names])


def _of_large_table(
    released: ReleasedTable,
    base: Mapping[str, Mapping[str, Any]],
    groups: Mapping[str, str],
    mark: str,
    paid: Mapping[str, float],
) -> pa.Table:
    """Every cell and total, column by column."""
    table, count = released.table, len(released.values)
    cells: dict[str, pa.Array | None] = {}
    labels = []
    for axis, places in zip(table.axes, table.places, strict=True):
        shown, at = groups[axis.column], pa.array(places)
        pairs = [
            ends_of(value.where.conditions[0][1]) if value.where.conditions else (None, None)
            for value in axis.along
        ]
        labels.append(pa.array([value.label for value in axis.along]).take(at))
        texts = pa.array([mark if value.text == TOTAL else value.text for value in axis.along])
        cells[shown] = texts.take(at)
        for end, side in zip((_FROM, _TO), zip(*pairs, strict=True), strict=True):
            cells[shown + end] = None if set(side) == {None} else pa.array(side, pa.float64()).take(at)
    errors, which = np.unique(released.errors, return_inverse=True)
    rows: dict[str, Any] = {
        "name": pc.binary_join_element_wise(
            f"{table.name}[", pc.binary_join_element_wise(*labels, ", "), "]", ""
        ),
        "statistic": table.name,
        "kind": StatisticKind.COUNT.value,
        "of": "",
        **{name: cell for group in base.values() for name, cell in group.items()},
        **cells,
        "value": released.values,
        LOWER: released.lower,
        UPPER: released.upper,
        ERROR: np.array([_shown_error(error) for error in errors])[which],
        "measurements": released.measured,
        **paid,
    }
    every = {
        name: pa.repeat(cell, count) if isinstance(cell, str | float) else cell for name, cell in rows.items()
    }
    return pa.table({name: cells for name, cells in every.items() if cells is not None})


def _shown_error(error: float) -> float:
    return float(f"{error:.4g}")


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
    found |= dict.fromkeys(column for s in statistics if s.table for column in s.table.columns)
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
    asked = (c.values for _, c in specification.conditions if isinstance(c, OneOf))
    labels, mark = {" or ".join(map(str, values)) for values in asked}, ALL
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
    """The two ends of a range. The last bin of a histogram holds its end, and is written with it."""
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


def typed(found: Mapping[str, Sequence[Any]]) -> pa.Table:
    """Texts and numbers; whole numbers where every figure is a count. Private keys may leave no row at all."""
    ranges = [name for name in found if _is_end(name, found)]
    counts = "kind" in found and set(found["kind"]) <= set(_WHOLE)
    columns = {}
    for name, cells in found.items():
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
    return [dict(zip(table.column_names, row, strict=True)) for row in zip(*_cells_of(table), strict=True)]


def _cells_of(table: pa.Table) -> list[Iterable[Any]]:
    """Each column's cells, whole numbers as such."""
    found: list[Iterable[Any]] = []
    for column in table.columns:
        cells = column.to_pylist()
        found.append(map(whole_if_whole, cells) if pa.types.is_floating(column.type) else cells)
    return found


def whole_if_whole(cell: Any) -> Any:
    return int(cell) if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53 else cell


def written(table: pa.Table, ending: str, about: Mapping[str, Any]) -> bytes:
    """The file; `about` (release, promise, plan) stands on top of JSON and in the schema of Parquet and Arrow."""
    paid = {name: MEANING for name in PAID.values() if name in table.column_names}
    about = {**about, **paid}
    if ending == ".csv":
        buffer = io.StringIO(newline="")
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow(table.column_names)
        writer.writerows(zip(*_cells_of(table), strict=True))
        return buffer.getvalue().encode()
    if ending == ".json":
        rows = rows_of(table)
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
                rows = found["values"]
                table = typed(
                    {n: [row[n] for row in rows] for n in (rows[0] if rows else found.get("columns", ()))}
                )
            else:
                table = typed(_from_csv(text))
        elif ending == ".parquet":
            table = pq.ParquetFile(pa.BufferReader(content)).read()
        else:
            table = pa.ipc.open_file(pa.BufferReader(content)).read_all()
        table.select(["name", "value"])
        return table.replace_schema_metadata()
    except (LookupError, TypeError, AttributeError, OSError, csv.Error, pa.ArrowException) as error:
        raise ValueError("no table of released figures") from error


def _from_csv(text: str) -> dict[str, list[Any]]:
    heads, *rows = csv.reader(io.StringIO(text))
    columns: dict[str, list[Any]] = {name: [row[place] for row in rows] for place, name in enumerate(heads)}
    equations = [kind == EQUATION for kind in columns.get("kind", [])]
    for name, cells in columns.items():
        if _is_end(name, columns):
            columns[name] = [cell or None for cell in cells]
        elif name not in _TAKEN and any(equations):
            columns[name] = [None if e and c == "" else c for e, c in zip(equations, cells, strict=True)]
    return columns
