"""Tie linkage finds people at any ε where groups keep their own values, and nobody where there are none to use."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from attack_tables import normals, normals_schema
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie import protect
from coterie.auditing import audit_method, audit_release
from coterie.auditing.attacks._ties import commonest_tie, order_from_ties, tie_patterns
from coterie.auditing.attacks.evidence import ReleaseEvidence, Seen
from coterie.auditing.attacks.finding import Level

BOTH = ("tie-linkage", "nearest-linkage")


def linked(released: pa.Table, people: pa.Table, attributes: int, **more: object) -> dict[str, float]:
    audit = audit_release(people, released, normals_schema(attributes), attacks=BOTH, in_order=True, **more)  # type: ignore[arg-type]
    return {finding.attack: finding.estimate.value for finding in audit.findings}


def test_the_table_of_the_guarantees() -> None:
    """n = 5,000, m = 4, k = 50, ε = 0.01, 4 % known: over 90 % by ties where distances find under 2 %."""
    people = normals(5000, 4, 1)
    released = protect(
        people, normals_schema(4), method="dp-ir", epsilon="0.01", k=50, seed=1, clip=False
    ).table
    found = linked(released, people, 4)
    assert found["tie-linkage"] > 0.9
    assert found["nearest-linkage"] < 0.02


def test_values_cut_at_the_domain_hide_ties_at_a_tiny_epsilon_only() -> None:
    people = normals(5000, 4, 1)
    tiny, one = (
        protect(people, normals_schema(4), method="dp-ir", epsilon=e, k=50, seed=1).table
        for e in ("0.01", "1")
    )
    assert linked(one, people, 4)["tie-linkage"] > 0.9
    assert linked(tiny, people, 4)["tie-linkage"] < 0.2


def test_plain_noise_gives_nothing_to_start_from() -> None:
    people = normals(1000, 3, 2)
    released = protect(people, normals_schema(3), method="laplace", epsilon=1, seed=1).table
    assert linked(released, people, 3)["tie-linkage"] == 0.0


@pytest.mark.parametrize("method", ["dp-synthetic", "dp-sorted"])
def test_nobody_is_linked_to_rows_that_stand_for_nobody(method: str) -> None:
    people = normals(5000, 4, 1)
    released = protect(people, normals_schema(4), method=method, epsilon=1, seed=1).table
    audit = audit_release(people, released, normals_schema(4), attacks=BOTH, in_order=True)
    for finding in audit.findings:
        assert finding.level is Level.NOTHING
        assert finding.estimate.high < 0.005


def test_synthetic_rows_cannot_be_linked() -> None:
    """Rows that belong to nobody: the attack stays at chance although distributions are alike."""
    people = normals(2000, 4, 3)
    audit = audit_release(people, normals(2000, 4, 4), normals_schema(4), attacks=BOTH, in_order=True)
    for finding in audit.findings:
        assert finding.level is Level.NOTHING
        assert finding.estimate.value < 0.005


def test_the_attack_needs_somebody_to_start_from() -> None:
    people = normals(1000, 3, 5)
    released = protect(people, normals_schema(3), method="dp-ir", epsilon=1, k=20, seed=1).table
    assert linked(released, people, 3, known=0.0)["tie-linkage"] == 0.0
    assert linked(released, people, 3, known=0.1)["tie-linkage"] > 0.9


def test_more_known_people_never_hurt_much_and_help_small_groups() -> None:
    people = normals(3000, 3, 6)
    released = protect(people, normals_schema(3), method="idp-cbls", epsilon="0.1", k=5, seed=1).table
    few, many = (linked(released, people, 3, known=share)["tie-linkage"] for share in (0.01, 0.2))
    assert many > 0.95
    assert many > few


def test_equal_values_hide_people_only_from_those_without_the_file() -> None:
    """Whole numbers with many ties: which of the equal values fell into which group follows the file's order."""
    draw = np.random.default_rng(14)
    people = pa.table({f"a{place}": draw.integers(-5, 6, 3000).astype(float) for place in range(4)})
    released = protect(people, normals_schema(4), method="dp-ir", epsilon=4, k=30, seed=1).table
    audit = audit_release(people, released, normals_schema(4), attacks=["tie-linkage"], in_order=True)
    (finding,) = audit.findings
    assert float(finding.details["linked by the original values"]) < 0.5
    assert float(finding.details["linked by the original file"]) > 0.9
    assert finding.estimate.value == finding.details["linked by the original file"]


