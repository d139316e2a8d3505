"""The guard of tests/left_behind.py finds what it is there for, names it, and clears it away. No test is decided by luck."""

from __future__ import annotations

import ast
import io
import logging
import os
import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from coterie.cli.app import app
from left_behind import nothing_left_behind

TESTS = Path(__file__).parent
OFFENCES: dict[str, Callable[[], object]] = {
    "log handlers": lambda: logging.getLogger("coterie.x").addHandler(logging.StreamHandler(io.StringIO())),
    "log levels": lambda: logging.getLogger().setLevel(logging.DEBUG),
    "environment": lambda: os.environ.update(COTERIE_LEFT="x"),
    "working folder": lambda: os.chdir("/"),
    "sys.path": lambda: sys.path.append("/nowhere"),
}


@pytest.mark.parametrize("name", OFFENCES)
def test_what_is_left_is_found_and_cleared(name: str) -> None:
    with pytest.raises(AssertionError, match=f"left behind: {name}"), nothing_left_behind():
        OFFENCES[name]()
    with nothing_left_behind():
        pass


def test_a_thread_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("left_behind._PATIENCE_SECONDS", 0.05)
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait, name="forgotten")
    with pytest.raises(AssertionError, match="forgotten"), nothing_left_behind():
        thread.start()
    stop.set()
    thread.join()


@pytest.mark.parametrize(
    ("name", "offend"),
    [("umask", lambda: os.umask(0o077)), ("floating-point errors", lambda: np.seterr(all="raise"))],
)
def test_numbers_of_the_process_are_found(name: str, offend: Callable[[], object]) -> None:
    mask, errors = os.umask(0o022), np.geterr()
    try:
        with pytest.raises(AssertionError, match=name), nothing_left_behind():
            offend()
    finally:
        os.umask(mask)
        np.seterr(**errors)


def test_a_service_that_cannot_start_gives_logging_back(tmp_path: Path) -> None:
    """`aggregator serve` left a handler on a stream that was closed: later tests found its complaints in their output."""
    pytest.importorskip("fastapi", reason="pip install 'coterie[federation]'")
    with nothing_left_behind():
        assert CliRunner().invoke(app, ["aggregator", "serve", str(tmp_path), "--json"]).exit_code == 1


# What a busy machine or another seed would decide. A test that is about time is `slow`: it runs on a quiet machine.

LEAST_PATIENCE = 60  # seconds
LUCK = re.compile(r"random\.(?!Random|Generator|PCG64|Philox|SeedSequence|default_rng\([^)])\w+")
CLOCKS = {"time.time", "time.perf_counter", "perf_counter"}


def decided_by_luck_or_load(text: str) -> list[str]:
    tree = ast.parse(text)
    if "pytestmark = pytest.mark.slow" in text:
        return []
    slow = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and any("mark.slow" in ast.unparse(d) for d in node.decorator_list)
    ]
    free = {id(inner) for node in slow for inner in ast.walk(node)}
    return [
        f"line {node.lineno}: {ast.unparse(node)[:80]}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and id(node) not in free and _is_decided(node)
    ]


def _is_decided(call: ast.Call) -> bool:
    called, named = ast.unparse(call.func), {one.arg: one.value for one in call.keywords}
    waits = named.get("timeout") or (
        call.args[0] if called.endswith((".wait", ".join")) and call.args else None
    )
    if (
        isinstance(waits, ast.Constant)
        and isinstance(waits.value, int | float)
        and waits.value < LEAST_PATIENCE
    ):
        return True
    if re.fullmatch(r"httpx\.(Client|AsyncClient|get|post|put|delete|request)", called):
        return not {"timeout", "transport"} & named.keys()  # httpx itself gives up after five seconds
    if re.match(r"(np\.|numpy\.)?random\.", called):
        return LUCK.match(f"{called.removeprefix('np.')}({ast.unparse(call)[len(called) + 1 :]}") is not None
    return called in CLOCKS


def test_no_test_is_decided_by_luck_or_load() -> None:
    found = {
        path.name: decided_by_luck_or_load(path.read_text(encoding="utf-8")) for path in TESTS.rglob("*.py")
    }
    assert {name: lines for name, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    "line",
    [
        "httpx.get(url)",
        "httpx.Client(base_url=url)",
        "process.communicate(timeout=5)",
        "thread.join(1.5)",
        "assert time.perf_counter() < 1",
        "np.random.default_rng()",
        "np.random.normal(3)",
        "random.shuffle(rows)",
    ],
)
def test_what_luck_or_load_decides_would_be_noticed(line: str) -> None:
    assert decided_by_luck_or_load(f"def test() -> None:\n    {line}\n")
    assert not decided_by_luck_or_load(f"@pytest.mark.slow\ndef test() -> None:\n    {line}\n")


def test_what_is_fixed_may_stay() -> None:
    assert not decided_by_luck_or_load(
        "httpx.get(url, timeout=60); process.wait(240); ', '.join(names); np.random.default_rng(1)\n"
        "np.random.Generator(np.random.PCG64(7)); random.Random(3).shuffle(rows)\n"
    )
