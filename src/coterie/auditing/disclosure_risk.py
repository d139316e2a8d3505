"""risk(): how easily people in a table are re-identified by what others know of them, before anything is protected.

What sdcMicro (freqCalc, indivRisk, suda2) and ARX (prosecutor, journalist, marketer) show first. All of it counts the data,
so it stays inside: nothing here is ever part of a certificate or a release.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from coterie.auditing.attacks.finding import percent
from coterie.auditing.key_groups import (
    Diversity,
    KeyGroups,
    KeyRisk,
    SubsetRisk,
    UnitRisk,
    individual_risk,
    unique_by,
)
from coterie.errors import DataError, ParameterError, SchemaError, counted, enumerated, shortened
from coterie.schema.arrays import Floats, Whole
from coterie.schema.attributes import Attribute, AttributeType, Outside, Role, Schema
from coterie.schema.codebook import canonical_number
from coterie.schema.document import as_schema
from coterie.schema.frame_kind import to_kind
from coterie.table.checked import column_of, same_columns
from coterie.table.columns import cells
from coterie.table.columns.column import NumericColumn
from coterie.table.reading import as_table
from coterie.table.units import unit_labels

WARNING = "DO NOT PUBLISH: these figures count the original data. They stay on this machine."
MISSING_RULE = "a missing cell is a value of its own"
LIMITS = (2, 3, 5)  # k below which records are counted
_BANDS = ((1, 1), (2, 2), (3, 4), (5, 9), (10, 19), (20, None))  # sizes of groups
_MOST_KEYS = 8  # that are taken without being named


@dataclass(frozen=True)
class Risk:
    """How easily people are re-identified by some keys. It counts the data: do not publish it.

    `now` is what the schema makes of the table; `before` the same without recoding, where the schema recodes a key.
    """

    keys: tuple[str, ...]
    records: int
    population: float  # people whom the records stand for, as far as known
    population_from: str
    recoded: dict[str, str]
    unit: str | None
    now: KeyRisk
    before: KeyRisk | None
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<Risk: {self.verdict}>"

    @cached_property
    def verdict(self) -> str:
        """The first sentence to read."""
        now, one = self.now, self.now.uniques == 1
        said = (
            f"{now.uniques:,} of {counted(now.records, 'record')} ({percent(now.uniques / now.records)}) "
            f"{'shares its' if one else 'share their'} {enumerated(self.keys)} with nobody"
        )
        if self.before is not None:
            said += (
                f"; before recoding {self.before.uniques:,} ({percent(self.before.uniques / now.records)})"
            )
        return said

    def to_frame(self, kind: str = "arrow") -> Any:
        """One row per figure: now, and before the schema's recoding. An Arrow table, a pandas or a polars frame."""
        before = {} if self.before is None else self.before.figures
        rows = [
            {"figure": name, "now": value, "before_recoding": before.get(name)}
            for name, value in self.now.figures.items()
        ]
        types = {"figure": pa.string(), "now": pa.float64(), "before_recoding": pa.float64()}
        return to_kind(pa.Table.from_pylist(rows, pa.schema(types)), kind)

    def to_dict(self) -> dict[str, Any]:
        return {
            "warning": WARNING,
            "verdict": self.verdict,
            "keys": list(self.keys),
            "records": self.records,
            "population": self.population,
            "population_from": self.population_from,
            "missing": MISSING_RULE,
            "unit": self.unit,
            "recoded": self.recoded,
            "notes": list(self.notes),
            "risk": self.now.to_dict(),
            "before_recoding": None if self.before is None else self.before.to_dict(),
        }


