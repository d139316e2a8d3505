"""Synthetic rows beside AIM, MST and independent noisy histograms, on fifteen real tables: `python -m benchmarks rows`.

Prints every cell, and yields the tables of docs/explanation/performance.md: in how many cells `dp-synthetic` is ahead.
AIM and MST are measured apart, once: `python -m benchmarks.peers dpmm` writes benchmarks/peers/rows_scores.jsonl.
This measures ours and the floors only, and keeps their scores (COTERIE_PEERS), ours by what the code draws.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from hashlib import sha256
from pathlib import Path

import numpy as np

from benchmarks.peers import against_dpmm
from benchmarks.peers.environment import cache_folder
from benchmarks.rows_measures import MEASURES, Columns, Measured
from benchmarks.rows_tables import NAMES, BenchmarkTable, missing, schema_of, table
from coterie.chain.noise.seeded import SeededSampler
from coterie.engines.whole_table import synthesised
from coterie.methods import get_method
from coterie.promise.terms import Budget
from coterie.schema.attributes import Schema
from coterie.schema.document import as_schema
from coterie.table.columns.column import MISSING_LABEL, CategoryColumn, Column

EPSILONS = (0.1, 1.0, 4.0)
DELTA = Fraction(1, 100_000)
SEEDS = (1, 2, 3, 4, 5)
LARGE = 30_000  # records from which two runs are enough
METHOD = "dp-synthetic"
OURS = ("pure", "delta", "delta, target")
FLOORS = ("histograms", "independent", "bootstrap")
# With which of ours each other method is compared.
OTHERS = {
    "aim": ("delta", "AIM, ours with δ"),
    against_dpmm.ALIKE: ("delta", "AIM for replace-one, ours with δ"),
    "mst": ("delta", "MST, ours with δ"),
    "histograms": ("pure", "histograms, ours pure ε"),
}
WANTED = {"aim": 58 / 72, against_dpmm.ALIKE: 58 / 72, "mst": 58 / 72, "histograms": 62 / 72}


def run() -> Iterator[str]:
    peers = against_dpmm.kept()
    compared: dict[tuple[float, str], list[Compared]] = {}
    for name in NAMES:
        for epsilon in EPSILONS:
            kinds = (*OURS, *FLOORS) if epsilon == 1 else ("pure", "delta", "histograms")
            rows = {kind: _mean(name, epsilon, kind) for kind in kinds}
            for kind in (*against_dpmm.KINDS, against_dpmm.ALIKE):
                found = _best(peers, name, epsilon, kind)
                if found is not None:
                    rows[kind] = found
            _show(name, epsilon, rows)
            for other, (ours, _) in OTHERS.items():
                if other in rows:
                    tuned = table(name).tuned
                    compared.setdefault((epsilon, other), []).append(
                        Compared(name, rows[ours], rows[other], tuned)
                    )
    yield from _counts(compared)
    yield ""
    yield from _by_measure(compared)
    yield ""
    yield from _lost(compared)
    if peers:
        yield ""
        yield against_dpmm.provenance()


@dataclass(frozen=True)
class Compared:
    """One table at one ε: ours beside one other method's."""

    table: str
    ours: dict[str, float]
    theirs: dict[str, float]
    tuned: bool

    def ahead(self, measure: str) -> bool:
        ours, theirs = self.ours[measure], self.theirs[measure]
        return ours > theirs if measure == "AUC" else ours < theirs

    @property
    def won(self) -> int:
        return sum(self.ahead(measure) for measure in MEASURES)


Comparisons = dict[tuple[float, str], list[Compared]]


def _counts(compared: Comparisons) -> Iterator[str]:
    """Cells ahead; tables apart that were not looked at while the rule was chosen."""
    yield "| ε | compared with | tables used for tuning | other tables | all | wanted | mean AUC, ours less theirs |"
    yield "|---|---|---|---|---|---|---|"
    for (epsilon, other), cells in sorted(compared.items(), key=_in_order):
        shown = []
        for tuned in (True, False):
            part = [cell.won for cell in cells if cell.tuned is tuned]
            shown.append(f"{sum(part)} of {len(MEASURES) * len(part)}" if part else "not measured")
        shown += [f"{np.mean([cell.won for cell in cells]) / len(MEASURES):.0%}", f"{WANTED[other]:.0%}"]
        gap = np.mean([cell.ours["AUC"] - cell.theirs["AUC"] for cell in cells])
        yield f"| {epsilon:g} | {OTHERS[other][1]} | {' | '.join(shown)} | {gap:+.3f} |"


