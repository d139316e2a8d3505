"""Ties: which released rows share values, and matching people to rows by them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from coterie.auditing.attacks import Clock
from coterie.auditing.attacks.evidence import ReleaseEvidence, Seen
from coterie.chain.partition.univariate import individual_ranking
from coterie.schema.arrays import Flags, Floats, Whole, Words

# Group numbers as unrelated 64-bit words, so that sums of them stand for sets and rows of groups.


def mixed(values: Whole | Words, salt: int) -> Words:
    """SplitMix64's finaliser: equal stays equal, different becomes unrelated; a collision has odds of n²/2^65."""
    words = values.astype(np.uint64) + np.uint64((salt + 1) * 0x9E3779B97F4A7C15 % 2**64)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


# The two sides of tie linkage: which released rows share a value, and which people should share one.
#
# The attacker knows how such releases are made (the method stands on the certificate): people are ranked by each attribute
# and cut into groups of k. k is public too; else it is read off the release, as the commonest number of rows that share
# a value.

UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class TiePattern:
    """One attribute: the tie group of each row, and the first and last rank group that a person can be in.

    People of equal value may fall on either side of a cut, and the attacker does not know which: then first < last.
    """

    name: str
    row_group: Whole
    groups: int
    first: Whole
    last: Whole
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
            size = min(k, evidence.people)
            if by_order:  # nobody stands on a cut
                first = last = evidence.rank_groups(attribute, size)
            else:
                first, last = _rank_groups(attribute.original, size)
            groups = int(last.max()) + 1
            patterns.append(TiePattern(attribute.name, rows[attribute.name], count, first, last, groups))
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


