"""`dp-synthetic` out of core, Parquet to Parquet, whole command: seconds and peak memory.

`COTERIE_ROWS=100000000 python -m benchmarks rows_outofcore` for the large run (needs 20 GB of disk).
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.outofcore import LIMIT, measured

ATTRIBUTES = 10
OPTIONS = ("--method", "dp-synthetic", "--epsilon", "1", "--delta", "1e-9")


def run() -> Iterator[str]:
    rows = int(os.environ.get("COTERIE_ROWS", 10_000_000))
    yield f"| {ATTRIBUTES} attributes, ε = 1, δ = 10⁻⁹ | records | seconds | CPU seconds | peak memory, MB |"
    yield "|---|---|---|---|---|"
    with tempfile.TemporaryDirectory() as folder:
        wall, cpu, peak = measured(Path(folder), rows, LIMIT, OPTIONS, ATTRIBUTES)
    yield f"| `--memory {LIMIT}` | {rows:,} | {wall:.0f} | {cpu:.0f} | {peak / 1e6:.0f} |"
