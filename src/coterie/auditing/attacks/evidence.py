"""What attacks work on: every attribute in the same shape for the original, the release and the control group."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coterie.auditing.attacks import Clock
from coterie.errors import DataError, SchemaError, counted, nearest
from coterie.methods.grouping import INDIVIDUAL_RANKING, Grouping
from coterie.methods.recipe import Method
from coterie.schema.arrays import Floats, Whole
from coterie.schema.attributes import Attribute, AttributeType, Role, Schema
from coterie.table.checked import check, numeric_column, ordinal_column
from coterie.table.columns import cells
from coterie.table.columns.column import CategoryColumn, Column, NumericColumn
from coterie.table.columns.labels import category_column
from coterie.table.units import unit_labels

NO_ORDER = "which released row belongs to which person is not known (give the order of rows)"


@dataclass(frozen=True, slots=True, repr=False)
class Seen:
    """One released attribute. Numbers are doubles; labels are codes, the same codes in all tables.

    `width` is that of the public domain. `distance` is δ between labels; None for labels means equal or not.
    """

    name: str
    is_number: bool
    original: Floats
    released: Floats
    control: Floats | None
    width: float
    lower: float
    upper: float
    distance: Floats | None = None
    step: float | None = None
    relative: bool = True  # whether 5 % of a value means something: not for dates and ranks
    protected: bool = True
    bounds_from_data: bool = False

    @property
    def others(self) -> Floats:
        """The control group's values; asked for only where there is one."""
        assert self.control is not None
        return self.control

    def __repr__(self) -> str:
        return f"<Seen {self.name}: {'numbers' if self.is_number else 'labels'}>"


class Repeatable:
    """Everything random in an attack follows from the seed of its evidence."""

    __slots__ = ()
    seed: int

    def draws(self, purpose: str) -> np.random.Generator:
        """Randomness of one attack: repeatable, and independent of the other attacks."""
        return np.random.default_rng([self.seed, *purpose.encode()])


@dataclass(frozen=True, slots=True, repr=False)
class ReleaseEvidence(Repeatable):
    """Original, release and control group, attribute by attribute.

    The auditor shuffles the release before any attack sees it: `truth[i]` is where person i went, for the score only.

    `truth` is None when rows have no known person (synthetic rows, unknown order). `known` is the share of people whose
    row the attacker knows already. `k` is public: it stands on the certificate; None when it is not known. With a privacy
    unit, `units[i]` is that of person i (`control_units[i]` that of person i of the control group), and `published[i]` the
    place of their row in the release as it was published.

    Attacks take their targets from `targets` and `strangers`, so that each unit is tried once: members of one household
    are alike, and to count them one by one would make every interval too narrow.
    """

    attributes: tuple[Seen, ...]
    truth: Whole | None
    known: float = 0.04
    k: int | None = None
    seed: int = 1
    clock: Clock = field(default_factory=Clock)
    units: Whole | None = None
    published: Whole | None = None
    control_units: Whole | None = None
    columns: Mapping[str, Column] = field(default_factory=dict)  # of the original, as the method groups them
    grouping: Grouping = INDIVIDUAL_RANKING

    def __repr__(self) -> str:
        names = ", ".join(attribute.name for attribute in self.attributes)
        return f"<ReleaseEvidence: {self.people:,} people, {counted(self.rows, 'row')}, {self.others:,} others; {names}>"

    @property
    def people(self) -> int:
        return len(self.attributes[0].original)

    @property
    def rows(self) -> int:
        return len(self.attributes[0].released)

    @property
    def others(self) -> int:
        """People in the control group."""
        control = self.attributes[0].control
        return 0 if control is None else len(control)

    @property
    def places(self) -> Whole:
        """`truth`, for the attacks that need it."""
        assert self.truth is not None
        return self.truth

    @property
    def trials(self) -> int:
        """People to try an attack on: one per unit."""
        return self.people if self.units is None else len(np.unique(self.units))

    @property
    def other_trials(self) -> int:
        """People of the control group to try it on: one per unit."""
        return self.others if self.control_units is None else len(np.unique(self.control_units))

    def rank_groups(self, attribute: Seen, k: int) -> Whole:
        """The group of every person, as the method makes them of the original: in the file's order where values tie."""
        column = self.columns[attribute.name]
        labels = self.grouping.prepare(list(self.columns.values()), k)(column).labels
        return np.asarray(labels, dtype=np.int64)

    def targets(self, draws: np.random.Generator, most: int) -> Whole:
        """At most so many people of the release, drawn at random, no two of one unit."""
        return one_each(self.units, self.people, draws, most)

    def strangers(self, draws: np.random.Generator, most: int) -> Whole:
        """At most so many people of the control group, drawn at random, no two of one unit."""
        return one_each(self.control_units, self.others, draws, most)


