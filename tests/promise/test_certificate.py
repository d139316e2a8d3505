"""The certificate: what it holds, what it must never hold, and its published schema."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie import Attribute, Certificate, Domain, Role, Schema, protect
from coterie.errors import CertificateError
from coterie.methods import all_methods
from coterie.schema.attributes import AttributeType, Missing, Outside, Source

PUBLISHED = Path(__file__).resolve().parents[2] / "docs/reference/certificate.schema.json"


@pytest.fixture
def certificate(people: pa.Table, people_schema: Schema) -> Certificate:
    return protect(people, people_schema, method="idp-cbls", epsilon="0.3", k=7).certificate


def test_the_published_schema_is_in_step() -> None:
    """After a change: coterie certificate schema > docs/reference/certificate.schema.json"""
    assert json.loads(PUBLISHED.read_text()) == Certificate.model_json_schema()


def test_the_numbers_that_follow_from_rows_and_k(certificate: Certificate) -> None:
    assert certificate.epsilon == "0.3"
    shares = {entry.name: entry.epsilon for entry in certificate.attributes}
    assert shares == {"name": None, "age": "0.15", "income": "0.15", "region": None}
    assert certificate.clusters.count == 8  # 61 = 7·7 + 12
    assert [(entry.size, entry.clusters) for entry in certificate.clusters.sizes] == [(7, 7), (12, 1)]
    assert certificate.effective_multiplier is not None
    assert (certificate.effective_multiplier.lower, certificate.effective_multiplier.upper) == ("4", "8")
    assert certificate.release.rows == 61
    bounds = {entry.name: entry.domain for entry in certificate.attributes}
    assert bounds["age"] is not None
    assert (bounds["age"].lower, bounds["age"].upper) == ("0", "120")
    assert bounds["region"] is None


@given(st.integers(2, 60), st.integers(1, 60))
@settings(max_examples=30)
def test_cluster_sizes_account_for_every_row(rows: int, k: int) -> None:
    schema = Schema(attributes=(Attribute(name="x", role=Role.PROTECT, domain=Domain(lower=0, upper=100)),))
    if k <= rows:
        clusters = protect({"x": list(range(rows))}, schema, method="ir", epsilon=1, k=k).certificate.clusters
        assert sum(entry.size * entry.clusters for entry in clusters.sizes) == rows
        assert sum(entry.clusters for entry in clusters.sizes) == clusters.count == rows // k


def test_shares_sum_to_the_whole_by_weights() -> None:
    weights = {"a": "1", "b": "2", "c": "1/3"}
    schema = Schema(
        attributes=tuple(
            Attribute(name=name, role=Role.PROTECT, domain=Domain(lower=0, upper=1), weight=weight)
            for name, weight in weights.items()
        )
    )
    release = protect({name: [0.1, 0.2] for name in weights}, schema, method="laplace", epsilon="0.7")
    shares = [Fraction(entry.epsilon or 0) for entry in release.certificate.attributes]
    assert sum(shares) == Fraction("0.7")
    assert shares[1] == 2 * shares[0] == 6 * shares[2]


def test_json_and_back(certificate: Certificate) -> None:
    assert Certificate.from_json(certificate.to_json()) == certificate
    assert Certificate.from_json(certificate.to_json().encode()) == certificate


def test_there_are_no_floats_inside(certificate: Certificate) -> None:
    """Their text differs between languages, and the signed bytes must not."""

    def floats(content: object) -> bool:
        if isinstance(content, dict):
            return any(map(floats, content.values()))
        if isinstance(content, list):
            return any(map(floats, content))
        return isinstance(content, float)

    assert not floats(json.loads(certificate.to_json()))
    assert json.loads(certificate.canonical()).keys() == json.loads(certificate.to_json()).keys() - {
        "signature"
    }


@pytest.mark.parametrize(
    "change",
    [
        {"coterie_certificate": 2},
        {"k": "many"},
        {"surprise": 1},
        {"release": None},
        {"guarantee": {"status": "certain"}},
    ],
    ids=str,
)
def test_another_document_is_refused(certificate: Certificate, change: dict[str, object]) -> None:
    document = {**json.loads(certificate.to_json()), **change}
    with pytest.raises(CertificateError, match="not a certificate"):
        Certificate.from_json(json.dumps(document))


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "{}", "\x00"])
def test_what_is_no_certificate_is_refused(text: str) -> None:
    with pytest.raises(CertificateError, match="not a certificate"):
        Certificate.from_json(text)


def test_bounds_from_the_data_are_named(one_attribute: object) -> None:
    domain = Domain(lower=0, upper=1.5, source=Source.DATA)
    schema = Schema(attributes=(Attribute(name="x", role=Role.PROTECT, domain=domain),))
    certificate = protect({"x": [0.5, 1.0]}, schema, method="laplace", epsilon=1).certificate
    assert certificate.guarantee.status == "refuted"
    assert certificate.attributes[0].domain is not None
    assert certificate.attributes[0].domain.source == "data"
    assert any("taken from the data" in note for note in certificate.notes)


def test_certificates_of_dropped_rows_are_still_read() -> None:
    """Earlier versions had that policy: what they signed stays as it was."""
    attribute = Attribute(
        name="x", role=Role.PROTECT, domain=Domain(lower=0, upper=9), missing=Missing.IMPUTE
    )
    made = protect(
        {"x": [1.0, 2.0]}, Schema(attributes=(attribute,)), method="laplace", epsilon=1
    ).certificate
    text = made.to_json().replace('"missing": "impute"', '"missing": "drop row"')
    earlier = Certificate.from_json(text)
    assert earlier.attributes[0].missing == "drop row"
    assert earlier.to_json() == text


# Seven digits and two decimals, not round: such a number does not occur in a certificate by chance.
distinctive = (
    st.integers(10**8, 10**9 - 1)
    .filter(lambda digits: digits % 10**6 > 10**5)
    .map(lambda digits: digits / 100)
)


@settings(max_examples=60)
@given(
    st.lists(distinctive, min_size=8, max_size=30, unique=True),
    st.sampled_from(sorted(all_methods())),
    st.sampled_from([None, 0, 1, 2]),
    st.booleans(),
)
def test_no_value_of_the_original_is_inside(
    values: list[float], method: str, seed: int | None, shuffle: bool
) -> None:
    """The digest is left out: it is of the release, and hexadecimal."""
    schema = Schema(
        attributes=(
            Attribute(name="id", role=Role.IDENTIFIER),
            Attribute(name="x", role=Role.PROTECT, domain=Domain(lower=0, upper=9e6), outside=Outside.CLIP),
            Attribute(
                name="n", type=AttributeType.INTEGER, role=Role.PROTECT, domain=Domain(lower=0, upper=10**9)
            ),
            Attribute(name="kept", role=Role.KEEP),
        )
    )
    whole = [math.floor(value * 100) for value in values]
    table = {"id": [f"id{value}" for value in whole], "x": values, "n": whole, "kept": values}
    k = None if all_methods()[method].fixed_k else 3
    certificate = protect(
        table, schema, method=method, epsilon=1, k=k, seed=seed, shuffle=shuffle
    ).certificate
    content = certificate.model_dump(mode="json")
    content["release"]["digest"] = None
    text = json.dumps(content)
    statistics = [
        min(values),
        max(values),
        float(np.mean(values)),
        float(np.std(values)),
        float(np.median(values)),
    ]
    for number in [*values, *whole, *statistics]:
        assert str(number) not in text
