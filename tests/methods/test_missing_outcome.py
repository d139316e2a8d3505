"""Missing is an outcome: what it costs, by enumeration of tiny tables; and that the release says so in every format."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest

import coterie
from coterie.chain.kernel import Grouped
from coterie.chain.mechanism import numeric
from coterie.chain.noise.seeded import SeededSampler
from coterie.errors import ParameterError
from coterie.methods import all_methods, get_method
from coterie.schema.arrays import Floats
from coterie.schema.attributes import Attribute, Domain, Missing, Role
from coterie.table.checked import numeric_column
from coterie.table.columns.column import Column, NumericColumn

EPSILON = Fraction(1)
GAPS = {"missing": "own category"}
Row = tuple[float | None, ...]


def column(name: str, values: Sequence[float | None], *, gaps: bool) -> NumericColumn:
    policy = Missing.OWN_CATEGORY if gaps else Missing.ERROR
    attribute = Attribute(name=name, role=Role.PROTECT, domain=Domain(lower=-1, upper=3), missing=policy)
    return numeric_column(pa.chunked_array([pa.array(values, pa.float64())]), attribute)


class Noted:
    """A sampler that draws nothing and notes what it was asked for: centres over scales, stream by stream."""

    private, name = False, "noted"

    def __init__(self) -> None:
        self.asked: dict[str, Floats] = {}

    def laplace(self, centres: Floats, scales: Floats, stream: str, grid: object = None) -> Floats:
        self.asked[stream] = centres / scales
        return centres.copy()

    def uniform_words(self, count: int, stream: str) -> Any:
        return np.zeros(count, dtype=np.uint64)


@pytest.fixture
def noted_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    """The odds of a choice are noted too, as half their logarithm: the truth decides its sign."""

    def choose(
        scores: Floats, epsilon: Fraction, spread: float, sampler: Noted, stream: str, line: Any
    ) -> Any:
        probability = np.exp(-float(epsilon) * scores / (2 * spread))
        probability /= probability.sum(axis=1, keepdims=True)
        # |log p(a)/p'(a)| is the same for both outcomes of a fair coin's kind: half of it stands for each side.
        sampler.asked[stream] = np.log(probability[line, 1] / probability[line, 0]) / 2
        return line

    monkeypatch.setattr(numeric, "exponential_mechanism", choose)


def asked(method: str, columns: Sequence[Column], k: int, which: int = 0) -> Floats:
    """Everything that noise is added to, in units of the noise: the L1 distance of two tables is the loss between them."""
    recipe, sampler = get_method(method), Noted()
    clustering = recipe.grouping.prepare(columns, k)(columns[which])
    Grouped.of(columns[which], recipe.mechanism(columns[which]), clustering, k).noisy(EPSILON, sampler)
    return np.concatenate(list(sampler.asked.values()))


def largest_loss(method: str, rows: Sequence[Row], records: int, k: int, c: int = 1) -> float:
    """Over all tables of `records` such rows, and all that differ in c of them, of the first attribute."""
    found = {}
    for table in itertools.product(rows, repeat=records):
        columns = [
            column(f"x{place}", [row[place] for row in table], gaps=place == 0)
            for place in range(len(rows[0]))
        ]
        found[table] = asked(method, columns, k)
    return max(
        float(np.abs(one - found[other]).sum())
        for table, one in found.items()
        for other in neighbours(table, rows, c)
    )


def neighbours(table: tuple[Row, ...], rows: Sequence[Row], c: int) -> Iterator[tuple[Row, ...]]:
    for places in itertools.combinations(range(len(table)), c):
        for unit in itertools.product(rows, repeat=c):
            new = dict(zip(places, unit, strict=True))
            yield tuple(new.get(place, row) for place, row in enumerate(table))


@pytest.mark.usefixtures("noted_choices")
def test_laplace_with_gaps_costs_exactly_epsilon(monkeypatch: pytest.MonkeyPatch) -> None:
    values: list[Row] = [(v,) for v in (-1.0, 0.0, 1.0, 2.5, 3.0, None)]
    assert largest_loss("laplace", values, 2, 1) == pytest.approx(1, abs=1e-12)
    # Only gaps and one bound: a gap costs as much as the whole width.
    assert largest_loss("laplace", [(-1.0,), (None,)], 2, 1) == pytest.approx(1, abs=1e-12)
    # With the gap at a bound it would not hold: the enumeration can tell.
    monkeypatch.setattr(Domain, "middle", property(lambda domain: domain.lower))
    assert largest_loss("laplace", values, 2, 1) == pytest.approx(1.5, abs=1e-12)


@pytest.mark.usefixtures("noted_choices")
@pytest.mark.parametrize(("records", "k"), [(3, 1), (4, 2), (3, 2)])
def test_groups_of_all_attributes_with_gaps_cost_exactly_epsilon_each(records: int, k: int) -> None:
    rows: list[Row] = [(x, y) for x in (-1.0, 1.5, 3.0, None) for y in (-1.0, 3.0)]
    if records == 4:
        rows = [row for row in rows if row[0] != 1.5]
    loss = largest_loss("dp-mdav", rows, records, k)
    assert loss <= 1 + 1e-12
    assert loss > 0.6  # not far above what is reached


@pytest.mark.usefixtures("noted_choices")
@pytest.mark.parametrize("c", [2, 3])
def test_gaps_of_several_rows_of_a_unit_cost_as_many_times_as_much(c: int) -> None:
    """The design's UNITS.md, section 2, for c rows of tables whose size is public."""
    values: list[Row] = [(-1.0,), (3.0,), (None,)]
    assert largest_loss("laplace", values, 3, 1, c) == pytest.approx(c, abs=1e-12)
    assert largest_loss("dp-sorted", values, 4, 2, c) == pytest.approx(c, rel=1e-6)
    for k in (1, 2):  # a group has no more than k members to exchange
        assert 0.6 * min(c, k) < largest_loss("dp-mdav", values, 4, k, c) <= min(c, k) + 1e-12


