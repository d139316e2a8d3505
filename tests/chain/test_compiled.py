"""Compiled loops work where nothing can be written, see one array type only, and compile."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

import coterie
from compile_ahead import release_by_every_loop
from coterie.chain.partition import _compiled, _machine_code

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
    release_by_every_loop()
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


def _twice(x: float) -> float:
    return 2.0 * x


def test_machine_code_of_the_installation_is_used_without_a_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Was: a first-time user waited seven seconds for a compiler."""
    monkeypatch.setattr(_machine_code, "_place", lambda: tmp_path / "code")
    monkeypatch.setattr(_machine_code, "_understood", lambda: True)

    def hits(writing: bool = False) -> int:
        with monkeypatch.context() as only_here:
            if writing:
                only_here.setenv(_machine_code.WRITING, "yes")
            machine = _machine_code.with_machine_code(numba.njit(_twice), _twice)
        assert machine(1.5) == 3.0
        return sum(machine.stats.cache_hits.values())

    assert hits() == 0  # no folder yet
    assert hits(writing=True) == 0
    assert hits() == 1
    monkeypatch.setattr(_machine_code, "_understood", lambda: False)
    assert hits() == 0  # a processor that does not understand it
    monkeypatch.setattr(_machine_code, "_understood", lambda: True)
    monkeypatch.setattr(_machine_code, "_place", lambda: tmp_path / "other")
    assert hits() == 0  # other sources


def test_machine_code_belongs_to_its_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = _machine_code._place.__wrapped__
    here = place()
    (tmp_path / "chain" / "partition").mkdir(parents=True)
    monkeypatch.setattr(_machine_code, "__file__", str(tmp_path / "chain" / "partition" / "_machine_code.py"))
    empty = place()
    (tmp_path / "chain" / "loops.py").write_text("x = 1")
    assert len({here.name, empty.name, place().name}) == 3
