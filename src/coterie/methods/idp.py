"""idp: noise on every value for its own local sensitivity; k = 1 (000 Prop. 1 and Prop. 2 with |C| = 1)."""

from __future__ import annotations

from coterie.budget import as_text
from coterie.guarantee import Facts, Guarantee, Status
from coterie.mechanism.numeric import LaplaceOnCentroids
from coterie.mechanism.ranked import RankedCategories
from coterie.methods.grouping import EACH_ALONE
from coterie.methods.parts import MEAN
from coterie.methods.recipe import Method
from coterie.sensitivity.local import LOCAL

FROZEN = "the noise scales are taken as fixed at the actual data, as 000 Prop. 1 does"


def _promise(facts: Facts) -> Guarantee:
    return Guarantee(
        model="individual differential privacy",
        value=as_text(facts.epsilon),
        status=Status.CONDITIONAL,
        scope="the released rows",
        label=f"{as_text(facts.epsilon)}-iDP only if the noise scales, which depend on the data, stay hidden; not DP",
        assumptions=(FROZEN, "the number of records and the declared bounds do not depend on the data"),
        citation="000 Prop. 1 and Prop. 2",
    )


_NUMERIC = LaplaceOnCentroids(MEAN, LOCAL)

METHOD = Method(
    name="idp",
    title="noise on every value for its local sensitivity",
    papers="000 §2 Prop. 1, §3.2.1",
    grouping=EACH_ALONE,
    numeric=_NUMERIC,
    categorical=RankedCategories(_NUMERIC),
    promise=_promise,
    why=(
        "With scales frozen at the data one record moves one value by at most its own scale times ε_a. "
        "The scale itself depends on that value (between Δ/2 and Δ), which differential privacy would not allow."
    ),
    attack=(
        "An attacker who knows the formula of the scale gains from it: the spread of the noise tells how far "
        "a value lies from the middle."
    ),
    rank=40,
    fixed_k=1,
)
