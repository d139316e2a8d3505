"""Anonymeter's verdict on our releases next to ours: inference and singling out, on the same rows and control group."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from benchmarks.peers.environment import run_inside
from benchmarks.peers.same_data import tables
from coterie import Schema, protect
from coterie.auditing import audit_release

PACKAGES = ("anonymeter>=1.0",)
RELEASES = (("ir", 10), ("idp-cbls", 10), ("dp-ir", 50), ("mdav", 10), ("dp-synthetic", None))


def run() -> None:
    for name, (people, others, schema) in tables(most=1200).items():
        print(f"{name}: {people.num_rows:,} people, {others.num_rows:,} in the control group, ε = 1")
        agreed, compared = 0, 0
        for method, k in RELEASES:
            released = protect(people, schema, method=method, epsilon=1, k=k, seed=1).table
            ours, theirs = _ours(people, released, others, schema), _theirs(people, released, others, schema)
            for question, mine in ours.items():
                other = theirs[question]
                overlap = mine[1] <= other["high"] and other["low"] <= mine[2]
                agreed, compared = agreed + overlap, compared + 1
                print(
                    f"  {method:10} {question:28} ours {_shown(*mine)}  anonymeter "
                    f"{_shown(other['value'], other['low'], other['high'])}  {'agree' if overlap else 'DIFFER'}"
                )
        print(f"  intervals overlap in {agreed} of {compared} comparisons")


def _ours(
    people: pa.Table, released: pa.Table, others: pa.Table, schema: Schema
) -> dict[str, tuple[float, ...]]:
    audit = audit_release(
        people,
        released,
        schema,
        control=others,
        in_order=True,
        attacks=["attribute-inference", "singling-out"],
    )
    inference, singling = audit.finding("attribute-inference"), audit.finding("singling-out")
    assert inference is not None
    found: dict[str, tuple[float, ...]] = {}
    for attribute in schema.protected:
        ends = ("risk", "lower end", "upper end")
        found[f"inference of {attribute.name}"] = tuple(
            float(inference.details[f"{end} for {attribute.name}"]) for end in ends
        )
    if singling is not None and "risk by tails" in singling.details:
        # Anonymeter describes people by tails only; our second style, boxes, finds more.
        found["singling out (tails)"] = tuple(
            float(singling.details[f"{end} by tails"]) for end in ("risk", "lower end", "upper end")
        )
    return found


def _theirs(people: pa.Table, released: pa.Table, others: pa.Table, schema: Schema) -> Any:
    request = {
        "original": people.to_pydict(),
        "released": released.to_pydict(),
        "control": others.to_pydict(),
        "attributes": [attribute.name for attribute in schema.protected],
        "attacks": min(300, others.num_rows),
    }
    return run_inside("anonymeter", PACKAGES, request)


def _shown(value: float, low: float, high: float) -> str:
    return f"{max(value, 0):.3f} [{max(low, 0):.3f}, {high:.3f}]"
