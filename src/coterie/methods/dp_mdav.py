"""dp-mdav: insensitive MDAV, noise of scale (n/k)·Δ/(kε) on every centroid (Sánchez et al. 2016, §2.4 and §4.4).

As published, every attribute gets the whole ε although one record moves the means of all m attributes.
"""

from __future__ import annotations

from dataclasses import replace

from coterie.chain.mechanism.categorical import EVERY_CLUSTER
from coterie.chain.mechanism.numeric import MEAN, LaplaceOnCentroids, noisy_majority
from coterie.chain.sensitivity import DOMAIN_OVER_K_EACH
from coterie.methods.grouping import INSENSITIVE_MDAV
from coterie.methods.guarantee import Facts, Guarantee
from coterie.methods.promises import TIE_LINKAGE, dp_list, on_rows
from coterie.methods.recipe import Method
from coterie.schema.exact import as_text


def _promise(facts: Facts) -> Guarantee:
    total, m = as_text(len(facts.protected) * facts.epsilon), len(facts.protected)
    listed = replace(
        dp_list(facts, "Sánchez et al. 2016, §2.4 claims ε-DP; one record moves all m means, hence mε"),
        value=total,
        label=f"{total}-DP (mε for m = {m} attributes; replace-one; n and bounds public)",
    )
    return on_rows(facts, listed, "Sánchez et al. 2016, §2.4 claims ε-DP", shared=True)


METHOD = Method(
    name="dp-mdav",
    title="insensitive multivariate groups with noise for all centroids at once",
    papers="Sánchez et al. 2016, §2.4 and §4.4",
    grouping=INSENSITIVE_MDAV,
    numeric=LaplaceOnCentroids(MEAN, DOMAIN_OVER_K_EACH, gaps=noisy_majority),
    categorical=EVERY_CLUSTER,
    promise=_promise,
    why=(
        "With row order kept, which rows share a group is a function of the data. Shuffled, the release shows only the "
        "noisy centroids; one record moves each of the n/k centroids by at most Δ/k, in every one of the m attributes."
    ),
    attack=f"{TIE_LINKAGE} It needs the order of rows: shuffle them.",
    rank=60,
    splits_budget=False,
)
