"""The configuration of 003 Fig. 6 over the real services, and in one process: the same seeds give the same table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from federation_world import Look, until

from coterie.federation.seeds import owner_seed
from coterie.io.digest import table_digest
from coterie.papers.data import available
from coterie.papers.paper_003_fig6 import ROWS, holders
from coterie.papers.tables import both_wines, numeric_schema
from coterie.release import protect
from coterie.schema import Schema

OWNERS = ("owner-1", "owner-2", "owner-3")
SEED = 7


@pytest.fixture(scope="module")
def wine() -> pa.Table:
    if not (available("wine-red") and available("wine-white")):
        pytest.skip("the Wine data are not here (COTERIE_DATA)")
    return both_wines()


@pytest.fixture(scope="module")
def homes(shared: Any) -> list[Any]:
    return [shared.join(owner) for owner in OWNERS]


def declared(table: pa.Table) -> dict[str, Any]:
    """The papers' bounds, declared: owners take no bounds that were taken from data."""
    found = numeric_schema(table, table.column_names, alpha=2.0)
    return {
        a.name: {
            "role": "protect",
            "type": "continuous",
            "domain": {"lower": a.bounds().lower, "upper": a.bounds().upper},
        }
        for a in found.attributes
    }


def over_the_services(shared: Any, homes: list[Any], tables: list[pa.Table], study: Any) -> pa.Table:
    for home, table in zip(homes, tables, strict=True):
        names = [name for name in table.column_names if name != "wine"]
        shared.give(home, table, attributes=names, seeded=True)

    def released() -> bool:
        for home in homes:
            Look(shared, home).once()
        return bool(shared.shown(study)["state"] == "RELEASED")

    until(released, "the release")
    assert "reproducible: not private" in str(shared.certificate(study).notes)
    return pq.read_table(shared.aggregator.release(study.id))


def test_rows_of_three_owners(shared: Any, homes: list[Any], wine: pa.Table) -> None:
    order = np.random.Generator(np.random.PCG64(SEED)).permutation(wine.num_rows)
    parts = [wine.take(pa.array(part)) for part in np.split(order, np.cumsum(ROWS)[:-1])]
    attributes = declared(wine)
    content = {"attributes": attributes, "k": 50, "epsilon": "1", "seed": SEED, "method": "idp-ls"}
    got = over_the_services(shared, homes, parts, shared.study([*OWNERS], **content))
    schema = Schema.from_dict({"attributes": attributes})
    here = [
        protect(part, schema, method="idp-ls", epsilon="1", k=50, seed=owner_seed(SEED, owner)).table
        for owner, part in zip(OWNERS, parts, strict=True)
    ]
    assert got.num_rows == sum(ROWS)
    assert table_digest(got) == table_digest(pa.concat_tables(here))


def test_attributes_of_three_owners(shared: Any, homes: list[Any], wine: pa.Table) -> None:
    held = holders(wine.column_names)
    ids = pa.array([f"W{number}" for number in range(wine.num_rows)])
    parts = [wine.select(held[owner]).append_column("wine", ids) for owner in OWNERS]
    attributes = declared(wine)
    study = shared.study(
        held,
        attributes=attributes,
        fragmentation="vertical",
        identifier="wine",
        lead="owner-1",
        k=50,
        epsilon="1",
        seed=SEED,
        method="idp-ls",
    )
    got = over_the_services(shared, homes, parts, study)
    columns = {}
    for owner in OWNERS:
        schema = Schema.from_dict({"attributes": {name: attributes[name] for name in held[owner]}})
        seed = owner_seed(SEED, owner)
        here = protect(
            wine.select(held[owner]), schema, method="idp-ls", epsilon="1/3", k=50, seed=seed
        ).table
        columns.update({name: here.column(name) for name in here.column_names})
    assert table_digest(got) == table_digest(pa.table({name: columns[name] for name in wine.column_names}))
