"""Machine code that was compiled before the first use, and comes with the installation.

A compiler takes seconds, and a first-time user would wait for it. `tools/compile_ahead.py` writes the machine code of every
loop into a folder beside this file, when the working copy is set up and before a wheel is built. It is used only with the
same sources, Python and Numba, on a processor that understands it. Anything else is compiled on first use.
"""

from __future__ import annotations

import os
import pickle
import platform
import zlib
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "machine_code"
WRITING = "COTERIE_WRITES_MACHINE_CODE"  # set by tools/compile_ahead.py alone
# The level that nearly every x86 processor since 2015 has; other processors get what all of their kind understand.
PROCESSOR = "x86-64-v3" if platform.machine() == "x86_64" else "generic"
_NEEDED = ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe") if PROCESSOR == "x86-64-v3" else ()


def with_machine_code(machine: Any, loop: Callable[..., Any]) -> Any:
    """Let the compiler `machine` of `loop` look into the folder first, or fill the folder."""
    if WRITING in os.environ:
        machine._cache = _ahead(loop)
    elif _place().is_dir() and _understood():
        machine._cache = _InTurn(_ahead(loop), machine._cache)
    return machine


class _InTurn:
    """First what came with the installation, then what this machine keeps."""

    def __init__(self, ahead: Any, kept: Any) -> None:
        self._ahead, self._kept = ahead, kept

    def load_overload(self, signature: Any, context: Any) -> Any:
        return self._ahead.load_overload(signature, context) or self._kept.load_overload(signature, context)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kept, name)


def _ahead(loop: Callable[..., Any]) -> Any:
    from numba.core import caching as _caching

    caching: Any = _caching  # untyped

    class Place(caching._CacheLocator):  # type: ignore[misc]
        @classmethod
        def from_function(cls, function: object, path: object) -> Any:
            return cls()

        def get_cache_path(self) -> str:
            return str(_place())

        def get_source_stamp(self) -> str:
            return ""  # the folder's name says which sources

        def get_disambiguator(self) -> str:
            return platform.machine()

    class Form(caching.CompileResultCacheImpl):  # type: ignore[misc]
        _locator_classes = (Place,)

    class Ahead(caching.FunctionCache):  # type: ignore[misc]
        _impl_class = Form

        def _index_key(self, signature: Any, generator: Any) -> tuple[Any, ...]:
            """Not the name of the processor that compiled: any that understands it may use it."""
            return (signature, PROCESSOR)

    class Packed(caching.IndexDataCacheFile):  # type: ignore[misc]
        """A third of the size."""

        def _save_data(self, name: str, data: object) -> None:
            with self._open_for_write(self._data_path(name)) as file:
                file.write(zlib.compress(self._dump(data), 9))

        def _load_data(self, name: str) -> Any:
            return pickle.loads(zlib.decompress(Path(self._data_path(name)).read_bytes()))

    found = Ahead(loop)
    found._cache_file.__class__ = Packed
    return found


@cache
def _understood() -> bool:
    from llvmlite.binding import get_host_cpu_features

    has = get_host_cpu_features()
    return all(has.get(feature) for feature in _NEEDED)


@cache
def _place() -> Path:
    """A folder named for every source that a loop may be made of: another version's code is not even looked at."""
    seen = sha256()
    for path in sorted(Path(__file__).parents[1].rglob("*.py")):
        seen.update(path.read_bytes())
    return FOLDER / seen.hexdigest()[:16]
