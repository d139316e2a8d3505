"""R files in (.rds, .rda, .RData): one data frame, its columns as R stores them.

A factor's cells are its labels; its codes are R's own. Row names do not pass: they may name people. Values of haven and
labelled keep their codes, as in the SPSS file that they came from.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from coterie.errors import CoterieError, DataError, MissingExtra, nearest, shortened
from coterie.schema.attributes import Schema
from coterie.schema.codebook import Variable
from coterie.table.columns.column import text_of

_LONGEST = 1 << 28  # values that three numbers may stand for


def read_r(
    path: Path, schema: Schema | None = None, *, table: str | None = None, encoding: str | None = None
) -> pa.Table:
    """The data frame of an .rds file, or the one of that name in an .rda file (the only one, if there is one).

    `encoding` is of texts that do not say theirs, as old versions of R wrote them.
    """
    encoding = encoding or (schema.dialect.encoding if schema is not None else None)
    try:
        parsed, own = _parsed(path)
        return _frame(
            path, parsed, table, own if encoding in (None, "utf-8") else encoding, noted=schema is None
        )
    except UnicodeDecodeError:
        raise DataError(
            f"{path} holds text in another encoding than it says.",
            "Write `dialect: {encoding: cp1252}` (or the right one) in the schema, or save it from a newer R.",
        ) from None
    except (CoterieError, OSError, MemoryError):
        raise
    except Exception:  # what is no frame after all; words of faults may quote cells
        raise _damaged(path) from None


def guess_r_encoding(path: Path) -> str | None:
    """An old file may not say how its texts are encoded: then probably as Windows does."""
    try:
        parsed, own = _parsed(path)
        frames = [name for name, found in _objects(parsed) if _is_frame(found)]
        for name in frames if path.suffix.lower() != ".rds" else [None]:
            _frame(path, parsed, name, own, noted=False)
    except UnicodeDecodeError:
        return "cp1252"
    except Exception:  # reading it will say what is wrong
        pass
    return None


def _parsed(path: Path) -> tuple[Any, str]:
    """The object in the file, and the encoding of its texts."""
    try:
        from rdata import parser
    except ImportError:
        raise MissingExtra.named("survey", "Reading a file of R") from None
    short_forms = {**parser.DEFAULT_ALTREP_MAP, b"compact_intseq": lambda state: _counted(parser, state)}
    try:
        found = parser.parse_file(path, altrep_constructor_dict=short_forms)
    except OSError as error:
        if error.errno is not None:
            raise
        raise _damaged(path) from None  # of a gzip file
    return found.object, found.extra.encoding or "utf-8"


def _counted(parser: Any, state: Any) -> tuple[Any, Any]:
    """R writes 1:n and n:1 as three numbers. rdata 1.1 loses the end of those that count down."""
    length, first, step = (int(number) for number in state.value)
    if not 0 <= length <= _LONGEST:
        raise ValueError("more values than a table has")
    info = parser.RObjectInfo(parser.RObjectType.INT, False, False, False, 0, 0)
    return info, (first + step * np.arange(length)).astype(np.int32)


def _frame(path: Path, parsed: Any, table: str | None, encoding: str, *, noted: bool) -> pa.Table:
    named = path.suffix.lower() != ".rds"
    if not named and table is not None:
        raise DataError(f"{path} holds one object without a name.", "Leave out the name of the table.")
    objects = _objects(parsed) if named else [("", parsed)]
    frames = {name: found for name, found in objects if _is_frame(found)}
    if not frames:
        raise DataError(f"{path} holds no data frame.", "Save a data frame: saveRDS(frame, file).")
    if table is not None and table not in frames:
        raise DataError(f"{path} has no data frame '{table}'.", nearest(table, frames))
    if table is None and len(frames) > 1:
        raise DataError(
            f"{path} holds {len(frames)} data frames: {shortened(list(frames))}.",
            'Name one: --table NAME (Python: table="NAME").',
        )
    frame = frames[table] if table is not None else next(iter(frames.values()))
    names = _texts(_attributes(frame).get("names"), encoding)
    columns = [_column(str(name), cells, encoding) for name, cells in zip(names, frame.value, strict=True)]
    if len({len(column.cells) for column in columns}) > 1:
        raise _damaged(path)
    fields = [
        pa.field(c.name, c.cells.type, metadata=c.variable.as_metadata() if noted else None) for c in columns
    ]
    return pa.table([column.cells for column in columns], schema=pa.schema(fields))


def _damaged(path: Path) -> DataError:
    return DataError(
        f"{path} is not a complete R file: it is damaged, cut off or something else.",
        "Write it again: saveRDS(frame, file), or save(frame, file = file).",
    )


# Objects as the parser gives them: a type, a value, attributes in a chain of tagged pairs.


def _kind(found: Any) -> str:
    return str(found.info.type.name)


def _followed(found: Any) -> Any:
    return found.referenced_object if _kind(found) == "REF" else found


def _objects(chain: Any) -> Iterator[tuple[str, Any]]:
    while chain is not None and _kind(chain) == "LIST":
        yield str(_followed(chain.tag).value.value.decode(errors="replace")), _followed(chain.value[0])
        chain = chain.value[1]


def _attributes(found: Any) -> dict[str, Any]:
    return dict(_objects(found.attributes)) if found.attributes is not None else {}


def _classes(found: Any) -> set[str]:
    return {str(text) for text in _texts(_attributes(found).get("class"), "latin-1")}


def _is_frame(found: Any) -> bool:
    return _kind(found) == "VEC" and "data.frame" in _classes(found)


# Which encoding a text is in, by R's own flags; those without one are in that of the file.
_ENCODINGS = ((1 << 3, "utf-8"), (1 << 2, "cp1252"), (1 << 6, "ascii"))


def _texts(found: Any, encoding: str) -> list[str | None]:
    if found is None or _kind(found) != "STR":
        return []
    return [_text(_followed(text), encoding) for text in found.value]


def _text(found: Any, encoding: str) -> str | None:
    if found.value is None:
        return None
    own = next((name for flag, name in _ENCODINGS if found.info.gp & flag), encoding)
    return str(found.value.decode(own))


class _RColumn(NamedTuple):
    name: str
    cells: pa.Array
    variable: Variable


def _column(name: str, found: Any, encoding: str) -> _RColumn:
    found = _followed(found)
    attributes, classes, kind = _attributes(found), _classes(found), _kind(found)
    if "dim" in attributes or kind not in ("LGL", "INT", "REAL", "STR"):
        raise DataError(
            f"Column '{name}' is neither numbers, text, dates nor truth values.",
            "Make it one of these in R, or leave it out.",
        )
    label = next(iter(_texts(attributes.get("label"), encoding)), None) or ""
    if kind == "STR":
        texts = [text or None for text in _texts(found, encoding)]
        return _RColumn(name, pa.array(texts, pa.string()), Variable(label=label))
    values = np.ma.asarray(found.value)
    if "factor" in classes:
        levels = [level or "" for level in _texts(attributes.get("levels"), encoding)]
        places = pa.array(values.filled(0).astype(np.int32) - 1, mask=np.ma.getmaskarray(values))
        measure = "ordinal" if "ordered" in classes else "nominal"
        cells = pa.array(levels, pa.string()).take(places)
        return _RColumn(name, cells, Variable(label=label, labels=tuple(levels), measure=measure))
    return _RColumn(
        name,
        _numbers(name, values, classes),
        Variable(
            label=label,
            value_labels=_words(attributes.get("labels"), encoding),
            missing=_marks(attributes),
        ),
    )


def _numbers(name: str, values: Any, classes: set[str]) -> pa.Array:
    absent = np.ma.getmaskarray(values)
    plain = np.ma.getdata(values)
    if "integer64" in classes:
        whole = plain.view(np.int64)
        return pa.array(whole, mask=whole == np.iinfo(np.int64).min)
    if plain.dtype.kind == "b":
        return pa.array(plain, pa.bool_(), mask=absent)
    if "Date" in classes or "POSIXct" in classes:
        moments = np.where(absent, np.nan, plain.astype(np.float64))
        gaps = np.isnan(moments)
        seconds = np.where(gaps, 0.0, moments) * (86_400 if "Date" in classes else 1)
        if (np.abs(seconds) > 2.5e11).any():
            raise DataError(
                f"Column '{name}' holds a date that no calendar has.",
                "Correct that cell, or make it a number.",
            )
        if "Date" in classes:
            return pa.array(np.floor(seconds / 86_400).astype(np.int32), mask=gaps).cast(pa.date32())
        return pa.array(np.rint(seconds * 1e6).astype(np.int64), mask=gaps).cast(pa.timestamp("us"))
    if plain.dtype.kind == "i":
        return pa.array(plain.astype(np.int64), mask=absent)
    return pa.array(plain.astype(np.float64), mask=absent | np.isnan(plain))


def _words(labels: Any, encoding: str) -> dict[str, str]:
    """The `labels` of haven and labelled: numbers named by words."""
    if labels is None or _kind(labels) not in ("INT", "REAL"):
        return {}
    names = _texts(_attributes(labels).get("names"), encoding)
    values = np.ma.asarray(labels.value).tolist()
    return {
        str(text_of(value)): words
        for value, words in zip(values, names, strict=True)
        if words and text_of(value) is not None
    }


def _marks(attributes: dict[str, Any]) -> tuple[str, ...]:
    """`na_values` and `na_range` of haven's SPSS values."""
    codes, ends = (
        [] if entry is None else np.ma.asarray(entry.value).tolist()
        for entry in map(attributes.get, ("na_values", "na_range"))
    )
    marks = [str(text_of(code)) for code in codes]
    if len(ends) == 2:
        lower, upper = (str(text_of(float(end))) if np.isfinite(end) else "" for end in ends)
        marks.append(f"{lower or 'lowest'} to {upper or 'highest'}")
    return tuple(marks)
