"""One SELECT after the other → the statistics and equations of a specification."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from coterie.errors import ParameterError, SchemaError
from coterie.schema.attributes import Schema
from coterie.statistics.specification.asked_values import asked_labels
from coterie.statistics.specification.calculus import linear_form
from coterie.statistics.specification.equations import parse
from coterie.statistics.specification.groups import DECLARED, PRIVATE, StatisticEntry, axes_of, groups_of
from coterie.statistics.specification.specification import StatisticKind
from coterie.statistics.sql.aggregates import Aggregates, Asked
from coterie.statistics.sql.conditions import Node, SqlNames, Where, grouping_sets, refused

_NOT_READ = {  # parts of a SELECT, and what to do instead
    "joins": "Join the tables first, and describe the joined table in the schema.",
    "laterals": "Compute these columns first, and describe them in the schema.",
    "with": "Write one SELECT over the table itself; figures that build on others are arithmetic over aggregates.",
    "having": "All groups are published; choose among the released figures, which costs nothing.",
    "qualify": "All groups are published; choose among the released figures, which costs nothing.",
    "limit": "All groups are published; choose among the released figures, which costs nothing.",
    "offset": "All groups are published; choose among the released figures, which costs nothing.",
    "distinct": "Write GROUP BY with an aggregate such as COUNT(*); COUNT(DISTINCT column) says how many values there are.",
    "windows": "Ask for the figures of the groups with GROUP BY.",
    "into": "Leave INTO out: the query is read, not run.",
}
_READ = {"expressions", "from", "from_", "where", "group", "order", "kind", "hint", "operation_modifiers"}


@dataclass
class QueryReader:
    """Statistics and equations of all queries; equal figures are asked for once."""

    names: SqlNames
    private_keys: bool
    note: Callable[[str], None]
    table: str = ""
    private: bool = False  # whether some count is by private keys
    statistics: dict[str, Any] = field(default_factory=dict)
    equations: dict[str, Any] = field(default_factory=dict)
    bent: list[str] = field(default_factory=list)  # equations whose errors depend on the values
    _known: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, schema: Schema, private_keys: bool, note: Callable[[str], None]) -> QueryReader:
        return cls(SqlNames(schema), private_keys, note)

    def read(self, query: Node) -> None:
        if not isinstance(query, exp.Select):
            kind = query.key.upper() if query.key else "this"
            advice = "Write plain SELECT statements, separated by ;"
            raise ParameterError(f"SQL: {kind} is not a SELECT statement.", advice)
        for part, content in query.args.items():
            named = part.removesuffix("_")
            if content and named in _NOT_READ:
                word = named.removesuffix("s").upper()
                raise ParameterError(f"SQL: {word} cannot become part of a statistic.", _NOT_READ[named])
            if content and part not in _READ:
                raise refused(
                    query, f"Leave out {named.upper()}: a query is SELECT, FROM, WHERE and GROUP BY."
                )
        source = query.args.get("from_") or query.args.get("from")
        if source is None or not isinstance(source.this, exp.Table) or source.this.args.get("sample"):
            inner = source is not None and isinstance(source.this, exp.Subquery)
            advice = "Write FROM and one table. "
            advice += (
                "Publish the figures of the inner query, and compute the rest from them." if inner else ""
            )
            raise ParameterError("SQL: a query is about one table.", advice.strip())
        for nested in query.find_all(exp.Subquery, exp.Window, exp.Exists):
            raise refused(
                nested,
                "Publish the figures it is made of, and compute the rest from them: that costs nothing.",
            )
        self.table = self.table or source.this.name
        if query.args.get("order"):
            self.note("ORDER BY plays no part: released figures stand in the order of the query")
        condition = query.args.get("where")
        where = self.names.where(condition.this) if condition is not None else {}
        self._figures(query, where)

    def _figures(self, query: Node, where: Where) -> None:
        sets = grouping_sets(query, self.names)
        every = tuple(dict.fromkeys(column for columns in sets for column in columns))
        wide = next((columns for columns in sets if set(columns) == set(every)), None)
        tables = (
            [(columns, []) for columns in sets] if wide is None else [(wide, [s for s in sets if s != wide])]
        )
        aggregates = Aggregates(self.names, where, self.note)
        found = False
        for item in query.expressions:
            inner = item.unalias().unnest()
            if isinstance(inner, exp.Column) and self.names.column(inner) in every:
                continue
            if isinstance(inner, exp.Grouping):
                self.note("GROUPING() is left out: in the row of a total the group column says so")
                continue
            if isinstance(inner, exp.Star | exp.Column):
                raise refused(
                    inner, "It asks for records. Put it under GROUP BY, or into an aggregate such as AVG(…)."
                )
            for columns, totals in tables:
                alias = item.alias if isinstance(item, exp.Alias) else ""
                if alias and len(tables) > 1:
                    alias = "_".join((alias, "by", *columns)) if columns else f"{alias}_all"
                self._figure(aggregates, inner, alias, self._groups(columns, totals, aggregates.where))
            found = True
        if not found:
            raise ParameterError(
                "SQL: a query asks for no figure.", "Write an aggregate such as COUNT(*) or AVG(column)."
            )

    def _figure(self, aggregates: Aggregates, node: Node, alias: str, groups: dict[str, Any]) -> None:
        single = aggregates.aggregate(node)
        if single is not None:
            self._statistic(single, alias, groups)
            return
        used: list[str] = []

        def alone(asked: Asked) -> str:
            used.append(self._statistic(asked, "", groups))
            return used[-1]

        first = aggregates.written(node, alone)
        if not used:
            raise refused(node, "It uses no aggregate. Write one such as COUNT(*) or AVG(column).")
        if PRIVATE in groups.get("by", {}).values():
            raise _no_values(next(iter(groups["by"])))
        name = self._free(alias or "figure")
        if linear_form(parse(first)) is None:
            self.bent.append(name)
        entry = StatisticEntry(groups, StatisticKind.COUNT, self.names.schema, f"SQL: {name}")
        axes = axes_of(entry)
        listed = groups_of(entry, axes) if axes else ()
        if not listed:
            self.equations[name] = first
        for group in listed:
            texts = ", ".join(repr(choice.text) for choice in group.choices)

            def refer(asked: Asked, texts: str = texts) -> str:
                return f"{self._statistic(asked, '', groups)}[{texts}]"

            self.equations[f"{name}[{group.label}]"] = aggregates.written(node, refer)

    def _statistic(self, asked: Asked, alias: str, groups: dict[str, Any]) -> str:
        """The name of this statistic, which is asked for if it is not yet."""
        entry = {**asked.entry, **groups}
        key = json.dumps(entry, sort_keys=True)
        if not alias and key in self._known:
            return self._known[key]
        if groups.get("by") and PRIVATE in groups["by"].values() and entry["kind"] != "count":
            raise _no_values(next(iter(groups["by"])))
        name = self._free(alias or asked.base)
        self.statistics[name] = entry
        self._known.setdefault(key, name)
        return name

    def _free(self, wanted: str) -> str:
        """A name that a formula can use, and that is not taken."""
        plain = re.sub(r"\W+", "_", wanted).strip("_") or "figure"
        plain = plain if plain.isidentifier() else f"s_{plain}"
        taken = {*self.statistics, *(name.partition("[")[0] for name in self.equations)}
        tried = (plain if number == 1 else f"{plain}_{number}" for number in itertools.count(1))
        return next(name for name in tried if name not in taken)

    def _groups(
        self, columns: tuple[str, ...], totals: list[tuple[str, ...]], where: Where
    ) -> dict[str, Any]:
        """`by` and `totals`, with the public values of each column that WHERE leaves."""
        if not columns:
            return {}
        by: dict[str, Any] = {}
        for column in columns:
            values = self.names.values(column)
            if values is not None and column in where:
                by[column] = [v for v in values if where[column].accepts(str(v), _as_number(v))]
            elif values is not None:
                declared = asked_labels(self.names.schema[column], self.names.schema.folder) is not None
                by[column] = DECLARED if declared else values
            elif self.private_keys and len(columns) == 1 and not totals:
                by[column] = PRIVATE
                self.private = True
            else:
                raise _no_values(column)
        return {"by": by, **({"totals": [list(kept) for kept in totals]} if totals else {})}


def _as_number(value: Any) -> float | None:
    return None if isinstance(value, str) else float(value)


def _no_values(column: str) -> SchemaError:
    return SchemaError(
        f"SQL: the values of '{column}' are not public, so they cannot be groups.",
        f"Declare them in the schema: {column}: {{categories: {{labels: […]}}}}. Or let the release find those that many "
        "records have (--private-keys, with a delta), for COUNT(*) by this column alone.",
    )
