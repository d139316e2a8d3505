"""dp-copula and dp-sorted against dp-ir at the same ε, on the data the papers use: the table of docs/guarantees/dp-copula.

    python -m benchmarks.copula [--runs 5]

Domains are [0, 1.5·max] as in the papers' experiments, so these runs measure utility and promise nothing.
Matched SSE needs no row linkage: every released row is matched with the original record nearest to it (attributes in units
of their standard deviation); the mean squared distance, divided by the number of attributes. It tells how far released rows
lie from anything real. Coverage is the same with the roles exchanged: how far real records lie from anything released.
"""

from __future__ import annotations

import argparse
import os
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.spatial import cKDTree

from coterie import Attribute, Domain, Role, Schema, protect
from coterie.schema.attributes import AttributeType, Categories

ADULT = ["age", "education-num", "capital-gain", "hours-per-week"]
MIXED = {"age": (0, 120), "hours-per-week": (0, 100), "education-num": (1, 16), "capital-gain": (0, 150_000)}
LABELLED = ("workclass", "marital-status", "occupation", "relationship", "race", "sex", "income")
RELEASES = (("dp-ir", 50), ("dp-sorted", None), ("dp-copula", None), ("dp-tree", None), ("idp-cbls", 10))


def data_folder() -> Path:
    return Path(os.environ.get("COTERIE_DATA", Path(__file__).parents[2] / "shared" / "data"))


def adult() -> pd.DataFrame:
    whole = pd.read_csv(data_folder() / "adult_train.csv.gz", na_values="?")
    return whole.dropna().reset_index(drop=True)


def tables() -> dict[str, pd.DataFrame]:
    folder = data_folder()
    return {
        "Census": pd.read_csv(folder / "casc_census.csv"),
        "Wine": pd.read_csv(folder / "winequality_white.csv"),
        "Adult": adult()[ADULT],
    }


def schema_of(table: pd.DataFrame) -> Schema:
    attributes = []
    for name in table.columns:
        whole = pd.api.types.is_integer_dtype(table[name])
        upper = 1.5 * float(table[name].max())
        attributes.append(
            Attribute(
                name=name,
                role=Role.PROTECT,
                type=AttributeType.INTEGER if whole else AttributeType.CONTINUOUS,
                domain=Domain(lower=0, upper=np.ceil(upper) if whole else upper),
            )
        )
    return Schema(attributes=tuple(attributes))


def divergence(before: np.ndarray, after: np.ndarray, attribute: Attribute) -> float:
    """Jensen–Shannon, base 2: one bin a value where at most 256 are possible, else 100 stripes (Sánchez et al. 2016,
    §4.2)."""
    upper = attribute.bounds().upper
    whole = attribute.type is AttributeType.INTEGER and upper < 256
    edges = np.arange(-0.5, upper + 1) if whole else np.linspace(0, upper, 101)
    p, q = (np.histogram(column, edges)[0] / len(column) for column in (before, after))
    middle = (p + q) / 2
    return sum(
        float(np.sum(part[part > 0] * np.log2(part[part > 0] / middle[part > 0]))) / 2 for part in (p, q)
    )


def matched_errors(before: np.ndarray, after: np.ndarray) -> tuple[float, float]:
    spread = before.std(axis=0)
    before, after = before / spread, after / spread
    near_original, _ = cKDTree(before).query(after)
    near_release, _ = cKDTree(after).query(before)
    width = before.shape[1]
    return float(np.mean(near_original**2) / width), float(np.mean(near_release**2) / width)


def correlation_error(before: np.ndarray, after: np.ndarray) -> float:
    """Mean absolute difference of Spearman's ρ over all pairs."""
    first, second = (pd.DataFrame(table).corr("spearman").fillna(0).to_numpy() for table in (before, after))
    return float(np.abs(first - second)[np.triu_indices(len(first), 1)].mean())


def measure(table: pd.DataFrame, method: str, k: int | None, epsilon: str, runs: int) -> tuple[float, ...]:
    schema = schema_of(table)
    before, found, used = table.to_numpy(float), [], 0
    for seed in range(runs):
        release = protect(table, schema, method=method, epsilon=epsilon, k=k, seed=seed)
        after, used = release.data.to_numpy(float), release.certificate.k
        divergences = [divergence(before[:, i], after[:, i], a) for i, a in enumerate(schema.attributes)]
        found.append((*matched_errors(before, after), np.mean(divergences), correlation_error(before, after)))
    return (used, *np.mean(found, axis=0))


def mixed_table(runs: int) -> None:
    """Adult with seven categorical attributes: total variation distance of all two-way tables (numbers in tenths)."""
    table = adult()[[*MIXED, *LABELLED]]
    labels = {name: sorted(table[name].unique()) for name in LABELLED}
    numbers = [
        Attribute(
            name=name, role=Role.PROTECT, type=AttributeType.INTEGER, domain=Domain(lower=low, upper=high)
        )
        for name, (low, high) in MIXED.items()
    ]
    categories = [
        Attribute(
            name=name,
            role=Role.PROTECT,
            type=AttributeType.CATEGORICAL,
            categories=Categories(labels=tuple(labels[name])),
        )
        for name in LABELLED
    ]
    schema = Schema(attributes=(*numbers, *categories))
    edges = {name: np.unique(np.quantile(table[name], np.arange(1, 10) / 10)) for name in MIXED}

    def codes(frame: pd.DataFrame) -> dict[str, np.ndarray]:
        found = {name: np.searchsorted(edges[name], frame[name]) for name in MIXED}
        return found | {name: np.searchsorted(labels[name], frame[name]) for name in LABELLED}

    before = codes(table)
    print("\n| ε | method | two-way distance | largest |\n|---|---|---|---|")
    for epsilon in ("1", "4"):
        for method in ("laplace", "dp-sorted", "dp-copula", "dp-tree"):
            mean, largest = [], []
            for seed in range(runs):
                after = codes(protect(table, schema, method=method, epsilon=epsilon, seed=seed).data)
                distances = []
                for first, second in combinations(table.columns, 2):
                    cells = [part[first] * 64 + part[second] for part in (before, after)]
                    histograms = [np.bincount(cell, minlength=64 * 64) / len(table) for cell in cells]
                    distances.append(np.abs(histograms[0] - histograms[1]).sum() / 2)
                mean.append(np.mean(distances))
                largest.append(np.max(distances))
            print(f"| {epsilon} | `{method}` | {np.mean(mean):.3f} | {np.mean(largest):.3f} |", flush=True)


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--runs", type=int, default=5)
    arguments.add_argument("--epsilon", default="1")
    arguments.add_argument("--methods", nargs="*", help="name or name:k")
    options = arguments.parse_args()
    chosen = RELEASES
    if options.methods:
        named = [entry.partition(":") for entry in options.methods]
        chosen = tuple((name, int(k) if k else None) for name, _, k in named)
    print(
        "| table | method | k | matched SSE | coverage | JSD | correlation error |\n|---|---|---|---|---|---|---|"
    )
    for name, table in tables().items():
        for method, k in chosen:
            used, *figures = measure(table, method, k, options.epsilon, options.runs)
            shown = " | ".join(f"{figure:.3f}" for figure in figures)
            print(f"| {name} | `{method}` | {used:.0f} | {shown} |", flush=True)
    if not options.methods:
        mixed_table(options.runs)


if __name__ == "__main__":
    main()
