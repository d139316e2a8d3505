"""What owners learn from a joined release, measured by attacking it: the table in docs/how-to/federate.md.

The parts are protected and joined as the services do it, in one process and with seeds: the figures are the same everywhere.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
from scipy.optimize import linear_sum_assignment

from coterie import protect
from coterie.chain.noise.seeded import owner_seed
from coterie.schema.attributes import Schema
from coterie.table.demo_population import demo_population, demo_schema

SEED, PEOPLE, K = 20261118, 700, 10
KNOWS, LEARNS = ("age", "schooling", "hours"), ("income", "tax")


def _schema(names: tuple[str, ...]) -> Schema:
    whole = demo_schema()
    return whole.model_copy(update={"attributes": tuple(a for a in whole.attributes if a.name in names)})


def _part(table: pa.Table, names: tuple[str, ...], owner: str, method: str, epsilon: str) -> pa.Table:
    release = protect(
        table.select(list(names)),
        _schema(names),
        method=method,
        epsilon=epsilon,
        k=K if method != "dp-synthetic" else None,
        seed=owner_seed(SEED, owner),
    )
    return release.table


def subtracted(method: str) -> tuple[int, int]:
    """Two of three owners take their own rows out of a horizontal release: how many of what is left is the third's part."""
    people, names = demo_population(3 * PEOPLE), KNOWS + LEARNS
    parts = [
        _part(people.slice(PEOPLE * number, PEOPLE), names, f"owner-{number}", method, "1")
        for number in range(3)
    ]
    rows = [Counter(tuple(row.values()) for row in part.to_pylist()) for part in parts]
    left = rows[0] + rows[1] + rows[2] - rows[0] - rows[1]
    return (left & rows[2]).total(), PEOPLE


def matched(epsilon: int) -> int:
    """One of two owners assigns its own raw rows to the rows of a vertical release, by its own columns. How many fit."""
    people = demo_population(PEOPLE)
    share = f"{epsilon}/2"
    # Row by row, as the pseudonyms would join them.
    protected = _part(people, KNOWS, "owner-a", "idp-ls", share)
    widths = [float(attribute.bounds().width) for attribute in _schema(KNOWS).attributes]
    raw, seen = (
        np.column_stack([table.column(name).to_numpy() for name in KNOWS]) / widths
        for table in (people, protected)
    )
    # The order of the release tells nothing: rows that look the same are taken in random order.
    order = np.random.default_rng(SEED).permutation(PEOPLE)
    distance = np.abs(raw[:, None, :] - seen[order][None, :, :]).sum(axis=2)
    _, chosen = linear_sum_assignment(distance)
    return int((order[chosen] == np.arange(PEOPLE)).sum())


def table() -> str:
    lines = ["| attack | study | measured |", "|---|---|---|"]
    for method in ("idp-ls", "dp-synthetic"):
        found, whole = subtracted(method)
        what = "two of three owners take their own parts out of the release"
        lines.append(
            f"| {what} | horizontal, `{method}`, ε = 1 | {found} of {whole} rows of the third's protected part |"
        )
    for epsilon in (1, 10, 3000):
        what = "one of two owners looks for its own people by its own columns"
        lines.append(
            f"| {what} | vertical, `idp-ls`, k = {K}, ε = {epsilon:,} | {matched(epsilon)} of {PEOPLE} found (guessing: 1) |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(table(), end="")
