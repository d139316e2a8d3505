"""read_table(): a file or a database in, an Arrow table out, or an error that says what to do."""

from __future__ import annotations

import errno
from pathlib import Path

import pyarrow as pa

from coterie.errors import DataError, ParameterError, nearest
from coterie.schema.attributes import Schema
from coterie.schema.dialect import Dialect
from coterie.schema.names import check_names
from coterie.table.address import is_database
from coterie.table.csv_reading import read_csv
from coterie.table.excel_reading import read_sheet
from coterie.table.formats import READERS, ending, ending_advice, ending_problem


def read_table(
    source: str | Path,
    *,
    table: str | None = None,
    query: str | None = None,
    schema: Schema | None = None,
    dialect: Dialect | None = None,
) -> pa.Table:
    """Read CSV, Parquet, Arrow or a spreadsheet (by the file's ending), or a database's `table` or `query` (by URL).

    In a workbook `table` names the sheet; the first visible one is read otherwise. With a `schema`, text files are read
    by its dialect, numbers as numbers and everything else as text: 01234 keeps its zero, and no cell can change how
    another one is read. Without one, the types are a guess, good for a draft. `dialect` overrides the schema's.
    """
    if is_database(source):
        from coterie.table.database import read_database

        found = read_database(str(source), table=table, query=query)
    else:
        workbook = READERS.get(ending(Path(source))) is read_sheet
        if query is not None or (table is not None and not workbook):
            raise ParameterError(
                "A table or a query was named, but the source is a file.",
                "Leave them out, or give a database URL (postgresql://… or sqlite:///…).",
            )
        found = _read_file(Path(source), schema, table, dialect)
    check_names(found.column_names)
    return found


def _read_file(path: Path, schema: Schema | None, sheet: str | None, dialect: Dialect | None) -> pa.Table:
    reader = READERS.get(ending(path))
    if path.is_dir():
        raise DataError(f"{path} is a folder.", "Give one file.")
    if not path.exists():
        raise DataError(f"There is no file {path}.", neighbours(path))
    if reader is None:
        raise DataError(ending_problem(path), ending_advice(path, READERS))
    try:
        if path.is_file() and path.stat().st_size == 0:
            raise DataError(f"{path} is empty.", "Give a file with a header and at least one row.")
        if reader is read_sheet:
            return read_sheet(path, schema, sheet)
        return read_csv(path, schema, dialect=dialect) if reader is read_csv else reader(path)
    except OSError as error:
        raise DataError(
            f"{path} cannot be read ({_reason(error)}).", "Check its permissions and the disk."
        ) from None


def _reason(error: OSError) -> str:
    return error.strerror if error.errno in errno.errorcode and error.strerror else "input/output error"


def neighbours(path: Path) -> str:
    """Advice for a path that is not there: a file of nearly that name, if there is one."""
    try:
        names = [entry.name for entry in path.parent.iterdir() if ending(entry) in READERS]
    except OSError:
        return f"There is no folder {path.parent} that can be read; check the path."
    suggestion = nearest(path.name, names, cutoff=0.8)
    return suggestion if suggestion.startswith("Did") else "Check the path."
