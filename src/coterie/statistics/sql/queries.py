"""from_sql(): SELECT … GROUP BY … over the schema becomes a specification, so that a publisher can paste queries.

    SELECT columns, aggregates and arithmetic over them FROM one table WHERE … GROUP BY columns, ROLLUP, CUBE, GROUPING SETS

Each aggregate becomes a statistic, arithmetic becomes equations. A query is read, never run. Groups are the values that the
schema declares: those that occur in a table are private.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from coterie.errors import MissingExtra, ParameterError, SchemaError, nearest, reading
from coterie.schema.attributes import Schema
from coterie.schema.exact import Number
from coterie.statistics.specification.asked_values import asked_labels
from coterie.statistics.specification.calculus import linear_form
from coterie.statistics.specification.equations import parse
from coterie.statistics.specification.groups import DECLARED, PRIVATE, axes_of, groups_of
from coterie.statistics.specification.reading import read_specification
from coterie.statistics.specification.specification import Specification, StatisticKind
from coterie.statistics.sql.aggregates import Aggregates, Asked
from coterie.statistics.sql.conditions import Node, SqlNames, Where, grouping_sets, refused

_PILOT = 0.1
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


def from_sql(
    queries: str | Path,
    schema: Schema | str | Path | Mapping[str, Any],
    *,
    epsilon: Number = 1,
    delta: Number | None = None,
    neighbours: str | None = None,
    records: int | None = None,
    release: str = "statistics",
    population: str | None = None,
    private_keys: bool = False,
    dialect: str | None = None,
    note: Callable[[str], None] = lambda words: None,
) -> Specification:
    """Turn SQL queries into a specification. Nothing is run, and no data are looked at.

    Supported are COUNT, COUNT(DISTINCT …), SUM, AVG, VARIANCE, STDDEV, CORR, COVAR_SAMP, REGR_SLOPE, REGR_INTERCEPT,
    MEDIAN, PERCENTILE_CONT, with FILTER or CASE WHEN inside, and arithmetic over them; WHERE; GROUP BY with ROLLUP, CUBE
    and GROUPING SETS. Everything else is refused with a sentence that says what to do.

    Parameters
    ----------
    queries : str or Path
        SELECT statements, separated by `;`. A Path, or a text that ends in .sql, names a file.
    schema : Schema, str, Path or dict
        What is public about the table. Groups are the labels that it declares.
    epsilon, delta : number
        The budget. A delta needs `records`.
    neighbours : str, optional
        add-remove (exchange where the schema names a unit), or replace-one, which needs `records`.
    records : int, optional
        How many records there are, or are planned for.
    release : str
        The name of the release.
    population : str, optional
        Whose lifetime budget is charged; without it, the table's name.
    private_keys : bool, default False
        Let the release find the groups of a column whose values are not public. For COUNT(*) by that column alone.
    dialect : str, optional
        Of the SQL, as sqlglot names it: postgres, duckdb, snowflake, …
    note : callable, optional
        Called with what was read in another way than a database would.

    Returns
    -------
    Specification
        Its `document` is what a YAML file would hold.

    Raises
    ------
    ParameterError
        For SQL that cannot become statistics.
    SchemaError
        For a column that the schema does not have, or a group whose values nobody declared.

    Examples
    --------
    >>> import coterie
    >>> schema = {
    ...     "attributes": {
    ...         "sex": {"role": "keep", "type": "categorical", "categories": {"labels": ["f", "m"]}},
    ...         "wage": {"role": "protect", "domain": {"lower": 0, "upper": 100}},
    ...     }
    ... }
    >>> made = coterie.statistics.from_sql(
    ...     "SELECT sex, COUNT(*) AS n, AVG(wage) FROM people GROUP BY sex", schema
    ... )
    >>> [statistic.name for statistic in made.statistics]
    ['n[f]', 'n[m]', 'mean_wage[f]', 'mean_wage[m]']
    """
    described = (
        schema
        if isinstance(schema, Schema)
        else Schema.load(schema if isinstance(schema, Mapping) else Path(schema))
    )
    told: set[str] = set()

    def tell(words: str) -> None:
        if words not in told:
            told.add(words)
            note(words)

    reader = _QueryReader(SqlNames(described), private_keys, tell)
    for query in _statements(_text(queries), dialect):
        reader.read(query)
    budget: dict[str, Any] = {"epsilon": _plain(epsilon)}
    if delta is not None:
        budget["delta"] = _plain(delta)
    document: dict[str, Any] = {
        "coterie_statistics": 1,
        "release": release,
        "population": population or reader.table or "default",
        "schema": str(schema) if isinstance(schema, str | Path) else described.to_dict(),
        **({} if records is None else {"records": records}),
        "neighbours": neighbours or ("add-remove" if described.unit is None else "exchange"),
        "budget": budget,
    }
    if reader.bent and not reader.private:
        document["pilot"] = _PILOT
        tell(
            f"The errors of {', '.join(reader.bent)} depend on values that SQL does not state, so `pilot: {_PILOT}` pays "
            "for rough ones. State `expected` values instead if you know some"
        )
    document["statistics"] = reader.statistics
    if reader.equations:
        document["equations"] = reader.equations
    return read_specification(document, described)


def _text(queries: str | Path) -> str:
    if isinstance(queries, str) and not queries.strip().lower().endswith(".sql"):
        return queries
    with reading(f"The file of queries {queries}", ParameterError):
        return Path(queries).read_text(encoding="utf-8")


def _plain(value: Number) -> Any:
    """As YAML is written by hand: a number without quotes, where it says the same."""
    text = str(value)
    for read in (int, float):
        try:
            if str(read(text)) == text:
                return read(text)
        except ValueError:
            continue
    return text


def _statements(text: str, dialect: str | None) -> list[Node]:
    try:
        import sqlglot
    except ImportError:
        raise MissingExtra.named("statistics", "Reading SQL") from None
    if dialect is not None and dialect.lower() not in sqlglot.Dialect.classes:
        raise ParameterError(
            f"There is no SQL dialect '{dialect}'.", nearest(dialect, filter(None, sqlglot.Dialect.classes))
        )
    try:
        parsed = sqlglot.parse(text, read=dialect)
        found = [query for query in parsed if query is not None and query.key != "semicolon"]
    except (sqlglot.errors.SqlglotError, RecursionError) as error:
        place = getattr(error, "errors", None) or [{}]
        line, word = place[0].get("line"), place[0].get("highlight")
        near = f" near '{word}' in line {line}" if line and word else ""
        raise ParameterError(
            f"The SQL cannot be read{near}.",
            "Correct it, or name its dialect (--dialect postgres, duckdb, …).",
        ) from None
    if not found:
        raise ParameterError("There is no query.", "Write SELECT … FROM table GROUP BY …")
    return found


@dataclass
class _QueryReader:
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

    def read(self, query: Node) -> None:
        from sqlglot import exp

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
        from sqlglot import exp

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
        schema, place = self.names.schema, f"SQL: {name}"
        axes = axes_of(groups, StatisticKind.COUNT, schema, place)
        listed = groups_of(axes, groups.get("totals"), schema, place) if axes else ()
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
