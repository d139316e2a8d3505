"""SPSS, Stata and SAS files in: codes as they are stored, a chunk of rows at a time; and what their dictionary says.

The reader never replaces a code by its label, nor one that the file calls missing by a gap: the schema decides what a cell
means, as for every other source. (Two formats decide for themselves. Stata's and SAS's `.a` to `.z` are no numbers, and
pyreadstat reads codes that a portable file calls missing as gaps: both are empty cells here.)
Types follow from the file's header: whole numbers, numbers, text, dates and timestamps by the display format.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from coterie.errors import DataError, MissingExtra
from coterie.schema.attributes import Schema
from coterie.schema.codebook import Variable
from coterie.table.columns.column import text_of

_CELLS_AT_ONCE = 2_000_000  # they arrive as Python objects: never all at once
_SAV_START, _ENCRYPTED_START = (b"$FL2", b"$FL3"), b"ENCRYPTED"
_XPORT_RECORD = 80  # bytes
DAY = 86_400  # seconds
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31, in days since 1970


class Moments(NamedTuple):
    """How a program stores dates and timestamps: since which day (before 1970), and in how small parts of a second."""

    days_before_1970: int
    dates_in_seconds: bool
    second: int


class Program(NamedTuple):
    name: str
    function: str  # of pyreadstat
    moments: Moments
    options: dict[str, Any]
    has_encoding: bool = True


SPSS, STATA, _SAS = Moments(141_428, True, 1), Moments(3_653, False, 1000), Moments(3_653, False, 1)
PROGRAMS = {
    ".sav": Program("SPSS", "read_sav", SPSS, {"user_missing": True}),
    ".zsav": Program("SPSS", "read_sav", SPSS, {"user_missing": True}),
    ".por": Program("SPSS portable", "read_por", SPSS, {}, has_encoding=False),
    ".dta": Program("Stata", "read_dta", STATA, {}),
    ".sas7bdat": Program("SAS", "read_sas7bdat", _SAS, {}),
    ".xpt": Program("SAS transport", "read_xport", _SAS, {}),
}
# What SPSS or Stata can be told to display again, but for their defaults.
_OWN_FORMAT = re.compile(
    r"(?!F8\.[02]$)[A-Z]*(DATE|TIME|F|COMMA|DOT|DOLLAR|PCT|E|N|MOYR|QYR|WKYR|YMDHMS)[0-9.]+|%-?(t.*|d.*|.*f)"
)
_DATES = {
    "SPSS": re.compile(r"(DATE|ADATE|EDATE|JDATE|SDATE|MOYR|QYR|WKYR)[0-9.]*"),
    "Stata": re.compile(r"%-?t?d.*"),
    "SAS": re.compile(
        r"(WEEKDATE|WEEKDATX|MMDDYY|DDMMYY|YYMMDD|DATE|IS8601DA|E8601DA|B8601DA)[BCDNPS]?[0-9.]*"
    ),
}
_TIMESTAMPS = {
    "SPSS": re.compile(r"(DATETIME|YMDHMS)[0-9.]*"),
    "Stata": re.compile(r"%-?tc(?!HH).*|%-?tC.*"),
    "SAS": re.compile(r"(DATETIME|DTDATE|DATEAMPM|MDYAMPM|IS8601DT|E8601DT|B8601DT|B8601DN)[0-9.]*"),
}


def read_survey(path: Path, schema: Schema | None = None, *, encoding: str | None = None) -> pa.Table:
    """The whole table. Without a schema, each field carries what the file's dictionary says of it, for a draft."""
    encoding = encoding or (schema.dialect.encoding if schema is not None else None)
    program = PROGRAMS[path.suffix.lower()]
    read = _reader(path, program, None if encoding == "utf-8" else encoding)
    metadata = read(metadataonly=True)[1]
    if not all(isinstance(name, str) and name for name in metadata.column_names):
        raise _damaged(path, program)
    columns = [_SurveyColumn(name, program, metadata) for name in metadata.column_names]
    if not columns:
        raise DataError(f"{path} has no variables.", "Give a file with at least one variable and one row.")
    pieces: list[list[pa.Array]] = [[] for _ in columns]
    for chunk in _chunks(read, metadata.column_names):
        for column, parts in zip(columns, pieces, strict=True):
            try:
                parts.append(column.array(chunk.pop(column.name)))
            except (pa.ArrowException, TypeError, KeyError):  # their messages quote the cell
                raise _damaged(path, program) from None
    labels = _catalogue(path, metadata) if schema is None else {}
    fields = [
        pa.field(
            c.name, c.type, metadata=c.variable(metadata, labels).as_metadata() if schema is None else None
        )
        for c in columns
    ]
    arrays = [pa.chunked_array(parts, column.type) for parts, column in zip(pieces, columns, strict=True)]
    return pa.table(arrays, schema=pa.schema(fields))


