"""One data frame out of a file of R's own (`.rda`): as much of the format as a public table needs, and no more.

The format is that of *R Internals*, "Serialization Formats": XDR, versions 2 and 3. Such a file comes over a network, so
nothing it claims is believed: it may not grow beyond a limit when it is unpacked, no length may exceed the bytes that are
left, nesting has a limit, and what is not plain data (functions, environments, pointers) is refused, never built.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa

from coterie.errors import DataError

LARGEST = (
    1 << 24
)  # bytes, and values that compact forms may stand for: a hundred times the tables of the papers
_DEEPEST = 32
_NA_INTEGER = -(2**31)
_NA_REAL = 1954  # the low word of the NaN that R means by NA

_NULL, _SYMBOL, _PAIRS, _TEXT = 0, 1, 2, 9
_LOGICAL, _INTEGER, _REAL, _TEXTS, _LIST = 10, 13, 14, 16, 19
_COMPACT, _NIL, _REFERENCE = 238, 254, 255  # markers of the file, which are no types of R
_HAS_ATTRIBUTES, _HAS_TAG = 1 << 9, 1 << 10
_LATIN1 = 1 << (12 + 2)

Pairs = list[tuple[str | None, Any]]


def data_frame(content: bytes, name: str) -> pa.Table:
    """The data frame `name` of an R file. Factors become their labels, NA becomes null."""
    plain = _unpacked(content)
    if plain[:7] not in (b"RDX2\nX\n", b"RDX3\nX\n"):
        _refuse("is not one that R's save() writes in its binary format")
    reader = _Reader(plain, 7)
    version = reader.integer()
    reader.take(8)  # who wrote it, and who can read it
    if version == 3:
        reader.take(reader.integer())  # the writer's own encoding; texts below say theirs
    objects = reader.item()
    frames = [value for tag, value in objects if tag == name] if isinstance(objects, list) else []
    frame = frames[0] if frames else None
    if not isinstance(frame, _Vector) or "data.frame" not in frame.texts("class"):
        _refuse(f"holds no data frame {name}")
    names = frame.texts("names")
    if frame.kind != _LIST or len(names) != len(frame.values) or len(set(names)) != len(names):
        _refuse("holds a data frame whose columns have no names of their own")
    columns = [_column(column) for column in frame.values]
    if len({len(column) for column in columns}) > 1:
        _refuse("holds a data frame with columns of different lengths")
    return pa.table(dict(zip(names, columns, strict=True)))


def _refuse(what: str) -> NoReturn:
    raise DataError(f"The R file {what}.", "Save the table as CSV text in R, with write.csv().")


def _unpacked(content: bytes) -> bytes:
    opened: Any
    if content.startswith(b"\x1f\x8b"):
        opened = zlib.decompressobj(wbits=31)
    elif content.startswith(b"BZh"):
        opened = bz2.BZ2Decompressor()
    elif content.startswith(b"\xfd7zXZ\x00"):
        opened = lzma.LZMADecompressor(memlimit=1 << 28)  # R's own setting needs a quarter of this
    else:
        return content
    try:
        plain: bytes = opened.decompress(content, LARGEST + 1)
    except (zlib.error, lzma.LZMAError, OSError):
        _refuse("is damaged: it cannot be unpacked")
    if len(plain) > LARGEST:
        _refuse(f"is larger than {LARGEST >> 20} MiB when unpacked")
    if not opened.eof:
        _refuse("ends too early")
    return plain


@dataclass(frozen=True, slots=True)
class _Vector:
    kind: int
    values: Any  # a NumPy array of numbers, or a list
    attributes: dict[str | None, Any] = field(default_factory=dict)

    def texts(self, attribute: str) -> list[str]:
        """An attribute that must be texts, such as names, class or levels; none where it is not there."""
        found = self.attributes.get(attribute)
        if not isinstance(found, _Vector) or found.kind != _TEXTS or None in found.values:
            return []
        return list(found.values)


class _Reader:
    def __init__(self, content: bytes, start: int) -> None:
        self.content, self.at, self.depth = content, start, 0
        self.symbols: list[str] = []
        self.compact = LARGEST  # how many values compact forms may still stand for

    def take(self, size: int) -> bytes:
        if not 0 <= size <= len(self.content) - self.at:
            _refuse("is damaged: it claims more than it holds")
        self.at += size
        return self.content[self.at - size : self.at]

    def integer(self) -> int:
        return int.from_bytes(self.take(4), "big", signed=True)

    def item(self) -> Any:
        """NULL as None, symbols and single texts as text, pairlists as pairs, vectors as `_Vector`."""
        return self.item_of(self.integer())

    def item_of(self, flags: int) -> Any:
        if self.depth == _DEEPEST:
            _refuse("nests deeper than a table does")
        self.depth += 1
        found = self._item_of(flags)
        self.depth -= 1
        return found

    def _item_of(self, flags: int) -> Any:
        kind = flags & 0xFF
        if kind in (_NULL, _NIL):
            return None
        if kind == _SYMBOL:
            self.symbols.append(str(self.item()))
            return self.symbols[-1]
        if kind == _REFERENCE:
            position = (flags >> 8) or self.integer()
            if not 1 <= position <= len(self.symbols):
                _refuse("is damaged: it refers to what is not there")
            return self.symbols[position - 1]
        if kind == _PAIRS:
            return self._pairs(flags)
        if kind == _TEXT:
            size = self.integer()
            encoding = "latin-1" if flags & _LATIN1 else "utf-8"
            return None if size == -1 else self.take(size).decode(encoding, "replace")
        if kind == _COMPACT:
            return self._expanded()
        if kind not in (_LOGICAL, _INTEGER, _REAL, _TEXTS, _LIST):
            _refuse("holds something other than plain data")
        values = self._values(kind, self.integer())
        attributes = self.item() if flags & _HAS_ATTRIBUTES else None
        return _Vector(kind, values, dict(attributes) if isinstance(attributes, list) else {})

    def _pairs(self, flags: int) -> Pairs:
        """A loop, not a recursion: a pairlist is as long as its writer likes."""
        pairs: Pairs = []
        while flags & 0xFF == _PAIRS:
            if flags & _HAS_ATTRIBUTES:
                self.item()
            tag = self.item() if flags & _HAS_TAG else None
            pairs.append((tag if isinstance(tag, str) else None, self.item()))
            flags = self.integer()
        if flags & 0xFF != _NIL:
            pairs.append(
                (None, self.item_of(flags))
            )  # R also writes pairs of two values, without a list's end
        return pairs

    def _values(self, kind: int, length: int) -> Any:
        if kind in (_TEXTS, _LIST):
            if not 0 <= length <= (len(self.content) - self.at) // 4:  # the least an item takes
                _refuse("is damaged: it claims more than it holds")
            found = [self.item() for _ in range(length)]
            if kind == _TEXTS and not all(text is None or isinstance(text, str) for text in found):
                _refuse("is damaged: a text is not one")
            return found
        width = 8 if kind == _REAL else 4
        return np.frombuffer(self.take(width * length), ">f8" if kind == _REAL else ">i4")

    def _expanded(self) -> _Vector:
        """R ≥ 3.5 may write 1:n as three numbers, numbers as the texts they will become, and wrap a vector."""
        form, state, attributes = self.item(), self.item(), self.item()
        name = form[0][1] if isinstance(form, list) else None
        own = dict(attributes) if isinstance(attributes, list) else {}
        inner = state[0][1] if isinstance(state, list) else state
        if isinstance(name, str) and isinstance(inner, _Vector):
            if name.startswith("wrap_"):
                return _Vector(inner.kind, inner.values, own)
            if (
                name in ("compact_intseq", "compact_realseq")
                and inner.kind == _REAL
                and len(inner.values) == 3
            ):
                length, first, step = (float(value) for value in inner.values)
                if not (0 <= length <= self.compact and abs(first) < 2**31 and abs(step) == 1):
                    _refuse("stands for more values than a table has")
                self.compact -= int(length)
                kind = _INTEGER if name == "compact_intseq" else _REAL
                sequence = first + step * np.arange(int(length))
                return _Vector(kind, sequence.astype(np.int64) if kind == _INTEGER else sequence, own)
            if name == "deferred_string" and inner.kind == _INTEGER:
                texts = [None if value == _NA_INTEGER else str(value) for value in inner.values.tolist()]
                return _Vector(_TEXTS, texts, own)
        _refuse("holds a compact form that is not known here")


def _column(column: object) -> pa.Array:
    if not isinstance(column, _Vector) or column.kind == _LIST or "dim" in column.attributes:
        _refuse("holds a column that is no plain vector")
    if column.kind == _TEXTS:
        return pa.array(column.values, pa.string())
    if column.kind == _REAL:
        values = column.values.astype("<f8")
        missing = np.isnan(values) & (values.view("<u8") & 0xFFFFFFFF == _NA_REAL)
        return pa.array(values, mask=missing)
    missing = column.values == _NA_INTEGER
    if column.kind == _LOGICAL:
        return pa.array(column.values != 0, mask=missing)
    if "factor" not in column.texts("class"):
        return pa.array(column.values.astype(np.int64), mask=missing)
    levels, codes = column.texts("levels"), np.where(missing, 1, column.values)
    if len(codes) and not 1 <= codes.min() <= codes.max() <= max(len(levels), 1):
        _refuse("is damaged: a factor has a level that is not there")
    return pa.array(
        [None if gone else levels[code - 1] for code, gone in zip(codes, missing, strict=True)], pa.string()
    )
