"""range-queries: mean error of random range counts, "how many have age 20–35 and income 10–50 k?".

Sánchez et al. (univariate) leaves this to future work. A query bounds one to three attributes by intervals drawn
uniformly inside their public domains; its error is |count − count'| / max(count, n/100), the bound keeping near-empty
answers in proportion.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from coterie.errors import ParameterError
from coterie.evaluation.measure import Measure, MeasureResult, Settings
from coterie.evaluation.pair import Pair
from coterie.schema.arrays import Floats

MOST_ATTRIBUTES = 3


def _compute(pair: Pair, settings: Settings) -> MeasureResult:
    if not pair.numeric:
        return MeasureResult(None, reason="no numeric attribute is protected")
    if settings.queries < 1:
        raise ParameterError("There is no query to ask.", "Give a number of queries from 1 up.")
    draw = np.random.Generator(np.random.PCG64(settings.seed))
    before, after = np.empty(settings.queries), np.empty(settings.queries)
    widest = min(MOST_ATTRIBUTES, len(pair.numeric))
    for number in range(settings.queries):
        chosen = draw.choice(len(pair.numeric), size=draw.integers(1, widest + 1), replace=False)
        box = []
        for place in chosen:
            name = pair.numeric[place]
            domain = pair.domain(name)
            low, high = np.sort(draw.uniform(domain.lower, domain.upper, 2))
            box.append((name, float(low), float(high)))
        before[number] = _share(pair.before, box)
        after[number] = _share(pair.after, box)
    off = np.abs(before - after)
    relative = off / np.maximum(before, 0.01)
    return MeasureResult(
        float(relative.mean()),
        details={
            "queries": settings.queries,
            "mean_absolute_error_in_records_per_100": float(100 * off.mean()),
        },
    )


def _share(column: Callable[[str], Floats], box: list[tuple[str, float, float]]) -> float:
    inside = [(column(name) >= low) & (column(name) <= high) for name, low, high in box]
    return float(np.mean(np.logical_and.reduce(inside)))


MEASURE = Measure(
    name="range-queries",
    title="mean relative error of random range counts",
    meaning="by which share of itself a count over a random range of one to three attributes is off; 0 is best",
    papers="future work in Sánchez et al. (univariate), §6",
    needs_linkage=False,
    table=_compute,
    rank=50,
    words=((0.1, "close to the original"), (0.3, "changed in places"), (1.0, "clearly changed")),
)
