"""What the proved synthetic releases share: the promise, and the public rule for k."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

from coterie.methods.guarantee import Facts, Guarantee, Status
from coterie.methods.reattached import DP, ONE_RECORD, SAMPLER
from coterie.schema.exact import as_text

ATTACK = (
    "None known beyond what ε allows: no row stands for a person, so there is nothing to link. With bounds taken from "
    "the data, the largest released value shows the maximum."
)


def proved_dp(facts: Facts, rows: str, citation: str) -> Guarantee:
    epsilon, delta = as_text(facts.epsilon), None if facts.delta is None else as_text(facts.delta)
    amount = f"{epsilon}-DP" if delta is None else f"({epsilon}, {delta})-DP"
    return Guarantee(
        model=DP,
        value=epsilon,
        delta=delta,
        rho=None if facts.rho is None else as_text(facts.rho),
        status=Status.PROVED,
        scope="the released table",
        label=f"{amount} (replace-one; n and bounds public); {rows}",
        assumptions=(
            "the number of records, the declared bounds and the order of categories do not depend on the data",
            SAMPLER,
            ONE_RECORD,
        ),
        citation=citation,
    )


def public_k(records: int, epsilon: Fraction) -> int:
    """2·√(n/ε_a): grouping error (about Δk/n) against noise (Δ/(kε_a)), from n, m and ε alone.

    √(n/ε_a) makes the two equal; measured, twice that was better, because neighbouring means differ less than evenly
    spread ones would.
    """
    return max(1, min(isqrt(int(4 * records / epsilon)), records // 2))
