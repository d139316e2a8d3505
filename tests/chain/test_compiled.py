"""Compiled loops work where nothing can be written, see one array type only, and compile."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pyarrow as pa
import pytest

import coterie
from coterie.chain.partition import _compiled

CHAIN = Path(coterie.__file__).parent / "chain"


def test_where_no_cache_can_be_written_loops_compile_without_one(monkeypatch: pytest.MonkeyPatch) -> None:
    real = numba.njit

    def read_only_installation(*loops: Any, **options: Any) -> Callable[..., Any]:
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return real(*loops, **options)  # Numba's own loops too: some are made when the first one is compiled

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


def test_every_loop_of_the_chain_becomes_machine_code() -> None:
    """`make test` runs this test before all others, so that no two of them compile the same loop."""
    draw = np.random.Generator(np.random.PCG64(1))
    numbers = {name: draw.random(60_000) for name in "xy"}
    table = pa.table({**numbers, "group": draw.choice(["a", "b"], 60_000)})
    bounded = {"role": "protect", "domain": {"lower": 0, "upper": 1}}
    groups = {"role": "protect", "type": "categorical", "categories": {"labels": ["a", "b"]}}
    kept = {"role": "keep"}

    def release(rows: int, method: str, mixed: bool = False, **settings: Any) -> None:
        attributes = {"x": bounded, "y": bounded, "group": groups if mixed else kept}
        coterie.protect(
            table.slice(0, rows), {"coterie_schema": 1, "attributes": attributes}, method=method, **settings
        )

    release(60_000, "dp-ir", epsilon=1, k=10)
    release(60_000, "idp-ls", epsilon=1, k=10)
    release(60_000, "ir", k=10, grouping="optimal")
    release(3_000, "mdav", k=100)
    release(500, "mdav", mixed=True, k=50)
    release(500, "dp-synthetic", mixed=True, epsilon=1)
    loops = {
        f"{path.stem}.{name}": loop
        for path in CHAIN.rglob("*.py")
        if "@compiled" in path.read_text(encoding="utf-8")
        for name, loop in vars(importlib.import_module(_module(path))).items()
        if isinstance(loop, _compiled._Compiled)
    }
    assert not [name for name, loop in loops.items() if loop._machine is None]


def _module(path: Path) -> str:
    return ".".join(["coterie", *path.relative_to(CHAIN.parent).with_suffix("").parts])


def test_machine_code_of_an_earlier_version_is_compiled_anew() -> None:
    """Was: a type that had been renamed since ended every command with an AttributeError, until the cache was deleted."""
    loop = numba.njit(cache=True)(_module)
    flushed: list[bool] = []

    class Kept:
        class _cache_file:  # noqa: N801 - Numba's name
            @staticmethod
            def load(key: object) -> None:
                raise AttributeError("Can't get attribute 'Places'")

        @staticmethod
        def flush() -> None:
            flushed.append(True)

    assert _compiled._without_what_is_gone(loop) is loop  # a sound cache is left as it is
    loop._cache = Kept
    assert _compiled._without_what_is_gone(loop) is loop
    assert flushed == [True]
