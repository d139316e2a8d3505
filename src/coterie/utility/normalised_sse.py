"""sse-004: the SSE of 004 §5, summed over records and attributes and divided by the number of attributes."""

from __future__ import annotations

import numpy as np

from coterie.schema import Attribute
from coterie.utility.clustered import ClusteredColumn, Floats
from coterie.utility.measure import Measure, Settings, mean_of_attributes, over_attributes


def _by_attribute(original: Floats, released: Floats, attribute: Attribute, settings: Settings) -> float:
    return float(np.sum((released - original) ** 2))


def _by_cluster(column: ClusteredColumn, values: Floats, settings: Settings) -> Floats:
    return column.squared_error(values)


MEASURE = Measure(
    name="sse-004",
    title="sum of squared errors as in 004",
    meaning="grows with the number of records and with the attributes' units; lower is better",
    papers="004 §5",
    needs_linkage=True,
    compute=over_attributes(_by_attribute),
    by_cluster=_by_cluster,
    combine=mean_of_attributes,
    rank=12,
)
