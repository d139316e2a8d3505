"""read_table(): a file or a database in, an Arrow table out, or an error that says what to do; and what a draft reads."""

from __future__ import annotations

import errno
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from coterie.errors import DataError, ParameterError, nearest
from coterie.schema import draft
from coterie.schema.attributes import Schema as Schema
from coterie.schema.dialect import Dialect
from coterie.table.address import is_database
from coterie.table.columns.cells import check_names
from coterie.table.csv_reading import read_csv
from coterie.table.dialect_guess import guess_from
from coterie.table.formats import (
    read_arrow,
    read_parquet,
    read_sheet,
    stream_arrow,
    stream_parquet,
    write_arrow,
    write_csv,
    write_parquet,
)
from coterie.table.frames import to_arrow
from coterie.table.r_files import guess_r_encoding, read_r
from coterie.table.survey_files import PROGRAMS, guess_encoding, read_survey
from coterie.table.survey_writing import SURVEY_ENDINGS, write_survey

# Which format a file has: its ending decides, nothing else.

Reader = Callable[[Path], pa.Table]
Writer = Callable[[pa.Table, BinaryIO], None]
StreamWriter = Callable[[pa.RecordBatchReader, BinaryIO], None]

READERS: dict[str, Reader] = {
    ".csv": read_csv,
    ".csv.gz": read_csv,
    ".tsv": read_csv,
    ".parquet": read_parquet,
    ".arrow": read_arrow,
    ".feather": read_arrow,
    ".xlsx": read_sheet,
    ".xlsm": read_sheet,
    ".xls": read_sheet,
    ".ods": read_sheet,
    **dict.fromkeys(PROGRAMS, read_survey),
    **dict.fromkeys((".rds", ".rda", ".rdata"), read_r),
}
WRITERS: dict[str, Writer] = {
    ".csv": write_csv,
    ".parquet": write_parquet,
    ".arrow": write_arrow,
    ".feather": write_arrow,
    **{end: partial(write_survey, end) for end in SURVEY_ENDINGS},
}
# What can be written without ever being in memory as a whole.
STREAM_WRITERS: dict[str, StreamWriter] = {
    ".parquet": stream_parquet,
    ".arrow": stream_arrow,
    ".feather": stream_arrow,
}


def ending(path: Path) -> str:
    """`.csv`, or `.csv.gz` for a compressed one; lower case."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    return "".join(suffixes[-2:]) if suffixes[-1:] == [".gz"] else "".join(suffixes[-1:])


def has_tables(path: Path) -> bool:
    """Whether such a file may hold several tables: a workbook its sheets, an R file its data frames."""
    return READERS.get(ending(path)) in (read_sheet, read_r)


def ending_problem(path: Path) -> str:
    found = ending(path)
    if found in READERS:
        return f"'{path.name}' ends in '{found}', which Coterie reads, but does not write."
    return (
        f"'{path.name}' ends in '{found}', which Coterie does not know."
        if found
        else f"'{path.name}' has no ending."
    )


def ending_advice(path: Path, known: dict[str, Reader] | dict[str, Writer] | dict[str, StreamWriter]) -> str:
    suggestion = nearest(ending(path), known, cutoff=0.8) if ending(path) else ""
    every = f"Coterie knows {', '.join(sorted(known))}."
    return f"{suggestion} {every}" if suggestion.startswith("Did") else every


def read_table(
    source: str | Path,
    *,
    table: str | None = None,
    query: str | None = None,
    schema: Schema | None = None,
    dialect: Dialect | None = None,
) -> pa.Table:
    """Read a table from a file or a database.

    With a schema, text files are read by its dialect, numbers as numbers and everything else as text: 01234 keeps its
    zero, and no cell can change how another one is read. Without one, the types are a guess, good for a draft.

    Parameters
    ----------
    source : str or Path
        A CSV, Parquet, Arrow, Excel, SPSS, Stata, SAS or R file (by its ending), or a database (`postgresql://…`,
        `sqlite:///…`).
    table : str, optional
        The table of a database, the sheet of a workbook, or the data frame of an .rda file; needed where there are several.
    query : str, optional
        A query to read instead of a table.
    schema : Schema, optional
        Which columns are numbers, and how a text file is written.
    dialect : Dialect, optional
        How a text file is written, instead of what the schema says.

    Returns
    -------
    pyarrow.Table

    Raises
    ------
    DataError
        Where there is no such file or table, or it cannot be read.

    Examples
    --------
    >>> import coterie, tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "people.csv").write_text("age,income\\n31,30000\\n45,52000\\n")
    ...     coterie.read_table(f"{folder}/people.csv").num_rows
    2
    """
    if is_database(source):
        from coterie.table.database import read_database

        found = read_database(str(source), table=table, query=query)
    else:
        if query is not None or (table is not None and not has_tables(Path(source))):
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
        if reader is read_r:
            return read_r(path, schema, table=sheet, encoding=dialect.encoding if dialect else None)
        if reader is read_survey:
            return read_survey(path, schema, encoding=dialect.encoding if dialect else None)
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


def as_table(
    source: Any, schema: Schema | None = None, *, table: str | None = None, query: str | None = None
) -> pa.Table:
    """A frame as it is; a file or a database read."""
    if isinstance(source, str | Path):
        return read_table(source, table=table, query=query, schema=schema)
    if table or query:
        raise ParameterError(
            "A table or a query was named, but the data are a frame.", "Leave them out, or give an address."
        )
    return to_arrow(source, schema)[0]


# Drafting from files, frames and databases: `Schema.draft` asks here for whatever is no Arrow table yet.


def opened(data: Any, table: str | None, query: str | None) -> tuple[pa.Table, Dialect | None]:
    if not isinstance(data, str | Path):
        return to_arrow(data)[0], None
    dialect = guess_dialect(data)
    return read_table(data, table=table, query=query, dialect=dialect), dialect


draft.open_source[:] = [opened]


def guess_dialect(source: str | Path) -> Dialect:
    """Guess how a text file is written, and the encoding of a statistical file. Anything else has the default."""
    path = Path(source)
    reader = READERS.get(ending(path))
    if reader not in (read_csv, read_survey, read_r) or not path.is_file() or not path.stat().st_size:
        return Dialect()
    if reader is read_csv:
        return guess_from(path)
    encoding = guess_encoding(path) if reader is read_survey else guess_r_encoding(path)
    return Dialect(encoding=encoding, source="data") if encoding else Dialect()
