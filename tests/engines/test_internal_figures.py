"""release.internal and `coterie evaluate` say the same of one release."""

from __future__ import annotations

import pytest
from mixed_table import mixed_schema, mixed_table

from coterie import protect
from coterie.evaluation.evaluation import evaluate
from coterie.methods import all_methods
from coterie.schema.attributes import Attribute, Domain, Role, Schema, Source


@pytest.mark.parametrize("method", list(all_methods()))
def test_the_figures_are_those_of_evaluate(method: str) -> None:
    """Values are clipped, imputed and dropped on the way; both hold the release against the values as they were."""
    recipe, table, schema = all_methods()[method], mixed_table(120), mixed_schema()
    k = None if recipe.fixed_k or recipe.public_k else 6
    release = protect(table, schema, method=method, epsilon="3" if recipe.adds_noise else None, k=k, seed=4)
    synthetic = recipe.synthetic
    error = "sse-matched" if synthetic else "sse"
    asked = [error, "variance-change", "semantic-distance"]
    found = evaluate(table, release.table, schema, measures=asked, shuffled=synthetic).measures
    compared = 0
    for name, figures in release.internal.attributes.items():
        pairs = {
            error: figures.mean_squared_error,
            "variance-change": figures.variance_change,
            "semantic-distance": None if synthetic else figures.mean_semantic_distance,
        }
        for measure, figure in pairs.items():
            assert figure == (pytest.approx(found[measure].attributes[name]) if figure is not None else None)
            compared += figure is not None
    assert compared >= 8


def test_bounds_that_were_paid_for_cut_no_figure() -> None:
    domain = Domain(lower=0, upper=1000, source=Source.DP)
    schema = Schema(attributes=(Attribute(name="x", role=Role.PROTECT, domain=domain),))
    table = {"x": [float(n % 40) for n in range(395)] + [900.0] * 5}
    release = protect(table, schema, method="dp-ir", epsilon="8", k=5, seed=1)
    assert release.internal.values_clipped["x"] > 0
    found = evaluate(table, release.data, schema, measures=["sse"]).measures["sse"]
    assert release.internal.attributes["x"].mean_squared_error == pytest.approx(found.value)
