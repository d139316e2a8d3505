"""AIM and MST as the package dpmm has them ((ε, δ)-DP, add/remove): measured once per table, ε and seed, and kept in a file.

    python -m benchmarks.peers dpmm

Their scores do not depend on our code, so they are part of the tree (rows_scores.jsonl): one line per run, with date,
version of dpmm and settings. `python -m benchmarks rows` measures ours and compares with them.

Whole numbers with few values go in as labels. Bins of the others: 32 of equal width, or PrivTree's for a tenth of ε.
Both run with dpmm's defaults. Where those take longer than 15 minutes, they run with fewer iterations and a smaller model,
and the line in the file says so. COTERIE_DPMM=reduced leaves out the defaults: 130 runs took 30 minutes on two cores.
"""

from __future__ import annotations

import json
import os
import sys
from itertools import product
from pathlib import Path
from time import strftime
from typing import Any

import numpy as np

from benchmarks.peers.environment import HERE, PeerMissing, run_inside
from benchmarks.rows_measures import Columns, Measured
from benchmarks.rows_tables import NAMES, BenchmarkTable, missing, table

PACKAGES = ("dpmm>=0.1.9",)
KINDS = ("mst", "aim")
ALIKE = "aim, replace-one"  # with the noise that our neighbours need, √2 times as wide: the ε of half the ρ
OF_HALF_RHO = {0.1: 0.0686, 1.0: 0.6864, 4.0: 2.7063}
BINS = ("priv-tree", "uniform")
EPSILONS = (0.1, 1.0, 4.0)
SEEDS = (1, 2, 3)
DELTA = 1e-5
SECONDS = 900
SETTINGS: dict[str, dict[str, Any]] = {"default": {}, "reduced": {"model_size": 4, "iterations": 100}}


def kept_file() -> Path:
    return HERE / "rows_scores.jsonl"


def _lines() -> list[dict[str, Any]]:
    lines = kept_file().read_text().splitlines() if kept_file().is_file() else []
    return sorted(map(json.loads, lines), key=lambda line: line["settings"] == "default")


def kept() -> dict[tuple[str, float, str, str, int], dict[str, float]]:
    """(table, ε, kind, bins, seed) → measures; with dpmm's defaults where there are such."""
    return {tuple(line["key"]): line["measures"] for line in _lines()}


def provenance() -> str:
    """When, with which version and settings, and how often the peers were measured."""
    lines = _lines()
    dates, versions, settings = (
        sorted({line[name] for line in lines}) for name in ("date", "version", "settings")
    )
    return (
        f"*AIM and MST: {len(lines)} runs of dpmm {', '.join(versions)}, settings {', '.join(settings)}, "
        f"{' to '.join({dates[0]: 0, dates[-1]: 0})} (benchmarks/peers/rows_scores.jsonl).*"
    )


def run(names: tuple[str, ...] = NAMES) -> None:
    """What is not kept yet, in an order that is of use wherever it is cut: all tables once, then again."""
    only = os.environ.get("COTERIE_DPMM")
    chosen = [settings for settings in SETTINGS if only in (None, settings)]
    done = kept()
    for seed, bins, epsilon, name in product(SEEDS, BINS, EPSILONS, names):
        kinds = (*KINDS, ALIKE) if epsilon == EPSILONS[0] else KINDS
        left = [kind for kind in kinds if (name, epsilon, kind, bins, seed) not in done]
        if left:
            asked = table(name)
            measured = Measured(asked)
        for kind in left:
            any(measure((name, epsilon, kind, bins, seed), asked, measured, settings) for settings in chosen)


def measure(
    key: tuple[str, float, str, str, int], asked: BenchmarkTable, measured: Measured, settings: str
) -> bool:
    """One run, kept; False where it did not finish."""
    _, epsilon, kind, bins, seed = key
    request = {
        "kind": kind.partition(",")[0],
        "bins": bins,
        "epsilon": OF_HALF_RHO[epsilon] if kind == ALIKE else epsilon,
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
    line = {"key": key, "settings": settings, "date": strftime("%Y-%m-%d"), "version": answer["version"]}
    rounded = {name: round(value, 6) for name, value in found.items()}
    with kept_file().open("a") as file:
        file.write(json.dumps(line | {"measures": rounded}) + "\n")
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