def one_each(units: Whole | None, people: int, draws: np.random.Generator, most: int) -> Whole:
    """A random member of each of at most so many random units; without units, every person is one."""
    if units is None:
        return draws.choice(people, min(people, most), replace=False)
    mixed = draws.permutation(len(units))
    _, first = np.unique(units[mixed], return_index=True)
    return draws.permutation(mixed[first])[:most]


def units_of(table: pa.Table, schema: Schema) -> Whole:
    """The number of every row's unit; where the schema names no unit, every row is one."""
    return np.arange(table.num_rows) if schema.unit is None else unit_labels(table, schema)[1]


WINDOW = 0.05  # of the released values


def nearest_in_rank(ordered: Floats, values: Floats | float) -> tuple[Floats, Floats]:
    """The ends of the 5 % of `ordered` that are nearest in rank to each value."""
    reach = max(round(WINDOW / 2 * len(ordered)), 1)
    low = np.searchsorted(ordered, values, side="left") - reach
    high = np.searchsorted(ordered, values, side="right") - 1 + reach
    return ordered[np.maximum(low, 0)], ordered[np.minimum(high, len(ordered) - 1)]


def hidden_order(
    attributes: tuple[Seen, ...], truth: Whole, draws: np.random.Generator
) -> tuple[tuple[Seen, ...], Whole]:
    """The rows in random order, and where each person's row went."""
    shuffled = draws.permutation(len(attributes[0].released))
    return tuple(replace(a, released=a.released[shuffled]) for a in attributes), np.argsort(shuffled)[truth]


@dataclass(frozen=True, slots=True, repr=False)
class MethodEvidence(Repeatable):
    """A method with its parameters, and a population to try it on. `releases(table)(seed)` runs it once."""

    method: str | Method
    epsilon: str
    k: int | None
    population: pa.Table
    schema: Schema
    releases: Callable[[pa.Table], Callable[[int], pa.Table]]
    shuffled: bool = False
    seed: int = 1
    clock: Clock = field(default_factory=Clock)
    neighbours: tuple[pa.Table, pa.Table] | None = None  # for the empirical ε; else they are searched
    runs: int = 1000  # repetitions on each neighbour
    known: float = 0.04
    guarantee: Any = None  # coterie.methods.guarantee.Guarantee of such a release, settled

    def __repr__(self) -> str:
        method = self.method if isinstance(self.method, str) else self.method.name
        return f"<MethodEvidence: {method}, ε = {self.epsilon}, k = {self.k}, {self.population.num_rows:,} people>"


# Original, release and control, read by one schema into the shape that attacks work on.
#
# The original passes the schema's policies, as it did when it was protected. The release is taken as it is: values outside
# the domain stay, and an integer attribute may have fractions, because other tools release such.


@dataclass(frozen=True, slots=True)
class Side:
    """One table: protected attributes as columns, kept ones as they are."""

    columns: Mapping[str, Column]
    kept: Mapping[str, pa.ChunkedArray]
    records: int


def read_people(table: pa.Table, schema: Schema) -> Side:
    """The original or the control: checked as before protection. Identifiers may be left out."""
    wanted = [a for a in schema.attributes if a.role is not Role.IDENTIFIER or a.name in table.column_names]
    narrowed = schema.model_copy(update={"attributes": tuple(wanted)})
    checked = check(table, narrowed)
    return Side(checked.columns, checked.kept, checked.records)


def read_release(table: pa.Table, schema: Schema) -> Side:
    schema = schema.of_release
    visible = [a for a in schema.attributes if a.role is not Role.IDENTIFIER]
    for attribute in visible:
        if attribute.name not in table.column_names:
            raise SchemaError(
                f"The release has no column '{attribute.name}', which the schema describes.",
                nearest(attribute.name, table.column_names),
            )
    for name in table.column_names:
        if name not in {a.name for a in visible}:
            raise SchemaError(
                f"The release has a column '{name}' that should not be in it.",
                "An identifier is never released; another column belongs into the schema.",
            )
    if table.num_rows < 2:
        raise DataError("The release has fewer than two rows.", "Give the released table.")
    columns = {a.name: _as_released(table.column(a.name), a, schema) for a in schema.protected}
    kept = {a.name: table.column(a.name) for a in visible if a.role is Role.KEEP}
    return Side(columns, kept, table.num_rows)


