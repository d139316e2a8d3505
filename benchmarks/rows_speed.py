"""What `dp-synthetic` costs: CPU seconds at 50,000 × 15, time and memory at 10 million × 15, and the rate of its sampler.

Each table is released in a process of its own, which builds it, loads the compiled loops on a small one, and then counts.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from time import perf_counter, process_time

import numpy as np
import pyarrow as pa

from benchmarks.processor import cpu_seconds

DRAWS = 2_000_000
ROUNDS = 5
VARIANCE = Fraction(400)


def run() -> Iterator[str]:
    yield "| | measured | limit |"
    yield "|---|---|---|"
    small, large = (_in_child(records) for records in (50_000, 10_000_000))
    yield f"| 50,000 × 15, CPU seconds | {small['cpu']:.1f} | 5 |"
    yield f"| 10 million × 15, seconds | {large['seconds']:.0f} | 60 |"
    yield f"| 10 million × 15, CPU seconds | {large['cpu']:.0f} | |"
    yield f"| 10 million × 15, memory with the table and the release, GB | {large['memory']:.1f} | 4 |"
    yield f"| exact discrete Gaussian, rate over NumPy's normal | {_rate():.2f} | at least 0.2 |"


def _rate() -> float:
    from coterie.chain.noise.discrete_gaussian import whole_gaussian
    from coterie.chain.noise.secure import SecureSampler

    draw = np.random.Generator(np.random.PCG64(1))
    ratios = []
    for number in range(ROUNDS + 1):  # the first one loads the compiled loop
        ours = cpu_seconds(partial(whole_gaussian, DRAWS, VARIANCE, SecureSampler(), f"round {number}"))
        ratios.append(cpu_seconds(lambda: draw.normal(size=DRAWS)) / ours)
    return float(np.median(ratios[1:]))


def _in_child(records: int) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.rows_speed", str(records)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))


def _table(records: int) -> tuple[pa.Table, dict[str, object]]:
    """Eight numbers that depend on each other, four counts, three attributes with labels."""
    draw = np.random.Generator(np.random.PCG64(1))
    columns, entries = {}, {}
    common = draw.random(records)
    for number in range(8):
        columns[f"x{number}"] = (common + draw.random(records)) * 50
        entries[f"x{number}"] = {"type": "continuous", "domain": {"lower": 0, "upper": 150}}
    for number in range(4):
        columns[f"n{number}"] = draw.poisson(3 + number, records)
        entries[f"n{number}"] = {"type": "integer", "domain": {"lower": 0, "upper": 200}}
    for number, size in enumerate((2, 7, 40)):
        labels = [f"label {place}" for place in range(size)]
        codes = np.minimum((common * size).astype(np.int8), size - 1)
        columns[f"l{number}"] = pa.DictionaryArray.from_arrays(codes, labels)
        entries[f"l{number}"] = {"type": "categorical", "categories": {"labels": labels}}
    schema = {"attributes": {name: {"role": "protect", **entry} for name, entry in entries.items()}}
    return pa.table(columns), schema


def _child(records: int) -> None:
    import resource

    from coterie import protect

    options = {"method": "dp-synthetic", "epsilon": 1, "delta": "0.00000001"}
    protect(*_table(2000), **options)
    table, schema = _table(records)
    start, before = perf_counter(), process_time()
    released = protect(table, schema, **options)
    taken = {"seconds": perf_counter() - start, "cpu": process_time() - before}
    assert released.table.num_rows == records
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(json.dumps(taken | {"memory": memory}))


if __name__ == "__main__":
    _child(int(sys.argv[1]))
