"""Promises that several methods share: of noisy centroids put back on the rows, and of synthetic rows."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import isqrt

from coterie.methods.guarantee import EXCHANGE, Facts, Guarantee, Status
from coterie.schema.exact import as_text, brief
from coterie.schema.unit import Above, PrivacyUnit

# The promise shared by releases that put noisy centroids back on the rows: refuted, whatever is proved of the list.
#
# Which rows share a value is a deterministic function of the data. n = 4, k = 2, D = (0, .1, .9, 1), and D' replaces the
# second value by .95. "Rows 1 and 2 differ, or rows 3 and 4 do" has probability 0 under D and above 1/2 under D', at every
# ε (not 1: after clipping both groups may land on the same bound).

DP = "differential privacy"
IDP = "individual differential privacy"
ROWS = "the released rows"
SHOWN = "the rows show which records share a group"
LIST = "the list of noisy group means, without rows"
PUBLIC = "the number of records and the declared bounds do not depend on the data"
SAMPLER = "noise is drawn by an exact sampler from the operating system's randomness"
ONE_RECORD = "one person is one record"
FROZEN = "the noise scale is fixed at this table's value, as Soria-Comas et al. assume, although it follows the data"

WHY = (
    "Which records share a noisy value is a deterministic function of the data; a proof about the list of "
    "group means drops repeated values, as if that assignment were the same for both neighbours. Shuffling rows does "
    "not help with two or more attributes."
)
WITHOUT_FROZEN = (
    "Without the frozen scale the list fails too: of six values 0.5 it is (0.5, 0.5) with certainty, "
    "and with one of them at 1.0 almost never."
)
TIE_LINKAGE = "Tie linkage: rows are matched by which of them share values, ignoring the values; the noise plays no part."


def rows_show_groups(facts: Facts, *, shared: bool = False) -> bool:
    """Whether the released rows tell which records share a group. `shared`: all attributes have the same groups."""
    if facts.k == 1 or facts.clusters <= 1:
        return False  # everybody is alone, or everybody is together, whatever the data
    told_apart = facts.kept or not facts.shuffled
    return bool(told_apart) or not (shared or len(facts.protected) == 1)


def on_rows(facts: Facts, listed: Guarantee | None, citation: str, *, shared: bool = False) -> Guarantee:
    """The rows promise what the list of centroids promises (`listed`) where they show nothing more; else nothing."""
    if listed is not None and not rows_show_groups(facts, shared=shared):
        return replace(listed, scope=ROWS, label=listed.label + ("; rows shuffled" if facts.shuffled else ""))
    because = SHOWN
    if facts.kept and facts.shuffled and shared:
        because += f" ({', '.join(facts.kept)}, released untouched, tells them apart)"
    beside = () if listed is None else (listed,)
    return refuted(DP if listed is None else listed.model, because, citation, beside)


def refuted_idp(
    facts: Facts, listed: Guarantee, citation: str, *more: Guarantee, shared: bool = False
) -> Guarantee:
    """The promise where scales may be 0: the list's holds with the scale frozen, and nothing holds for the rows."""
    shown = rows_show_groups(facts, shared=shared)
    because = SHOWN if shown else "the noise scale follows the data, down to no noise at all"
    return refuted(IDP, because, citation, (listed, *more))


def refuted(model: str, because: str, citation: str, beside: tuple[Guarantee, ...]) -> Guarantee:
    """`because` is about the rows; what is known of the list stands beside it."""
    return Guarantee(
        model=model,
        value="unbounded",
        status=Status.REFUTED,
        scope=ROWS,
        label=f"{because}: not private, whatever ε",
        assumptions=(),
        citation=citation,
        beside=beside,
    )


def dp_list(facts: Facts, citation: str) -> Guarantee:
    """Lemma 1 and its relatives: the list of noisy centroids is ε-DP."""
    return Guarantee(
        model=DP,
        value=as_text(facts.epsilon),
        status=Status.PROVED,
        scope=LIST,
        label=f"{as_text(facts.epsilon)}-DP (replace-one; n and bounds public)",
        assumptions=(PUBLIC, SAMPLER, ONE_RECORD),
        citation=citation,
    )


# What the proved synthetic releases share: the promise, and the public rule for k.

NOTHING_TO_LINK = (
    "None known beyond what ε allows: no row stands for a person, so there is nothing to link. With bounds taken from "
    "the data, the largest released value shows the maximum."
)


def proved_dp(facts: Facts, rows: str, citation: str) -> Guarantee:
    """ε-DP, or (ε, δ)-DP where there is a δ, of the released table. `rows` says what its rows are."""
    epsilon, delta = as_text(facts.epsilon), None if facts.delta is None else as_text(facts.delta)
    amount = f"{epsilon}-DP" if facts.delta is None else f"({epsilon}, {brief(facts.delta)})-DP"
    stated = Guarantee(
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
    return stated if facts.unit is None else _for_unit(stated, facts.unit, f"{amount}", rows)


def _for_unit(stated: Guarantee, unit: PrivacyUnit, amount: str, rows: str) -> Guarantee:
    """The same for a unit that may be exchanged for any other, or for none."""
    kept = (
        f"of a larger {unit.word}, {unit.at_most} rows were chosen inside it and the others left out"
        if unit.above is Above.TRUNCATE
        else f"a table in which a {unit.word} has more rows is refused"
    )
    return replace(
        stated,
        label=f"{amount} per {unit.word} of {unit.rows} (exchange; bounds public, number of rows private); {rows}",
        assumptions=(
            f"{unit.rows} per {unit.word}, the declared bounds and the order of categories do not depend on the data",
            SAMPLER,
            f"one {unit.word} has one label in the column '{unit.column}'; {kept}",
        ),
        neighbours=EXCHANGE.format(rows=unit.rows),
        relation="exchange",
        unit=unit.word,
        rows_per_unit=unit.at_most,
        policy=unit.above.value,
    )


def public_k(records: int, epsilon: Fraction) -> int:
    """2·√(n/ε_a): grouping error (about Δk/n) against noise (Δ/(kε_a)), from n, m and ε alone.

    √(n/ε_a) makes the two equal; measured, twice that was better, because neighbouring means differ less than evenly
    spread ones would.
    """
    return max(1, min(isqrt(int(4 * records / epsilon)), records // 2))
