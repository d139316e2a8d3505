"""Numeric attributes of synthetic methods: the released distribution of each, read once at every rank.

A synthetic row has a rank in every attribute, and the ranks of an attribute are always 0 … n-1 in some order. Measures
of single attributes that need no linkage do not see that order, so the dependence between attributes is never drawn.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from coterie.chain.mechanism.listed import values_at_ranks
from coterie.comparison.batch import Batch
from coterie.comparison.groups import Groups
from coterie.comparison.section import Section, Task
from coterie.comparison.shared_noise import SharedNoise
from coterie.evaluation.clustered import Clusters
from coterie.evaluation.released import Released
from coterie.methods.grouping import EACH_ALONE, INDIVIDUAL_RANKING
from coterie.methods.recipe import Method


def synthetic_tasks(section: Section) -> Iterator[Task]:
    for batch in section.table.batches:
        for method, places in section.methods().values():
            # A list of group means is released as it is: one number a group. A smoothed one has a number a row.
            listed = method.grouping is INDIVIDUAL_RANKING
            groups = section.groups if listed else Groups(section.table, EACH_ALONE, 1)
            clusters = groups.measured(batch, groups.numbers(batch))
            yield partial(_method, section, batch, clusters, method, places)


def _method(section: Section, batch: Batch, clusters: Clusters, method: Method, places: list[int]) -> None:
    mechanism, ranks = method.numeric, np.arange(section.table.records)
    noise = SharedNoise(section.table, section.seed, section.runs)
    ready = []
    for column in batch.numbers.sources:
        centroids = mechanism.centroids(column, section.groups.clustering(column))
        ready.append((column, centroids, mechanism.sensitivity(column, centroids, section.k)))
    values = np.empty((len(ready), section.runs, len(clusters.size)))
    for place in places:
        shares = section.cells[place][2].exact
        for line, (column, centroids, sensitivity) in enumerate(ready):
            released = mechanism.noise(column, centroids, sensitivity, shares[column.attribute.name], noise)
            values[line] = released.values if not clusters.alone else values_at_ranks(column, released, ranks)
        found = Released(clusters, lambda: values)
        for measure in section.measures:
            if measure.attribute is not None and measure.attribute.clusters is not None:
                section.found[measure.name][batch.places, section.rows(place)] = measure.attribute.clusters(
                    found, section.settings
                )
