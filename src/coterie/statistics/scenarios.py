"""Other values the statistics might have: points of the stated ranges, and guesses that are off."""

from __future__ import annotations

import numpy as np

from coterie.statistics.derivation import domain_of
from coterie.statistics.design import Design, metric_at
from coterie.statistics.expectations import Expectations
from coterie.statistics.metric import Metric
from coterie.statistics.sobol import points

INNER_POINTS = 8


def possible_truths(design: Design, expectations: Expectations) -> tuple[Metric, ...]:
    """The metric at both ends of all ranges, in their middle, and at Sobol points between."""
    specification = design.specification
    ranged = [(s.name, s.possible) for s in specification.statistics if s.possible is not None]
    if not ranged:
        return ()
    inner = points(len(ranged), 3)[:INNER_POINTS]
    corners = np.vstack([np.zeros(len(ranged)), np.ones(len(ranged)), np.full(len(ranged), 0.5)])
    alternating = np.arange(len(ranged)) % 2
    places = np.vstack([corners, alternating, 1 - alternating, inner])
    metrics = []
    for place in places:
        values = {
            name: possible.lower + float(at) * possible.width
            for (name, possible), at in zip(ranged, place, strict=True)
        }
        metrics.append(metric_at(design, Expectations.of(specification, {**expectations.given, **values})))
    return tuple(metrics)


def wrong_guesses(design: Design, expectations: Expectations, off_by: float) -> tuple[Metric, ...]:
    """The metric when the truth is the guess times or divided by 1 + off_by: all one way, and mixed."""
    specification = design.specification
    names = sorted(expectations.given)
    if not names:
        return ()
    signs = [np.ones(len(names)), -np.ones(len(names))]
    if len(names) > 1:
        mixed = np.where(np.arange(len(names)) % 2 == 0, 1.0, -1.0)
        signs += [mixed, -mixed]
    metrics = []
    for sign in signs:
        values = {}
        for name, direction in zip(names, sign, strict=True):
            domain = domain_of(specification, specification[name])
            value = expectations.given[name] * (1.0 + off_by) ** direction
            values[name] = min(max(value, domain.lower), domain.upper)
        metrics.append(metric_at(design, Expectations.of(specification, values)))
    return tuple(metrics)
