"""The two sides of tie linkage: which released rows share a value, and which people should share one.

The attacker knows how such releases are made (the method stands on the certificate): people are ranked by each attribute
and cut into groups of k. k is public too; else it is read off the release, as the commonest number of rows that share
a value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.attacks.evidence import ReleaseEvidence, Seen, Values
from coterie.partition.individual_ranking import individual_ranking

Labels = NDArray[np.int64]
UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class TiePattern:
    """One attribute: the tie group of each row, and the first and last rank group that a person can be in.

    People of equal value may fall on either side of a cut, and the attacker does not know which: then first < last.
    """

    name: str
    row_group: Labels
    groups: int
    first: Labels
    last: Labels
    rank_groups: int


def tie_patterns(evidence: ReleaseEvidence, *, by_order: bool = False) -> tuple[TiePattern, ...]:
    """Only attributes in which some rows share a value and some do not.

    `by_order`: the attacker holds the file itself, and knows that equal values are ranked in its order.
    """
    attributes = [a for a in evidence.attributes if a.protected and a.is_number]
    rows = {a.name: np.unique(a.released, return_inverse=True)[1].astype(np.int64) for a in attributes}
    sizes = {name: np.bincount(groups) for name, groups in rows.items()}
    k = evidence.k or commonest_tie(attributes)
    patterns = []
    for attribute in attributes:
        count = len(sizes[attribute.name])
        if k >= 2 and 1 < count < evidence.rows:
            group = _ordered_groups if by_order else _rank_groups
            first, last, rank_groups = group(attribute.original, min(k, evidence.people))
            patterns.append(TiePattern(attribute.name, rows[attribute.name], count, first, last, rank_groups))
    return tuple(patterns)


def commonest_tie(attributes: Sequence[Seen]) -> int:
    """The size that most groups have; single rows do not count, nor a size that only one group has."""
    sizes = [
        size
        for attribute in attributes
        if attribute.protected and attribute.is_number
        for size in np.unique(attribute.released, return_counts=True)[1].tolist()
        if size > 1
    ]
    counts = np.bincount(sizes or [0])
    counts[0] = 0
    return int(np.argmax(counts)) if counts.max() > 1 else 1


def _rank_groups(values: Values, k: int) -> tuple[Labels, Labels, int]:
    """Groups of k by rank, the last takes the remainder (001 §3); first and last group for each person."""
    ordered = np.sort(values)
    count = len(values) // k
    lowest = np.searchsorted(ordered, values, side="left")
    highest = np.searchsorted(ordered, values, side="right") - 1
    first = np.minimum(lowest // k, count - 1).astype(np.int64)
    last = np.minimum(highest // k, count - 1).astype(np.int64)
    return first, last, count


def _ordered_groups(values: Values, k: int) -> tuple[Labels, Labels, int]:
    """The same where equal values are ranked in the file's order, as Coterie does: then nobody stands on a cut."""
    labels = individual_ranking(values, k).labels.astype(np.int64)
    return labels, labels, len(values) // k
