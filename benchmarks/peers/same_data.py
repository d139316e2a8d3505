"""The tables that all peers get, and the measures that all are compared by.

Real data if they are here (COTERIE_DATA), else the demo population.
Domains are those of the papers' experiments, [0, 1.5 · max], taken as public for the comparison.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from coterie import Schema, demo_population, demo_schema, evaluate
from coterie.papers.data import available, load
from coterie.schema.attributes import Role

_CENSUS = ("AFNLWGT", "AGI", "FEDTAX", "STATETAX", "POTHVAL", "FICA")
_ADULT = ("age", "fnlwgt", "education-num", "hours-per-week")


def tables(most: int = 6000) -> dict[str, tuple[pa.Table, pa.Table, Schema]]:
    """Name → (people to protect, people held back, schema); at most so many rows of each table."""
    found = {}
    for name, columns in (("census", _CENSUS), ("adult-train", _ADULT)):
        if available(name):
            table = load(name).select(columns)
            found[name.removesuffix("-train")] = _split(table.slice(0, most), _schema(table))
    if not found:
        table = demo_population(min(most, 3000)).drop_columns(["person"])
        kept = tuple(a for a in demo_schema().attributes if a.role is Role.PROTECT)
        found["demo"] = _split(table, demo_schema().model_copy(update={"attributes": kept}))
    return found


def _split(table: pa.Table, schema: Schema) -> tuple[pa.Table, pa.Table, Schema]:
    order = np.random.default_rng(1).permutation(table.num_rows)
    held = table.num_rows // 4
    return table.take(pa.array(order[held:])), table.take(pa.array(order[:held])), schema


def _schema(table: pa.Table) -> Schema:
    entries = {
        name: {
            "type": "integer",
            "role": "protect",
            "domain": {"lower": 0, "upper": int(np.ceil(1.5 * max(table[name].to_pylist())))},
        }
        for name in table.column_names
    }
    return Schema.load({"attributes": entries})


def divergence(original: pa.Table, released: pa.Table, schema: Schema) -> float:
    """Mean Jensen–Shannon divergence of the attributes' histograms, 100 bins over the domain (Sánchez et al. 2016, §4.2)."""
    name = "jensen-shannon"
    found = evaluate(original, released, schema, measures=name, bins="domain", shuffled=True).measures[name]
    assert found.value is not None
    return found.value


def correlation_error(original: pa.Table, released: pa.Table, schema: Schema) -> float:
    """Mean absolute difference of the rank correlations of all pairs."""
    matrices = []
    for table in (original, released):
        ranks = [np.argsort(np.argsort(table[a.name].to_numpy(), kind="stable")) for a in schema.protected]
        matrices.append(np.corrcoef(ranks))
    pairs = np.triu_indices(len(schema.protected), 1)
    return float(np.mean(np.abs(matrices[0] - matrices[1])[pairs]))