def _by_measure(compared: Comparisons) -> Iterator[str]:
    """In how many tables each measure is ahead."""
    yield f"| ε | compared with | tables | {' | '.join(MEASURES)} |"
    yield "|---|---|---|" + "---|" * len(MEASURES)
    for (epsilon, other), cells in sorted(compared.items(), key=_in_order):
        shown = " | ".join(str(sum(cell.ahead(measure) for cell in cells)) for measure in MEASURES)
        yield f"| {epsilon:g} | {OTHERS[other][1]} | {len(cells)} | {shown} |"


def _lost(compared: Comparisons) -> Iterator[str]:
    """Every cell in which we are behind: ours / theirs."""
    yield "| ε | compared with | behind in (ours / theirs) |"
    yield "|---|---|---|"
    for (epsilon, other), cells in sorted(compared.items(), key=_in_order):
        shown = []
        for cell in cells:
            behind = [
                f"{measure} {cell.ours[measure]:.3f} / {cell.theirs[measure]:.3f}"
                for measure in MEASURES
                if not cell.ahead(measure)
            ]
            if behind:
                shown.append(f"**{cell.table}**: {', '.join(behind)}")
        yield f"| {epsilon:g} | {OTHERS[other][1]} | {'; '.join(shown) or 'nothing'} |"


def _in_order(entry: tuple[tuple[float, str], object]) -> tuple[float, int]:
    (epsilon, other), _ = entry
    return epsilon, list(OTHERS).index(other)


def _best(peers: dict, name: str, epsilon: float, kind: str) -> dict[str, float] | None:
    """The better of the two ways to cut numbers, by two-way TV, over all seeds that were measured."""
    found = []
    for bins in against_dpmm.BINS:
        runs = [value for key, value in peers.items() if key[:4] == (name, epsilon, kind, bins)]
        if runs:
            found.append({measure: float(np.mean([run[measure] for run in runs])) for measure in MEASURES})
    return min(found, key=lambda mean: mean["two-way TV"]) if found else None


@cache
def _measured(name: str) -> tuple[BenchmarkTable, Measured]:
    asked = table(name)
    return asked, Measured(asked)


def _kept_file() -> Path:
    return cache_folder() / "coterie_measures.jsonl"


@cache
def _version() -> str:
    """Of what the code draws: a few releases with known seeds. Code that is only written otherwise keeps its scores."""
    digest = sha256()
    for name in ("insurance", "modechoice", "wine cultivars"):
        for kind in ("pure", "delta", "delta, target"):
            for epsilon in EPSILONS:
                for values in _synthetic(table(name), epsilon, kind, 1).values():
                    digest.update(values.tobytes())
    return digest.hexdigest()[:12]


@cache
def _kept() -> dict[tuple[str, ...], dict[str, float]]:
    if not _kept_file().is_file():
        return {}
    lines = [json.loads(line) for line in _kept_file().read_text().splitlines()]
    return {tuple(map(str, line["key"])): line["measures"] for line in lines}


def _seeds(name: str, kind: str) -> tuple[int, ...]:
    if kind not in ("pure", "delta", "histograms"):
        return SEEDS[:1]
    return SEEDS[:2] if table(name).rows >= LARGE else SEEDS


def _mean(name: str, epsilon: float, kind: str) -> dict[str, float]:
    runs = []
    for seed in _seeds(name, kind):
        version = _version() if kind in OURS else ""
        key = tuple(map(str, (name, epsilon, kind, seed, version)))
        if key not in _kept():
            asked, measured = _measured(name)
            start = time.process_time()
            columns = _rows(asked, epsilon, kind, seed)
            taken = time.process_time() - start
            _kept()[key] = measured.of(columns) | {"seconds": taken}
            with _kept_file().open("a") as file:
                file.write(json.dumps({"key": key, "measures": _kept()[key]}) + "\n")
        runs.append(_kept()[key])
    return {measure: float(np.mean([run[measure] for run in runs])) for measure in (*MEASURES, "seconds")}