def guess_encoding(path: Path) -> str | None:
    """An old file may not say how its texts are encoded: then the one of Windows, if it reads them."""
    program = PROGRAMS[path.suffix.lower()]
    for encoding in (None, "cp1252"):
        try:
            read = _reader(path, program, encoding)
            found = read(metadataonly=True)[1]
            texts = [
                name for name, kind in found.readstat_variable_types.items() if kind.startswith("string")
            ]
            for _ in _chunks(partial(read, usecols=texts), texts) if texts else ():
                pass
        except DataError:
            continue
        return encoding
    return None  # reading it will say what is wrong


def _reader(path: Path, program: Program, encoding: str | None) -> Callable[..., tuple[Any, Any]]:
    """pyreadstat's own faults as sentences: its messages may quote what it met."""
    try:
        import pyreadstat
    except ImportError:
        raise MissingExtra.named("survey", f"Reading a file of {program.name}") from None
    _check_start(path, program)
    options = {**program.options, "output_format": "dict", "disable_datetime_conversion": True}
    if encoding is not None and program.has_encoding:
        options["encoding"] = encoding
    function = partial(getattr(pyreadstat, program.function), str(path), **options)

    def read(**more: Any) -> tuple[Any, Any]:
        try:
            found: tuple[Any, Any] = function(**more)
        except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, UnicodeError, LookupError) as error:
            if isinstance(error, UnicodeError | LookupError) or "encoding" in str(error):
                raise DataError(
                    f"{path} holds text in another encoding than it says.",
                    "Write `dialect: {encoding: cp1252}` (or the right one) in the schema.",
                ) from None
        except (ValueError, OverflowError, MemoryError, TypeError, KeyError):
            pass
        else:
            return found
        raise _damaged(path, program)

    return read


def _check_start(path: Path, program: Program) -> None:
    with path.open("rb") as file:
        start = file.read(16)
    if start.startswith(_ENCRYPTED_START):
        raise DataError(
            f"{path} is encrypted with a password.", f"Save it without one in {program.name.split()[0]}."
        )
    if program.function == "read_sav" and not start.startswith(_SAV_START):
        raise _damaged(path, program)
    if program.function == "read_xport" and path.stat().st_size % _XPORT_RECORD:
        raise _damaged(path, program)  # it does not say how many rows it has


def _damaged(path: Path, program: Program) -> DataError:
    return DataError(
        f"{path} is not a complete {program.name} file: it is damaged, cut off, encrypted or something else.",
        f"Copy it again, or save it again from {program.name.split()[0]}.",
    )


