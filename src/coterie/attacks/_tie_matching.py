"""Seed and extend: people whose row is known tell which tie group a rank group became; that identifies more people.

A rank group got one noisy value, so it lies in one tie group of the release, whatever the noise. Each known person gives
one entry of that map for each attribute. A person's predicted row is then the one whose tie groups agree with the map
in every attribute where it is known. Certain links (one person, one row) extend the map, until nothing changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.attacks._hashing import Words, mixed
from coterie.attacks._tie_patterns import UNKNOWN, Labels, TiePattern
from coterie.attacks.clock import Clock

_MOST_ROUNDS = 20
_MOST_MASKS = 40  # a round looks at the commonest sets of predicted attributes; the last one looks at all


def match_by_ties(
    patterns: Sequence[TiePattern], known: Labels, clock: Clock, draws: np.random.Generator
) -> Labels:
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


def _predictions(patterns: Sequence[TiePattern], linked: Labels) -> Labels:
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


def _if_agreed(became: Labels, pattern: TiePattern) -> Labels:
    """A person on a cut is predicted only if all groups they may be in became the same tie group."""
    changes = np.concatenate([[0], np.cumsum(became[1:] != became[:-1])])
    same = changes[pattern.first] == changes[pattern.last]
    return np.where(same, became[pattern.first], UNKNOWN)


def _certain(predicted: Labels, rows: Words, linked: Labels) -> Labels:
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
    sure: Labels = every[taken[every[:, 1]] == 1]
    return sure  # a row claimed under two masks is certain for nobody


def _guesses(predicted: Labels, rows: Words, linked: Labels, draws: np.random.Generator) -> Labels:
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
    order: Labels
    start: Labels
    count: Labels

    @classmethod
    def of(cls, predicted: Labels, rows: Words, mask: NDArray[np.bool_]) -> _Fit:
        expected = np.zeros(len(predicted), dtype=np.uint64)
        found = np.zeros(len(rows), dtype=np.uint64)
        for place in np.flatnonzero(mask).tolist():
            expected += mixed(predicted[:, place], place)
            found += rows[:, place]
        order = np.argsort(found, kind="stable")
        ordered = found[order]
        start = np.searchsorted(ordered, expected, side="left")
        return cls(expected, order, start, np.searchsorted(ordered, expected, side="right") - start)


def _free_rows(linked: Labels, count: int) -> Labels:
    free = np.ones(count, dtype=np.bool_)
    free[linked[linked != UNKNOWN]] = False
    return np.flatnonzero(free)


def _by_mask(predicted: Labels, people: Labels) -> list[tuple[NDArray[np.bool_], Labels]]:
    """People by which attributes are predicted for them, the commonest sets first."""
    known = predicted[people] != UNKNOWN
    bits = known @ (1 << np.arange(predicted.shape[1], dtype=np.int64))
    masks, which, counts = np.unique(bits, return_inverse=True, return_counts=True)
    grouped = np.split(np.argsort(which, kind="stable"), np.cumsum(counts)[:-1])
    found = [(known[places[0]], people[places]) for places in grouped if len(places)]
    return [found[number] for number in np.argsort(-counts, kind="stable")] if len(masks) else []