def _rows(asked: BenchmarkTable, epsilon: float, kind: str, seed: int) -> Columns:
    draw = np.random.default_rng(seed)
    if kind == "bootstrap":
        chosen = draw.integers(0, asked.rows, asked.rows)
        return {name: values[chosen] for name, values in asked.columns.items()}
    if kind == "independent":
        return {name: draw.permutation(values) for name, values in asked.columns.items()}
    if kind == "histograms":
        return _histograms(asked, epsilon, draw)
    return _synthetic(asked, epsilon, kind, seed)


def _synthetic(asked: BenchmarkTable, epsilon: float, kind: str, seed: int) -> Columns:
    schema = as_schema(schema_of(asked))
    columns = {name: _column(asked, schema, name) for name in asked.columns}
    delta = None if kind == "pure" else DELTA
    method = get_method(METHOD)
    budget = Budget.of(str(epsilon), schema, method, delta)
    assert method.whole_table is not None
    target = asked.target if "target" in kind else None
    found, _ = synthesised(method.whole_table, columns, asked.rows, budget, SeededSampler(seed), None, target)
    return {name: _back(columns[name], values) for name, values in found.values.items()}


def _column(asked: BenchmarkTable, schema: Schema, name: str) -> Column:
    import pyarrow as pa

    from coterie.table.checked import column_of

    values, public = asked.columns[name], asked.public[name]
    gaps = missing(values)
    if public.labels is not None:
        shown = [None if gap else public.labels[value] for value, gap in zip(values, gaps, strict=True)]
    else:
        shown = [None if gap else value for value, gap in zip(values.tolist(), gaps, strict=True)]
    return column_of(pa.chunked_array([pa.array(shown)]), schema[name], schema)


def _back(column: Column, values: np.ndarray) -> np.ndarray:
    if not isinstance(column, CategoryColumn):
        return values
    labels = list(column.taxonomy.categories)
    declared = column.attribute.categories
    assert declared is not None
    place = {label: number for number, label in enumerate(declared.labels or ())} | {MISSING_LABEL: -1}
    return np.array([place[label] for label in labels])[values]


def _histograms(asked: BenchmarkTable, epsilon: float, draw: np.random.Generator) -> Columns:
    """Every attribute by itself: labels and few values counted, else 32 cells of equal width; Laplace of scale 2m/ε."""
    found = {}
    for name, public in asked.public.items():
        values = asked.columns[name]
        gaps = missing(values)
        if public.labels is not None:
            size, code = len(public.labels), values
        else:
            filled = np.where(gaps, public.lower, values)
            size = int(public.upper - public.lower) + 1 if public.few else 32
            width = 1.0 if public.few else (public.upper - public.lower) / size
            code = np.clip(((filled - public.lower) / width).astype(int), 0, size - 1)
        cells = size + bool(gaps.any())
        counts = np.bincount(np.where(gaps, size, code), minlength=cells)
        noisy = np.maximum(counts + draw.laplace(0, 2 * len(asked.public) / epsilon, cells), 0)
        chance = noisy / noisy.sum() if noisy.sum() > 0 else np.full(cells, 1 / cells)
        drawn = draw.choice(cells, asked.rows, p=chance)
        if public.labels is not None:
            found[name] = np.where(drawn == size, -1, drawn)
            continue
        inside = drawn + (0 if public.few else draw.random(asked.rows))
        numbers = public.lower + inside * width
        found[name] = np.where(drawn == size, np.nan, np.rint(numbers) if public.whole else numbers)
    return found


def _show(name: str, epsilon: float, rows: dict[str, dict[str, float]]) -> None:
    print(f"{name}, ε = {epsilon:g}", file=sys.stderr)
    for kind, found in rows.items():
        shown = "  ".join(f"{measure} {found[measure]:.3f}" for measure in MEASURES)
        print(f"  {kind:14} {shown}", file=sys.stderr, flush=True)
