"""mdav: multivariate microaggregation without noise (Domingo-Ferrer and Torra 2005; Sánchez et al. 2016, §2.1)."""

from __future__ import annotations

from coterie.chain.mechanism.categorical import MarginalityCentroid
from coterie.chain.mechanism.numeric import MEAN, LaplaceOnCentroids
from coterie.methods.grouping import MDAV
from coterie.methods.guarantee import Facts, Guarantee, Status
from coterie.methods.promises import ONE_RECORD, ROWS
from coterie.methods.recipe import Method


def k_anonymity(facts: Facts) -> Guarantee:
    return Guarantee(
        model="k-anonymity",
        value=str(facts.k),
        status=Status.PROVED,
        scope=ROWS,
        label=f"k-anonymity only (k = {facts.k}): every released row agrees with at least {facts.k - 1} others in all "
        "protected attributes; says nothing about what can be inferred",
        assumptions=(ONE_RECORD,),
        citation="every MDAV group has at least k members, and all of them get the same row",
        neighbours="none: k-anonymity does not compare data sets",
        rests_on_noise=False,
    )


METHOD = Method(
    name="mdav",
    title="multivariate groups of at least k records, no noise",
    papers="Sánchez et al. 2016, §2.1",
    grouping=MDAV,
    numeric=LaplaceOnCentroids(MEAN, None),
    categorical=MarginalityCentroid(),
    adds_noise=False,
    promise=k_anonymity,
    why="Group means are released as they are; a row can be any of the k or more records of its group.",
    attack="Attribute inference: a group of similar records gives away what they have in common.",
    rank=50,
    minimum_k=2,
)
