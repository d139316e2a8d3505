"""Every method of the registry through the whole chain. A new method is tested here without a line being added."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from coterie import Schema, protect
from coterie.errors import ParameterError
from coterie.methods import all_methods
from coterie.methods.guarantee import Status
from coterie.methods.recipe import Method
from coterie.schema.document import as_schema

ROOT = Path(__file__).resolve().parents[2]
METHODS = list(all_methods().values())
every_method = pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
every_row_release = pytest.mark.parametrize(
    "method", [method for method in METHODS if not method.synthetic], ids=lambda method: method.name
)
K = 7


def _k(method: Method) -> int | None:
    return None if method.fixed_k else K


def _noisy(method: Method) -> bool:
    return not method.numeric.stages.endswith("no noise")


def _protect(method: Method, table: Any, schema: Schema, **options: Any) -> Any:
    """In row order, so that rows can be compared."""
    settings = {"k": _k(method), "shuffle": False, **options}
    return protect(table, schema, method=method.name, epsilon="1.5", **settings)


@every_method
def test_it_says_what_it_is(method: Method) -> None:
    assert method.title
    assert method.papers
    assert method.why
    assert method.attack
    assert method.grouping.name
    assert method.numeric.stages
    assert method.categorical.stages


@every_method
@pytest.mark.parametrize("seed", [None, 3], ids=["secure", "seeded"])
def test_the_release_keeps_its_shape_and_its_domain(
    method: Method, seed: int | None, people: pa.Table, people_schema: Schema
) -> None:
    released = _protect(method, people, people_schema, seed=seed).data
    assert released.column_names == ["age", "income", "region"]  # the identifier is dropped
    assert released.num_rows == people.num_rows
    assert released["region"].to_pylist() == people["region"].to_pylist()  # kept untouched
    assert released["age"].type == pa.int64()
    age, income = released["age"].to_numpy(), released["income"].to_numpy()
    assert (age.min(), age.max()) >= (0, 0)
    assert age.max() <= 120
    assert income.min() >= 0
    assert income.max() <= 500_000


@every_row_release
def test_records_share_a_value_group_by_group(
    method: Method, people: pa.Table, people_schema: Schema
) -> None:
    released = _protect(method, people, people_schema)
    assert method.grouping.sizes is not None
    sizes = method.grouping.sizes(people.num_rows, method.fixed_k or K)
    clusters = sum(count for _, count in sizes)
    assert sum(size * count for size, count in sizes) == people.num_rows
    assert min(size for size, _ in sizes) >= (method.fixed_k or K)
    assert released.certificate.clusters.count == clusters
    for name in ("age", "income"):
        assert len(set(released.data[name].to_pylist())) <= clusters


@every_method
def test_the_same_kind_of_frame_comes_out_with_the_same_values(
    method: Method, people: pa.Table, people_schema: Schema
) -> None:
    arrow = _protect(method, people, people_schema, seed=1).data
    pandas = _protect(method, people.to_pandas(), people_schema, seed=1).data
    polars = _protect(method, pl.from_arrow(people), people_schema, seed=1).data
    assert isinstance(arrow, pa.Table)
    assert isinstance(pandas, pd.DataFrame)
    assert isinstance(polars, pl.DataFrame)
    expected = arrow.to_pydict()
    assert pandas.to_dict("list") == expected
    assert polars.to_dict(as_series=False) == expected


@every_method
def test_a_seed_repeats_and_another_differs(method: Method, people: pa.Table, people_schema: Schema) -> None:
    first, again, other = (_protect(method, people, people_schema, seed=seed) for seed in (1, 1, 2))
    assert first.certificate.release.digest == again.certificate.release.digest
    assert first.table.equals(again.table)
    assert first.table.equals(other.table) is not _noisy(method)


@every_method
def test_secure_noise_differs_each_time(method: Method, people: pa.Table, people_schema: Schema) -> None:
    first, again = (_protect(method, people, people_schema) for _ in range(2))
    assert first.table.equals(again.table) is not _noisy(method)


@every_method
def test_a_shuffle_moves_whole_rows(method: Method, people: pa.Table, people_schema: Schema) -> None:
    straight = _protect(method, people, people_schema, seed=4).table
    shuffled = _protect(method, people, people_schema, seed=4, shuffle=True)
    rows, moved = straight.to_pylist(), shuffled.table.to_pylist()
    assert rows != moved
    assert sorted(map(str, rows)) == sorted(map(str, moved))
    assert shuffled.certificate.release.shuffled


@every_method
def test_its_k_is_checked(method: Method, people: pa.Table, people_schema: Schema) -> None:
    if method.fixed_k:
        assert _protect(method, people, people_schema, k=method.fixed_k).certificate.k == method.fixed_k
        bad: list[Any] = [2, 0, -1, "1", True if method.fixed_k != 1 else 3]
    else:
        bad = [0, -1, method.minimum_k - 1, people.num_rows + 1, 2.5, "7", True]
        bad += [] if method.public_k else [None]
    for k in bad:
        with pytest.raises(ParameterError) as caught:
            _protect(method, people, people_schema, k=k)
        assert "k" in str(caught.value)
    largest = method.fixed_k or people.num_rows
    assert _protect(method, people, people_schema, k=largest).certificate.clusters.count == (
        people.num_rows if method.fixed_k else 1
    )


@every_method
def test_the_certificate_says_what_is_promised(
    method: Method, people: pa.Table, people_schema: Schema
) -> None:
    certificate = _protect(method, people, people_schema).certificate
    promise = certificate.guarantee
    assert promise.label
    assert promise.status in {status.value for status in Status}
    assert promise.neighbours
    if promise.status != "none":
        assert "replace one" in promise.neighbours or not promise.rests_on_noise
        assert promise.assumptions
        assert promise.citation
    assert certificate.method == method.name
    assert certificate.papers == method.papers
    assert not certificate.reproducible
    assert ("exact discrete Laplace" in certificate.sampler) is method.adds_noise
    assert (certificate.epsilon is not None) is method.adds_noise
    assert certificate.dropped == ("name",)
    assert certificate.kept == ("region",)
    assert any("region" in note for note in certificate.notes)
    assert (certificate.effective_multiplier is not None) is (method.name == "idp-cbls")


@every_method
def test_a_seeded_certificate_says_it_is_not_private(
    method: Method, people: pa.Table, people_schema: Schema
) -> None:
    certificate = _protect(method, people, people_schema, seed=0).certificate
    assert certificate.reproducible is method.adds_noise  # without noise a seed changes nothing
    assert ("reproducible: not private" in certificate.notes) is method.adds_noise
    if certificate.guarantee.rests_on_noise:
        assert certificate.guarantee.status == "none"
    else:
        assert certificate.guarantee.model == "k-anonymity"  # which no noise is part of


@every_method
def test_the_certificate_follows_its_published_schema(
    method: Method, people: pa.Table, people_schema: Schema
) -> None:
    published = json.loads((ROOT / "docs/reference/certificate.schema.json").read_text())
    certificate = json.loads(_protect(method, people, people_schema).certificate.to_json())
    jsonschema.Draft202012Validator(published).validate(certificate)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**certificate, "mean_income": 1}, published)


@every_method
def test_hostile_columns_go_through(method: Method, one_attribute: Any) -> None:
    columns = {
        "constant": np.full(20, 0.5),
        "zeros of both signs": np.array([0.0, -0.0] * 10),
        "denormal": np.array([5e-324, 0.0, 1.0, 0.5] * 5),
        "at the bounds": np.array([0.0, 1.0] * 10),
    }
    for values in columns.values():
        released = np.array(_protect(method, {"x": values}, one_attribute()).data["x"])
        assert ((released >= 0) & (released <= 1)).all()


@every_method
def test_internal_figures_are_marked_and_apart(
    method: Method, people: pa.Table, people_schema: Schema
) -> None:
    release = _protect(method, people, people_schema)
    figures = release.internal.to_dict()
    assert figures["warning"].startswith("DO NOT PUBLISH")
    assert set(figures["attributes"]) == {"age", "income"}
    certificate = release.certificate.to_json()
    for name in ("mean_squared_error", "variance_change", "zero_noise", "values_clipped"):
        assert name not in certificate


@every_method
def test_declared_places_hold_where_bounds_have_more(method: Method) -> None:
    """Was: values beyond the bounds came out as the bound itself, 0.5 among whole numbers."""
    domain = {"lower": 0.5, "upper": 9.5}
    schema = {"attributes": {"x": {"type": "continuous", "role": "protect", "decimals": 0, "domain": domain}}}
    released = _protect(method, {"x": [1.0, 2, 9] * 20}, as_schema(schema), seed=3).table["x"]
    values = np.array(released)
    assert np.array_equal(values, np.rint(values))
    assert values.min() >= 1
    assert values.max() <= 9
