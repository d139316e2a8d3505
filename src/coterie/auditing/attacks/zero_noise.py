"""Zero-noise clusters: how many groups of this population the method leaves without any noise.

Noise for a group's own spread is 0 where all its members are equal (Soria-Comas et al., Prop. 3), which integers and
answers with heaps make common. An exact count for the population at hand, from the chain itself.
"""

from __future__ import annotations

from coterie.auditing.attacks import Attack, Outcome, Subject
from coterie.auditing.attacks.evidence import MethodEvidence
from coterie.auditing.attacks.finding import Estimate, Level, percent
from coterie.publication.protect import protect


def _run(evidence: MethodEvidence) -> Outcome:
    release = protect(
        evidence.population,
        evidence.schema,
        method=evidence.method,
        epsilon=evidence.epsilon,
        k=evidence.k,
        seed=evidence.seed,
    )
    shares = {name: figure.zero_noise_share for name, figure in release.internal.attributes.items()}
    if not shares:
        return ATTACK.not_run("the method has no groups that noise is added to")
    worst = max(shares, key=lambda name: shares[name])
    share = Estimate.exact(shares[worst])
    return ATTACK.found(
        share,
        Estimate.exact(0.0),
        Level.NOTHING if share.value == 0 else Level.SEVERE if share.value >= 0.1 else Level.SOME,
        f"Worst attribute '{worst}': {percent(share.value)} of the groups get no noise at all"
        + (" (the method adds none)." if min(shares.values()) == 1 else "."),
        {f"without noise in {name}": value for name, value in shares.items()},
    )


ATTACK = Attack(
    name="zero-noise",
    title="Groups without noise",
    subject=Subject.METHOD,
    story="Someone who knows the method knows that groups of equal values are published as they are.",
    inputs=("the method, which is public",),
    statistic="share of groups with noise of scale 0 (worst attribute)",
    baseline="0: every group should get noise",
    cost="one release",
    run=_run,
    rank=10,
    personal=False,
)
