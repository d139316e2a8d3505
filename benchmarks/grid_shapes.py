"""The tables and grids that `python -m benchmarks grid` times: small and large, narrow and wide, every method."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from coterie.methods import all_methods
from coterie.papers.data import available
from coterie.papers.soria_comas_sse import CENSUS_KS as KS
from coterie.papers.soria_comas_sse import EPSILONS, METHODS
from coterie.papers.tables import CENSUS_SORIA_COMAS, census, numeric_schema
from coterie.schema.attributes import Domain, Schema, Source

_MIXED = """
coterie_schema: 1
attributes:
  income: {type: continuous, role: protect, domain: {lower: 0, upper: 200000}, decimals: 2}
  age: {type: integer, role: protect, domain: {lower: 0, upper: 120}}
  since: {type: date, role: protect, domain: {lower: 2000-01-01, upper: 2026-12-31}}
  grade: {type: ordinal, role: protect, categories: {labels: [low, middle, high]}}
  job: {type: categorical, role: protect, categories: {taxonomy: "adult:occupation"}}
  country: {type: categorical, role: protect, categories: {taxonomy: "adult:native-country"}}
  colour: {type: categorical, role: protect, categories: {labels: [red, green, blue, grey]}}
"""


@dataclass(frozen=True)
class Shape:
    title: str
    table: pa.Table
    schema: Schema
    methods: tuple[str, ...]
    ks: tuple[int, ...]
    epsilons: tuple[str, ...] = EPSILONS
    runs: int = 10


def census_table() -> pa.Table:
    """The paper's nine attributes, or an invented table of the same shape where Census is not here."""
    return (
        census(CENSUS_SORIA_COMAS)
        if available("census")
        else invented(1080, len(CENSUS_SORIA_COMAS), CENSUS_SORIA_COMAS)
    )


def shapes() -> Iterator[Shape]:
    table = census_table()
    schema = numeric_schema(table, alpha=1.5)
    yield Shape("Census, 4 methods × 20 k × 3 ε × 10 runs", table, schema, METHODS, KS)
    yield Shape("Census, two methods, one k, one ε", table, schema, ("dp-ir", "idp-cbls"), (10,), ("1",))
    yield Shape("Census, `idp-cbls`, one k, 3 ε", table, schema, ("idp-cbls",), (10,))
    yield Shape("Census, 4 methods × 4 k × 3 ε, one run", table, schema, METHODS, (5, 10, 25, 50), runs=1)
    yield Shape("Census, `mdav` and `idp-mdav`, 3 k", table, schema, ("mdav", "idp-mdav"), (5, 10, 50))
    yield Shape("Census, one release", table, schema, ("dp-ir",), (10,), ("1",), runs=1)
    yield Shape(
        "Census, `dp-sorted` and `dp-synthetic`",
        table,
        schema,
        ("dp-sorted", "dp-synthetic"),
        (10, 50, 100),
    )
    yield Shape(
        "Census, bounds paid for in one attribute",
        table,
        _paid(schema),
        ("dp-ir", "idp-ls", "dp-um"),
        KS,
        ("50", "100"),
    )
    yield _numeric("100 × 3", 100, 3, ("laplace", "dp-ir", "idp-cbls"), (3, 5, 10), ("0.1", "1"))
    yield _numeric("10,000 × 1, with `laplace`", 10_000, 1, ("laplace", "dp-ir", "idp-cbls"), (5, 10, 50))
    yield _numeric("500 × 60", 500, 60, ("laplace", "dp-ir", "idp-cbls"), (5, 10, 50))
    yield _numeric("30,000 × 4", 30_000, 4, METHODS, (3, 10, 50, 200))
    yield _numeric("30,000 × 4, `dp-mdav` and `dp-ir`", 30_000, 4, ("dp-mdav", "dp-ir"), (10, 100))
    yield _numeric(
        "10,000 × 4, `mdav`, `idp-mdav`, `dp-mdav`", 10_000, 4, ("mdav", "idp-mdav", "dp-mdav"), (10, 100)
    )
    yield _numeric("2,000 × 5, `dp-ir`, one k", 2_000, 5, ("dp-ir",), (10,))
    yield _numeric("1,000 × 5, `laplace` alone", 1_000, 5, ("laplace",), (1,))
    yield _numeric("100,000 × 3, `dp-ir`, two k", 100_000, 3, ("dp-ir",), (5, 50))
    yield _numeric("100,000 × 1, `laplace` alone", 100_000, 1, ("laplace",), (1,))
    mixed = mixed_table(5_000)
    described = Schema.load(_MIXED)
    yield Shape(
        "5,000 × 7 with trees of categories", mixed, described, ("laplace", "dp-ir", "idp-cbls"), (5, 50)
    )
    yield Shape(
        "100,000 × 7 with trees of categories",
        mixed_table(100_000),
        described,
        ("laplace", "dp-ir", "idp-cbls"),
        (5, 50),
        ("0.1", "1"),
    )
    yield _numeric("1,000,000 × 2", 1_000_000, 2, ("dp-ir", "idp-cbls"), (5, 50))
    yield _numeric("1,000,000 × 2, `dp-ir`, one k", 1_000_000, 2, ("dp-ir",), (10,))
    yield Shape(
        "1,000 × 7, every method", mixed_table(1_000), described, tuple(all_methods()), (5, 10, 50), runs=5
    )


def _numeric(
    title: str,
    records: int,
    attributes: int,
    methods: tuple[str, ...],
    ks: tuple[int, ...],
    epsilons: tuple[str, ...] = EPSILONS,
) -> Shape:
    table = invented(records, attributes)
    return Shape(title, table, numeric_schema(table, alpha=1.5), methods, ks, epsilons)


def _paid(schema: Schema) -> Schema:
    """The first attribute's upper bound is found in the data and paid for."""
    first, *rest = schema.attributes
    assert first.domain is not None
    widest = Domain(lower=first.domain.lower, upper=first.domain.upper * 8, source=Source.DP)
    return Schema(attributes=(first.model_copy(update={"domain": widest}), *rest))


def invented(records: int, attributes: int, names: tuple[str, ...] | None = None) -> pa.Table:
    draw = np.random.Generator(np.random.PCG64(11))
    names = names or tuple(f"a{place}" for place in range(attributes))
    return pa.table({name: np.round(draw.lognormal(9, 1, records)) for name in names})


def mixed_table(records: int) -> pa.Table:
    draw = np.random.Generator(np.random.PCG64(12))
    days = draw.integers(11_000, 20_000, records).astype(np.int32)
    return pa.table(
        {
            "income": np.clip(np.round(draw.lognormal(9, 1, records), 2), 0, 200_000),
            "age": draw.integers(18, 90, records),
            "since": pa.array(days, pa.int32()).cast(pa.date32()),
            "grade": draw.choice(["low", "middle", "high"], records),
            "job": draw.choice(["Sales", "Tech-support", "Craft-repair", "Exec-managerial"], records),
            "country": draw.choice(["United-States", "Mexico", "Germany", "India"], records),
            "colour": draw.choice(["red", "green", "blue"], records),
        }
    )
