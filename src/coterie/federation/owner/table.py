"""The owner's own table, read and looked at before anything is reserved. Problems are counts and names."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from coterie.errors import CoterieError
from coterie.federation.owner.policy import Source
from coterie.federation.owner.refusal import refusal
from coterie.federation.pseudonyms import checked_ids
from coterie.federation.study import Study
from coterie.io.reading import read_table
from coterie.methods import get_method
from coterie.schema import Schema
from coterie.table import check


@dataclass(frozen=True)
class Prepared:
    """Only the attributes that the study asks for, under its names; and the ids, which never leave the owner."""

    table: pa.Table
    schema: Schema
    ids: tuple[str, ...] | None


def prepare_table(study: Study, owner: str, source: Source) -> Prepared:
    schema = study.schema_for(owner)
    # The owner's own column names, and no column that the study does not ask for, decide how cells are read.
    named = schema.model_copy(
        update={
            "attributes": tuple(
                a.model_copy(update={"name": source.columns.get(a.name, a.name)}) for a in schema.attributes
            ),
            "dialect": source.dialect,
        }
    )
    try:
        table = read_table(source.data, table=source.table, query=source.query, schema=named)
    except CoterieError as error:
        # The cause may name a path or a host: it is shown on this machine, and is not part of the reason.
        raise refusal(f"the owner's table cannot be read: {type(error).__name__}") from error
    columns = {}
    for attribute in schema.attributes:
        columns[attribute.name] = _column(table, source.columns.get(attribute.name, attribute.name))
    identifier = source.identifier or study.identifier or ""
    id_column = _column(table, identifier) if study.vertical else None
    chosen = pa.table(columns)
    if chosen.num_rows < 2 * study.k:
        raise refusal("the table has fewer than 2k rows", count=str(chosen.num_rows), limit=str(2 * study.k))
    try:
        check(chosen, schema)
        get_method(study.method).check_k(study.k, chosen.num_rows)
        ids = None if id_column is None else checked_ids(id_column, identifier)
    except CoterieError as error:
        # In which row is told on this machine only: the order of the owner's rows is its own business.
        raise refusal(error.problem.rstrip(".")) from error
    return Prepared(chosen, schema, ids)


def _column(table: pa.Table, name: str) -> pa.ChunkedArray:
    if name not in table.column_names:
        # Names of other columns are the owner's business: the suggestion stays out of the reason.
        raise refusal(f"the table has no column '{name}'")
    return table.column(name)
