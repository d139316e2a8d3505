"""How much memory a run may use, and how much it uses now."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from coterie.errors import ParameterError, counted

_UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
_READING = 64 * 10**6  # what reading and writing Parquet holds on to
_LEAST = 24 * 10**6  # below this the batches themselves would not fit


def parse_memory(text: str | int) -> int:
    """Bytes from "2GB", "512 MiB" or a number."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]I?B|)\s*", str(text).upper())
    if match is None or float(match[1]) <= 0:
        raise ParameterError("The memory limit cannot be read.", "Write for example 2GB or 500MB.")
    return int(float(match[1]) * _UNITS[match[2]])


def room_for_work(limit: int) -> int:
    """What the limit leaves beside the program itself."""
    used = resident() + _READING
    if limit - used < _LEAST:
        raise ParameterError(
            f"The memory limit of {_in_words(limit)} is too small: the program itself needs {used / 10**6:.0f} MB.",
            # Enough when it is tried, the next ten but one: the next process may be a little larger.
            f"Allow at least {((used + _LEAST) // 10**7 + 2) * 10} MB.",
        )
    return limit - used


def _in_words(limit: int) -> str:
    return f"{limit / 10**6:,.0f} MB" if limit >= 10**6 else counted(limit, "byte")


def resident() -> int:
    """Bytes of this process in memory now."""
    with open("/proc/self/statm", encoding="ascii") as status:
        return int(status.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def room_for(count: int, kind: Any) -> NDArray[Any]:
    """An array, not filled, in the memory of Arrow's pool: it keeps what is freed, for the next column and for the writer.

    Memory that the system gives anew is cleared page by page, which takes as long as the work itself.
    """
    kind = np.dtype(kind)
    return np.frombuffer(pa.allocate_buffer(count * kind.itemsize), dtype=kind)


def keep_what_is_freed() -> None:
    """Take memory from the system once: what is given back is mapped page by page when it is taken again.

    For runs that hold the whole table anyway. Arrow's usual pool gives every large array back at once, and has no call
    that says otherwise; jemalloc waits as long as it is told. Where it or glibc is missing, nothing happens.
    """
    with suppress(NotImplementedError):
        pa.set_memory_pool(pa.jemalloc_memory_pool())
        pa.jemalloc_set_decay_ms(10_000)
    import ctypes

    trim_threshold, map_threshold = -1, -3  # M_TRIM_THRESHOLD, M_MMAP_THRESHOLD of malloc.h
    with suppress(OSError, AttributeError):
        malloc = ctypes.CDLL(None)
        malloc.mallopt(trim_threshold, 2**31 - 1)
        malloc.mallopt(map_threshold, 2**25)  # the most that glibc accepts


def keep_some_of_what_is_freed() -> None:
    """Up to 64 MB, for runs that take and free the same arrays again and again inside somebody else's program.

    glibc raises its own limits with the largest array that was freed, up to 32 MB, and keeps twice as much. No page of this
    one is ever touched.
    """
    np.empty(2**25 - 2**16, dtype=np.uint8)
