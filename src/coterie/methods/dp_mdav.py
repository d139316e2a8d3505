"""dp-mdav: insensitive MDAV, noise of scale (n/k)·Δ/(kε) on every centroid (001 §2.4 and §4.4).

As published, every attribute gets the whole ε although one record moves the means of all m attributes.
"""

from __future__ import annotations

from dataclasses import replace

from coterie.budget import as_text
from coterie.guarantee import Facts, Guarantee, Status
from coterie.mechanism.numeric import LaplaceOnCentroids
from coterie.mechanism.semantic import EVERY_CLUSTER
from coterie.methods.grouping import INSENSITIVE_MDAV
from coterie.methods.parts import MEAN
from coterie.methods.reattached import TIE_LINKAGE, calibrated, refuted_dp
from coterie.methods.recipe import Method
from coterie.sensitivity.domain_over_k_each import DOMAIN_OVER_K_EACH


def _promise(facts: Facts) -> Guarantee:
    refuted = refuted_dp("001 §2.4 claims ε-DP")
    if facts.kept:
        names = ", ".join(facts.kept)
        return replace(
            refuted, label=f"{calibrated(facts)} ({names}, released untouched, tells the rows apart)"
        )
    if not facts.shuffled:
        return replace(refuted, label=calibrated(facts))
    total = as_text(len(facts.protected) * facts.epsilon)
    return replace(
        refuted,
        value=total,
        status=Status.PROVED,
        label=f"{total}-DP (mε for m = {len(facts.protected)} attributes; replace-one; n and bounds public); rows shuffled",
        assumptions=(
            *refuted.assumptions,
            "rows are shuffled, so that the release shows only the list of noisy centroids",
            "noise is drawn by an exact sampler from the operating system's randomness",
            "one person is one record",
        ),
        citation="001 §2.4 claims ε-DP; one record moves all m means, hence mε",
    )


METHOD = Method(
    name="dp-mdav",
    title="insensitive multivariate groups with noise for all centroids at once",
    papers="001 §2.4 and §4.4",
    grouping=INSENSITIVE_MDAV,
    numeric=LaplaceOnCentroids(MEAN, DOMAIN_OVER_K_EACH),
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
