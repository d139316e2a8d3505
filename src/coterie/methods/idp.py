"""idp: noise on every value for its own local sensitivity; k = 1 (Soria-Comas et al., Prop. 1 and Prop. 2 with |C| = 1)."""

from __future__ import annotations

from coterie.chain.mechanism.categorical import RankedCategories
from coterie.chain.mechanism.numeric import MEAN, LaplaceOnCentroids
from coterie.chain.sensitivity import LOCAL
from coterie.methods.grouping import EACH_ALONE
from coterie.methods.guarantee import Facts, Guarantee, Status
from coterie.methods.promises import FROZEN, IDP, PUBLIC, ROWS
from coterie.methods.recipe import Method
from coterie.schema.exact import as_text


def _promise(facts: Facts) -> Guarantee:
    epsilon = as_text(facts.epsilon)
    return Guarantee(
        model=IDP,
        value=epsilon,
        status=Status.CONDITIONAL,
        scope=ROWS,
        label=f"{epsilon}-iDP only if the noise scale counts as fixed at this table's value; not {epsilon}-DP",
        assumptions=(FROZEN, PUBLIC),
        citation="Soria-Comas et al., Prop. 1 and Prop. 2",
    )


_NUMERIC = LaplaceOnCentroids(MEAN, LOCAL)

METHOD = Method(
    name="idp",
    title="noise on every value for its local sensitivity",
    papers="Soria-Comas et al. (iDP), Prop. 1",
    grouping=EACH_ALONE,
    numeric=_NUMERIC,
    categorical=RankedCategories(_NUMERIC),
    promise=_promise,
    why=(
        "With scales frozen at the data one record moves one value by at most its own scale times ε_a. "
        "The scale itself depends on that value (between Δ/2 and Δ): a value in the middle and one at a bound differ in "
        "probability by a factor of up to 2e^ε, not e^ε."
    ),
    attack=(
        "An attacker who knows the formula of the scale gains from it: the spread of the noise tells how far "
        "a value lies from the middle."
    ),
    rank=40,
    fixed_k=1,
)
