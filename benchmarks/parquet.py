"""The whole command, Parquet → Parquet, against reading and writing the same file: processes side by side, in turns.

COTERIE_BENCH_ROWS sets the number of rows (10 million unless told). Every time includes the start of Python and all
imports. The limit holds against pyarrow as it comes: the same library as ours, the same compression (snappy), the same
file. It tries a dictionary first, which we do not; so pyarrow without one, and polars, are printed beside it. None of them
waits for the disk (fsync) or hashes, which a release does: on a busy machine or a slow disk, trust the CPU seconds.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

import pyarrow.parquet as pq

from benchmarks.processor import bytecode_kept, child_seconds
from benchmarks.ranking import mixed_table

LIMIT = 1.7
REPEATS = 3
METHODS = ("dp-ir", "idp-ls", "idp-cbls")
WAYS = {
    "pyarrow": "import pyarrow.parquet as pq; pq.write_table(pq.read_table({0!r}), {1!r}, compression='snappy')",
    "pyarrow, no dictionary": "import pyarrow.parquet as pq; "
    "pq.write_table(pq.read_table({0!r}), {1!r}, compression='snappy', use_dictionary=False)",
    "polars": "import polars as pl; pl.read_parquet({0!r}).write_parquet({1!r}, compression='snappy')",
}
Taken = tuple[float, float]  # seconds, CPU seconds


def run() -> Iterator[str]:
    rows = int(os.environ.get("COTERIE_BENCH_ROWS", "10_000_000"))
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "in.parquet", Path(folder) / "out.parquet"
        columns = write_input(source, rows)
        commands = {
            name: [sys.executable, "-c", code.format(str(source), str(target))] for name, code in WAYS.items()
        }
        commands |= {f"coterie {method}": protect_command(source, target, method) for method in METHODS}
        taken: dict[str, list[Taken]] = {name: [] for name in commands}
        # Once unmeasured: Python is compiled, and the file is in the system's cache.
        for command in commands.values():
            child_seconds(command, bytecode_kept())
        for _ in range(REPEATS):
            for name, command in commands.items():
                taken[name].append(child_seconds(command, bytecode_kept()))
    yield f"{rows:,} × {columns}, k = 10, secure noise; medians of {REPEATS} runs in turns. Wanted: {LIMIT} times pyarrow.\n"
    ratios = [f"time over {way}" for way in WAYS] + [f"CPU time over {way}" for way in WAYS]
    yield f"| | seconds | CPU seconds | {' | '.join(ratios)} |"
    yield "|---" * (3 + len(ratios)) + "|"
    for name, runs in taken.items():
        over = [f"{_ratio(runs, taken[way], place):.2f}" for place in (0, 1) for way in WAYS]
        yield f"| {name} | {_middle(runs, 0):.2f} | {_middle(runs, 1):.2f} | {' | '.join(over)} |"


def _ratio(ours: Sequence[Taken], theirs: Sequence[Taken], place: int) -> float:
    return median(one[place] / other[place] for one, other in zip(ours, theirs, strict=True))


def write_input(source: Path, rows: int) -> int:
    """Eight columns, and a schema beside them."""
    table, schema = mixed_table(rows)
    pq.write_table(table, source)
    source.with_suffix(".yaml").write_text(schema.to_yaml())
    return table.num_columns


def protect_command(source: Path, target: Path, method: str) -> list[str]:
    line = ["protect", source, "--schema", source.with_suffix(".yaml"), "--method", method, "--epsilon", 8]
    line += ["--k", 10, "--output", target, "--force"]
    return [sys.executable, "-c", "from coterie.cli import main; main()", *map(str, line)]


def _middle(runs: Sequence[Taken], place: int) -> float:
    return median(taken[place] for taken in runs)
