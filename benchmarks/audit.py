"""The auditor: 100,000 rows × 8 attributes against its limit of two minutes, and the attack table of GUARANTEES.md.

COTERIE_BENCH_AUDIT_ROWS sets the number of rows of the first part (100,000 unless told).
"""

from __future__ import annotations

import os
import time

import numpy as np
import pyarrow as pa

from coterie import Schema, demo_population, demo_schema, protect
from coterie.auditing import Audit, audit_release

LIMIT = 120.0
COLUMNS = ("nearest-linkage", "tie-linkage", "attribute-inference", "membership-distance")


def run() -> None:
    large()
    table()


def large() -> None:
    rows = int(os.environ.get("COTERIE_BENCH_AUDIT_ROWS", "100_000"))
    people, others = demo_population(rows), demo_population(rows // 5, seed=7).drop_columns(["person"])
    for method, k in (("dp-ir", 50), ("idp-cbls", 10), ("laplace", None)):
        release = protect(people, demo_schema(), method=method, epsilon=1, k=k, seed=1)
        start = time.perf_counter()
        audit = audit_release(
            people, release.data, demo_schema(), control=others, certificate=release.certificate
        )
        taken = time.perf_counter() - start
        slowest = max(audit.findings, key=lambda finding: finding.seconds)
        print(
            f"{rows:,} × 8, {method}: {taken:.1f} s (limit {LIMIT:.0f}); slowest {slowest.attack} {slowest.seconds:.1f} s"
        )


def table() -> None:
    """n = 5,000, m = 4, rows shuffled by the auditor, 4 % of rows known; normal data in wide public bounds."""
    people, schema = correlated_normals(5_000, 4, seed=1)
    others, _ = correlated_normals(2_000, 4, seed=2)
    print(f"{'release':34}" + "".join(f"{name:>22}" for name in COLUMNS))
    for method, epsilon, k, clipped in (
        ("ir", "1", 10, True),
        ("dp-ir", "1", 50, True),
        ("dp-ir", "0.01", 50, True),
        ("dp-ir", "1", 50, False),
        ("dp-ir", "0.01", 50, False),
        ("idp-cbls", "0.1", 10, True),
        ("laplace", "1", None, True),
        ("mdav", "1", 10, True),
        ("dp-synthetic", "1", None, True),
    ):
        released = protect(people, schema, method=method, epsilon=epsilon, k=k, seed=1, clip=clipped).data
        audit = audit_release(people, released, schema, control=others, in_order=True, k=k, attacks=COLUMNS)
        name = f"{method} ε = {epsilon}, k = {k}{'' if clipped else ', not clipped'}"
        print(f"{name:34}" + "".join(f"{_cell(audit, attack):>22}" for attack in COLUMNS))


def _cell(audit: Audit, attack: str) -> str:
    finding = audit.finding(attack)
    if finding is None:
        return "not run"
    estimate = finding.estimate
    return f"{estimate.value:.4f} [{max(estimate.low, 0):.3f}, {estimate.high:.3f}]"


def correlated_normals(rows: int, attributes: int, seed: int) -> tuple[pa.Table, Schema]:
    draw = np.random.default_rng(seed)
    values = np.clip(0.6 * draw.normal(size=(rows, 1)) + 0.8 * draw.normal(size=(rows, attributes)), -6, 6)
    names = [f"a{number}" for number in range(attributes)]
    entry = {"type": "continuous", "role": "protect", "domain": {"lower": -6, "upper": 6}}
    schema = Schema.load({"attributes": dict.fromkeys(names, entry)})
    return pa.table({name: values[:, place] for place, name in enumerate(names)}), schema


if __name__ == "__main__":
    run()
