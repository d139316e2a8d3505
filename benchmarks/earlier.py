"""This version against an earlier one, in turns: the last tag, or the revision named in COTERIE_BENCH_AGAINST.

Both run in the same Python with the same libraries, each from its own sources and with its own compiled code.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROUNDS = 5
SETUP = """
import time, numpy as np, pyarrow as pa
from coterie import Attribute, Domain, Role, Schema, protect
try:
    from coterie.comparison.comparison import run_grid
except ImportError:  # the name it had before
    from coterie.comparison.comparison import compare as run_grid
from coterie.comparison.grid import make_grid
def table(rows, columns):
    draw = np.random.Generator(np.random.PCG64(1))
    names = [f"a{number}" for number in range(columns)]
    attributes = tuple(Attribute(name=n, role=Role.PROTECT, domain=Domain(lower=0, upper=1)) for n in names)
    return pa.table({name: draw.random(rows) for name in names}), Schema(attributes=attributes)
"""
WORK = {
    f"`protect`, {method}, {rows:,} × {columns}": (
        f"t = table({rows}, {columns})",
        f"protect(*t, method='{method}', {options})",
    )
    for method, rows, columns, options in (
        ("dp-ir", 1_000_000, 8, "epsilon=8, k=10"),
        ("idp-cbls", 1_000_000, 8, "epsilon=8, k=10"),
        ("mdav", 20_000, 4, "k=10"),
        ("dp-synthetic", 20_000, 4, "epsilon=1"),
    )
}
WORK["`compare`, 1,000 × 8, 240 releases"] = (
    "t = table(1_000, 8); g = make_grid(['dp-ir', 'idp-cbls'], ['0.1', '1', '10'], [5, 10, 20, 50], 10)",
    "run_grid(*t, g)",
)


def run() -> Iterator[str]:
    revision = os.environ.get("COTERIE_BENCH_AGAINST") or _git(
        "describe", "--tags", "--abbrev=0", check=False
    )
    if not revision:
        yield "No earlier release is tagged. Name a revision to compare with in COTERIE_BENCH_AGAINST."
        return
    with tempfile.TemporaryDirectory() as folder:
        earlier = Path(folder) / "earlier"
        _git("worktree", "add", "--detach", str(earlier), revision)
        try:
            yield f"| seconds, best of {ROUNDS} in turns | {revision} | now | times as fast |"
            yield "|---|---|---|---|"
            for name, (before, work) in WORK.items():
                taken: dict[Path, list[float]] = {earlier: [], ROOT: []}
                for _ in range(ROUNDS):
                    for place, seconds in taken.items():
                        seconds.append(_seconds(place, Path(folder), before, work))
                old, new = (min(seconds) for seconds in taken.values())
                yield f"| {name} | {old:.3f} | {new:.3f} | {old / new:.2f} |"
        finally:
            _git("worktree", "remove", "--force", str(earlier))


def _seconds(place: Path, folder: Path, before: str, work: str) -> float:
    """The best of three calls in a process of its own: the first loads or compiles code."""
    timing = f"best = 9e9\nfor _ in '123':\n  s = time.perf_counter(); {work}; best = min(best, time.perf_counter() - s)"
    code = f"{SETUP}\n{before}\n{timing}\nprint(best)"
    environment = {
        **os.environ,
        "PYTHONPATH": str(place / "src"),
        "NUMBA_CACHE_DIR": str(folder / f"numba-{place.name}"),
    }
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    return float(done.stdout.split()[-1])


def _git(*words: str, check: bool = True) -> str:
    return subprocess.run(
        ["git", *words], cwd=ROOT, capture_output=True, text=True, check=check
    ).stdout.strip()
