"""Writes R files by the documented format, whole ones and hostile ones, so that no table need be committed."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

HEADER = b"RDX2\nX\n" + struct.pack(">iii", 2, 0x40202, 0x20300)
NIL = struct.pack(">i", 254)
ATTRIBUTES, TAG = 1 << 9, 1 << 10


def integer(value: int) -> bytes:
    return struct.pack(">i", value)


def text(value: str) -> bytes:
    return integer(9) + integer(len(value)) + value.encode("ascii")


def symbol(name: str) -> bytes:
    return integer(1) + text(name)


def texts(values: Sequence[str]) -> bytes:
    return integer(16) + integer(len(values)) + b"".join(map(text, values))


def reals(values: Sequence[float], flags: int = 0) -> bytes:
    return integer(14 | flags) + integer(len(values)) + struct.pack(f">{len(values)}d", *values)


def integers(values: Sequence[int], flags: int = 0) -> bytes:
    return integer(13 | flags) + integer(len(values)) + struct.pack(f">{len(values)}i", *values)


def pairs(named: Mapping[str, bytes]) -> bytes:
    return b"".join(integer(2 | TAG) + symbol(name) + value for name, value in named.items()) + NIL


def frame(columns: Mapping[str, bytes], kind: str = "data.frame") -> bytes:
    attributes = pairs({"names": texts(list(columns)), "class": texts([kind])})
    return integer(19 | ATTRIBUTES) + integer(len(columns)) + b"".join(columns.values()) + attributes


def r_file(**objects: bytes) -> bytes:
    return HEADER + pairs(objects)
