"""What is measured of processes: seconds and CPU seconds of this one, of a child, and of all that descend from it."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from time import perf_counter, process_time

_TICK = os.sysconf("SC_CLK_TCK")


@cache
def bytecode_kept() -> dict[str, str]:
    """The environment of a child that keeps its bytecode, as an installation does, whatever this shell says.

    The first child compiles what it imports, into a folder of this run: let one go ahead that is not measured.
    """
    folder = tempfile.mkdtemp(prefix="coterie-bytecode-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPYCACHEPREFIX": folder}


def cpu_seconds(work: Callable[[], object]) -> float:
    """Of this process: other work on the machine hardly changes them."""
    start = process_time()
    work()
    return process_time() - start


def child_seconds(command: Sequence[str], environment: Mapping[str, str]) -> tuple[float, float]:
    """Seconds and CPU seconds of a command in a process of its own."""
    before, start = os.times(), perf_counter()
    subprocess.run(command, env=environment, capture_output=True, check=True)
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return perf_counter() - start, used


def tree_seconds() -> float:
    """User and system time, of the living and of children already waited for."""
    parents, used = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # gone meanwhile
                continue
            parents[int(entry.name)] = int(fields[1])
            used[int(entry.name)] = sum(map(int, fields[11:15])) / _TICK
    mine, before = {os.getpid()}, 0
    while len(mine) > before:
        before = len(mine)
        mine |= {pid for pid, parent in parents.items() if parent in mine}
    return sum(used[pid] for pid in mine if pid in used)