def test_groups_of_all_attributes_at_once_hide_each_other() -> None:
    """MDAV rows are k-anonymous: at most one in k can be right."""
    people = normals(2000, 3, 7)
    released = protect(people, normals_schema(3), method="mdav", epsilon=1, k=10, seed=1).table
    assert linked(released, people, 3)["tie-linkage"] < 0.1


@pytest.mark.parametrize("method", ["dp-ir", "idp-ls", "dp-um"])
def test_shuffled_rows_are_put_back_into_order_knowing_nobody(method: str) -> None:
    people = normals(2000, 4, 8)
    release = protect(people, normals_schema(4), method=method, epsilon=20, k=20, shuffle=True)
    audit = audit_release(
        people, release.data, normals_schema(4), certificate=release.certificate, attacks=BOTH
    )
    assert any("put them back into order" in note for note in audit.notes)
    found = audit.finding("tie-linkage")
    assert found is not None
    assert found.estimate.value > 0.9


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 4), st.integers(5, 12))
def test_the_order_found_is_the_true_one(seed: int, attributes: int, k: int) -> None:
    """Names of groups are replaced by random ones: only who is with whom remains."""
    draw = np.random.default_rng(seed)
    people = draw.normal(size=(600, attributes))
    order = draw.permutation(600)
    seen = []
    for place in range(attributes):
        labels = np.empty(600, dtype=np.int64)
        labels[np.argsort(people[:, place])] = np.minimum(np.arange(600) // k, 600 // k - 1)
        names = draw.permutation(600 // k).astype(np.float64)
        seen.append(Seen(f"a{place}", True, people[:, place], names[labels][order], None, 12.0, -6.0, 6.0))
    truth = order_from_ties(tuple(seen), k)
    if truth is None:
        assert attributes == 2  # two attributes can be too symmetric; more never were
        return
    back = np.empty(600, dtype=np.int64)
    back[order] = np.arange(600)
    # Rows of one cell in all attributes are the same row: compare what they hold.
    for attribute in seen:
        assert np.array_equal(attribute.released[truth], attribute.released[back])


def test_no_order_is_claimed_for_rows_of_other_people() -> None:
    mine, theirs = normals(600, 3, 9), normals(600, 3, 10)
    schema = normals_schema(3)
    released = protect(theirs, schema, method="ir", epsilon=1, k=10, seed=1).table
    seen = tuple(
        Seen(name, True, mine[name].to_numpy(), released[name].to_numpy(), None, 12.0, -6.0, 6.0)
        for name in mine.column_names
    )
    assert order_from_ties(seen, 10) is None


def test_k_is_read_off_the_release() -> None:
    people = normals(1000, 2, 11)
    released = protect(people, normals_schema(2), method="dp-ir", epsilon=50, k=20, seed=1).table
    seen = tuple(
        Seen(name, True, people[name].to_numpy(), released[name].to_numpy(), None, 12.0, -6.0, 6.0)
        for name in people.column_names
    )
    assert commonest_tie(seen) == 20
    assert len(tie_patterns(ReleaseEvidence(seen, None))) == 2


def test_the_method_attack_shows_the_difference_that_cutting_makes() -> None:
    audit = audit_method(
        "dp-ir",
        epsilon="0.01",
        k=50,
        population=normals(2000, 4, 12),
        schema=normals_schema(4),
        attacks=["tie-linkage", "tie-linkage-uncut"],
    )
    cut, uncut = audit.finding("tie-linkage"), audit.finding("tie-linkage-uncut")
    assert cut is not None
    assert uncut is not None
    assert uncut.estimate.low > 0.9 > cut.estimate.high


def test_only_laplace_noise_can_be_left_uncut() -> None:
    found = audit_method(
        "mdav",
        epsilon=1,
        k=5,
        population=normals(100, 2, 1),
        schema=normals_schema(2),
        attacks=["tie-linkage-uncut"],
    )
    assert [one.reason for one in found.not_run] == ["the method does more than put Laplace noise on numbers"]
