"""What the publisher expects the statistics to be, without looking: the error of a ratio depends on it.

A statistic without an expected value gets a neutral one (the middle of its domain and the like), which is
good enough to plan sums and single statistics; whoever divides by it is asked for a better one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from coterie.schema.arrays import Floats
from coterie.schema.exact import number
from coterie.statistics.prediction.measurement import Kind, Measurement
from coterie.statistics.specification.filters import Between, Condition, Filter, OneOf
from coterie.statistics.specification.shape import ValueShape, of_distribution, uniform_around
from coterie.statistics.specification.specification import Specification, Statistic, StatisticKind
from coterie.table.checked import step_of

_ASSUMED_CORRELATION = 0.5  # of two columns of which nobody says anything
_ASSUMED_KEYS = 20  # private keys of the same frequency


@dataclass(frozen=True)
class Expectations:
    """Expected values by statistic; `given` are those that the publisher or a pilot stated."""

    specification: Specification
    given: Mapping[str, float]
    # Worked out for groups of counts or sums, by the names of what is asked.
    tables: dict[tuple[str, ...], Floats] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, specification: Specification, replaced: Mapping[str, float] | None = None) -> Expectations:
        given = {s.name: s.expected for s in specification.statistics if s.expected is not None}
        return cls(specification, {**given, **(replaced or {})})

    def statistic(self, statistic: Statistic) -> float:
        if statistic.name in self.given:
            return self.given[statistic.name]
        match statistic.kind:
            case StatisticKind.COUNT:
                return self.size(statistic.where)
            case StatisticKind.SUM:
                return self._sum(statistic.where, tuple((column, 0.0) for column in statistic.columns))
            case StatisticKind.MEAN | StatisticKind.TRIMMED_MEAN:
                return self.mean(statistic.where, statistic.columns[0])
            case StatisticKind.VARIANCE:
                return self.std(statistic.where, statistic.columns[0]) ** 2
            case StatisticKind.STD:
                return self.std(statistic.where, statistic.columns[0])
            case StatisticKind.PROPORTION:
                return self._proportion(statistic)
            case StatisticKind.COUNT_DISTINCT:
                return min(self.specification.most_values(statistic) / 2, self.size(statistic.where))
            case StatisticKind.KEYS:
                return self.size(statistic.where) / _ASSUMED_KEYS
            case StatisticKind.TABLE:
                assert statistic.table is not None
                return self.size(statistic.where) / statistic.table.cells
            case kind if kind.of_two_columns:
                return self._of_two_columns(statistic)
            case _:
                domain = self.specification.range_of(statistic.columns[0])
                return domain.lower + statistic.quantile * domain.width

    def size(self, where: Filter) -> float:
        """How many records the group has."""
        stated = self.stated_size(where)
        if stated is not None:
            return stated
        asked = Filter(tuple(entry for entry in where.conditions if not self._always(*entry)))
        if asked != where:  # nobody says how many values are missing: as if none were
            return self.size(asked)
        declared = [s.at_least for s in self._about_group(where) if s.at_least]
        if declared:
            return float(max(declared))
        for s in self._parts(where):  # of a group whose size is assumed: no larger than the group
            return self.size(s.where) * self.given[s.name]
        shares = [self._public_share(column, condition) for column, condition in where.conditions]
        return float(self.specification.records or 1000) * max(math.prod(shares), 1 / 32)

    def _always(self, column: str, condition: Condition) -> bool:
        """Whether every value satisfies it, so that it only leaves out what is missing."""
        attribute = self.specification.schema[column]
        domain = attribute.domain
        if domain is None or not attribute.gaps or not isinstance(condition, Between):
            return False
        return condition.start <= domain.lower and condition.below > domain.upper

    def _public_share(self, column: str, condition: Condition) -> float:
        """The share of all records as the schema tells it: labels equally frequent, numbers spread over their domain."""
        attribute = self.specification.schema[column]
        if isinstance(condition, OneOf):
            labels = attribute.categories.labels if attribute.categories else None
            return min(len(condition.values) / len(labels), 1.0) if labels else 0.5
        if attribute.domain is None:
            return 0.5
        lower, upper = attribute.domain.lower, attribute.domain.upper
        inside = min(condition.below, upper) - max(condition.start, lower)
        return min(max(inside / (upper - lower), 0.0), 1.0) or 0.5

    def stated_size(self, where: Filter) -> float | None:
        for statistic in self._known(StatisticKind.COUNT, where):
            return max(self.given[statistic.name], 0.0)
        if where.everyone and self.specification.records is not None:
            return float(self.specification.records)
        for statistic in self._about_group(where):
            if statistic.about.size is not None:
                return statistic.about.size
        for statistic in self._parts(where):
            whole = self.stated_size(statistic.where)
            return None if whole is None else whole * self.given[statistic.name]
        return None

    def _about_group(self, where: Filter) -> list[Statistic]:
        return self._by_group.get(where, [])

    def _parts(self, where: Filter) -> list[Statistic]:
        """Stated proportions that say how much of their group these records are."""
        return self._by_part.get(where, [])

    @cached_property
    def _by_group(self) -> dict[Filter, list[Statistic]]:
        found: dict[Filter, list[Statistic]] = {}
        for statistic in self.specification.statistics:
            found.setdefault(statistic.where, []).append(statistic)
        return found

    @cached_property
    def _by_part(self) -> dict[Filter, list[Statistic]]:
        found: dict[Filter, list[Statistic]] = {}
        for statistic in self.specification.statistics:
            if statistic.name in self.given and statistic.counted != statistic.where:
                found.setdefault(statistic.counted, []).append(statistic)
        return found

    def mean(self, where: Filter, column: str) -> float:
        stated = self.stated_mean(where, column)
        return self.specification.range_of(column).middle if stated is None else stated

    def stated_mean(self, where: Filter, column: str) -> float | None:
        for statistic in self._known(StatisticKind.MEAN, where, column):
            return self.given[statistic.name]
        size = self.stated_size(where)
        for statistic in self._known(StatisticKind.SUM, where, column):
            if size is not None:
                return self.specification.range_of(column).clip(self.given[statistic.name] / max(size, 1.0))
        about = self._about(where, column, "means")
        weight = self.specification.schema.weight
        if about is None and weight is not None and column == weight.name:
            return self.specification.mean_weight
        return about

    def std(self, where: Filter, column: str) -> float:
        stated = self.stated_std(where, column)
        evenly = self.specification.range_of(column).width / math.sqrt(12.0)
        return evenly if stated is None else stated

    def stated_std(self, where: Filter, column: str) -> float | None:
        for statistic in self._known(StatisticKind.STD, where, column):
            return abs(self.given[statistic.name])
        for statistic in self._known(StatisticKind.VARIANCE, where, column):
            return math.sqrt(abs(self.given[statistic.name]))
        return self._about(where, column, "stds")

    def covariance(self, where: Filter, columns: tuple[str, str]) -> float:
        """As stated through a covariance, correlation or slope; half of the largest where one of them is asked for."""
        stated = self.stated_covariance(where, columns)
        if stated is not None:
            return stated
        asked = any(
            s.kind.of_two_columns and set(s.columns) == set(columns) for s in self._about_group(where)
        )
        return _ASSUMED_CORRELATION * self._spreads(where, columns) if asked else 0.0

    def stated_covariance(self, where: Filter, columns: tuple[str, str]) -> float | None:
        if columns[0] == columns[1]:
            return self.std(where, columns[0]) ** 2
        for s in self._about_group(where):
            if s.name in self.given and set(s.columns) == set(columns):
                if s.kind is StatisticKind.COVARIANCE:
                    return self.given[s.name]
                if s.kind is StatisticKind.CORRELATION:
                    return self.given[s.name] * self._spreads(where, columns)
                if s.kind is StatisticKind.SLOPE:
                    return self.given[s.name] * self.std(where, s.columns[1]) ** 2
        return None

    def _spreads(self, where: Filter, columns: tuple[str, ...]) -> float:
        return math.prod(self.std(where, column) for column in columns)

    def _of_two_columns(self, statistic: Statistic) -> float:
        where, (first, second) = statistic.where, statistic.columns
        covariance = self.covariance(where, (first, second))
        if statistic.kind is StatisticKind.COVARIANCE:
            return covariance
        if statistic.kind is StatisticKind.CORRELATION:
            return min(max(covariance / self._spreads(where, (first, second)), -1.0), 1.0)
        slope = covariance / self.std(where, second) ** 2
        if statistic.kind is StatisticKind.SLOPE:
            return slope
        return self.mean(where, first) - slope * self.mean(where, second)

    def shape(self, statistic: Statistic) -> ValueShape:
        """How the values around a quantile lie: as declared, with the quantile where it is expected.

        Undeclared, a normal of the expected spread is assumed if one is stated for the group, else values
        spread evenly on either side of the quantile; and the shape says that it is an assumption.
        """
        column, where = statistic.columns[0], statistic.where
        domain, expected = self.specification.range_of(column), self.statistic(statistic)
        if statistic.shape is not None:
            shape = statistic.shape
        elif self.stated_std(where, column) is not None:
            shape = replace(of_distribution("normal", expected, self.std(where, column)), declared=False)
        else:
            shape = replace(uniform_around(statistic.quantile, expected, domain), declared=False)
        if shape.step is None:
            shape = replace(shape, step=step_of(self.specification.schema[column]))
        return shape.moved(statistic.quantile, expected).within(domain)

    def measurement(self, measurement: Measurement) -> float:
        """The expected value of something measured for a statistic, as far as it follows from those of its group."""
        where = measurement.where
        match measurement.kind:
            case Kind.COUNT:
                return self.size(where)
            case Kind.MEAN if measurement.indicator is None:
                return self.mean(where, measurement.terms[0][0])
            case Kind.STD:
                return self.std(where, measurement.terms[0][0])
            case Kind.VARIANCE:
                return self.std(where, measurement.terms[0][0]) ** 2
            case Kind.SUM:
                return self._sum(where, measurement.terms)
        return 0.0

    def _sum(self, where: Filter, terms: tuple[tuple[str, float], ...]) -> float:
        """Σ(x − a), or Σ(x − a)(y − b)."""
        size, means = self.size(where), [self.mean(where, column) for column, _ in terms]
        if len(terms) == 1:
            return size * (means[0] - terms[0][1])
        (first, a), (second, b) = terms
        stated = self._stated_product(where, (first, second))
        if stated is not None:
            return stated - size * (a * means[1] + b * means[0] - a * b)
        spread = max(size - 1.0, 0.0) * self.covariance(where, (first, second))
        return spread + size * (means[0] - a) * (means[1] - b)

    def _stated_product(self, where: Filter, columns: tuple[str, str]) -> float | None:
        for s in self._about_group(where):
            if s.kind is StatisticKind.SUM and s.name in self.given and sorted(s.columns) == sorted(columns):
                return self.given[s.name]
        return None

    def unstated(self, measurement: Measurement) -> tuple[str, ...]:
        """What the expected value of a measurement rests on without anybody having said it."""
        where, missing = measurement.where, []
        if measurement.kind in (Kind.COUNT, Kind.SUM, Kind.QUANTILE) and self.stated_size(where) is None:
            missing.append(f"{number(self.size(where), 6)} records with {where}")
        if measurement.kind is Kind.SUM:
            squared = len(measurement.terms) == 2 and measurement.terms[0] == measurement.terms[1]
            for column in dict.fromkeys(column for column, _ in measurement.terms):
                if self.stated_mean(where, column) is None:
                    missing.append(f"a mean {column} of {number(self.mean(where, column), 6)} with {where}")
                product = (column, column) if squared else None
                told = product is not None and self._stated_product(where, product) is not None
                if squared and not told and self.stated_std(where, column) is None:
                    missing.append(f"a std of {column} of {number(self.std(where, column), 6)} with {where}")
            pair = tuple(column for column, _ in measurement.terms)
            if len(set(pair)) == 2 and self._stated_product(where, (pair[0], pair[1])) is None:
                covariance = self.covariance(where, (pair[0], pair[1]))
                if covariance and self.stated_covariance(where, (pair[0], pair[1])) is None:
                    missing.append(
                        f"a covariance of {' and '.join(pair)} of {number(covariance, 6)} with {where}"
                    )
        return tuple(missing)

    def _about(self, where: Filter, column: str, what: str) -> float | None:
        for s in self._about_group(where):
            stated: tuple[float | None, ...] = getattr(s.about, what)
            for named, value in zip(s.columns, stated, strict=False):
                if named == column and value is not None:
                    return value
        return None

    def _proportion(self, statistic: Statistic) -> float:
        inside = list(self._known(StatisticKind.COUNT, statistic.counted))
        if inside:
            return min(self.given[inside[0].name] / max(self.size(statistic.where), 1.0), 1.0)
        return 0.5

    def _known(self, kind: StatisticKind, where: Filter, column: str | None = None) -> list[Statistic]:
        return [
            s
            for s in self._about_group(where)
            if s.kind is kind and s.name in self.given and (column is None or s.columns == (column,))
        ]
