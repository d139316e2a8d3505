"""What each method's release costs: foreseen before the table is read, stated by the release, kept by the ledger."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from coterie import Attribute, Domain, Role, Schema, protect
from coterie.errors import ParameterError
from coterie.methods import all_methods, get_method
from coterie.methods.guarantee import NOTHING, REPLACE_ONE, Guarantee, Status
from coterie.promise.loss import Loss, LossModel, NeighbourRelation
from coterie.promise.terms import forecast, loss_of
from coterie.publication.publishing import purpose_of

SCHEMA = Schema(
    attributes=[
        Attribute(name=name, role=Role.PROTECT, domain=Domain(lower=0, upper=1)) for name in ("x", "y", "z")
    ]
)
TABLE = pa.table({name: np.random.default_rng(7).uniform(0, 1, 60) for name in ("x", "y", "z")})
NOISY = sorted(name for name, method in all_methods().items() if method.adds_noise)


@pytest.mark.parametrize("size", [1, 5])
@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("name", NOISY)
def test_what_is_foreseen_is_what_the_release_states(name: str, shuffled: bool, size: int) -> None:
    """Groups of one show nothing; larger ones do, and the ledger is asked for what will be charged."""
    method = get_method(name)
    k = None if method.fixed_k or method.public_k else max(size, method.minimum_k)
    release = protect(TABLE, SCHEMA, method=name, epsilon="0.3", k=k, shuffle=shuffled)
    purpose = purpose_of(
        method, Fraction("0.3"), SCHEMA, k, population="p", target="t", fingerprint="f", shuffled=shuffled
    )
    assert (purpose.status, purpose.loss) == (release.guarantee.status, release.loss)
    if release.loss.model is LossModel.DP:
        assert release.guarantee.status.proof
        assert release.loss.epsilon == Fraction(release.guarantee.value)
    if release.guarantee.status in (Status.HEURISTIC, Status.NONE):
        assert release.loss.model is LossModel.NONE


def cost(name: str, **options: bool) -> Loss:
    guarantee = forecast(SCHEMA, get_method(name), Fraction("0.3"), 5, **options)
    return loss_of(guarantee, get_method(name).cost(Fraction("0.3"), 3))


def test_bounded_values_are_charged_as_bounded() -> None:
    loss = cost("idp-ls")
    assert (loss.model, loss.status, loss.epsilon) == (LossModel.IDP, "bounded", Fraction("0.6"))


def test_every_attribute_that_moves_is_paid_for() -> None:
    loss = cost("dp-mdav", shuffled=True)
    assert (loss.model, loss.epsilon) == (LossModel.DP, Fraction("0.9"))
    assert cost("dp-mdav") == Loss(
        LossModel.NONE, NeighbourRelation.REPLACE_ONE, Status.REFUTED, Fraction("0.9")
    )


def test_what_is_not_proved_has_no_cost() -> None:
    assert cost("dp-ir") == Loss(
        LossModel.NONE, NeighbourRelation.REPLACE_ONE, Status.REFUTED, Fraction("0.3")
    )
    assert cost("idp-cbls").model is LossModel.NONE
    seeded = protect(TABLE, SCHEMA, method="laplace", epsilon="0.3", seed=1)
    assert seeded.loss == Loss(LossModel.NONE, NeighbourRelation.REPLACE_ONE, Status.NONE, Fraction("0.3"))
    with pytest.raises(ParameterError, match="adds no noise"):
        purpose_of(get_method("ir"), Fraction(1), SCHEMA, 5, population="p", target="t", fingerprint="f")


def statement(model: str, status: Status, value: str = "2") -> Guarantee:
    return replace(NOTHING, model=model, status=status, value=value, scope="it", neighbours=REPLACE_ONE)


DP, IDP = "differential privacy", "individual differential privacy"


@pytest.mark.parametrize("status", list(Status))
@pytest.mark.parametrize("model", [DP, IDP])
def test_a_statement_beside_refuted_rows_counts_as_individual_or_not_at_all(
    model: str, status: Status
) -> None:
    rows = replace(statement(DP, Status.REFUTED, "unbounded"), beside=(statement(model, status),))
    loss = loss_of(rows, Fraction(1))
    if model == IDP and status.proof:
        assert (loss.model, loss.epsilon, loss.status) == (LossModel.IDP, 2, status)
    else:  # differential privacy of a list says nothing about rows that show more
        assert (loss.model, loss.epsilon, loss.status) == (LossModel.NONE, 1, Status.REFUTED)
