"""What smooth sensitivity would gain for the centroid list: the numbers of docs/guarantees/smooth-sensitivity.

    python -m benchmarks.smooth_sensitivity

Plain list: exact. Trimmed list: a lower bound, by really moving two records to the top of the domain.
"""

from __future__ import annotations

from math import log

import numpy as np
import pandas as pd

from coterie.chain.partition import clustering as local
from coterie.chain.partition.univariate import individual_ranking
from coterie.chain.sensitivity import fall, rise
from coterie.papers.tables import adult, census, white_wine

DELTA = 1e-6
K = 50
ADULT = ["age", "education-num", "capital-gain", "hours-per-week"]


def tables() -> dict[str, pd.DataFrame]:
    found = {"Census": census(), "Wine": white_wine(), "Adult": adult().select(ADULT)}
    return {name: table.to_pandas() for name, table in found.items()}


def plain_list(values: np.ndarray, upper: float, beta: float) -> tuple[float, float]:
    """Local and smooth sensitivity of the sorted means, as parts of Δ/k.

    Locally the worst move takes the minimum to the top or the maximum to the bottom. One record further away a data set
    has a record at one end already, and the next move can cross the whole domain.
    """
    here = max(upper - values.min(), values.max()) / upper
    return here, max(here, np.exp(-beta))


def trimmed_list(values: np.ndarray, upper: float, k: int, beta: float) -> tuple[float, float]:
    moved = np.sort(values).copy()
    moved[:2] = upper
    here, there = (_reach(column, k) / upper for column in (values, moved))
    return here, max(here, np.exp(-2 * beta) * there)


def _reach(values: np.ndarray, k: int) -> float:
    summary = local.summarise(values, individual_ranking(values, k), 3)
    return max(float(rise(summary).sum()), float(fall(summary).sum()))


def main() -> None:
    print(
        "| table | ε_a | β | plain: local | smooth | noise/ours | trimmed: local | smooth ≥ | noise/ours ≥ |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for name, table in tables().items():
        for total in (1.0, 10.0):
            epsilon = total / len(table.columns)
            beta = epsilon / (2 * log(2 / DELTA))
            plain, trimmed = [], []
            for column in table.columns:
                values = table[column].to_numpy(float)
                upper = 1.5 * float(values.max())  # as in the papers' experiments
                if pd.api.types.is_integer_dtype(table[column]):
                    upper = float(np.ceil(upper))
                plain.append(plain_list(values, upper, beta))
                trimmed.append(trimmed_list(values, upper, K, beta))
            first, second = np.median(plain, axis=0), np.median(trimmed, axis=0)
            # Laplace noise under smooth sensitivity has scale 2S/ε (and buys δ); ours has scale Δ/(kε).
            print(
                f"| {name} | {epsilon:.3f} | {beta:.4f} | {first[0]:.2f} | {first[1]:.2f} | {2 * first[1]:.2f} "
                f"| {second[0]:.2f} | {second[1]:.2f} | {2 * second[1]:.2f} |"
            )


if __name__ == "__main__":
    main()
