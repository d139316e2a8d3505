"""semantic-distance: how far a released category lies from the original one in the taxonomy (Sánchez et al. 2016, Eq.
(3))."""

from __future__ import annotations

import numpy as np

from coterie.evaluation.clustered import ReleasedLabels
from coterie.evaluation.measure import ByAttribute, Measure, Settings
from coterie.schema.arrays import Codes, Floats
from coterie.table.columns.column import CategoryColumn, semantic_distance


def from_labels(column: CategoryColumn, released: Codes, settings: Settings) -> float:
    return semantic_distance(column, released)


def from_drawn(drawn: ReleasedLabels, settings: Settings) -> Floats:
    return np.asarray(drawn.distance / drawn.clustered.records, dtype=np.float64)


MEASURE = Measure(
    name="semantic-distance",
    title="mean semantic distance of categories",
    meaning="0: every category is kept; 1: nothing in common with the original in the taxonomy",
    papers="Sánchez et al. 2016, Eq. (3)",
    needs_linkage=True,
    attribute=ByAttribute(labels=from_labels, drawn=from_drawn),
    rank=21,
)
