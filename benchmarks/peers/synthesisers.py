"""A peer that makes rows or distributions, beside our methods: same table, same ε, same measures, same attacks."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.peers.environment import PeerMissing, run_inside
from benchmarks.peers.same_data import correlation_error, divergence, tables
from coterie import Schema, protect
from coterie.auditing import audit_release

OURS = (
    ("dp-synthetic", None),
    ("dp-sorted", None),
    ("laplace", None),
    ("dp-ir", 50),
    ("idp-cbls", 10),
)
EPSILON = 1
BINS = 64
ATTACKS = ("nearest-linkage", "tie-linkage", "membership-distance", "attribute-inference")


def beside(peer: str, packages: tuple[str, ...], kinds: tuple[str, ...]) -> None:
    """`kinds` are the peer's own methods; each gets integers 0 … BINS−1, a bin of the public domain for each value."""
    for name, (people, others, schema) in tables().items():
        print(f"{name}: {people.num_rows:,} people × {len(schema.protected)}, ε = {EPSILON}")
        print(f"  {'method':24}{'JSD':>8}{'rank corr. error':>18}{'seconds':>9}  largest gain of an attacker")
        for kind in kinds:
            start = time.perf_counter()
            request = {"kind": kind, "epsilon": EPSILON, "bins": BINS, "columns": _binned(people, schema)}
            try:
                answer = run_inside(peer, packages, request)
            except PeerMissing as missing:
                print(f"  {peer} {kind}: not compared: {missing}", flush=True)
                continue
            _row(f"{peer} {kind}", people, _unbinned(answer["columns"], schema), others, schema, start)
        for method, k in OURS:
            start = time.perf_counter()
            released = protect(people, schema, method=method, epsilon=EPSILON, k=k, seed=1).table
            _row(f"coterie {method}", people, released, others, schema, start)


def _row(
    name: str, people: pa.Table, released: pa.Table, others: pa.Table, schema: Schema, start: float
) -> None:
    taken = time.perf_counter() - start
    audit = audit_release(people, released, schema, control=others, in_order=True, attacks=ATTACKS)
    gain = audit.highest_gain
    print(
        f"  {name:24}{divergence(people, released, schema):8.3f}{correlation_error(people, released, schema):18.3f}"
        f"{taken:9.1f}  {gain.value:.3f} [{gain.low:.3f}, {gain.high:.3f}]",
        flush=True,
    )


def _binned(people: pa.Table, schema: Schema) -> dict[str, list[int]]:
    columns = {}
    for attribute in schema.protected:
        domain = attribute.bounds()
        share = (people[attribute.name].to_numpy() - domain.lower) / float(domain.width)
        columns[attribute.name] = np.clip((share * BINS).astype(int), 0, BINS - 1).tolist()
    return columns


def _unbinned(columns: dict[str, Any], schema: Schema) -> pa.Table:
    """A number drawn evenly from each bin, as is usual."""
    draw = np.random.default_rng(2)
    found = {}
    for attribute in schema.protected:
        domain, bins = attribute.bounds(), np.array(columns[attribute.name], dtype=np.float64)
        values = domain.lower + (bins + draw.random(len(bins))) / BINS * float(domain.width)
        found[attribute.name] = np.rint(values).astype(np.int64)
    return pa.table(found)
