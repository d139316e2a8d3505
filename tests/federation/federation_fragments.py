"""An experiment of Del Vasto-Terrientes et al. over the real services, and the same in one process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from federation_world import possible

from coterie import protect
from coterie.chain.noise.seeded import owner_seed
from coterie.schema.attributes import Schema
from coterie.schema.exact import parse_epsilon

SEED = 7
METHOD = "idp-ls"


def dealt(table: pa.Table, rows: Sequence[int]) -> list[pa.Table]:
    """Rows dealt to the owners as in run SEED of the experiments (coterie.papers.fragments)."""
    order = np.random.Generator(np.random.PCG64(SEED)).permutation(table.num_rows)
    return [table.take(pa.array(part)) for part in np.split(order, np.cumsum(rows)[:-1])]


def declared(schema: Schema) -> dict[str, Any]:
    """The papers' bounds and labels, declared: owners take none that were taken from data."""
    found: dict[str, Any] = {}
    for a in schema.attributes:
        found[a.name] = {"role": "protect", "type": a.type.value}
        if a.categories is None:
            found[a.name]["domain"] = {"lower": a.bounds().lower, "upper": a.bounds().upper}
        else:
            found[a.name]["categories"] = {"labels": list(a.categories.labels or ()), "order": "listed"}
    return found


def over_the_services(
    shared: Any, homes: list[Any], tables: list[pa.Table], study: Any, attributes: Mapping[str, Any]
) -> pa.Table:
    for home, table in zip(homes, tables, strict=True):
        shared.give(home, table, attributes=possible(attributes), seeded=True)
    shared.finish(study, homes)
    assert "reproducible: not private" in str(shared.certificate(study).notes)
    return pq.read_table(shared.aggregator.release(study.id))


def rows_in_one_process(
    parts: Sequence[pa.Table], owners: Sequence[str], attributes: Mapping[str, Any], k: int
) -> pa.Table:
    schema = Schema.load({"attributes": dict(attributes)})
    made = [
        protect(part, schema, method=METHOD, epsilon="1", k=k, seed=owner_seed(SEED, owner)).table
        for owner, part in zip(owners, parts, strict=True)
    ]
    return pa.concat_tables(made)


def attributes_in_one_process(
    table: pa.Table, held: Mapping[str, Sequence[str]], attributes: Mapping[str, Any], k: int
) -> pa.Table:
    columns = {}
    for owner, names in held.items():
        schema = Schema.load({"attributes": {name: attributes[name] for name in names}})
        share = parse_epsilon("1") / len(held)
        made = protect(
            table.select(list(names)), schema, method=METHOD, epsilon=share, k=k, seed=owner_seed(SEED, owner)
        ).table
        columns.update({name: made.column(name) for name in made.column_names})
    return pa.table({name: columns[name] for name in table.column_names})


def with_ids(table: pa.Table, names: Sequence[str]) -> pa.Table:
    ids = pa.array([f"P{number}" for number in range(table.num_rows)])
    return table.select(list(names)).append_column("person", ids)


def vertical(shared: Any, held: Mapping[str, Sequence[str]], attributes: Mapping[str, Any], k: int) -> Any:
    return shared.study(
        {owner: list(names) for owner, names in held.items()},
        attributes=dict(attributes),
        fragmentation="vertical",
        identifier="person",
        lead="owner-1",
        k=k,
        epsilon="1",
        seed=SEED,
        method=METHOD,
    )


def horizontal(shared: Any, owners: Sequence[str], attributes: Mapping[str, Any], k: int) -> Any:
    return shared.study(list(owners), attributes=dict(attributes), k=k, epsilon="1", seed=SEED, method=METHOD)
