"""What a plan of statistics measures: against HDMM's optimisers, against asking table by table, and how long planning takes.

Run as `python -m benchmarks strategies`. The tables are those of the Adult survey where it is at hand (COTERIE_DATA).
"""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.processor import cpu_seconds
from coterie.papers.data import available, load
from coterie.statistics import plan, read_specification, release
from coterie.statistics.planning.composition import as_floats
from coterie.statistics.planning.strategy import columns_of, marginals, p_identity
from coterie.statistics.prediction.joint import spread_of
from coterie.statistics.releasing.measuring import Noise, compute
from coterie.statistics.releasing.records import open_records
from coterie.statistics.releasing.releasing import add_noise

LABELS = {name: [f"{name}{i}" for i in range(100)] for name in ("region", "job")}


def run() -> Iterator[str]:
    yield "| | Coterie | other | other / Coterie |"
    yield "|---|---|---|---|"
    yield from _strategies()
    yield from _tables()
    spent = cpu_seconds(lambda: plan(read_specification(many(58)), report_losses=False))
    yield f"| 1,992 statistics planned, CPU seconds | {spent:.1f} | limit 10 | |"
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = folder  # a release is kept where the next one would find it
        path = Path(folder) / "people.parquet"
        pq.write_table(_people(10_000_000), path)
        for title, content in _large():
            target = Path(folder) / f"{content['release']}.parquet"
            spent = cpu_seconds(partial(release, content, path, target))
            yield f"| a million cells, {title}, of 10 million records released, CPU seconds | {spent:.1f} | limit 30 | |"


def _people(records: int) -> pa.Table:
    rng = np.random.default_rng(1)
    columns = {
        name: pa.DictionaryArray.from_arrays(
            pa.array(rng.integers(0, 100, records).astype(np.int32)), pa.array(texts)
        )
        for name, texts in LABELS.items()
    }
    ages = rng.integers(0, 100, records).astype(np.int32)
    wages = np.minimum(rng.gamma(2, 20_000, records), 999_999).astype(np.int32)
    return pa.table({"age": ages, "wage": wages, **columns})


def _large() -> Iterator[tuple[str, dict[str, Any]]]:
    attributes: dict[str, object] = {
        name: {"role": "protect", "type": "categorical", "categories": {"labels": texts}}
        for name, texts in LABELS.items()
    }
    for name, most in (("age", 99), ("wage", 1_000_000)):
        attributes[name] = {"role": "protect", "type": "integer", "domain": {"lower": 0, "upper": most}}
    asked: dict[str, object] = {
        "three columns": {
            "kind": "count",
            "by": {"age": [*range(100)], "region": "declared", "job": "declared"},
        },
        "one histogram": {
            "kind": "histogram",
            "of": "wage",
            "bins": {"from": 0, "to": 1_000_000, "width": 1},
        },
    }
    for title, entry in asked.items():
        content = {**_counts(attributes, {"cells": entry}), "records": 10_000_000}
        yield title, {**content, "release": title, "population": "people", "budget": {"epsilon": 1}}


def many(regions: int) -> dict[str, Any]:
    """Tables with margins, means, spreads and medians by group, and ratios of them: 34 figures per region."""
    names, ages = [f"r{i}" for i in range(regions)], [f"a{i}" for i in range(10)]
    labelled = {"region": names, "age": ages, "sex": ["f", "m"]}
    attributes = {
        name: {"role": "keep", "type": "categorical", "categories": {"labels": labels}}
        for name, labels in labelled.items()
    }
    by = {"region": names}
    content = _counts(
        {**attributes, "wage": {"role": "protect", "domain": {"lower": 0, "upper": 100}}},
        {
            "n": {"kind": "count", "by": labelled, "complete": True},
            "regions": {"kind": "count", "by": by, "complete": True},
            "ages": {"kind": "count", "by": {"age": ages, "sex": ["f", "m"]}, "complete": True},
            "w": {"kind": "mean", "of": "wage", "by": {"region": names, "age": ages}, "expected": 40},
            "s": {"kind": "std", "of": "wage", "by": by, "expected": 15},
            "q": {"kind": "median", "of": "wage", "by": by, "expected": 38},
        },
    )
    ratios = {f"e{i}": f"w[r{i}, a0] / w[r{i}, a1]" for i in range(regions)}
    return {
        **content,
        "relative_to": "scale",
        "records": 100_000,
        "budget": {"epsilon": 1},
        "equations": ratios,
    }