def risk(
    data: Any,
    schema: Schema | str | Path | Mapping[str, Any],
    *,
    keys: str | Sequence[str] | None = None,
    weight: str | None = None,
    population: int | None = None,
    sensitive: str | None = None,
    table: str | None = None,
    query: str | None = None,
) -> Risk:
    """Say how easily people in a table are re-identified, before it is protected.

    Parameters
    ----------
    data : frame, str or Path
        The original table: a frame, a file or the address of a database.
    schema : Schema, str, Path or dict
        Its schema. Keys that it recodes are counted before and after recoding. Bounds and labels may still be open.
    keys : str or sequence of str, optional
        What an attacker may know of a person, such as age, sex and region: names, or one text with commas. Default: all
        protected columns that are not continuous, if they are at most eight.
    weight : str, optional
        The column of survey weights: how many people of the population each record stands for. Default: the schema's.
    population : int, optional
        How many people there are in all. With weights, these are scaled to it. Without either, the table is its own
        population.
    sensitive : str, optional
        A column that must not be inferred: its values are counted in every group (l-diversity).
    table, query : str, optional
        The table (or sheet) to read, or a query, where `data` is a database (or a workbook).

    Returns
    -------
    Risk
        `verdict` in one sentence, `now` and `before` in figures. Computed from the original data: do not publish it.

    Raises
    ------
    SchemaError
        Where a key is not described, or the schema does not fit the table.
    ParameterError
        Where too many columns could be keys, or the population is smaller than the table.
    DataError
        Where a weight is missing, zero or negative, or a cell does not fit its description.

    See Also
    --------
    audit : attack a release, once there is one.

    Examples
    --------
    >>> import coterie
    >>> people = {"age": [31, 31, 62, 28], "sex": ["f", "f", "m", "m"]}
    >>> described = {
    ...     "age": {"type": "integer", "role": "protect", "domain": {"lower": 0, "upper": 120}},
    ...     "sex": {"type": "categorical", "role": "protect", "categories": {"labels": ["f", "m"]}},
    ... }
    >>> coterie.risk(people, {"attributes": described}, keys="age, sex").verdict
    '2 of 4 records (50\\xa0%) share their age and sex with nobody'
    >>> described["age"]["recode"] = {"bands": [0, 50]}
    >>> coterie.risk(people, {"attributes": described}, keys=["age", "sex"]).now.smallest
    1
    """
    schema = as_schema(schema)
    names = _key_names(schema, keys)
    for name in (weight, sensitive):
        if name is not None:
            schema[name]
            if name in names:
                raise ParameterError(f"'{name}' is a key already.", "Name it once.")
    found = as_table(data, schema, table=table, query=query)
    same_columns(found.column_names, schema)
    if found.num_rows < 1:
        raise DataError("The table has no rows.", "Give a table with at least one record.")
    weights, source, notes = _weights(found, schema, weight, population)
    units = None if schema.unit is None else unit_labels(found, schema)[1]

    def figures(described: Schema) -> KeyRisk:
        codes = [_codes(found.column(name), described[name], described) for name in names]
        private = (
            None if sensitive is None else _codes(found.column(sensitive), described[sensitive], described)
        )
        return _key_risk(KeyGroups.of(names, codes), weights, units, sensitive, private)

    changed = {n: words for n in names if (words := schema[n].recoded_in_words)}
    return Risk(
        keys=names,
        records=found.num_rows,
        population=float(found.num_rows if weights is None else weights.sum()),
        population_from=source,
        recoded=changed,
        unit=None if schema.unit is None else schema.unit.word,
        now=figures(schema),
        before=figures(schema.in_file) if changed else None,
        notes=(f"Here {MISSING_RULE}.", *notes),
    )


def _key_names(schema: Schema, keys: str | Sequence[str] | None) -> tuple[str, ...]:
    if keys is None:
        named = [
            a.name for a in schema.with_role(Role.PROTECT) if a.in_file.type is not AttributeType.CONTINUOUS
        ]
        if not named or len(named) > _MOST_KEYS:
            raise ParameterError(
                f"Which columns an attacker knows is not clear: {len(named)} could be keys.",
                "Name them: --keys age,sex,region (Python: keys=[…]). Take what neighbours or other files may know.",
            )
    else:
        named = [part.strip() for part in keys.split(",")] if isinstance(keys, str) else list(keys)
        named = [name for name in named if name]
        twice = sorted({name for name in named if named.count(name) > 1})
        if twice or not named:
            raise ParameterError(
                f"Key '{twice[0]}' is named twice." if twice else "No key is named.", "Name each key once."
            )
    for name in named:
        if schema[name].role is Role.IDENTIFIER and schema.unit is not None and name == schema.unit.column:
            raise ParameterError(
                f"'{name}' is the column of the unit, not a key.", "Name what others know of a person."
            )
    return tuple(named)


def _weights(
    table: pa.Table, schema: Schema, name: str | None, population: int | None
) -> tuple[Floats | None, str, list[str]]:
    """One weight per record, where they come from, and what to say about them."""
    rows = table.num_rows
    if population is not None and (isinstance(population, bool) or population < rows):
        raise ParameterError(
            "The population is smaller than the table.",
            "Give the number of people whom the table is a sample of.",
        )
    if name is None and schema.weight is not None:
        name = schema.weight.name
    if name is None:
        if population is None:
            return (
                None,
                "the table itself",
                ["Without weights or --population, the table is its own population."],
            )
        return np.full(rows, population / rows), "declared", []
    if name not in table.column_names:
        raise SchemaError(f"The table has no column '{name}'.", f"There is: {shortened(table.column_names)}.")
    plain = schema[name].in_file.model_copy(update={"type": AttributeType.CONTINUOUS})
    weights = cells.numbers(table.column(name), plain)
    if np.isnan(weights).any():
        raise DataError(
            f"The weight '{name}' has gaps.",
            "Every record needs one; leave out records without a weight first.",
        )
    if (weights <= 0).any():
        raise DataError(
            f"The weight '{name}' has values that are zero or negative.",
            "A weight says how many people a record stands for; leave out records that stand for nobody.",
        )
    notes = []
    if population is not None:
        weights = weights * (population / weights.sum())
    elif weights.sum() < 1.01 * rows:
        notes.append(
            f"The weights '{name}' add up to hardly more than the records, so they seem to be relative ones, and the risk "
            "is that of a whole population. Give its size with --population."
        )
    source = f"weights '{name}'" + (", scaled to the declared number" if population is not None else "")
    return weights, source, notes


