"""A weight in the table: protected by every method, modelled or raked by synthetic ones, never released untouched."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import coterie
from coterie.errors import DataError, ParameterError
from coterie.methods import all_methods

ROWS = 600
ATTRIBUTES: dict[str, Any] = {
    "sex": {"type": "categorical", "role": "protect", "categories": {"labels": ["man", "woman"]}},
    "region": {"type": "ordinal", "role": "protect", "categories": {"labels": ["n", "m", "s"]}},
    "age": {"type": "integer", "role": "protect", "domain": {"lower": 0, "upper": 99}},
    "w": {"type": "continuous", "role": "weight", "domain": {"lower": 1, "upper": 10}, "decimals": 2},
}
TOTALS = {"sex": {"man": 4000, "woman": 6000}, "region": {"n": 5000, "m": 2000, "s": 3000}}


def table(**other: Any) -> pa.Table:
    draw = np.random.default_rng(0)
    columns = {
        "sex": draw.choice(["man", "woman"], ROWS),
        "region": draw.choice(["n", "m", "s"], ROWS),
        "age": draw.integers(18, 90, ROWS),
        "w": np.round(draw.uniform(1, 9, ROWS), 2),
    }
    return pa.table({name: values for name, values in {**columns, **other}.items() if values is not None})


def schema(totals: Any = None) -> coterie.Schema:
    return coterie.Schema.load({"totals": totals, "attributes": ATTRIBUTES})


def test_every_method_protects_the_weight() -> None:
    kept = {**ATTRIBUTES, "w": {"role": "keep"}}
    for name, method in all_methods().items():
        k = 50 if method.fixed_k is None and method.public_k is None else None
        epsilon = 1 if method.adds_noise else None
        release = coterie.protect(table(), schema(), method=name, epsilon=epsilon, k=k)
        told = {a.name: a for a in release.certificate.attributes}["w"]
        assert told.role == "weight"
        assert (told.mechanism is not None, release.certificate.kept) == (True, ())
        assert np.mean(release.data["w"].to_numpy() == table()["w"].to_numpy()) < 0.2
        assert any("as delivered" in line for line in release.certificate.guarantee.assumptions)
        if method.name == "dp-synthetic":
            assert release.certificate.guarantee.status == "proved"
            untouched = coterie.protect(table(), {"attributes": kept}, method=name, epsilon=1)
            assert untouched.certificate.guarantee.status == "conditional"


def test_a_modelled_weight_costs_a_share_and_stays_in_its_bounds() -> None:
    release = coterie.protect(table(), schema(), method="dp-synthetic", epsilon=3, seed=1)
    weights = release.data["w"].to_numpy()
    assert 1 <= weights.min() <= weights.max() <= 10
    told = {a.name: a.epsilon for a in release.certificate.attributes}
    assert told["w"] is not None
    assert weights.mean() == pytest.approx(5, abs=0.5)


@pytest.mark.parametrize("delta", [None, "0.0001"])
def test_raked_weights_meet_public_totals_and_cost_nothing(delta: str | None) -> None:
    release = coterie.protect(table(), schema(TOTALS), method="dp-synthetic", epsilon=1, delta=delta)
    rows = release.data.to_pandas() if hasattr(release.data, "to_pandas") else release.data
    assert list(rows.columns) == list(ATTRIBUTES)
    for name, totals in TOTALS.items():
        found = rows.groupby(name)["w"].sum()
        assert found.to_dict() == pytest.approx(totals, rel=1e-3)
    told = {a.name: a for a in release.certificate.attributes}["w"]
    assert (told.epsilon, told.rho) == (None, None)
    assert release.certificate.guarantee.status == "proved"
    assert any("known without this table" in line for line in release.certificate.guarantee.assumptions)
    assert any(
        note.startswith("weights were raked to public totals by sex, region")
        for note in release.certificate.notes
    )


def test_raked_weights_do_not_depend_on_the_weights_of_the_table() -> None:
    """Not even on whether there are any."""
    options: dict[str, Any] = {"method": "dp-synthetic", "epsilon": 1, "seed": 3}
    with_weights = coterie.protect(table(), schema(TOTALS), **options).data
    assert coterie.protect(table(w=None), schema(TOTALS), **options).data.equals(with_weights)
    assert coterie.protect(table(w=np.full(ROWS, -1.0)), schema(TOTALS), **options).data.equals(with_weights)
    assert coterie.protect(table(), schema(9000), **options).data["w"].to_numpy().sum() == pytest.approx(9000)


def test_rows_without_a_label_are_not_counted_for_any() -> None:
    """The others share what is left, in proportion to the totals."""
    described = {
        name: {**entry, "missing": "own category"} for name, entry in ATTRIBUTES.items() if name != "w"
    }
    content = {"totals": TOTALS, "attributes": {**described, "w": ATTRIBUTES["w"]}}
    sex = np.where(np.arange(ROWS) % 5 == 0, None, table()["sex"].to_numpy(zero_copy_only=False))
    release = coterie.protect(table(sex=pa.array(sex)), content, method="dp-synthetic", epsilon=4, seed=1)
    rows = release.table.to_pandas()
    assert rows.w.sum() == pytest.approx(10_000, rel=1e-3)
    assert rows.sex.isna().any()
    found = rows.groupby("sex").w.sum()
    assert found["woman"] / found["man"] == pytest.approx(1.5, rel=1e-3)


def test_totals_are_for_synthetic_rows() -> None:
    with pytest.raises(ParameterError, match="synthetic rows"):
        coterie.protect(table(), schema(TOTALS), method="laplace", epsilon=1)


@pytest.mark.parametrize("bad", [0.0, -2.0, 11.0, None])
def test_bad_weights_are_refused_without_a_value_or_a_count(bad: float | None) -> None:
    weights = [*[2.0] * (ROWS - 1), bad]
    with pytest.raises(DataError) as refused:
        coterie.protect(table(w=weights), schema(), method="dp-synthetic", epsilon=1)
    assert "above 0" in str(refused.value)
    assert not any(digit in refused.value.problem for digit in "123456789")
    assert "impute" not in str(refused.value)


def test_weights_outside_their_bounds_are_cut_where_the_schema_says_so() -> None:
    clip = {**ATTRIBUTES, "w": {**ATTRIBUTES["w"], "outside": "clip"}}
    weights = [*[2.0] * (ROWS - 1), 400.0]
    release = coterie.protect(table(w=weights), {"attributes": clip}, method="dp-synthetic", epsilon=1)
    assert release.data["w"].to_numpy().max() <= 10


def test_a_household_and_a_weight() -> None:
    described = {"household": {"role": "identifier"}, **ATTRIBUTES}
    content = {"unit": {"column": "household", "at_most": 3}, "totals": TOTALS, "attributes": described}
    found = table().append_column("household", pa.array(np.arange(ROWS) // 2))
    release = coterie.protect(found, content, method="dp-synthetic", epsilon=2)
    assert release.data["w"].to_numpy().sum() == pytest.approx(10_000, rel=1e-3)
