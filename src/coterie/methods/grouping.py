"""How a method groups records: attribute by attribute, or all attributes at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from coterie.chain.partition.clustering import Clustering
from coterie.chain.partition.mdav import mdav, mdav_mixed
from coterie.chain.partition.univariate import cut, equal_cut, individual_ranking, optimal_univariate, ranks
from coterie.schema.arrays import Floats, Whole
from coterie.schema.taxonomy.semantics import marginality_order
from coterie.table.columns.column import CategoryColumn, Column

Sizes = tuple[tuple[int, int], ...]  # (records in a cluster, how many such clusters)
Find = Callable[[Column], Clustering]


@dataclass(frozen=True, slots=True)
class Grouping:
    """`prepare` does what must be done once for the whole table and returns the clustering of each column.

    Groups are cut from an order of the records (`key`) or found in some other way (`find`). Where there is a key,
    engines that never hold all records can cut the same groups, and a grid sorts once for every k.
    """

    name: str
    find: Callable[[Sequence[Column], int], Find] | None
    sizes: Callable[[int, int], Sizes] | None  # from n and k alone; None: they depend on the data
    multivariate: bool = False
    key: Callable[[Sequence[Column]], Floats] | None = None  # of one column, or of all if multivariate
    cut: Callable[[int, int], Whole] = equal_cut  # n, k → sizes along the order of the key
    alone: bool = False  # every record is a group, numbered in record order

    @property
    def ranked(self) -> bool:
        """Whether groups are k neighbours along the key, the last with the remainder."""
        return self.key is not None and self.cut is equal_cut

    @property
    def by_position(self) -> bool:
        """Whether each column is sorted by its own values."""
        return self.key is position

    def prepare(self, columns: Sequence[Column], k: int) -> Find:
        if self.key is None:
            assert self.find is not None
            return self.find(columns, k)
        if self.multivariate:
            clustering = self._cut(self.key(columns), k)
            return lambda column: clustering
        key = self.key
        return lambda column: self._cut(key([column]), k)

    def _cut(self, key: Floats, k: int) -> Clustering:
        if self.ranked:  # fewer steps than a full sort
            return individual_ranking(key, k)
        return cut(ranks(key), self.cut(len(key), k))


def equal_sizes(records: int, k: int) -> Sizes:
    """⌊n/k⌋ clusters of k, the last takes the remainder."""
    count, rest = divmod(records, k)
    return _tidy([(k, count - (rest > 0)), (k + rest, int(rest > 0))])


def mdav_sizes(records: int, k: int) -> Sizes:
    """Groups of k while 2k or more are left; the rest is the last group."""
    count = max(records // k - 1, 0)
    return _tidy([(k, count), (records - count * k, 1)])


def _tidy(sizes: Sequence[tuple[int, int]]) -> Sizes:
    total: dict[int, int] = {}
    for size, clusters in sizes:
        total[size] = total.get(size, 0) + clusters
    return tuple((size, clusters) for size, clusters in sorted(total.items()) if clusters)


def _alone(columns: Sequence[Column], k: int) -> Find:
    clustering = Clustering.of_each(len(columns[0].position))
    return lambda column: clustering


def _optimal(columns: Sequence[Column], k: int) -> Find:
    return lambda column: optimal_univariate(column.position, k)


def _by_mdav(columns: Sequence[Column], k: int) -> Find:
    """MDAV by a Gower-style distance in which every attribute weighs the same.

    Each attribute is scaled so that two records drawn at random are, on average, equally far apart in it. The scales
    come from the data, as the groups do.
    """
    numeric = [_standardised(column.values) for column in columns if not isinstance(column, CategoryColumn)]
    labelled = [column for column in columns if isinstance(column, CategoryColumn)]
    records = len(columns[0].position)
    points = np.column_stack(numeric) if numeric else np.zeros((records, 0))
    if labelled:
        codes = np.column_stack([column.codes for column in labelled])
        clustering = mdav_mixed(points, codes, [_balanced(column) for column in labelled], k)
    else:
        clustering = mdav(points, k)
    return lambda column: clustering


def _standardised(values: Floats) -> Floats:
    largest = np.abs(values).max()
    if largest == 0:
        return values
    unit = values / largest  # squares of values near 1e290 would overflow
    spread = unit.std()
    return np.asarray((unit - unit.mean()) / spread if spread > 0 else np.zeros_like(values))


def _balanced(column: CategoryColumn) -> Floats:
    share = np.bincount(column.codes, minlength=column.label_count) / len(column.codes)
    mean_square = float(share @ column.distance**2 @ share)
    # Standardised numbers have a mean squared gap of 2.
    return column.distance * np.sqrt(2 / mean_square) if mean_square > 0 else column.distance


def position(columns: Sequence[Column]) -> Floats:
    return columns[0].position


# Insensitive MDAV: groups of consecutive records in a total order that no other record can change.
#
# Ordinary MDAV may regroup everything when one record changes. Insensitive microaggregation (Sánchez et al. 2016, §2.4,
# after its reference [17]) orders the records by a rule of the public domain alone, so one changed record moves at most one
# record out of each group and one in. The order is the distance to the domain's lower corner, each attribute scaled by the
# width of its domain; record order breaks ties. For a category column the coordinate is δ to the most marginal label of its
# domain (Sánchez et al. 2016, §3.4 orders categories so), with lower bound 0 and δ's largest value as upper bound.


def distance_from_corner(points: Floats, lower: Floats, upper: Floats) -> Floats:
    """Squared, to the corner `lower`, in units of the domain: groups are cut from the order of it."""
    squared = np.zeros(len(points))
    for j in range(points.shape[1]):  # one order of summation, whatever NumPy's pairwise sums would do
        squared += ((points[:, j] - lower[j]) / (upper[j] - lower[j])) ** 2
    return squared


def corner_key(columns: Sequence[Column]) -> Floats:
    """Insensitive MDAV: nothing but the public domain decides the order (Sánchez et al. 2016, §2.4)."""
    points, lower, upper = [], [], []
    for column in columns:
        if isinstance(column, CategoryColumn):
            most_marginal = marginality_order(column.distance)[0]
            points.append(column.distance[most_marginal][column.codes])
            lower.append(0.0)
            upper.append(float(column.distance.max()) or 1.0)
        else:
            points.append(column.complete(column.domain.middle))
            lower.append(column.domain.lower)
            upper.append(column.domain.upper)
    return distance_from_corner(np.column_stack(points), np.array(lower), np.array(upper))


NO_GROUPS = Grouping("no groups", _alone, equal_sizes)
EACH_ALONE = Grouping("each record alone", _alone, equal_sizes, alone=True)
INDIVIDUAL_RANKING = Grouping("individual ranking", None, equal_sizes, key=position)
OPTIMAL_UNIVARIATE = Grouping("optimal univariate groups of k to 2k−1", _optimal, None)
MDAV = Grouping("MDAV", _by_mdav, mdav_sizes, multivariate=True)
INSENSITIVE_MDAV = Grouping("insensitive MDAV", None, equal_sizes, multivariate=True, key=corner_key)
