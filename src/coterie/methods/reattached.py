"""The promise shared by releases that put noisy centroids back on the rows: refuted.

Which rows share a value is a deterministic function of the data. n = 4, k = 2, D = (0, .1, .9, 1), and D' replaces the
second value by .95. "Rows 1 and 2 differ, or rows 3 and 4 do" has probability 0 under D and above 1/2 under D', at every
ε (not 1: after clipping both groups may land on the same bound).
"""

from __future__ import annotations

from coterie.budget import as_text
from coterie.guarantee import Facts, Guarantee, Status

WHY = (
    "Which records share a noisy value is a deterministic function of the data; the papers' proof drops repeated "
    "values as if that assignment were the same for both neighbours. Shuffling rows does not "
    "help with two or more attributes."
)
TIE_LINKAGE = "Tie linkage: rows are matched by which of them share values, ignoring the values; the noise plays no part."


def refuted_dp(citation: str) -> Guarantee:
    return Guarantee(
        model="differential privacy",
        value="unbounded",
        status=Status.REFUTED,
        scope="the released rows",
        label="",
        assumptions=("the declared bounds do not depend on the data",),
        citation=citation,
    )


def calibrated(facts: Facts) -> str:
    return (
        f"noise calibrated for ε = {as_text(facts.epsilon)}; the release shows which records share a group, "
        "so it is not differentially private"
    )
