"""AIM and MST as the package dpmm has them ((ε, δ)-DP, add/remove): measured once per table, ε and seed, and kept in a file.

    python -m benchmarks.peers dpmm

Whole numbers with few values go in as labels. Bins of the others: 32 of equal width, or PrivTree's for a tenth of ε.
Both run with dpmm's defaults. Where those take longer than 15 minutes, they run with fewer iterations and a smaller model,
and the line in the file says so. COTERIE_DPMM=reduced leaves out the defaults: 130 runs took 30 minutes on two cores.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.environment import PeerMissing, cache_folder, run_inside
from benchmarks.rows_measures import Columns, Measured
from benchmarks.rows_tables import NAMES, BenchmarkTable, missing, table

PACKAGES = ("dpmm>=0.1.9",)
KINDS = ("mst", "aim")
BINS = ("uniform", "priv-tree")
EPSILONS = (1.0, 0.1, 4.0)
SEEDS = (1, 2, 3)
DELTA = 1e-5
SECONDS = 900
SETTINGS: dict[str, dict[str, Any]] = {"default": {}, "reduced": {"model_size": 4, "iterations": 100}}


def kept_file() -> Path:
    return cache_folder() / "dpmm_measures.jsonl"


def kept(settings: str | None = None) -> dict[tuple[str, float, str, str, int], dict[str, float]]:
    """(table, ε, kind, bins, seed) → measures; with dpmm's defaults where there are such, or with those settings only."""
    if not kept_file().is_file():
        return {}
    lines = [json.loads(line) for line in kept_file().read_text().splitlines()]
    lines.sort(key=lambda line: line["settings"] == "default")
    return {tuple(line["key"]): line["measures"] for line in lines if settings in (None, line["settings"])}


def run(names: tuple[str, ...] = NAMES) -> None:
    for seed in SEEDS:
        for epsilon in EPSILONS:
            for name in names:
                _one_table(table(name), epsilon, seed)


def _one_table(asked: BenchmarkTable, epsilon: float, seed: int) -> None:
    measured = Measured(asked)
    for kind in KINDS:
        for bins in BINS:
            key = (asked.name, epsilon, kind, bins, seed)
            if key not in kept():
                asked_for = os.environ.get("COTERIE_DPMM")
                chosen = [settings for settings in SETTINGS if asked_for in (None, settings)]
                any(measure(key, asked, measured, settings) for settings in chosen)


def measure(
    key: tuple[str, float, str, str, int], asked: BenchmarkTable, measured: Measured, settings: str
) -> bool:
    """One run, kept; False where it did not finish."""
    _, epsilon, kind, bins, seed = key
    request = {
        "kind": kind,
        "bins": bins,
        "epsilon": epsilon,
        "delta": DELTA,
        "seed": seed,
        "columns": _sent(asked),
        **SETTINGS[settings],
    }
    try:
        answer = run_inside("dpmm", PACKAGES, request, SECONDS)
    except PeerMissing as error:
        print(f"{key}, {settings}: {error}", file=sys.stderr, flush=True)
        return False
    found = measured.of(_received(asked, answer["columns"]))
    found["seconds"] = answer["seconds"]
    with kept_file().open("a") as file:
        file.write(json.dumps({"key": key, "settings": settings, "measures": found}) + "\n")
    print(key, settings, {name: round(value, 3) for name, value in found.items()}, flush=True)
    return True


def _sent(asked: BenchmarkTable) -> dict[str, Any]:
    sent: dict[str, Any] = {}
    for name, values in asked.columns.items():
        public = asked.public[name]
        gaps = missing(values)
        if public.labels is not None or public.few:
            known = (
                range(len(public.labels))
                if public.labels is not None
                else range(int(public.lower), int(public.upper) + 1)
            )
            named = [str(value) for value in known] + (["missing"] if gaps.any() else [])
            shown = ["missing" if gap else str(int(value)) for value, gap in zip(values, gaps, strict=True)]
            sent[name] = {"values": shown, "categories": named}
        else:
            sent[name] = {"values": values.tolist(), "lower": public.lower, "upper": public.upper}
    return sent


def _received(asked: BenchmarkTable, columns: dict[str, list[Any]]) -> Columns:
    found = {}
    for name, values in columns.items():
        public = asked.public[name]
        if public.labels is not None:
            found[name] = np.array([-1 if value == "missing" else int(value) for value in values])
        else:
            numbers = [np.nan if value in (None, "missing") else float(value) for value in values]
            found[name] = np.rint(numbers) if public.whole else np.array(numbers)
    return found
