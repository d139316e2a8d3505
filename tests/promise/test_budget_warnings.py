"""Budgets that are useless or dangerous are named, from public numbers alone."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import pyarrow as pa
import pytest

from coterie import Attribute, Domain, Role, Schema, protect
from coterie.errors import ParameterError
from coterie.methods import all_methods, get_method
from coterie.methods.guarantee import Facts, settle
from coterie.methods.recipe import Method
from coterie.promise.certificate import Certificate
from coterie.promise.certifying import warnings_on
from coterie.promise.posterior import release_warnings, too_large

SCHEMA = Schema(attributes=(Attribute(name="x", role=Role.PROTECT, domain=Domain(lower=0, upper=1)),))


def warnings(
    name: str, epsilon: str, k: int, records: int, *, labels: bool = False, shuffled: bool = False
) -> tuple[str, ...]:
    method = all_methods()[name]
    total = Fraction(epsilon)
    labelled = ("x",) if labels else ()
    facts = Facts(
        epsilon=total,
        records=records,
        k=k,
        clusters=records // k,
        protected=("x",),
        labelled=labelled,
        shuffled=shuffled,
    )
    promise = settle(method.promise, facts)
    return release_warnings(method, total, {"x": total}, frozenset(labelled), records, k, promise)


@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize(
    "method",
    [m for m in all_methods().values() if m.adds_noise],
    ids=lambda method: method.name,
)
def test_an_epsilon_that_leaves_nothing_is_told(method: Method, labels: bool) -> None:
    (said,) = warnings(method.name, "1e-9", method.fixed_k or 10, 1000, labels=labels)
    assert "so small here that" in said
    assert "value of x survives" in said


def test_a_warning_says_what_would_help() -> None:
    (said,) = warnings("dp-ir", "0.01", 10, 10_000)
    assert "the noise is 10 times as wide as the domain" in said
    assert "ε = 1 or k = 1,000 would make it about a tenth" in said
    (said,) = warnings("laplace", "0.5", 1, 10_000)
    assert "no ε up to 3" in said
    laplace = get_method("laplace")
    promise = settle(
        laplace.promise, Facts(epsilon=Fraction(5), records=10_000, k=1, clusters=10_000, protected=("x",))
    )
    (said,) = release_warnings(laplace, Fraction(5), {"x": Fraction(1, 2)}, frozenset(), 10_000, 1, promise)
    assert said.startswith("Even at ε = 5 no single value of x survives")
    assert (
        "no reasonable ε would make it a tenth" in said
    )  # laplace groups nobody: k is no help and not named
    assert "up to 3" not in said
    assert warnings("dp-ir", "1", 50, 10_000) == ()
    assert warnings("dp-synthetic", "1", 200, 10_000) == ()
    assert warnings("ir", "1e-9", 10, 10_000) == ()


def test_what_helps_helps() -> None:
    """The numbers that are offered are tried."""
    assert warnings("dp-ir", "1", 10, 10_000) == ()
    assert warnings("dp-ir", "0.01", 1000, 10_000) == ()


def test_an_epsilon_above_ten_is_told_with_its_odds() -> None:
    assert warnings("dp-ir", "10", 50, 10_000) == ()
    (said,) = warnings("dp-ir", "12", 50, 10_000)
    assert said == too_large(Fraction(12))
    assert "someone 50 % sure before may be 99.9994 % sure after" in said
    assert warnings("dp-ir", "12", 50, 10_000) == (said,)


def test_the_value_that_is_stated_is_looked_at_not_only_that_of_the_noise() -> None:
    """Twice for `idp-ls`; q times for the labels of `dp-ir`."""
    assert warnings("idp-ls", "5", 50, 10_000) == ()
    assert warnings("idp-ls", "6", 50, 10_000) == (too_large(Fraction(12)),)
    assert warnings("dp-ir", "1", 50, 10_000, labels=True) == ()  # refuted: no value is stated
    assert warnings("dp-ir", "1", 50, 10_000, labels=True, shuffled=True) == (too_large(Fraction(200)),)
    assert warnings("mdav", "1", 50, 10_000) == ()


def test_the_certificate_notes_it_and_tells_it_from_other_notes() -> None:
    table = pa.table({"x": [0.1, 0.2, 0.3, 0.4]})
    small = protect(table, SCHEMA, method="laplace", epsilon="1e-9", clip=False).certificate
    assert len(small.notes) == 2
    (said,) = warnings_on(small)
    assert said in small.notes
    assert warnings_on(Certificate.from_json(small.to_json())) == (said,)
    assert warnings_on(protect(table, SCHEMA, method="laplace", epsilon="2").certificate) == ()


def test_with_a_delta_the_noise_is_that_of_rho() -> None:
    """Was: the formula of pure ε, 2e+18 instead of 10,100; and it was a note, not a warning."""
    table = pa.table({"x": [0.1, 0.2, 0.3, 0.4] * 25})
    release = protect(table, SCHEMA, method="dp-synthetic", epsilon="1e-20", delta="1e-6", rows=7)
    (said,) = warnings_on(release.certificate)
    noise = 1 / math.sqrt(float(Fraction(release.certificate.guarantee.rho or 0)))
    assert f"the noise on a count is {noise / 100:,.0f} times as large as the number of records" in said
    near = protect(table, SCHEMA, method="dp-synthetic", epsilon="0.012", delta="1e-6").certificate
    (said,) = warnings_on(near)
    offered = re.search(r"ε = ([0-9.]+) would make it about a tenth", said)
    assert offered is not None
    then = protect(table, SCHEMA, method="dp-synthetic", epsilon=offered[1], delta="1e-6").certificate
    assert 8 < 1 / math.sqrt(float(Fraction(then.guarantee.rho or 0))) <= 10
    assert warnings_on(then) == ()


def test_a_warning_does_not_depend_on_the_data() -> None:
    tables = [pa.table({"x": [value] * 4}) for value in (0.0, 1.0)]
    for method in all_methods().values():
        notes = {
            protect(
                table, SCHEMA, method=method.name, epsilon="1e-6", k=None if method.fixed_k else 3
            ).certificate.notes
            for table in tables
        }
        assert len(notes) == 1


def test_a_delta_that_leaves_nothing_is_told_with_what_would_help() -> None:
    table = pa.table({"x": [index / 50 for index in range(49)]})
    release = protect(table, SCHEMA, method="dp-synthetic", epsilon=0.5, delta="1e-300")
    (said,) = warnings_on(release.certificate)
    assert said.endswith("; leaving δ out would make it about a tenth")
    assert "no k" not in said
    table = pa.table({"x": [index / 250 for index in range(249)]})
    release = protect(table, SCHEMA, method="dp-synthetic", epsilon="0.9", delta="1e-300")
    assert not warnings_on(release.certificate)


@pytest.mark.parametrize(
    "name", [name for name, method in all_methods().items() if method.whole_table is None]
)
def test_a_delta_is_refused_where_it_would_change_nothing(name: str) -> None:
    """Was: methods that charge ε once per attribute took a δ and forgot it."""
    method = get_method(name)
    k = None if method.fixed_k else 3
    table = pa.table({"x": [index / 50 for index in range(50)]})
    with pytest.raises(ParameterError, match="no use for a delta"):
        protect(table, SCHEMA, method=name, epsilon=1, k=k, delta="1e-6")
