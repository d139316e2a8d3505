"""Seed and extend: people whose row is known tell which tie group a rank group became; that identifies more people.

A rank group got one noisy value, so it lies in one tie group of the release, whatever the noise. Each known person gives
one entry of that map for each attribute. A person's predicted row is then the one whose tie groups agree with the map
in every attribute where it is known. Certain links (one person, one row) extend the map, until nothing changes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from coterie.attacks._tie_patterns import UNKNOWN, Labels, TiePattern
from coterie.attacks.clock import Clock

_MOST_ROUNDS = 20


def match_by_ties(
    patterns: Sequence[TiePattern], known: Labels, clock: Clock, draws: np.random.Generator
) -> Labels:
    """`known[p]` is the row of person p, or UNKNOWN. Returns a guess for every person, UNKNOWN where none fits."""
    rows = np.column_stack([pattern.row_group for pattern in patterns])
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


def _certain(predicted: Labels, rows: Labels, linked: Labels) -> Labels:
    """(person, row) pairs in which each is the other's only match among those not linked yet."""
    open_people = np.flatnonzero(linked == UNKNOWN)
    free = _free_rows(linked, len(rows))
    pairs = []
    for mask, people in _by_mask(predicted, open_people):
        if mask.sum() < 2:
            continue  # one attribute alone never singles out a row
        codes, found = _codes(predicted[people][:, mask], rows[free][:, mask])
        size = max(codes.max(initial=0), found.max(initial=0)) + 1
        wanted, offered = np.bincount(codes, minlength=size), np.bincount(found, minlength=size)
        one = (wanted[codes] == 1) & (offered[codes] == 1)
        place = np.zeros(size, dtype=np.int64)
        place[found] = free
        pairs.append(np.column_stack([people[one], place[codes[one]]]))
    every = np.concatenate(pairs) if pairs else np.empty((0, 2), dtype=np.int64)
    taken = np.bincount(every[:, 1], minlength=len(rows))
    sure: Labels = every[taken[every[:, 1]] == 1]
    return sure  # a row claimed under two masks is certain for nobody


def _guesses(predicted: Labels, rows: Labels, linked: Labels, draws: np.random.Generator) -> Labels:
    """Certain links as they are; for everybody else one of the rows that fit, drawn at random."""
    guesses = linked.copy()
    free = _free_rows(linked, len(rows))
    if not len(free):
        return guesses
    free = draws.permutation(free)
    for mask, people in _by_mask(predicted, np.flatnonzero(linked == UNKNOWN)):
        codes, found = _codes(predicted[people][:, mask], rows[free][:, mask])
        size = max(codes.max(initial=0), found.max(initial=0)) + 1
        order = np.argsort(found, kind="stable")
        counts = np.bincount(found, minlength=size)
        starts = np.cumsum(counts) - counts
        fits = counts[codes] > 0
        pick = starts[codes] + (draws.random(len(codes)) * counts[codes]).astype(np.int64)
        guesses[people[fits]] = free[order[pick[fits]]]
    return guesses


def _free_rows(linked: Labels, count: int) -> Labels:
    free = np.ones(count, dtype=np.bool_)
    free[linked[linked != UNKNOWN]] = False
    return np.flatnonzero(free)


def _by_mask(predicted: Labels, people: Labels) -> list[tuple[NDArray[np.bool_], Labels]]:
    """People by which attributes are predicted for them, the most complete first."""
    if not len(people):
        return []
    known = predicted[people] != UNKNOWN
    masks, which = np.unique(known, axis=0, return_inverse=True)
    order = np.argsort(-masks.sum(axis=1), kind="stable")
    return [(masks[number], people[which.ravel() == number]) for number in order]


def _codes(left: Labels, right: Labels) -> tuple[Labels, Labels]:
    """The same small number for the same row of labels on both sides."""
    if left.shape[1] == 0:
        return np.zeros(len(left), dtype=np.int64), np.zeros(len(right), dtype=np.int64)
    both = np.concatenate([left, right])
    codes = both[:, 0].copy()
    for column in both.T[1:]:
        codes = np.unique(codes * (column.max() + 2) + column, return_inverse=True)[1].astype(np.int64)
    codes = np.unique(codes, return_inverse=True)[1].astype(np.int64)
    return codes[: len(left)], codes[len(left) :]
