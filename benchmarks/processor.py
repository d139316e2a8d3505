"""Processes that are measured: what they start from, and the CPU seconds of one and of all that descend from it."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path

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
