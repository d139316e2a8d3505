"""What a first-time user waits for: whole commands in a new process, with no compiled loop kept from before.

Machine code and bytecode that came with the installation count, as they would for that user; `without it` hides the former.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.processor import bytecode_kept, child_seconds
from coterie.chain.partition import _machine_code

ROUNDS = 3  # the least counts: what else the machine does adds to CPU time too
_SCHEMA = "coterie_schema: 1\nattributes:\n" + "".join(
    f"  {name}: {{role: protect, type: continuous, domain: {{lower: 0, upper: 100}}}}\n" for name in "abcd"
)
_COMPARE = "compare --methods dp-ir,idp-cbls --k 10,20 --epsilon 1 --runs 5"
_CASES = (
    ("`protect --method mdav --k 10`", 5_000, "protect --method mdav --k 10", 2.0),
    ("`protect --method dp-ir --k 10`", 60_000, "protect --method dp-ir --k 10 --epsilon 1", 2.0),
    ("`protect --method dp-synthetic`", 5_000, "protect --method dp-synthetic --epsilon 1", None),
    ("`compare`, 20 releases", 60_000, _COMPARE, 5.0),
    ("`compare`, 20 releases", 1_000, _COMPARE, 1.5),
)


def run() -> Iterator[str]:
    yield "| command | rows | first call, CPU s | without machine code | later calls | wanted |"
    yield "|---|---|---|---|---|---|"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "schema.yaml").write_text(_SCHEMA)
        for title, rows, words, limit in _CASES:
            draw = np.random.Generator(np.random.PCG64(rows))
            values = draw.normal(50, 10, (rows, 4)).clip(0, 100)
            data = folder / f"{rows}.csv"
            np.savetxt(data, values, delimiter=",", header="a,b,c,d", comments="", fmt="%.2f")
            _seconds(folder, words, data)  # compiles Python, once
            first = min(_seconds(folder, words, data, fresh=True) for _ in range(ROUNDS))
            bare = _seconds(folder, words, data, fresh=True, hidden=True)
            later = min(_seconds(folder, words, data) for _ in range(ROUNDS))
            yield f"| {title} | {rows:,} | {first:.1f} | {bare:.1f} | {later:.1f} | {limit or ''} |"


def _seconds(folder: Path, words: str, data: Path, fresh: bool = False, hidden: bool = False) -> float:
    with tempfile.TemporaryDirectory() as other:
        environment = {**bytecode_kept(), "NUMBA_CACHE_DIR": other if fresh else str(folder / "kept")}
        code = _machine_code.FOLDER
        aside = code.with_name("machine_code_aside")
        if hidden and code.is_dir():
            code.rename(aside)
        try:
            name, *options = words.split()
            target = Path(other) / ("out" if name == "compare" else "out.csv")
            options += ["--schema", str(folder / "schema.yaml"), "--output", str(target)]
            command = [sys.executable, "-m", "coterie", name, str(data), *options]
            return child_seconds(command, environment)[1]
        finally:
            if aside.is_dir():
                aside.rename(code)
