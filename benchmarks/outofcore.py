"""Out of core against in memory, on one machine: throughput and peak memory, each run in a process of its own.

`COTERIE_ROWS=100000000 python -m benchmarks outofcore` for the large run (needs 12 GB of disk).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ATTRIBUTES = 4
LIMIT = "2GB"
IN_MEMORY_ROWS = 10_000_000
BILLION_BY_50 = 10**9 * 50
DP_IR = ("--method", "dp-ir", "--epsilon", "4", "--k", "10")


def run() -> Iterator[str]:
    rows = int(os.environ.get("COTERIE_ROWS", 10_000_000))
    small = min(rows, IN_MEMORY_ROWS)
    yield f"| {ATTRIBUTES} attributes | records | seconds | CPU seconds | million values per second | peak memory, MB |"
    yield "|---|---|---|---|---|---|"
    rate = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for limit, count in dict.fromkeys([(None, small), (LIMIT, small), (LIMIT, rows)]):
            wall, cpu, peak = measured(Path(folder), count, limit, DP_IR)
            rate = count * ATTRIBUTES / wall
            name = f"`--memory {limit}`" if limit else "in memory"
            yield f"| {name} | {count:,} | {wall:.1f} | {cpu:.1f} | {rate / 1e6:.2f} | {peak / 1e6:.0f} |"
    hours = BILLION_BY_50 / rate / 3600
    yield f"\nAt the last rate a billion × 50 would take {hours:.1f} hours on this machine."


def write_table(path: Path, rows: int, attributes: int = ATTRIBUTES) -> None:
    """Uniform values; the second attribute is zero in nine of ten rows."""
    draw = np.random.Generator(np.random.PCG64(1))
    names = [f"a{number}" for number in range(attributes)]
    schema = pa.schema([(name, pa.float64()) for name in names])
    with pq.ParquetWriter(path, schema, use_dictionary=False) as writer:
        for start in range(0, rows, 1_000_000):
            count = min(1_000_000, rows - start)
            columns = [draw.random(count) for _ in names]
            if attributes > 1:
                columns[1][draw.random(count) < 0.9] = 0.0
            writer.write_batch(pa.record_batch(columns, schema=schema))
    lines = [f"  {name}: {{role: protect, domain: {{lower: 0, upper: 1}}}}\n" for name in names]
    path.with_suffix(".yaml").write_text("attributes:\n" + "".join(lines))


def measured(
    folder: Path, rows: int, limit: str | None, options: tuple[str, ...], attributes: int = ATTRIBUTES
) -> tuple[float, float, int]:
    """Seconds, CPU seconds, and peak bytes of one command."""
    path = folder / "in.parquet"
    write_table(path, rows, attributes)
    script = (
        "import os; from coterie.cli import main\ntry:\n    main()\nfinally:\n"
        "    used = os.times(); print('\\nUSED', used.user + used.system)\n"
        "    print(open('/proc/self/status').read())"
    )
    line = ["protect", path, "--schema", path.with_suffix(".yaml"), *options]
    line += ["--output", folder / "out.parquet", "--force", *(["--memory", limit] if limit else [])]
    start = perf_counter()
    child = subprocess.run(
        [sys.executable, "-c", script, *map(str, line)], capture_output=True, text=True, check=True
    )
    taken = perf_counter() - start
    cpu = float(child.stdout.split("USED")[1].split()[0])
    return taken, cpu, int(child.stdout.split("VmHWM:")[1].split()[0]) * 1024
