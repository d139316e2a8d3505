"""Read the table once, whole, and keep it as an Arrow file that pages can map into memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from coterie.io.draft import draft_schema
from coterie.io.reading import read_table
from coterie.population import demo_population, demo_schema
from coterie.studio.kept import keep, stamp
from coterie.studio.project import Loaded, Project

Tell = Callable[[float | None, str], None]


def work(project: Project, parameters: dict[str, Any], tell: Tell) -> dict[str, Any]:
    """`parameters`: source, table, query. The draft of the schema is written too, unless there is one."""
    tell(None, "Reading the table")
    before = stamp(project.source) if project.source else None
    if project.state.origin.kind == "demo":
        table, draft = demo_population(), demo_schema().to_yaml()
    else:
        table = read_table(parameters["source"], table=parameters["table"], query=parameters["query"])
        draft = draft_schema(table)
    tell(0.6, "Keeping a copy on this machine")
    digest = keep(table, project.table_path)
    tell(0.8, "Describing the columns")
    loaded = Loaded(rows=table.num_rows, columns=table.num_columns, digest=digest, stamp=before)
    schema = None if project.schema_path.exists() else draft
    project.change(loaded=loaded, schema=schema)
    return {"columns": [_column(name, table[name]) for name in table.column_names]}


def _column(name: str, column: pa.ChunkedArray) -> dict[str, Any]:
    return {"name": name, "type": str(column.type), "missing": column.null_count}