def _strategies() -> Iterator[str]:
    """Root mean squared error of what a plan measures, against HDMM's own optimum for the workload."""
    for title, entry, matrix, sizes in (
        ("prefixes of 128 bins", _line(128, prefixes=True), np.tril(np.ones((128, 128))), (128,)),
        ("all ranges of 32 bins", _line(32, prefixes=False), _range_matrix(32), (32,)),
        ("two-way tables of 4 × 4 × 4 × 4", _pairs(4), _pair_matrix(4), (4, 4, 4, 4)),
    ):
        for gaussian in (False, True):
            budget = {"rho": 0.5} if gaussian else {"epsilon": 1}
            chosen = plan(read_specification({**entry, "budget": budget}), report_losses=False)
            made = chosen.design.reconstruction(as_floats(chosen.budgets))
            noise = made.linear(np.eye(chosen.design.starts[-1])) - made.linear(
                np.zeros((1, chosen.design.starts[-1]))
            )
            of_unit_scale = 1 if gaussian else 2**0.5  # a Laplace draw
            sds = np.concatenate([fit.sds for fit in made.fits]) * of_unit_scale
            ours = float(np.sqrt((noise**2 * sds[:, None] ** 2).sum(axis=0).mean()))
            ones = np.ones(len(matrix))
            if len(sizes) == 1:
                rows = min(
                    (
                        p_identity(matrix.T @ matrix, extra, gaussian, 0)
                        for extra in (sizes[0] // 16, sizes[0] // 8)
                    ),
                    key=lambda pair: pair[0],
                )[1]
            else:
                found = marginals(sizes, matrix, ones, gaussian)
                assert found is not None
                rows = found
            spread = spread_of(rows, matrix)
            assert spread is not None
            largest = float(columns_of(rows, gaussian).max())
            unit = largest**0.5 if gaussian else largest * 2**0.5
            hdmm = float(np.sqrt((spread**2).mean())) * unit
            budget_text = "ρ = .5" if gaussian else "ε = 1"
            yield f"| {title}, {budget_text}: r.m.s. error, HDMM | {ours:.2f} | {hdmm:.2f} | {hdmm / ours:.2f} |"


def _counts(attributes: dict[str, object], statistics: dict[str, object]) -> dict[str, object]:
    return {
        "schema": {"attributes": attributes},
        "neighbours": "add-remove",
        "relative_to": "nothing",
        "statistics": statistics,
    }


def _line(size: int, prefixes: bool) -> dict[str, object]:
    starts = [0] if prefixes else range(size)
    asked = {
        f"r{a}_{b}": {"kind": "count", "where": {"y": {"from": a, "below": b}}, "expected": 1000}
        for a in starts
        for b in range(a + 1, size + 1)
    }
    domain = {"lower": 0, "upper": size - 1}
    return _counts({"y": {"role": "protect", "type": "integer", "domain": domain}}, asked)


def _range_matrix(size: int) -> np.ndarray:
    cells = np.arange(size)
    return np.array(
        [(cells >= a) & (cells < b) for a in range(size) for b in range(a + 1, size + 1)], dtype=float
    )


def _pairs(levels: int) -> dict[str, object]:
    labels = [f"v{i}" for i in range(levels)]
    attributes = {
        name: {"role": "keep", "type": "categorical", "categories": {"labels": labels}} for name in "abcd"
    }
    asked = {
        f"{one}{other}": {
            "kind": "count",
            "by": {one: labels, other: labels},
            "complete": True,
            "expected": 1000,
        }
        for one, other in itertools.combinations("abcd", 2)
    }
    return _counts(attributes, asked)


def _pair_matrix(levels: int) -> np.ndarray:
    places = np.indices((levels,) * 4).reshape(4, -1)
    rows = [
        (places[one] == a) & (places[other] == b)
        for one, other in itertools.combinations(range(4), 2)
        for a in range(levels)
        for b in range(levels)
    ]
    return np.array(rows, dtype=float)


def adult_tables(
    table: pa.Table,
) -> tuple[dict[str, object], dict[str, list[str]], list[tuple[str, ...]]]:
    """All tables of up to three of four columns: the specification, the labels, and the columns of each table."""
    columns = ("sex", "race", "marital-status", "income")
    labels = {name: sorted(set(table.column(name).to_pylist())) for name in columns}
    attributes: dict[str, object] = {
        name: {"role": "keep", "type": "categorical", "categories": {"labels": labels[name]}}
        for name in columns
    }
    subsets = [s for size in range(1, 4) for s in itertools.combinations(columns, size)]
    asked: dict[str, object] = {
        "t" + "".join(str(columns.index(c)) for c in subset): {
            "kind": "count",
            "by": {c: labels[c] for c in subset},
            "complete": True,
        }
        for subset in subsets
    }
    return {**_counts(attributes, asked), "budget": {"epsilon": 1}}, labels, subsets


def _tables() -> Iterator[str]:
    """The same tables of a real survey at the same ε, with OpenDP's noise, table by table and as Coterie plans them."""
    import opendp.prelude as dp

    if not available("adult-train"):
        return
    table = load("adult-train")
    content, labels, subsets = adult_tables(table)
    columns = tuple(labels)
    chosen = plan(read_specification(content), report_losses=False)
    source = open_records(table.select(list(columns)))
    exact = compute(chosen.design, source)
    made = chosen.design.reconstruction(as_floats(chosen.budgets))
    drawn = add_noise(chosen.design, exact, chosen.budgets, Noise.seeded(1), releases=50)
    codes = [np.array([labels[c].index(v) for v in table.column(c).to_pylist()]) for c in columns]
    truth = []
    for subset in subsets:
        places = [codes[columns.index(c)] for c in subset]
        sizes = tuple(len(labels[c]) for c in subset)
        truth.append(np.bincount(np.ravel_multi_index(places, sizes), minlength=int(np.prod(sizes))))
    whole = np.concatenate(truth)
    ours = float(np.abs(made.fitted(drawn) - whole).mean())
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    scale = float(len(subsets))  # ε = 1 split evenly over the tables; one record is in one cell of each
    measure = dp.m.make_laplace(*space, scale=scale)
    theirs = float(np.mean([np.abs(np.array(measure(whole.tolist())) - whole).mean() for _ in range(50)]))
    yield (
        f"| {len(subsets)} tables of Adult, {len(whole):,} cells, ε = 1: mean error, OpenDP with ε split evenly "
        f"over the tables | {ours:.2f} | {theirs:.2f} | {theirs / ours:.2f} |"
    )
