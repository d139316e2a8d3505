"""No test may depend on the one before it: whoever leaves something in the process fails at once, by name.

COTERIE_ORDER=7 runs files, and the tests in each, in the random order number 7; what fails there fails again with 7.
"""

from __future__ import annotations

import decimal
import gc
import locale
import logging
import os
import random
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGPIPE)
_UMASK = Path("/proc/self/status")
_AT_THE_START = {name for name in os.environ if not name.startswith("PYTEST_")}
_PATIENCE_SECONDS = 5.0  # for a thread that is about to end


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    seed = os.environ.get("COTERIE_ORDER")
    if seed is None:
        # Workers steal the last tests of each other: the first all stay in one process, with one virtual machine of Java.
        items.sort(key=lambda item: "spark" not in getattr(item, "fixturenames", ()))
        return
    draw = random.Random(seed)
    places = {path: draw.random() for path in dict.fromkeys(item.path for item in items)}
    items.sort(key=lambda item: (places[item.path], draw.random()))


@pytest.fixture(autouse=True)
def _leaves_nothing_behind() -> Iterator[None]:
    """Set up before, and so taken down after, everything else that one test asks for."""
    with nothing_left_behind():
        yield


@contextmanager
def nothing_left_behind() -> Iterator[None]:
    before = state()
    yield
    after = state()
    changed = [name for name, value in before.items() if not _same(value, after[name])]
    restore(before)
    assert not changed, f"this test left behind: {', '.join(_told(n, before[n], after[n]) for n in changed)}"


@pytest.fixture(autouse=True)
def _own_process(_leaves_nothing_behind: None) -> Iterator[None]:
    """`coterie` sets up its process as it likes: run inside a test, it must not do so for all that follow."""
    threshold, hook, told = gc.get_threshold(), sys.excepthook, warnings.formatwarning
    yield
    sys.excepthook, warnings.formatwarning = hook, told
    os.environ.pop("MIMALLOC_PURGE_DELAY", None)
    gc.set_threshold(*threshold)


def state() -> dict[str, Any]:
    """What tests share because they share a process. Random states are left out: libraries draw while they are imported, so
    the answer would depend on who imported them first; and no code of ours draws from a shared state (test_house.py)."""
    return {
        "log handlers": _handlers(),
        "log levels": (logging.root.level, logging.root.manager.disable, logging.getLogger("coterie").level),
        "environment": _environment(),
        "working folder": os.getcwd(),
        "sys.path": list(sys.path),
        "signal handlers": [signal.getsignal(number) for number in _SIGNALS],
        "exception hook": sys.excepthook,
        "format of warnings": warnings.formatwarning,
        "locale": locale.setlocale(locale.LC_ALL),
        "umask": _umask(),
        "decimal context": (decimal.getcontext().prec, decimal.getcontext().rounding),
        "floating-point errors": np.geterr(),
        "threads": _threads(),
    }


def restore(before: dict[str, Any]) -> None:
    """What one test left behind must not fail the next one too."""
    for name, handler in _handlers() - before["log handlers"]:
        logging.getLogger(name).removeHandler(handler)
    level, disabled, own = before["log levels"]
    logging.root.setLevel(level)
    logging.disable(disabled)
    logging.getLogger("coterie").setLevel(own)
    for name in _environment().keys() - before["environment"].keys():
        del os.environ[name]
    os.environ.update(before["environment"])
    os.chdir(before["working folder"])
    sys.path[:] = before["sys.path"]


def _handlers() -> set[tuple[str, logging.Handler]]:
    """Those that write: of the root, our own loggers and the servers'. Those of pytest come and go."""
    ours = ("coterie", "uvicorn", "httpx", "alembic")
    found = logging.root.manager.loggerDict
    loggers = {"": logging.root, **{name: found[name] for name in found if name.split(".")[0] in ours}}
    return {
        (name, handler)
        for name, logger in loggers.items()
        if isinstance(logger, logging.Logger)
        for handler in logger.handlers
        if not isinstance(handler, logging.NullHandler) and not type(handler).__module__.startswith("_pytest")
    }


def _environment() -> dict[str, str]:
    """What was set before the tests began, and our own. Libraries set variables of theirs while they are imported, so who
    imports them first would decide which test fails."""
    return {n: v for n, v in os.environ.items() if n in _AT_THE_START or n.startswith("COTERIE_")}


def _umask() -> str:
    """Read, where it can be: asking the system for it means setting it, for all threads."""
    if not _UMASK.exists():
        return ""
    return next((line for line in _UMASK.read_text().splitlines() if line.startswith("Umask")), "")


def _threads() -> frozenset[threading.Thread]:
    """Those that would keep the process alive. A web server's idle workers are let go by the server itself."""
    return frozenset(t for t in threading.enumerate() if not t.daemon and "AnyIO worker" not in t.name)


def _same(before: Any, after: Any) -> bool:
    if isinstance(before, frozenset):
        end = time.monotonic() + _PATIENCE_SECONDS
        while (more := _threads() - before) and time.monotonic() < end:
            time.sleep(0.01)
        return not more
    return before is None or bool(before == after)


def _told(name: str, before: Any, after: Any) -> str:
    """Names only, of what is new: the environment may hold secrets."""
    if isinstance(before, dict):
        changed = sorted(key for key in {**before, **after} if before.get(key) is not after.get(key))
        return f"{name} ({', '.join(changed[:5])})"
    if isinstance(before, set | frozenset):
        return f"{name} ({', '.join(map(str, after - before))})"
    return name