def _chunks(read: Callable[..., tuple[Any, Any]], names: list[str]) -> Iterator[dict[str, list[Any]]]:
    """Read chunks until there are no more rows: not every format says how many it has."""
    done, most = 0, max(1000, _CELLS_AT_ONCE // len(names))
    while True:
        chunk = read(row_offset=done, row_limit=most)[0]
        rows = len(chunk[names[0]])
        if rows or not done:
            yield chunk
        done += rows
        if rows < most:
            return


class _SurveyColumn:
    """One variable: its Arrow type by the header, and its cells."""

    def __init__(self, name: str, program: Program, metadata: Any) -> None:
        self.name = name
        self.moments = program.moments
        maker = program.name.split()[0]
        self.format = metadata.original_variable_types.get(name) or ""
        kind = metadata.readstat_variable_types.get(name, "double")
        self.type = pa.float64()
        if kind in ("string", "string_ref"):
            self.type = pa.string()
        elif _DATES[maker].fullmatch(self.format):
            self.type = pa.date32()
        elif _TIMESTAMPS[maker].fullmatch(self.format):
            self.type = pa.timestamp("us")
        elif kind.startswith("int"):
            self.type = pa.int64()

    def array(self, cells: list[Any]) -> pa.Array:
        if pa.types.is_string(self.type):
            return pa.array([cell or None for cell in cells], pa.string())
        if self.type in (pa.int64(), pa.float64()):
            return pa.array(cells, self.type, from_pandas=True)
        return self._moments(pa.array(cells, pa.float64(), from_pandas=True))

    def _moments(self, numbers: pa.Array) -> pa.Array:
        since, dates_in_seconds, second = self.moments
        is_date = pa.types.is_date(self.type)
        unit = (DAY if dates_in_seconds else 1) if is_date else second  # as stored, per day or per second
        found = pc.subtract(pc.divide(numbers, float(unit)), float(since * (1 if is_date else DAY)))
        days = found if is_date else pc.divide(found, float(DAY))
        if pc.any(
            pc.or_(pc.less(days, float(_FIRST_DAY)), pc.greater_equal(days, float(_LAST_DAY + 1)))
        ).as_py():
            raise DataError(
                f"Column '{self.name}' holds a date before the year 1 or after 9999.",
                "Correct that cell, or give the variable a format of numbers.",
            )
        if is_date:
            return pc.floor(found).cast(pa.int32()).cast(pa.date32())
        return pc.round(pc.multiply(found, 1e6)).cast(pa.int64()).cast(pa.timestamp("us"))

    def variable(self, metadata: Any, catalogue: dict[str, dict[Any, str]]) -> Variable:
        name = self.name
        labels = metadata.variable_value_labels.get(name) or catalogue.get(name) or {}
        codes = {self._code(code): str(words) for code, words in labels.items() if self._is_code(code)}
        return Variable(
            label=metadata.column_names_to_labels.get(name) or "",
            value_labels={code: words for code, words in codes.items() if words.strip()},
            missing=tuple(
                filter(None, map(self._mark, metadata.missing_ranges.get(name, ())))
            ),  # "" is a gap
            measure=(metadata.variable_measure.get(name) or "").replace("unknown", ""),
            format=self.format if self.moments is not _SAS and _OWN_FORMAT.fullmatch(self.format) else "",
        )

    def _is_code(self, code: Any) -> bool:
        """Not Stata's `.a` beside numbers: such a cell is empty."""
        return isinstance(code, str) is pa.types.is_string(self.type)

    def _code(self, code: Any) -> str:
        return str(text_of(code)).strip()

    def _mark(self, entry: Any) -> str:
        if not isinstance(entry, dict):
            return self._code(entry)
        if entry["lo"] == entry["hi"]:
            return self._code(entry["lo"])
        lower = "lowest" if entry["lo"] < -1e300 else self._code(float(entry["lo"]))
        upper = "highest" if entry["hi"] > 1e300 else self._code(float(entry["hi"]))
        return f"{lower} to {upper}"


def _catalogue(path: Path, metadata: Any) -> dict[str, dict[Any, str]]:
    """SAS keeps value labels in a file beside the data, of the same name: by variable, where there is one."""
    beside = path.with_suffix(".sas7bcat")
    if path.suffix.lower() != ".sas7bdat" or not beside.is_file():
        return {}
    import pyreadstat

    try:
        found = pyreadstat.read_sas7bcat(str(beside))[1].value_labels
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, ValueError):
        raise DataError(
            f"{beside} is not a SAS catalogue that can be read.", "Write it again, or remove it."
        ) from None
    formats = {
        name: re.sub(r"[0-9.]+$", "", kind or "") for name, kind in metadata.original_variable_types.items()
    }
    return {name: found[kind] for name, kind in formats.items() if kind in found}
