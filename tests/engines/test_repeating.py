"""Releases drawn again and again are those of protect(), to the last bit."""

from __future__ import annotations

import pyarrow as pa
import pytest

from coterie import Attribute, Domain, Role, Schema, protect
from coterie.engines.in_memory import repeated
from coterie.errors import DataError, ParameterError
from coterie.methods import all_methods
from coterie.methods.recipe import Method
from coterie.schema.attributes import AttributeType, Categories, Source


@pytest.fixture
def described(people_schema: Schema) -> Schema:
    """With labels to protect too."""
    *others, region = people_schema.attributes
    labels = Categories(labels=("north", "south", "east"))
    protected = Attribute(
        name=region.name, role=Role.PROTECT, type=AttributeType.CATEGORICAL, categories=labels
    )
    return Schema(attributes=(*others, protected))


@pytest.mark.parametrize("shuffle", [False, True], ids=["in order", "shuffled"])
@pytest.mark.parametrize("method", all_methods().values(), ids=lambda method: method.name)
def test_every_method_repeats_what_protect_releases(
    method: Method, shuffle: bool, people: pa.Table, described: Schema
) -> None:
    options = {
        "method": method.name,
        "epsilon": "1.5",
        "k": None if method.fixed_k else 7,
        "shuffle": shuffle,
        "clip": not shuffle,
    }
    release = repeated(people, described, **options)
    for seed in (3, 4, 3):  # the third as the first: a draw leaves nothing behind
        assert release(seed).equals(protect(people, described, seed=seed, **options).table)


def test_kept_columns_and_dropped_identifiers_too(people: pa.Table, people_schema: Schema) -> None:
    released = repeated(people, people_schema, method="dp-ir", epsilon=1, k=5)(1)
    assert released.equals(protect(people, people_schema, method="dp-ir", epsilon=1, k=5, seed=1).table)


def test_private_bounds_are_drawn_anew_each_time(people: pa.Table) -> None:
    bounds = Domain(lower=0, upper=1e9, source=Source.DP)
    schema = Schema(attributes=(Attribute(name="income", role=Role.PROTECT, domain=bounds),))
    table = people.select(["income"])
    release = repeated(table, schema, method="dp-ir", epsilon=20, k=5)
    found = [release(seed) for seed in range(3)]
    assert found == [
        protect(table, schema, method="dp-ir", epsilon=20, k=5, seed=seed).table for seed in range(3)
    ]
    assert len({table["income"].to_numpy().max() for table in found}) > 1


def test_what_protect_refuses_is_refused_before_the_first_draw(
    people: pa.Table, people_schema: Schema
) -> None:
    with pytest.raises(ParameterError, match="k"):
        repeated(people, people_schema, method="dp-ir", epsilon=1, k=62)
    with pytest.raises(ParameterError, match="epsilon"):
        repeated(people, people_schema, method="dp-ir", epsilon=0, k=5)
    with pytest.raises(DataError, match="fewer than two rows"):
        repeated(people.slice(0, 0), people_schema, method="dp-ir", epsilon=1, k=5)
