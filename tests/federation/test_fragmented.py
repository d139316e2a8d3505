"""Del Vasto-Terrientes et al., Fig. 5 and 6 over the real services, and in one process: the same seeds give the same table.

Adult's categories are ordered by their frequency in the whole table, as declared by the study. (In Fig. 5 each owner of
rows orders them by its own frequencies; a study cannot ask for that, since it would disclose them: docs/guarantees.)
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from federation_fragments import (
    attributes_in_one_process,
    dealt,
    declared,
    horizontal,
    over_the_services,
    rows_in_one_process,
    vertical,
    with_ids,
)

from coterie.papers import fragmented_owners
from coterie.papers.data import available
from coterie.papers.tables import ADULT_FRAGMENTED, adult, adult_fragmented_schema, both_wines, numeric_schema
from coterie.table.digest import table_digest

OWNERS = tuple(f"owner-{number}" for number in range(1, 11))


@pytest.fixture(scope="session")
def homes(shared: Any) -> list[Any]:
    return [shared.join(owner) for owner in OWNERS]


@pytest.fixture(scope="module")
def wine() -> pa.Table:
    if not (available("wine-red") and available("wine-white")):
        pytest.skip("the Wine data are not here (COTERIE_DATA)")
    return both_wines()


@pytest.fixture(scope="module")
def people() -> pa.Table:
    if not (available("adult-train") and available("adult-test")):
        pytest.skip("the Adult data are not here (COTERIE_DATA)")
    return adult(("adult-train", "adult-test")).select(list(ADULT_FRAGMENTED))


def test_wine_of_three_owners_of_rows(shared: Any, homes: list[Any], wine: pa.Table) -> None:
    parts = dealt(wine, fragmented_owners.WINE_ROWS)
    attributes = declared(numeric_schema(wine, alpha=2.0))
    got = over_the_services(
        shared, homes[:3], parts, horizontal(shared, OWNERS[:3], attributes, 50), attributes
    )
    assert got.num_rows == 6_497
    assert table_digest(got) == table_digest(rows_in_one_process(parts, OWNERS[:3], attributes, 50))


@pytest.mark.slow
def test_wine_of_three_owners_of_attributes(shared: Any, homes: list[Any], wine: pa.Table) -> None:
    held = fragmented_owners.wine_holders(wine.column_names)
    attributes = declared(numeric_schema(wine, alpha=2.0))
    parts = [with_ids(wine, names) for names in held.values()]
    got = over_the_services(shared, homes[:3], parts, vertical(shared, held, attributes, 50), attributes)
    assert table_digest(got) == table_digest(attributes_in_one_process(wine, held, attributes, 50))


@pytest.mark.slow
def test_adult_of_four_owners_of_rows(shared: Any, homes: list[Any], people: pa.Table) -> None:
    parts = dealt(people, fragmented_owners.ADULT_ROWS)
    assert [part.num_rows for part in parts] == [11_100, 15_000, 12_000, 7_122]
    attributes = declared(adult_fragmented_schema(people))
    got = over_the_services(
        shared, homes[:4], parts, horizontal(shared, OWNERS[:4], attributes, 250), attributes
    )
    assert got.num_rows == 45_222
    assert table_digest(got) == table_digest(rows_in_one_process(parts, OWNERS[:4], attributes, 250))


@pytest.mark.slow
def test_adult_of_ten_owners_of_one_attribute(shared: Any, homes: list[Any], people: pa.Table) -> None:
    held = {owner: [name] for owner, name in zip(OWNERS, ADULT_FRAGMENTED, strict=True)}
    attributes = declared(adult_fragmented_schema(people))
    parts = [with_ids(people, names) for names in held.values()]
    got = over_the_services(shared, homes, parts, vertical(shared, held, attributes, 250), attributes)
    assert got.num_rows == 45_222
    assert table_digest(got) == table_digest(attributes_in_one_process(people, held, attributes, 250))
