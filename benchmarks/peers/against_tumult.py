"""Tumult Analytics: the tables of a survey, each a query of one session, against the same tables planned together."""

from __future__ import annotations

import itertools

import numpy as np

from benchmarks.peers.environment import run_inside
from benchmarks.strategies import adult_tables
from coterie.papers.data import load
from coterie.statistics import plan, read_specification
from coterie.statistics.releasing.measuring import Noise
from coterie.statistics.releasing.records import open_records
from coterie.statistics.releasing.releasing import make_release

PACKAGES = ("tmlt.analytics>=0.21",)
RELEASES = 20


def run() -> None:
    table = load("adult-train")
    content, labels, subsets = adult_tables(table)
    columns = {name: table.column(name).to_pylist() for name in labels}
    truth = {
        (subset, cell): sum(1 for row in zip(*(columns[name] for name in subset), strict=True) if row == cell)
        for subset in subsets
        for cell in itertools.product(*(labels[name] for name in subset))
    }
    request = {"columns": columns, "labels": labels, "tables": subsets, "epsilon": 1}
    answer = run_inside("tumult", PACKAGES, request, seconds=900)
    theirs = [
        abs(count - truth[subset, tuple(cell)])
        for subset, rows in zip(subsets, answer, strict=True)
        for *cell, count in rows
    ]
    chosen = plan(read_specification(content), report_losses=False)
    records = open_records(table.select(list(labels)))
    ours = []
    for seed in range(RELEASES):
        made = make_release(chosen, records, Noise.seeded(seed))
        ours += [abs(v.value - t) for v, t in zip(made.values, truth.values(), strict=True)]
    print(f"{len(subsets)} tables of Adult, {len(truth):,} cells, ε = 1: mean error of a cell")
    print(f"  Coterie, planned together            {np.mean(ours):6.2f}  (mean of {RELEASES} releases)")
    print(
        f"  Tumult Analytics, ε split evenly     {np.mean(theirs):6.2f}  ({np.mean(theirs) / np.mean(ours):.1f} times)"
    )
