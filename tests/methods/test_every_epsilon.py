"""Every ε that is accepted works with every method: no exception, no warning, numbers inside their domain."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from coterie import Attribute, Domain, Role, Schema, protect
from coterie.methods import all_methods
from coterie.methods.recipe import Method
from coterie.schema.attributes import AttributeType, Categories

EPSILONS = [
    "1e-300",
    "1e-200",
    "1e-100",
    "1e-30",
    "1e-18",
    "1e-9",
    "1e-5",
    "1e-3",
    "1",
    "1e3",
    "1e6",
    "1e300",
]
LABELS = ("a", "b", "c")
TABLE = pa.table(
    {
        "x": [0, 0.1, 0.2, 0.8, 0.9, 1.0, 0.5, 0.5, 0.4],
        "wide": np.linspace(-1e4, 1e4, 9),
        "i": [0, 1, 2, 0, 1, 2, 0, 0, 0],
        "c": list("abcabcaab"),
    }
)
SCHEMA = Schema(
    attributes=(
        Attribute(name="x", role=Role.PROTECT, domain=Domain(lower=0, upper=1)),
        Attribute(name="wide", role=Role.PROTECT, domain=Domain(lower=-1e4, upper=1e4)),
        Attribute(name="i", role=Role.PROTECT, type=AttributeType.INTEGER, domain=Domain(lower=0, upper=2)),
        Attribute(
            name="c", role=Role.PROTECT, type=AttributeType.CATEGORICAL, categories=Categories(labels=LABELS)
        ),
    )
)


@pytest.mark.parametrize("seed", [None, 1], ids=["secure", "seeded"])
@pytest.mark.parametrize("method", all_methods().values(), ids=lambda method: method.name)
def test_every_accepted_epsilon_works(method: Method, seed: int | None) -> None:
    for epsilon in EPSILONS:
        release = protect(
            TABLE, SCHEMA, method=method.name, epsilon=epsilon, k=None if method.fixed_k else 3, seed=seed
        )
        for attribute in SCHEMA.protected[:3]:
            values = release.table[attribute.name].to_numpy()
            assert attribute.domain is not None
            assert ((attribute.domain.lower <= values) & (values <= attribute.domain.upper)).all(), epsilon
        assert set(release.table["c"].to_pylist()) <= set(LABELS)
        assert release.certificate.k
