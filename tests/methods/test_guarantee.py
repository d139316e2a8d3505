"""What the user chose can weaken a promise, never strengthen it."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from coterie.methods import all_methods
from coterie.methods.guarantee import Facts, Status, settle

# From firmest to nothing. A refuted claim and a heuristic promise less than any condition.
STRENGTH = [
    Status.NONE,
    Status.REFUTED,
    Status.HEURISTIC,
    Status.CONDITIONAL,
    Status.BOUNDED,
    Status.PROVED,
]
METHODS = list(all_methods().values())


def _facts(**changes: object) -> Facts:
    return Facts(epsilon=Fraction(1), records=100, k=10, clusters=10, protected=("x", "y"), **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_nothing_strengthens(method: object) -> None:
    before = method.promise(_facts())  # type: ignore[attr-defined]
    for bounds, kept, private in product([(), ("x",)], [(), ("z",)], [True, False]):
        facts = _facts(bounds_from_data=bounds, kept=kept, private_noise=private)
        after = settle(method.promise, facts)  # type: ignore[attr-defined]
        assert STRENGTH.index(after.status) <= STRENGTH.index(before.status)
        assert set(before.assumptions) <= set(after.assumptions)
        if not private and before.rests_on_noise and before.status is not Status.NONE:
            assert after.status is Status.NONE
            assert "reproducible: not private" in after.label
            assert after.value == "none"


@pytest.mark.parametrize("name", ["laplace", "idp", "idp-ls"])
def test_bounds_from_the_data_refute(name: str) -> None:
    after = settle(all_methods()[name].promise, _facts(bounds_from_data=("upper bound of x",), kept=("z",)))
    assert after.status is Status.REFUTED
    assert "the upper bound of x was taken from the data" in after.label
    assert after.value == "unbounded"


@pytest.mark.parametrize("name", ["laplace", "idp"])
def test_kept_columns_are_conditions(name: str) -> None:
    after = settle(all_methods()[name].promise, _facts(kept=("z",)))
    assert after.status is Status.CONDITIONAL
    assert "only if" in after.label
    assert "untouched" in after.assumptions[-1]
    assert "z" in after.assumptions[-1]


def test_the_status_of_every_numeric_method() -> None:
    """GUARANTEES.md, line by line: whoever changes a status must show why here."""
    expected = {
        "laplace": Status.PROVED,
        "ir": Status.NONE,
        "dp-ir": Status.REFUTED,
        "dp-um": Status.REFUTED,
        "idp": Status.CONDITIONAL,
        "idp-ls": Status.REFUTED,
        "idp-cbls": Status.REFUTED,
        "idp-cbls-joint": Status.REFUTED,
        "dp-mdav": Status.REFUTED,
        "idp-mdav": Status.REFUTED,
        "mdav": Status.PROVED,
    }
    assert expected.items() <= {method.name: method.promise(_facts()).status for method in METHODS}.items()


def test_the_numbers_of_the_promises() -> None:
    promises = {method.name: method.promise(_facts()) for method in METHODS}
    assert promises["laplace"].label == "1-DP (replace-one; n and bounds public)"
    assert promises["idp-ls"].value == "unbounded"
    assert promises["idp-ls"].beside[0].value == "2"
    assert "not private, whatever ε" in promises["dp-ir"].label
    assert "q = 10" in promises["idp-cbls"].beside[0].label
    assert "between 5 and 10" in promises["idp-cbls"].beside[0].value
