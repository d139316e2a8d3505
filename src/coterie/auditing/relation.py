"""Do original, release and control group belong together? Asked before any attack is run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import pyarrow as pa

from coterie.auditing.attacks.evidence import Seen
from coterie.auditing.attacks.finding import ranks_of
from coterie.auditing.key_groups import KeyGroups
from coterie.errors import DataError
from coterie.schema.arrays import Flags, Floats, Whole
from coterie.schema.attributes import Role, Schema
from coterie.table.columns.column import text_of

_ERROR_RATE = 0.001
_DEALS = 999  # of which none reaches what was seen: by chance once in a thousand
_ADVICE = "Take the control group from people of the same population who were not in the protected table."


def refuse_overlap(attributes: Sequence[Seen], original: pa.Table, control: pa.Table, schema: Schema) -> None:
    """Compare identifiers where both tables have one; else whole rows that occur more often than by chance."""
    unit = None if schema.unit is None else schema.unit.column
    for attribute in sorted(schema.with_role(Role.IDENTIFIER), key=lambda a: a.name != unit):
        if attribute.name in control.column_names and attribute.name in original.column_names:
            mine, theirs = (
                {text_of(value) for value in table.column(attribute.name).to_pylist()} - {None}
                for table in (original, control)
            )
            if mine & theirs:
                raise DataError(
                    f"The control group overlaps the release: both have people of the same '{attribute.name}'.",
                    _ADVICE,
                )
            return
    codes, people = _row_codes(attributes)
    draws, place = np.random.default_rng(len(codes)), np.arange(len(codes)) < people
    observed = _shared(codes, place)
    # Rows dealt out anew share as many as chance does: the first deal that reaches the observed number ends the test.
    if observed and all(_shared(codes, draws.permutation(place)) < observed for _ in range(_DEALS)):
        raise DataError(
            "The control group overlaps the release: more of its rows stand in the original than would by chance.",
            _ADVICE,
        )


def _shared(codes: Whole, original: Flags) -> int:
    """How many rows of the control group stand in the original."""
    return int((np.bincount(codes[original], minlength=int(codes.max()) + 1)[codes[~original]] > 0).sum())


def _row_codes(attributes: Sequence[Seen]) -> tuple[Whole, int]:
    """A number per row of original and control group, the same for equal rows; and how many are of the original."""
    both = [np.concatenate([attribute.original, attribute.others]) for attribute in attributes]
    codes = [np.unique(values, return_inverse=True)[1].astype(np.int64) for values in both]
    names = [attribute.name for attribute in attributes]
    return KeyGroups.of(names, codes).of_record, len(attributes[0].original)


# Is the release one of this original? A release of another table resists every attack.
#
# Three signs, each with a fixed error rate over all attributes: row i resembles person i (rank correlation); rows that
# share a value were people with close values (ties, which noise leaves alone); and the columns have similar distributions.

_ALIKE = 0.25  # largest gap between two distribution functions that still counts as alike


@dataclass(frozen=True, slots=True)
class TableRelation:
    rows_correspond: bool  # row by row, in the order given
    ties_correspond: bool
    columns_alike: bool

    @property
    def found(self) -> bool:
        return self.rows_correspond or self.ties_correspond or self.columns_alike

    @property
    def in_order(self) -> bool:
        return self.rows_correspond or self.ties_correspond


UNRELATED = (
    "The two tables show no relation: neither rows, nor shared values, nor distributions correspond. Either this is not a "
    "release of that table, or its noise drowned everything. Attacks that find nothing mean nothing here."
)
DROWNED = (
    "Our tests show no relation between the release and the original: much noise, or rows that are synthetic. "
    "They say nothing about what analysts can still learn; `coterie evaluate` does."
)
OUT_OF_ORDER = (
    "Row i of the release does not resemble person i: the rows are shuffled or synthetic. Linkage cannot be scored unless "
    "you give the order of the rows (--order), or the certificate that says they are in order."
)


def relation(attributes: Sequence[Seen], truth: Whole | None, draws: np.random.Generator) -> TableRelation:
    columns = [a for a in attributes if a.protected] or list(attributes)
    level = _ERROR_RATE / (2 * len(columns))
    rows = ties = False
    if truth is not None and len(truth) > 3:
        rows = any(_correlated(a, truth) < level for a in columns)
        ties = any(_ties_follow(a, truth, draws) < level for a in columns)
    gaps = [_gap(a.original, a.released) for a in columns]
    return TableRelation(rows, ties, float(np.median(gaps)) <= _ALIKE)


def _correlated(attribute: Seen, truth: Whole) -> float:
    """p-value of Spearman's rank correlation (numbers) or of the number of agreements (labels)."""
    released = attribute.released[truth]
    if attribute.is_number:
        return _from_correlation(ranks_of(attribute.original), ranks_of(released))
    codes, n = attribute.original.astype(np.int64), len(truth)
    other = released.astype(np.int64)
    size = int(max(codes.max(), other.max(), 0)) + 2  # code -1 is a missing label of a kept column
    mine, theirs = np.bincount(codes + 1, minlength=size) / n, np.bincount(other + 1, minlength=size) / n
    expected = float(mine @ theirs)
    spread = math.sqrt(max(expected * (1 - expected) / n, 1e-300))
    return NormalDist().cdf((expected - float(np.mean(codes == other))) / spread)


def _from_correlation(left: Floats, right: Floats) -> float:
    if left.std() == 0 or right.std() == 0:
        return 1.0
    return NormalDist().cdf(-float(np.corrcoef(left, right)[0, 1]) * math.sqrt(len(left) - 1))


def _ties_follow(attribute: Seen, truth: Whole, draws: np.random.Generator) -> float:
    """p-value: are people whose rows share a value closer in rank than people drawn at random?"""
    released, ranks = attribute.released[truth], ranks_of(attribute.original)
    mixed = draws.permutation(len(truth))
    order = mixed[np.argsort(released[mixed], kind="stable")]
    tied = released[order][1:] == released[order][:-1]
    if tied.sum() < 10:
        return 1.0
    gaps = np.abs(ranks[order][1:] - ranks[order][:-1])[tied]
    chance = np.abs(ranks[draws.permutation(len(ranks))] - ranks)
    pooled = math.sqrt(
        max(float(chance.var()), 1e-300) / len(gaps) + max(float(chance.var()), 1e-300) / len(chance)
    )
    return NormalDist().cdf((float(gaps.mean()) - float(chance.mean())) / pooled)


def _gap(left: Floats, right: Floats) -> float:
    """The largest difference between two distribution functions (Kolmogorov and Smirnov)."""
    points = np.concatenate([left, right])
    below = np.searchsorted(np.sort(left), points, side="right") / len(left)
    other = np.searchsorted(np.sort(right), points, side="right") / len(right)
    return float(np.abs(below - other).max())