def _rank_groups(values: Floats, k: int) -> tuple[Whole, Whole]:
    """Groups of k by rank, the last takes the remainder (Sánchez et al. 2016, §3); first and last group for each person."""
    ordered = np.sort(values)
    count = len(values) // k
    lowest = np.searchsorted(ordered, values, side="left")
    highest = np.searchsorted(ordered, values, side="right") - 1
    first = np.minimum(lowest // k, count - 1).astype(np.int64)
    last = np.minimum(highest // k, count - 1).astype(np.int64)
    return first, last


# Seed and extend: people whose row is known tell which tie group a rank group became; that identifies more people.
#
# A rank group got one noisy value, so it lies in one tie group of the release, whatever the noise. Each known person gives
# one entry of that map for each attribute. A person's predicted row is then the one whose tie groups agree with the map
# in every attribute where it is known. Certain links (one person, one row) extend the map, until nothing changes.

_MOST_ROUNDS = 20
_MOST_MASKS = 40  # a round looks at the commonest sets of predicted attributes; the last one looks at all


def match_by_ties(
    patterns: Sequence[TiePattern], known: Whole, clock: Clock, draws: np.random.Generator
) -> Whole:
    """`known[p]` is the row of person p, or UNKNOWN. Returns a guess for every person, UNKNOWN where none fits."""
    rows = np.column_stack([mixed(pattern.row_group, place) for place, pattern in enumerate(patterns)])
    linked = known.copy()
    for _ in range(_MOST_ROUNDS):
        clock.check()
        predicted = _predictions(patterns, linked)
        fresh = _certain(predicted, rows, linked)
        if not len(fresh):
            break
        linked[fresh[:, 0]] = fresh[:, 1]
    return _guesses(predicted, rows, linked, draws)


def _predictions(patterns: Sequence[TiePattern], linked: Whole) -> Whole:
    """For each person and attribute the tie group to expect; UNKNOWN where the map has no single answer."""
    columns = []
    people = np.flatnonzero(linked != UNKNOWN)
    for pattern in patterns:
        sure = people[pattern.first[people] == pattern.last[people]]
        pairs = pattern.first[sure] * pattern.groups + pattern.row_group[linked[sure]]
        distinct, votes = np.unique(pairs, return_counts=True)
        became = np.full(pattern.rank_groups, UNKNOWN, dtype=np.int64)
        order = np.argsort(votes, kind="stable")  # the most votes are written last, and stay
        became[distinct[order] // pattern.groups] = distinct[order] % pattern.groups
        columns.append(_if_agreed(became, pattern))
    return np.column_stack(columns)


def _if_agreed(became: Whole, pattern: TiePattern) -> Whole:
    """A person on a cut is predicted only if all groups they may be in became the same tie group."""
    changes = np.concatenate([[0], np.cumsum(became[1:] != became[:-1])])
    same = changes[pattern.first] == changes[pattern.last]
    return np.where(same, became[pattern.first], UNKNOWN)


def _certain(predicted: Whole, rows: Words, linked: Whole) -> Whole:
    """(person, row) pairs in which each is the other's only match among those not linked yet."""
    free = _free_rows(linked, len(rows))
    pairs = []
    for mask, people in _by_mask(predicted, np.flatnonzero(linked == UNKNOWN))[:_MOST_MASKS]:
        if mask.sum() < 2:
            continue  # one attribute alone never singles out a row
        fit = _Fit.of(predicted[people], rows[free], mask)
        _, which, wanted = np.unique(fit.expected, return_inverse=True, return_counts=True)
        one = (wanted[which] == 1) & (fit.count == 1)
        pairs.append(np.column_stack([people[one], free[fit.order[fit.start[one]]]]))
    every = np.concatenate(pairs) if pairs else np.empty((0, 2), dtype=np.int64)
    taken = np.bincount(every[:, 1], minlength=len(rows))
    sure: Whole = every[taken[every[:, 1]] == 1]
    return sure  # a row claimed under two masks is certain for nobody


def _guesses(predicted: Whole, rows: Words, linked: Whole, draws: np.random.Generator) -> Whole:
    """Certain links as they are; for everybody else one of the rows that fit, drawn at random."""
    guesses = linked.copy()
    free = _free_rows(linked, len(rows))
    if not len(free):
        return guesses
    for mask, people in _by_mask(predicted, np.flatnonzero(linked == UNKNOWN)):
        fit = _Fit.of(predicted[people], rows[free], mask)
        pick = fit.start + (draws.random(len(people)) * fit.count).astype(np.int64)
        some = fit.count > 0
        guesses[people[some]] = free[fit.order[pick[some]]]
    return guesses


@dataclass(frozen=True, slots=True)
class _Fit:
    """Which rows agree with each person in the attributes of a mask: `count` of them, from `start` on in `order`."""

    expected: Words
    order: Whole
    start: Whole
    count: Whole

    @classmethod
    def of(cls, predicted: Whole, rows: Words, mask: Flags) -> _Fit:
        expected = np.zeros(len(predicted), dtype=np.uint64)
        found = np.zeros(len(rows), dtype=np.uint64)
        for place in np.flatnonzero(mask).tolist():
            expected += mixed(predicted[:, place], place)
            found += rows[:, place]
        order = np.argsort(found, kind="stable")
        ordered = found[order]
        start = np.searchsorted(ordered, expected, side="left")
        return cls(expected, order, start, np.searchsorted(ordered, expected, side="right") - start)


def _free_rows(linked: Whole, count: int) -> Whole:
    free = np.ones(count, dtype=np.bool_)
    free[linked[linked != UNKNOWN]] = False
    return np.flatnonzero(free)


def _by_mask(predicted: Whole, people: Whole) -> list[tuple[Flags, Whole]]:
    """People by which attributes are predicted for them, the commonest sets first."""
    known = predicted[people] != UNKNOWN
    bits = known @ (1 << np.arange(predicted.shape[1], dtype=np.int64))
    masks, which, counts = np.unique(bits, return_inverse=True, return_counts=True)
    grouped = np.split(np.argsort(which, kind="stable"), np.cumsum(counts)[:-1])
    found = [(known[places[0]], people[places]) for places in grouped if len(places)]
    return [found[number] for number in np.argsort(-counts, kind="stable")] if len(masks) else []


# The order of shuffled rows, from ties alone and knowing nobody: colour refinement on who shares groups with whom.
#
# The rank groups of the original and the tie groups of an uncut release are the same sets of people under other names.
# Two people start with the same colour if equally many others share two groups with them, for every pair of attributes.
# A group's colour is that of its members, a person's that of their groups, and so on until nothing splits further. If the
# colours of both sides then agree, one for one, the rows are in the order found: chance does not make all groups agree.

_ROUNDS = 8


def order_from_ties(attributes: tuple[Seen, ...], k: int) -> Whole | None:
    """For each person the row that is theirs, or None where ties do not tell. Identical rows are interchangeable."""
    numbers = [a for a in attributes if a.protected and a.is_number]
    people, rows = len(attributes[0].original), len(attributes[0].released)
    if people != rows or len(numbers) < 2 or not 2 <= k <= people // 2:
        return None
    mine, theirs = [], []
    for attribute in numbers:
        ranked = individual_ranking(attribute.original, k).labels.astype(np.int64)
        tied = np.unique(attribute.released, return_inverse=True)[1].astype(np.int64)
        if np.array_equal(np.sort(np.bincount(ranked)), np.sort(np.bincount(tied))):
            mine.append(ranked)
            theirs.append(tied)
    if len(mine) < 2:
        return None  # groups were cut or rounded together
    left, right = _refined(mine), _refined(theirs)
    by_left, by_right = np.argsort(left, kind="stable"), np.argsort(right, kind="stable")
    if not np.array_equal(left[by_left], right[by_right]):
        return None
    if len(np.unique(left)) < people / 2:
        return None  # too symmetric to tell people apart
    truth = np.empty(people, dtype=np.int64)
    truth[by_left] = by_right
    return truth


def _refined(groups: list[Whole]) -> Words:
    colours = np.zeros(len(groups[0]), dtype=np.uint64)
    for number, (a, b) in enumerate(combinations(groups, 2)):
        shared = np.unique(a * (int(b.max()) + 1) + b, return_inverse=True, return_counts=True)
        colours += mixed(shared[2][shared[1]], number)
    distinct = len(np.unique(colours))
    for _ in range(_ROUNDS):
        fresh = mixed(colours, 1000)
        for number, group in enumerate(groups):
            total = np.zeros(int(group.max()) + 1, dtype=np.uint64)
            np.add.at(total, group, mixed(colours, 2000))  # a sum does not depend on the members' order
            fresh += mixed(total[group], 3000 + number)
        colours = fresh
        now = len(np.unique(colours))
        if now == distinct:
            break
        distinct = now
    return colours