def test_sorted_means_with_gaps_cost_exactly_epsilon() -> None:
    values: list[Row] = [(v,) for v in (-1.0, 0.5, 3.0, None)]
    for records, k in ((4, 1), (4, 2), (5, 2), (5, 3)):
        loss = largest_loss("dp-sorted", values, records, k)
        assert (
            0.999 < loss <= 1 + 1e-12
        )  # a gap for the upper bound: nine tenths for the list, one for the count


def test_how_many_are_missing_costs_a_tenth() -> None:
    lists = [
        asked("dp-sorted", [column("x", values, gaps=True)], 2) for values in ([-1, 0, 3, 3], [None, 0, 3, 3])
    ]
    assert np.abs(lists[0] - lists[1]).sum() == pytest.approx(0.1)  # a gap stands where the lower bound does


def test_the_truth_about_a_gap_is_told_with_odds_of_half_epsilon() -> None:
    """20,000 seeded draws: the right odds are accepted at 4.5 standard deviations, those of ε and ε/4 are not."""
    records = 20_000
    full = column("x", [1.0, None] * (records // 2), gaps=True)
    recipe = get_method("laplace")
    grouped = Grouped.of(full, recipe.mechanism(full), recipe.grouping.prepare([full], 1)(full), 1)
    released = grouped.noisy(Fraction(2), SeededSampler(7)).attached()
    right = float(np.mean(np.isnan(released) == np.isnan(full.values)))
    off = {
        odds: (right - math.exp(odds) / (1 + math.exp(odds))) * math.sqrt(records) / 0.44
        for odds in (1, 2, 0.5)
    }
    assert abs(off[1]) < 4.5
    assert abs(off[2]) > 10
    assert abs(off[0.5]) > 10


# The release.

SCHEMA: dict[str, Any] = {
    "attributes": {
        "age": {"type": "integer", "role": "protect", "domain": {"lower": 0, "upper": 100}, **GAPS},
        "income": {"role": "protect", "domain": {"lower": 0, "upper": 1000}, "decimals": 1, **GAPS},
        "born": {
            "type": "date",
            "role": "protect",
            "domain": {"lower": "1920-01-01", "upper": "2020-12-31"},
            **GAPS,
        },
        "school": {"type": "ordinal", "role": "protect", "categories": ["low", "mid", "high"], **GAPS},
        "region": {"type": "categorical", "role": "protect", "categories": ["north", "south"], **GAPS},
    }
}


def people(records: int = 300) -> pa.Table:
    draw = np.random.default_rng(5)
    days = np.datetime64("1950-01-01") + draw.integers(0, 20_000, records)
    columns = {
        "age": draw.integers(0, 101, records),
        "income": draw.uniform(0, 1000, records).round(1),
        "born": days,
        "school": draw.choice(["low", "mid", "high"], records),
        "region": draw.choice(["north", "south"], records),
    }
    return pa.table(
        {name: pa.array(values, mask=draw.random(records) < 0.3) for name, values in columns.items()}
    )


OPTIONS: dict[str, dict[str, Any]] = {
    "laplace": {},
    "dp-sorted": {"k": 5},
    "dp-mdav": {"k": 150, "shuffle": True},
    "dp-synthetic": {},
}


@pytest.mark.parametrize("method", OPTIONS)
def test_every_type_is_released_with_its_gaps(method: str) -> None:
    release = coterie.protect(people(), SCHEMA, method=method, epsilon=200, **OPTIONS[method])
    assert release.guarantee.status == "proved"
    for name in SCHEMA["attributes"]:
        missing = release.table[name].null_count
        if method == "dp-mdav":
            assert missing in (0, 150, 300)  # whole groups
        else:
            assert abs(missing - people()[name].null_count) < 12, name
        assert release.table.field(name).nullable
    figures = release.internal.to_dict()["attributes"]
    assert all(np.isfinite(found["mean_squared_error"] or 0) for found in figures.values())
    certified = {a.name: a for a in release.certificate.attributes}
    assert certified["income"].missing == "own category"
    assert any("missing is an outcome" in note for note in release.certificate.notes)


def test_a_schema_decides_about_gaps_and_not_the_values() -> None:
    """A table without gaps is released like one with them: that there are none is nobody's business."""
    whole = pa.table({"age": [1, 2, 3, 4] * 50})
    schema = {"attributes": {"age": SCHEMA["attributes"]["age"]}}
    release = coterie.protect(whole, schema, method="laplace", epsilon="0.1", seed=1)
    assert 60 < release.table["age"].null_count < 140


def test_methods_without_a_proof_name_one_that_has_it() -> None:
    schema = {"attributes": {"age": SCHEMA["attributes"]["age"]}}
    table = people().select(["age"])
    refused = []
    for name in sorted(all_methods().keys() - OPTIONS):
        with pytest.raises(ParameterError, match=r"no proof for missing values of 'age'\. .*dp-synthetic"):
            coterie.protect(table, schema, method=name, epsilon=1, k=10 if name != "idp" else None)
        refused.append(name)
    assert {"ir", "dp-ir", "idp-ls", "mdav"} <= set(refused)


def test_files_hold_the_gaps(tmp_path: Path) -> None:
    release = coterie.protect(people(), SCHEMA, method="laplace", epsilon=20)
    missing = {name: release.table[name].null_count for name in SCHEMA["attributes"]}
    for ending in ("parquet", "csv", "sav", "dta"):
        path = tmp_path / f"release.{ending}"
        release.write(path)
        if ending == "parquet":
            found = {
                name: column.null_count
                for name, column in zip(missing, pq.read_table(path).columns, strict=True)
            }
        elif ending == "csv":
            cells = [line.split(",") for line in path.read_text().splitlines()]
            found = {name: sum(row[place] == "" for row in cells[1:]) for place, name in enumerate(cells[0])}
        else:
            read = {"sav": pyreadstat.read_sav, "dta": pyreadstat.read_dta}[ending]
            found = read(str(path))[0].replace("", None).isna().sum().to_dict()
        assert found == missing, ending


@pytest.mark.parametrize(("method", "k"), [("laplace", None), ("dp-mdav", 20)])
def test_larger_than_memory_is_the_same(method: str, k: int | None, tmp_path: Path) -> None:
    pq.write_table(people(), tmp_path / "people.parquet")
    release = coterie.protect(
        tmp_path / "people.parquet", SCHEMA, method=method, epsilon=4, k=k, seed=3, memory="6GB"
    )
    release.write(tmp_path / "out.parquet")
    here = coterie.protect(people(), SCHEMA, method=method, epsilon=4, k=k, seed=3).table
    assert pq.read_table(tmp_path / "out.parquet").equals(here)
