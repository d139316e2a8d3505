"""Compiled loops work where nothing can be written, and see one array type only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest

from coterie.chain.partition import _compiled


def test_where_no_cache_can_be_written_loops_compile_without_one(monkeypatch: pytest.MonkeyPatch) -> None:
    real = numba.njit

    def read_only_installation(**options: Any) -> Callable[..., Any]:
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return real(**options)

    monkeypatch.setattr(numba, "njit", read_only_installation)

    @_compiled.compiled
    def inverse(x: float) -> float:
        return 1.0 / x

    assert inverse(4.0) == 0.25
    assert inverse(0.0) == np.inf


def test_for_reading_leaves_the_original_writable_and_copies_only_strided_columns() -> None:
    table = np.zeros((4, 2))
    view = _compiled.for_reading(table[:, 0])
    assert view.flags.c_contiguous
    assert not view.flags.writeable
    assert table.flags.writeable
    assert np.shares_memory(_compiled.for_reading(table), table)
