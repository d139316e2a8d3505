"""Groups that show: rows of one group share a value, and those of the next group share another.

Somebody who knows everybody else then reads from a person's row which of the two groups the person was ranked into, at any
noise: it is drawn once per group. Groups are compared in pairs, first with second, third with fourth, so that no group is
counted twice. If rows did not show their groups, any rows of a pair could be those of either group: dealing them out anew
says how often two groups differ by luck (Fisher's exact test, pair by pair).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coterie.auditing.attacks import Attack, Outcome, Subject
from coterie.auditing.attacks._ties import commonest_tie
from coterie.auditing.attacks.evidence import ReleaseEvidence
from coterie.auditing.attacks.finding import Estimate, graded, percent
from coterie.schema.arrays import Flags, Floats, Whole

ALL = "all attributes together"


@dataclass(frozen=True, slots=True)
class _GroupPairs:
    """Pairs of groups: people in both, whether the release tells them apart, and the odds that luck would."""

    people: Floats
    told: Flags
    luck: Floats

    @property
    def share(self) -> float:
        return float(self.people @ self.told / self.people.sum())

    @property
    def expected(self) -> float:
        return float(self.people @ self.luck / self.people.sum())

    @property
    def p_value(self) -> float:
        """At least so many told apart, were each as likely as the likeliest: binomial, so never too small."""
        from scipy.special import betainc  # here: commands that only show risks start without it

        hits, tried = int(self.told.sum()), int((self.luck > 0).sum())
        return float(betainc(hits, tried - hits + 1, self.luck.max())) if hits else 1.0


def _pairs(values: Floats, labels: Whole) -> _GroupPairs:
    """`labels`: 0, 1, 2 … in the order of the groups; what is left of an odd number is not looked at."""
    from scipy.special import gammaln  # as above

    groups = int(labels.max()) + 1
    codes = np.unique(values, return_inverse=True)[1].astype(np.int64)
    sizes = np.bincount(labels, minlength=groups)
    lowest, highest = np.full(groups, len(values)), np.full(groups, -1)
    np.minimum.at(lowest, labels, codes)
    np.maximum.at(highest, labels, codes)
    first, second = (np.arange(start, groups - groups % 2, 2) for start in (0, 1))
    constant, people = lowest == highest, sizes[first] + sizes[second]
    told = constant[first] & constant[second] & (lowest[first] != lowest[second])
    # Luck could do it only where there are two values, and one has as many rows as one of the groups.
    cells, rows = np.unique(labels // 2 * len(values) + codes, return_counts=True)
    starts = np.searchsorted(cells // len(values), np.arange(len(first) + 1))
    of_one = rows[starts[:-1]]
    fits = (np.diff(starts) == 2) & ((of_one == sizes[first]) | (of_one == sizes[second]))
    ways = gammaln(people + 1) - gammaln(sizes[first] + 1) - gammaln(sizes[second] + 1)
    luck = np.where(sizes[first] == sizes[second], 2.0, 1.0) * np.exp(-np.minimum(ways, 600.0))
    return _GroupPairs(people.astype(np.float64), told, np.where(fits, luck, 0.0))


def _run(evidence: ReleaseEvidence) -> Outcome:
    attributes = [a for a in evidence.attributes if a.protected]
    k = evidence.k or commonest_tie(attributes)
    if not 2 <= k <= evidence.people // 2:
        return ATTACK.not_run("no groups of two or more records are known")
    found = {a.name: _pairs(a.released[evidence.places], evidence.rank_groups(a, k)) for a in attributes}
    if len(found) > 1:
        parts = [[getattr(one, name) for one in found.values()] for name in ("people", "told", "luck")]
        found[ALL] = _GroupPairs(*map(np.concatenate, parts))
    name = min(found, key=lambda one: (found[one].p_value, -found[one].share))
    worst, tried = found[name], len(found)
    estimate, baseline = Estimate.exact(worst.share, evidence.people), Estimate.exact(worst.expected)
    return ATTACK.found(
        estimate,
        baseline,
        graded(estimate, baseline),
        f"For {percent(worst.share)} of people ({'' if name == ALL else 'by '}{name}), rows show which of two neighbouring "
        f"groups the person was ranked into: each group of {k} shares one value, and not that of the other. If rows did not "
        f"show their groups, it would be {percent(worst.expected)}.",
        {f"shown by {one}": pairs.share for one, pairs in found.items()},
        looked_at=tried,
        p_value=min(tried * worst.p_value, 1.0),
    )


ATTACK = Attack(
    name="shown-groups",
    title="Groups that show",
    subject=Subject.RELEASE,
    story="Someone knows the values and rows of everybody else, and sees a person's row. They look with whom it shares a "
    "value, and so read in which group of ranks the person is: between which values theirs lies.",
    inputs=(
        "the original file but for the person",
        "k and the method, which are public",
        "the released rows",
    ),
    statistic="share of people who are told from the next group",
    baseline="the same if the rows of two neighbouring groups are dealt out anew",
    cost="grouping and sorting each attribute",
    run=_run,
    rank=11,
    needs_order=True,
)
