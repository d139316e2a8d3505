"""One way to compile a loop: free of the interpreter lock, and kept on disk so that only the first run pays.

Numba is imported by the first call of a loop, never by an import of ours: small tables run on NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from coterie.chain.partition._machine_code import with_machine_code

Loop = TypeVar("Loop", bound=Callable[..., Any])
Number = TypeVar("Number", bound=np.generic)
_lock = RLock()


def compiled(loop: Loop) -> Loop:
    """Machine code for `loop`; a division by zero gives inf, as in NumPy."""
    return cast(Loop, _Compiled(loop, error_model="numpy"))


def compiled_inline(loop: Loop) -> Loop:
    """Compile a few operations that stand inside the loops of others."""
    return cast(Loop, _Compiled(loop, inline="always"))


def compiled_for_finite(loop: Loop) -> Loop:
    """Compile a loop that meets no NaN and does not tell -0.0 from 0.0, so that minima and maxima are vectorised."""
    return cast(Loop, _Compiled(loop, fastmath={"nnan", "nsz"}))


def for_reading(column: NDArray[Number]) -> NDArray[Number]:
    """A read-only view. Columns from Arrow are read-only anyway, and each other array type compiles anew."""
    view = np.ascontiguousarray(column).view()
    view.flags.writeable = False
    return view


class _Compiled:
    """Stands for the loop until somebody calls it."""

    def __init__(self, loop: Callable[..., Any], **options: Any) -> None:
        self._loop, self._options = loop, options
        self._machine: Callable[..., Any] | None = None
        self._ready: Callable[..., Any] | None = (
            None  # the same, once all loops that it calls are machine code
        )

    def __call__(self, *arguments: Any) -> Any:
        return (self._ready or self._make())(*arguments)

    def _make(self) -> Callable[..., Any]:
        from numba import njit

        with _lock:
            if self._machine is None:
                try:
                    self._machine = _without_what_is_gone(
                        njit(nogil=True, cache=True, **self._options)(self._loop)
                    )
                except RuntimeError:
                    # Neither the package nor the home directory is writable: compile in every process.
                    self._machine = njit(nogil=True, **self._options)(self._loop)
                with_machine_code(self._machine, self._loop)
                # Loops that this one calls must be machine code where the compiler looks them up.
                seen = self._loop.__globals__
                for name, other in list(seen.items()):
                    if isinstance(other, _Compiled):
                        seen[name] = other._make()
                self._ready = self._machine  # last: another thread may be about to call it
            return cast(Callable[..., Any], self._machine)


def _without_what_is_gone(machine: Any) -> Any:
    """Machine code on disk names types of the version that kept it: where they are gone, it is compiled anew."""
    kept = machine._cache  # Numba reads the index when a loop is called, before it compares versions
    try:
        kept._cache_file.load(None)
    except (AttributeError, ImportError):
        kept.flush()
    return machine
