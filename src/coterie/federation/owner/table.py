"""The owner's own table, read and looked at before anything is reserved. What is wrong with it is told here only."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from coterie.errors import CoterieError, DataError
from coterie.federation.documents.study import Study
from coterie.federation.owner.policy import Source
from coterie.federation.owner.refusal import UNFIT, refusal
from coterie.federation.secrets.blinding import checked_ids
from coterie.methods import get_method
from coterie.schema.attributes import Schema
from coterie.table.checked import check
from coterie.table.reading import read_table


@dataclass(frozen=True)
class Prepared:
    """Only the attributes that the study asks for, under its names; and the ids, which never leave the owner."""

    table: pa.Table
    schema: Schema
    ids: tuple[str, ...] | None


def prepare_table(study: Study, owner: str, source: Source) -> Prepared:
    try:
        return _prepared(study, owner, source)
    except CoterieError as error:
        raise refusal(UNFIT) from error
    except (pa.ArrowException, ValueError, OverflowError) as error:
        # Its own text may hold values.
        kind = DataError(
            f"The table cannot be used ({type(error).__name__}).", "Check its columns and types."
        )
        raise refusal(UNFIT) from kind


def _prepared(study: Study, owner: str, source: Source) -> Prepared:
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
    table = read_table(source.data, table=source.table, query=source.query, schema=named)
    columns = {}
    for attribute in schema.attributes:
        columns[attribute.name] = _column(table, source.columns.get(attribute.name, attribute.name))
    identifier = source.identifier or study.identifier or ""
    id_column = _column(table, identifier) if study.vertical else None
    chosen = pa.table(columns)
    if chosen.num_rows < 2 * study.k:
        raise DataError("The table has fewer than 2k rows.", "The study needs more records, or a smaller k.")
    check(chosen, schema)
    get_method(study.method).check_k(study.part_k, chosen.num_rows)
    return Prepared(chosen, schema, None if id_column is None else checked_ids(id_column, identifier))


def _column(table: pa.Table, name: str) -> pa.ChunkedArray:
    found = table.column_names.count(name)
    if found != 1:
        raise DataError(
            f"The table has {'no' if not found else 'more than one'} column '{name}'.",
            "Name your own column with `columns` (policy) or --column.",
        )
    return table.column(name)
