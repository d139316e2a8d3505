"""from_sql(): SELECT … GROUP BY … over the schema becomes a specification, so that a publisher can paste queries.

    SELECT columns, aggregates and arithmetic over them FROM one table WHERE … GROUP BY columns, ROLLUP, CUBE, GROUPING SETS

Each aggregate becomes a statistic, arithmetic becomes equations. A query is read, never run. Groups are the values that the
schema declares: those that occur in a table are private.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from coterie.errors import MissingExtra, ParameterError, nearest, reading
from coterie.schema.attributes import Schema
from coterie.schema.exact import Number
from coterie.statistics.specification.reading import read_specification
from coterie.statistics.specification.specification import Specification

_PILOT = 0.1


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

    statements = _statements(_text(queries), dialect)
    from coterie.statistics.sql.query_reader import QueryReader  # loads sqlglot

    reader = QueryReader.of(described, private_keys, tell)
    for query in statements:
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
    """The value as people write YAML: a number without quotes, where it says the same."""
    text = str(value)
    for read in (int, float):
        try:
            if str(read(text)) == text:
                return read(text)
        except ValueError:
            continue
    return text


def _statements(text: str, dialect: str | None) -> list[Any]:
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