def _as_released(column: pa.ChunkedArray, attribute: Attribute, schema: Schema) -> Column:
    if attribute.type.ranged:
        if attribute.type is AttributeType.INTEGER:
            attribute = attribute.model_copy(update={"type": AttributeType.CONTINUOUS})
        found: Column = numeric_column(column, attribute)
        absent = np.isnan(found.values)  # type: ignore[union-attr]
    elif attribute.type is AttributeType.ORDINAL:
        found = ordinal_column(column, attribute)
        absent = np.isnan(found.values)
    else:
        found = category_column(column, attribute, schema.folder)
        absent = found.codes < 0
    if absent.any() and not attribute.gaps:
        raise DataError(
            f"Column '{attribute.name}' of the release has missing values.",
            "Give the release as it was published; Coterie's releases have no gaps in protected columns.",
        )
    return found


def side_by_side(original: Side, release: Side, control: Side | None, schema: Schema) -> tuple[Seen, ...]:
    seen = []
    for attribute in schema.attributes:
        name = attribute.name
        if name in original.columns:  # a weight made from public totals tells nothing of anybody
            other = None if control is None else control.columns[name]
            seen.append(_protected(attribute, original.columns[name], release.columns[name], other))
        elif attribute.role is Role.KEEP:
            other = None if control is None else control.kept[name]
            seen.append(_kept(attribute, original.kept[name], release.kept[name], other))
    return tuple(seen)


def _protected(attribute: Attribute, original: Column, released: Column, control: Column | None) -> Seen:
    values = _values(original), _values(released), None if control is None else _values(control)
    if isinstance(original, CategoryColumn):
        # δ over its largest value: a label weighs at most as much as a number does.
        distance = original.distance / (float(original.distance.max()) or 1.0)
        from_data = bool(attribute.from_data)
        return Seen(
            attribute.name, False, *values, 1.0, 0.0, 1.0, distance=distance, bounds_from_data=from_data
        )
    domain, lower = original.domain, original.domain.lower
    before, after, others = values
    if attribute.gaps:  # an outcome of its own: one value below all others
        lower -= (domain.upper - domain.lower) / 8
        before, after = (np.where(np.isnan(part), lower, part) for part in (before, after))
        others = None if others is None else np.where(np.isnan(others), lower, others)
    return Seen(
        attribute.name,
        True,
        before,
        after,
        others,
        domain.upper - lower,
        lower,
        domain.upper,
        step=original.step,
        relative=attribute.type in (AttributeType.CONTINUOUS, AttributeType.INTEGER),
        bounds_from_data=attribute.domain is not None and "upper" in attribute.domain.leaks,
    )


def _values(column: Column) -> Floats:
    values = column.values if isinstance(column, NumericColumn) else column.codes
    return np.asarray(values, dtype=np.float64)


def _kept(attribute: Attribute, *columns: pa.ChunkedArray | None) -> Seen:
    """A column released untouched: numbers by their own range, everything else equal or not."""
    present = [column for column in columns if column is not None]
    name, found = attribute.name, _kept_numbers(present, attribute)
    numeric = found is not None
    if found is None:
        texts = [c.cast(pa.large_string()) for c in present]
        encoded = pc.dictionary_encode(
            pa.chunked_array([x for t in texts for x in t.chunks])
        ).combine_chunks()
        codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.float64)
        found = np.split(codes, np.cumsum([len(c) for c in present])[:-1])
    (original, released), control = found[:2], found[2] if len(found) > 2 else None
    lower, upper = float(original.min()), float(original.max())
    width = (upper - lower) or 1.0
    return Seen(name, numeric, original, released, control, width, lower, upper, protected=False)


def _kept_numbers(columns: Sequence[pa.ChunkedArray], attribute: Attribute) -> list[Floats] | None:
    """Complete numbers, where the schema calls them such. (An undescribed kept column may hold anything.)"""
    if not attribute.type.has_zero:
        return None
    try:
        found = [cells.numbers(column, attribute) for column in columns]
    except DataError:
        return None
    return None if any(np.isnan(values).any() for values in found) else found
