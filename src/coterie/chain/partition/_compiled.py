"""One way to compile a loop: free of the interpreter lock, and kept on disk so that only the first run pays.

Numba is imported by the first loop that needs it, never by `import coterie`: small tables run on NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

Loop = TypeVar("Loop", bound=Callable[..., Any])
Number = TypeVar("Number", bound=np.generic)


def compiled(loop: Loop) -> Loop:
    """Machine code for `loop`; a division by zero gives inf, as in NumPy."""
    return _compile(loop, error_model="numpy")


def compiled_for_finite(loop: Loop) -> Loop:
    """For loops that meet no NaN and do not tell -0.0 from 0.0, so that minima and maxima are vectorised."""
    return _compile(loop, fastmath={"nnan", "nsz"})


def compiled_in_any_order(loop: Loop) -> Loop:
    """For sums of finite values that may be added in any order, so that they are vectorised: the last bits vary."""
    return _compile(loop, fastmath={"reassoc", "nnan", "nsz"})


def for_reading(column: NDArray[Number]) -> NDArray[Number]:
    """A read-only view. Columns from Arrow are read-only anyway, and each other array type compiles anew."""
    view = np.ascontiguousarray(column).view()
    view.flags.writeable = False
    return view


def _compile(loop: Loop, **options: Any) -> Loop:
    try:
        return cast(Loop, njit(nogil=True, cache=True, **options)(loop))
    except RuntimeError:  # neither the package nor the home directory is writable: compile in every process
        return cast(Loop, njit(nogil=True, **options)(loop))
