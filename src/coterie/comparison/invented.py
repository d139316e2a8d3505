"""Invented people with a schema's columns: for trials that disclose nothing, because no value of a table is looked at.

Unlike rows of `synthetic_sample`, they have correlated attributes, gaps where the schema allows gaps, and households where
it names a unit. Trials on them show how a method treats relations, gaps and units.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coterie.schema.attributes import Attribute, AttributeType, Missing, Role, Schema
from coterie.schema.taxonomy.loading import declared_taxonomy
from coterie.schema.unit import Above, PrivacyUnit

# Attributes of one theme are correlated by about 0.6, others by about 0.1.
_MOST_THEMES, _OF_A_THEME = 3, 3
_OWN, _COMMON = 0.75, 0.3
_HOUSEHOLD = 0.35  # how much members of a unit, and its size, have in common
_GAPS = 0.1


# Skewed towards the low end, as amounts of money, durations and counts are.
_SHAPE = (1.0, 5.0)


def synthetic_sample(schema: Schema, records: int, seed: int = 0) -> pa.Table:
    """`records` invented rows with the schema's protected attributes, independent of one another."""
    columns: dict[str, pa.Array] = {}
    for place, attribute in enumerate(schema.protected):
        draw = np.random.Generator(np.random.PCG64([seed, place]))
        if attribute.type.ranged:
            columns[attribute.name] = _numbers(attribute, draw.beta(*_SHAPE, records))
        else:
            labels = np.array(_labels(attribute, schema.folder), dtype=object)
            # Low codes are the likelier ones: real categories are never equally frequent.
            codes = (draw.beta(*_SHAPE, records) * len(labels)).astype(np.int64)
            columns[attribute.name] = pa.array(labels[codes])
    return pa.table(columns)


def sample_schema(schema: Schema) -> Schema:
    """The same protected attributes, and nothing else."""
    rest = Schema(attributes=schema.of_release.protected)
    rest._folder = schema.folder
    return rest


def _numbers(attribute: Attribute, place: np.ndarray) -> pa.Array:
    domain = attribute.bounds()
    values = domain.lower + (domain.upper - domain.lower) * place
    if attribute.type is AttributeType.CONTINUOUS:
        return pa.array(values)
    whole = np.rint(values).astype(np.int64)
    if attribute.type is AttributeType.DATE:
        return pa.array(whole.astype(np.int32)).cast(pa.date32())
    if attribute.type is AttributeType.TIMESTAMP:
        return pa.array(whole).cast(pa.timestamp("s"))
    return pa.array(whole)


def _labels(attribute: Attribute, folder: Path) -> tuple[str, ...]:
    declared = attribute.categories
    if attribute.type is AttributeType.BOOLEAN or declared is None:
        return ("false", "true")
    return tuple(declared_taxonomy(declared, folder).categories)


def trial_schema(schema: Schema) -> Schema:
    """The part of a schema that matters to a trial: what is measured, and the unit.

    Rules and public totals cost nothing, so they are left out, and with them what need not be measured.
    """
    derived = schema.edit_rules.derived
    raked = schema.weight.name if schema.weight is not None and schema.totals is not None else None
    measured = [a for a in schema.of_release.protected if a.name not in derived and a.name != raked]
    attributes = [_open(attribute) for attribute in measured]
    unit = None
    if schema.unit is not None:
        # Units that are too large are truncated in trials: nobody is refused for people who do not exist.
        unit = PrivacyUnit(
            column=schema.unit.column,
            at_most=schema.unit.at_most,
            above=Above.TRUNCATE,
            name=schema.unit.word if schema.unit.word.isidentifier() else "",
        )
        attributes.insert(0, Attribute(name=schema.unit.column, role=Role.IDENTIFIER))
    rest = Schema(attributes=tuple(attributes), unit=unit)
    rest._folder = schema.folder
    return rest


def _open(attribute: Attribute) -> Attribute:
    if attribute.not_applicable is None:
        return attribute
    return attribute.model_copy(update={"not_applicable": None, "missing": Missing.OWN_CATEGORY})


def invented_people(schema: Schema, records: int, unit_size: float = 1.0, seed: int = 7) -> pa.Table:
    """Invent rows for a `trial_schema`; in units of `unit_size` rows on average, where it names a unit."""
    draw = np.random.Generator(np.random.PCG64(seed))
    unit, shared = np.arange(records), np.zeros(records)
    if schema.unit is not None:
        unit, sizes = _units(draw, records, unit_size)
        own = draw.normal(size=int(unit.max()) + 1)
        spread = (sizes - sizes.mean()) / (sizes.std() or 1.0)
        shared = ((own + spread) / np.sqrt(2))[unit]
    count = min(_MOST_THEMES, max(1, len(schema.protected) // _OF_A_THEME))
    themes = draw.normal(size=(count, records))
    common = _HOUSEHOLD * shared + np.sqrt(1 - _HOUSEHOLD**2) * draw.normal(size=records)
    columns: dict[str, pa.Array] = {}
    rest = np.sqrt(1 - _OWN**2 - _COMMON**2)
    drawn = synthetic_sample(schema, records, seed)
    for place, attribute in enumerate(schema.protected):
        score = _OWN * themes[place % count] + _COMMON * common + rest * draw.normal(size=records)
        column = drawn[attribute.name].combine_chunks()
        ranks = np.argsort(np.argsort(score, kind="stable"), kind="stable")
        column = column.take(pc.sort_indices(column)).take(pa.array(ranks))
        if attribute.gaps:
            column = pc.if_else(pa.array(draw.random(records) < _GAPS), pa.scalar(None, column.type), column)
        columns[attribute.name] = column
    if schema.unit is not None:
        columns = {schema.unit.column: pa.array(unit.astype(str)), **columns}
    return pa.table(columns)


def _units(draw: np.random.Generator, records: int, unit_size: float) -> tuple[np.ndarray, np.ndarray]:
    """The unit of every row, and the size of every unit: one row, and a Poisson number of others."""
    sizes = 1 + draw.poisson(max(unit_size - 1, 0.0), records)  # more units than can be needed
    sizes = sizes[: int(np.searchsorted(np.cumsum(sizes), records)) + 1]
    return np.repeat(np.arange(len(sizes)), sizes)[:records], sizes