def _codes(column: pa.ChunkedArray, attribute: Attribute, schema: Schema) -> Whole:
    """A code for every value, missing ones included."""
    if attribute.role is Role.PROTECT and attribute.is_public:
        found = column_of(column, attribute, schema)
        if not isinstance(found, NumericColumn):
            return found.codes.astype(np.int64) + 1
        values = found.values
        if attribute.outside is Outside.CLIP and attribute.is_recoded:
            values = np.clip(values, found.domain.lower, found.domain.upper)
        return np.unique(values, return_inverse=True)[1].astype(np.int64)
    texts, places = cells.distinct(column, attribute)
    numbers: dict[str, int] = {}
    of_text = [
        0 if text is None else numbers.setdefault(canonical_number(text), len(numbers) + 1) for text in texts
    ]
    return np.array([*of_text, 0], dtype=np.int64)[places]  # the last entry is for place -1


def _key_risk(
    groups: KeyGroups,
    weights: Floats | None,
    units: Whole | None,
    column: str | None,
    sensitive: Whole | None,
) -> KeyRisk:
    sizes, records = groups.sizes, len(groups.of_record)
    people = sizes.astype(np.float64)
    if weights is not None:
        people = np.bincount(groups.of_record, weights=weights, minlength=len(sizes)).astype(np.float64)
    risks = individual_risk(sizes, people)
    found = unique_by(groups)
    everything = range(len(groups.keys))
    without = {
        name: int(sizes[groups.sizes_by([key for key in everything if key != place]) < 2].sum())
        for place, name in enumerate(groups.keys)
        if len(groups.keys) > 1
    }
    return KeyRisk(
        records=records,
        combinations=len(sizes),
        smallest=int(sizes.min()),
        uniques=int((sizes == 1).sum()),
        below={k: int(sizes[sizes < k].sum()) for k in LIMITS},
        sizes=_by_size(sizes),
        highest=float(1 / sizes.min()),
        mean=len(sizes) / records,
        population_highest=float(risks.max()),
        expected=float(sizes @ risks),
        unique_by=found,
        without=without,
        units=None if units is None else _unit_risk(risks[groups.of_record], units),
        diversity=None if sensitive is None or column is None else _diversity(groups, sensitive, column),
    )


def _by_size(sizes: Whole) -> dict[str, int]:
    found = {}
    for first, last in _BANDS:
        inside = sizes >= first if last is None else (sizes >= first) & (sizes <= last)
        words = f"{first} or more" if last is None else str(first) if first == last else f"{first} to {last}"
        found[words] = int(sizes[inside].sum())
    return found


def _unit_risk(risks: Floats, units: Whole) -> UnitRisk:
    """1 − Π(1 − r) over the members. A certain member (r = 1) makes the unit certain."""
    with np.errstate(divide="ignore"):
        nobody = np.exp(np.bincount(units, weights=np.log1p(-np.minimum(risks, 1.0))))
    return UnitRisk(len(nobody), float((1 - nobody).sum()), float((1 - nobody).max()))


def _diversity(groups: KeyGroups, sensitive: Whole, column: str) -> Diversity:
    pairs = KeyGroups.of(("group", column), (groups.of_record, sensitive))
    values = np.bincount(pairs.codes[0], minlength=len(groups.sizes))
    return Diversity(column, int(values.min()), int(groups.sizes[values == 1].sum()))


def worst_subsets(found: KeyRisk, most: int = 8) -> list[SubsetRisk]:
    """The sets of fewest keys that single out most people; of each size the worst."""
    ranked = sorted(
        found.unique_by.subsets, key=lambda one: (len(one.keys), -one.uniques, -one.below_3, one.keys)
    )
    taken: list[SubsetRisk] = []
    for size in range(1, found.unique_by.deepest + 1):
        taken += [one for one in ranked if len(one.keys) == size and one.uniques][:3]
    return taken[:most]
